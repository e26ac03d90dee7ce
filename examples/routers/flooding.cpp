// Flooding: every publication goes over every link, and is matched at every broker.
//
// A publication is known by its publisher's broker and its number there, because clients choose names as they like. One
// that a broker has seen ends there. Headers stay in Base64: they are only compared.
#include <set>

#include "brokerlab.hpp"

namespace {

Json me;
int published = 0;
std::set<std::string> seen;
std::map<std::string, std::string> clients;  // of subscriptions, by their names in the overlay

std::vector<std::string> spread(const std::string& number, const Json& message, const std::string& source) {
    seen.insert(number);
    std::set<std::string> notified;
    for (const Json& key : match()) notified.insert(text(clients[key.string]));
    int hops = message["hops"].number();
    std::vector<std::string> actions{deliver({notified.begin(), notified.end()}, same(number, hops))};
    for (const Json& neighbour : me["neighbours"].items) {
        if (neighbour.string != source) actions.push_back(send(neighbour.string, same(number, hops + 1)));
    }
    return actions;
}

std::vector<std::string> handle(const Json& call) {
    const std::string& name = call["call"].string;
    if (name == "init") {
        me = call;
    } else if (name == "subscribe") {
        clients[call["id"].string] = call["client"].string;
        index(call["id"], call["subscription"]);
    } else if (name == "unsubscribe") {
        clients.erase(call["id"].string);
        unindex(call["id"]);
    } else if (name == "publish") {
        std::string plain = me["broker"].string + "." + me["incarnation"].raw + "." + std::to_string(++published);
        return spread(base64(plain), call["message"], "");
    } else if (name == "receive") {
        const std::string& number = call["message"]["header"].string;
        if (!seen.count(number)) return spread(number, call["message"], call["neighbour"].string);
    }
    return {};
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    for (;;) {
        Json call = next_line();
        if (call["call"].string == "declare") {
            say(R"({"declaration":{"contract":1,"calls":[]}})");
        } else {
            answer(handle(call));
        }
    }
}
