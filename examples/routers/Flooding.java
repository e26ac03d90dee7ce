// Flooding: every publication goes over every link, and is matched at every broker.
//
// A publication is known by its publisher's broker and its number there, because clients choose names as they like. One
// that a broker has seen ends there. Headers stay in Base64: they are only compared.

import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

final class Flooding implements Brokerlab.Router {
    private String broker;
    private String incarnation;
    private List<?> neighbours;
    private int published = 0;
    private final Set<String> seen = new HashSet<>();
    private final Map<Object, Object> clients = new HashMap<>(); // of subscriptions, by their names in the overlay

    @Override
    public List<Object> handle(Map<String, Object> call) throws IOException {
        Object id = call.get("id");
        Map<?, ?> message = (Map<?, ?>) call.get("message");
        switch ((String) call.get("call")) {
            case "init":
                broker = (String) call.get("broker");
                incarnation = ((Brokerlab.Raw) call.get("incarnation")).text();
                neighbours = (List<?>) call.get("neighbours");
                break;
            case "subscribe":
                clients.put(id, call.get("client"));
                Brokerlab.index(id, call.get("subscription"));
                break;
            case "unsubscribe":
                clients.remove(id);
                Brokerlab.unindex(id);
                break;
            case "publish":
                String plain = broker + "." + incarnation + "." + ++published;
                return spread(Base64.getEncoder().encodeToString(plain.getBytes()), message, null);
            case "receive":
                String number = (String) message.get("header");
                return seen.contains(number) ? List.of() : spread(number, message, call.get("neighbour"));
            default:
        }
        return List.of();
    }

    private List<Object> spread(String number, Map<?, ?> message, Object source) throws IOException {
        seen.add(number);
        Set<Object> notified = new LinkedHashSet<>();
        for (String key : Brokerlab.match()) notified.add(clients.get(key));
        List<Object> actions = new ArrayList<>();
        Map<String, Object> here = Map.of("same", 0, "header", number);
        actions.add(Map.of("do", "deliver", "clients", notified, "message", here));
        Object hops = message.get("hops");
        int onward = hops == null ? 1 : Integer.parseInt(((Brokerlab.Raw) hops).text()) + 1;
        for (Object neighbour : neighbours) {
            Map<String, Object> sent = Map.of("same", 0, "header", number, "hops", onward);
            if (!neighbour.equals(source)) actions.add(Map.of("do", "send", "neighbour", neighbour, "message", sent));
        }
        return actions;
    }

    public static void main(String[] arguments) throws IOException {
        Brokerlab.serve(Map.of("contract", 1, "calls", List.of()), new Flooding());
    }
}
