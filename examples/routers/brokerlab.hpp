// The pipe to the broker, and the JSON that it takes: `Json` reads a line, `text` writes a string. C++17, no library.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

// A value of JSON. Each keeps the text that it was read from, so that it can be passed on as it is.
struct Json {
    std::string raw, string;  // `string`: of a string, without quotes and escapes
    std::vector<Json> items;
    std::map<std::string, Json> fields;

    static Json read(const std::string& line) {
        const char* at = line.c_str();
        return value(at);
    }

    // A field; an empty value where there is none, because defaults are left out.
    const Json& operator[](const std::string& name) const {
        static const Json none;
        auto found = fields.find(name);
        return found == fields.end() ? none : found->second;
    }

    int number() const { return raw.empty() ? 0 : std::atoi(raw.c_str()); }

private:
    static void skip(const char*& at) {
        while (*at == ' ' || *at == ',' || *at == ':') ++at;
    }

    static Json value(const char*& at) {
        skip(at);
        const char* begin = at;
        Json made;
        if (*at == '"') {
            made.string = quoted(at);
        } else if (*at == '[') {
            for (skip(++at); *at != ']'; skip(at)) made.items.push_back(value(at));
            ++at;
        } else if (*at == '{') {
            for (skip(++at); *at != '}'; skip(at)) {
                std::string name = quoted(at);
                made.fields[name] = value(at);
            }
            ++at;
        } else {
            while (*at && *at != ',' && *at != ']' && *at != '}') ++at;
        }
        made.raw.assign(begin, at);
        return made;
    }

    static std::string quoted(const char*& at) {
        std::string made;
        for (++at; *at != '"'; ++at) {
            if (*at != '\\') {
                made += *at;
            } else if (*++at == 'u') {  // the broker writes control characters only in this form
                made += static_cast<char>(std::stoi(std::string(at + 1, 4), nullptr, 16));
                at += 4;
            } else {
                static const std::map<char, char> escapes{{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'b', '\b'}, {'f', '\f'}};
                auto found = escapes.find(*at);
                made += found == escapes.end() ? *at : found->second;
            }
        }
        ++at;
        return made;
    }
};

inline std::string text(const std::string& value) {
    std::string made = "\"";
    for (unsigned char letter : value) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", letter);
        if (letter == '"' || letter == '\\') made += '\\';
        made += letter < 32 ? escaped : std::string(1, static_cast<char>(letter));
    }
    return made + "\"";
}

inline std::string base64(const std::string& bytes) {
    static const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string made;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        unsigned three = 0;
        for (std::size_t next = at; next < at + 3; ++next) {
            three = three << 8 | (next < bytes.size() ? static_cast<unsigned char>(bytes[next]) : 0);
        }
        for (int shift = 18; shift >= 0; shift -= 6) made += letters[three >> shift & 63];
    }
    for (std::size_t padding = 0; padding < (3 - bytes.size() % 3) % 3; ++padding) made[made.size() - 1 - padding] = '=';
    return made;
}

// Texts of JSON as a list of JSON.
inline std::string list(const std::vector<std::string>& texts) {
    std::string made;
    for (const std::string& one : texts) made += (made.empty() ? "" : ",") + one;
    return "[" + made + "]";
}

inline void say(const std::string& line) { std::cout << line << std::endl; }

inline Json next_line() {
    std::string line;
    if (!std::getline(std::cin, line)) std::exit(0);  // the broker has ended
    return Json::read(line);
}

// Keys of the subscriptions that the publication of the call matches.
inline std::vector<Json> match() {
    say(R"({"ask":{"for":"match"}})");
    return next_line()["keys"].items;
}

inline void index(const Json& key, const Json& predicates) {
    say(R"({"tell":{"of":"index","key":)" + key.raw + R"(,"predicates":)" + predicates.raw + "}}");
}

inline void unindex(const Json& key) { say(R"({"tell":{"of":"unindex","key":)" + key.raw + "}}"); }

// The message of the call with another header, in Base64, and other hops.
inline std::string same(const std::string& header, int hops) {
    return R"({"same":0,"header":")" + header + R"(","hops":)" + std::to_string(hops) + "}";
}

inline std::string send(const std::string& neighbour, const std::string& message) {
    return R"({"do":"send","neighbour":)" + text(neighbour) + R"(,"message":)" + message + "}";
}

inline std::string deliver(const std::vector<std::string>& clients, const std::string& message) {
    return R"({"do":"deliver","clients":)" + list(clients) + R"(,"message":)" + message + "}";
}

inline void answer(const std::vector<std::string>& actions) { say(R"({"actions":)" + list(actions) + "}"); }
