// The pipe to the broker, and the JSON that it takes: objects are maps, lists are lists, the rest is text. No library.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class Brokerlab {
    private static final BufferedReader INPUT =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private static final PrintStream OUTPUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    // Text of JSON that is written as it is: numbers, and values that are passed on.
    record Raw(String text) {}

    interface Router {
        // The actions by which a call is answered.
        List<Object> handle(Map<String, Object> call) throws IOException;
    }

    static void serve(Map<String, Object> declaration, Router router) throws IOException {
        for (;;) {
            Map<String, Object> call = readLine();
            if (call.get("call").equals("declare")) writeLine(Map.of("declaration", declaration));
            else writeLine(Map.of("actions", router.handle(call)));
        }
    }

    // Keys of the subscriptions that the publication of the call matches.
    @SuppressWarnings("unchecked")
    static List<String> match() throws IOException {
        writeLine(Map.of("ask", Map.of("for", "match")));
        return (List<String>) readLine().get("keys");
    }

    static void index(Object key, Object predicates) {
        writeLine(Map.of("tell", Map.of("of", "index", "key", key, "predicates", predicates)));
    }

    static void unindex(Object key) {
        writeLine(Map.of("tell", Map.of("of", "unindex", "key", key)));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> readLine() throws IOException {
        String line = INPUT.readLine();
        if (line == null) System.exit(0); // the broker has ended
        return (Map<String, Object>) new Reader(line).value();
    }

    private static void writeLine(Object value) {
        StringBuilder line = new StringBuilder();
        write(value, line);
        OUTPUT.print(line.append('\n'));
        OUTPUT.flush();
    }

    private static void write(Object value, StringBuilder line) {
        if (value instanceof Raw raw) {
            line.append(raw.text());
        } else if (value instanceof Integer || value instanceof Boolean) {
            line.append(value);
        } else if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                line.append(before);
                write(entry.getKey(), line);
                write(entry.getValue(), line.append(':'));
                before = ",";
            }
            line.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            String before = "";
            line.append('[');
            for (Object one : list) {
                write(one, line.append(before));
                before = ",";
            }
            line.append(']');
        } else {
            line.append('"');
            for (char letter : value.toString().toCharArray()) {
                if (letter < 32) line.append(String.format("\\u%04x", (int) letter));
                else line.append(letter == '"' || letter == '\\' ? "\\" : "").append(letter);
            }
            line.append('"');
        }
    }

    // Reads one value of JSON.
    private static final class Reader {
        private final String line;
        private int at = 0;

        Reader(String line) {
            this.line = line;
        }

        Object value() {
            skip();
            int begin = at;
            switch (line.charAt(at)) {
                case '"':
                    return string();
                case '[':
                    List<Object> list = new ArrayList<>();
                    for (at++, skip(); line.charAt(at) != ']'; skip()) list.add(value());
                    at++;
                    return list;
                case '{':
                    Map<String, Object> map = new LinkedHashMap<>();
                    for (at++, skip(); line.charAt(at) != '}'; skip()) map.put(string(), value());
                    at++;
                    return map;
                default:
                    while (at < line.length() && ",]}".indexOf(line.charAt(at)) < 0) at++;
                    return new Raw(line.substring(begin, at));
            }
        }

        private void skip() {
            while (" ,:".indexOf(line.charAt(at)) >= 0) at++;
        }

        private String string() {
            StringBuilder made = new StringBuilder();
            for (at++; line.charAt(at) != '"'; at++) {
                char letter = line.charAt(at);
                if (letter == '\\') {
                    letter = line.charAt(++at);
                    int escape = "bfnrt".indexOf(letter);
                    if (letter == 'u') letter = (char) Integer.parseInt(line.substring(at + 1, (at += 4) + 1), 16);
                    else if (escape >= 0) letter = "\b\f\n\r\t".charAt(escape);
                }
                made.append(letter);
            }
            at++;
            return made.toString();
        }
    }
}
