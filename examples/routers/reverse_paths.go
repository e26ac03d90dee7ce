// Reverse paths: subscriptions flood the overlay, and publications go back the ways that they came by.
//
//  1. A broker that hears of a subscription first passes it on, and notes where it came from: its next hop.
//  2. A withdrawal goes to every broker. Withdrawn names are kept, because a slower copy may still come.
//  3. A publication is sent to the next hops of all subscriptions that match it, and handled once at each broker.
//  4. A broker that was restarted, as `B4.2`, has lost its clients: its neighbours withdraw all names of `B4.1`.
//  5. A neighbour that comes up may have missed anything, so it is told of all subscriptions and all withdrawals.
package main

import (
	"fmt"
	"sort"
	"strings"
)

type nextHop struct {
	source  string // none for subscriptions of clients here
	message Message
}

var (
	me        Call
	published int
	clients   = map[string]string{}
	nextHops  = map[string]nextHop{}
	withdrawn = map[string]bool{}
	seen      = map[string]bool{}
	links     = map[string]bool{}
)

// sorted makes the order of a map's keys the same in every run.
func sorted[V any](entries map[string]V) []string {
	keys := make([]string, 0, len(entries))
	for key := range entries {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// life is the broker that gave a name, and its incarnation: `B4.1` of `B4.1.7`.
func life(id string) string {
	parts := strings.Split(id, ".")
	return strings.Join(parts[:len(parts)-1], ".")
}

func flood(source string, message Message) (actions []Object) {
	message.Hops++
	for _, neighbour := range sorted(links) {
		if neighbour != source {
			actions = append(actions, send(neighbour, message))
		}
	}
	return actions
}

func learn(source string, message Message) []Object {
	_, known := nextHops[message.ID]
	if known || withdrawn[message.ID] || withdrawn[life(message.ID)] {
		return nil
	}
	index(message.ID, message.Predicates)
	nextHops[message.ID] = nextHop{source, message}
	return flood(source, message)
}

func forget(source string, message Message) []Object {
	if withdrawn[message.ID] {
		return nil
	}
	withdrawn[message.ID] = true
	for _, id := range sorted(nextHops) {
		if message.ID == id || message.ID == life(id) {
			delete(nextHops, id)
			unindex(id)
			delete(clients, id)
		}
	}
	return flood(source, message)
}

func route(source string, message Message) []Object {
	number := string(message.Header)
	if seen[number] {
		return nil
	}
	seen[number] = true
	var notified, hops []string
	for _, id := range match() {
		if client, here := clients[id]; here {
			notified = append(notified, client)
		}
		if hop := nextHops[id].source; hop != "" && hop != source {
			hops = append(hops, hop)
		}
	}
	actions := []Object{deliver(distinct(notified), same(number, message.Hops))}
	for _, hop := range distinct(hops) {
		actions = append(actions, send(hop, same(number, message.Hops+1)))
	}
	return actions
}

var received = map[string]func(string, Message) []Object{"subscribe": learn, "unsubscribe": forget, "publish": route}

func linkUp(neighbour string, incarnation int) (actions []Object) {
	links[neighbour] = true
	for former := 1; former < incarnation; former++ {
		actions = append(actions, forget("", Message{Kind: "unsubscribe", ID: fmt.Sprintf("%s.%d", neighbour, former)})...)
	}
	for _, id := range sorted(nextHops) {
		if hop := nextHops[id]; hop.source != neighbour {
			actions = append(actions, send(neighbour, hop.message))
		}
	}
	for _, id := range sorted(withdrawn) {
		actions = append(actions, send(neighbour, Message{Kind: "unsubscribe", ID: id}))
	}
	return actions
}

func handle(call Call) []Object {
	switch call.Call {
	case "init":
		me = call
	case "subscribe":
		clients[call.ID] = call.Client
		return learn("", Message{Kind: "subscribe", ID: call.ID, Predicates: call.Subscription})
	case "unsubscribe":
		return forget("", Message{Kind: "unsubscribe", ID: call.ID})
	case "publish":
		published++
		call.Message.Header = []byte(fmt.Sprintf("%s.%d.%d", me.Broker, me.Incarnation, published))
		return route("", call.Message)
	case "receive":
		if receiver := received[call.Message.Kind]; receiver != nil {
			return receiver(call.Neighbour, call.Message)
		}
	case "link_up":
		return linkUp(call.Neighbour, call.Incarnation)
	case "link_down":
		delete(links, call.Neighbour)
	}
	return nil
}

func main() {
	serve(Object{"contract": 1, "calls": []string{"link_up", "link_down"}, "needs": []string{"contents"}}, handle)
}
