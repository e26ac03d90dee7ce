// Flooding: every publication goes over every link, and is matched at every broker.
//
// A publication is known by its publisher's broker and its number there, because clients choose names as they like. One
// that a broker has seen ends there.
package main

import "fmt"

var (
	me        Call
	published int
	seen      = map[string]bool{}
	clients   = map[string]string{} // of subscriptions, by their names in the overlay
)

func spread(number string, message Message, source string) []Object {
	seen[number] = true
	var notified []string
	for _, key := range match() {
		notified = append(notified, clients[key])
	}
	actions := []Object{deliver(distinct(notified), same(number, message.Hops))}
	for _, neighbour := range me.Neighbours {
		if neighbour != source {
			actions = append(actions, send(neighbour, same(number, message.Hops+1)))
		}
	}
	return actions
}

func handle(call Call) []Object {
	switch call.Call {
	case "init":
		me = call
	case "subscribe":
		clients[call.ID] = call.Client
		index(call.ID, call.Subscription)
	case "unsubscribe":
		delete(clients, call.ID)
		unindex(call.ID)
	case "publish":
		published++
		return spread(fmt.Sprintf("%s.%d.%d", me.Broker, me.Incarnation, published), call.Message, "")
	case "receive":
		if number := string(call.Message.Header); !seen[number] {
			return spread(number, call.Message, call.Neighbour)
		}
	}
	return nil
}

func main() {
	serve(Object{"contract": 1, "calls": []string{}}, handle)
}
