// Subscription forwarding: subscriptions go to every broker, publications go back the ways that subscriptions came.
//
//  1. A subscription is passed on to all neighbours. The first copy of it that reaches a broker counts: the neighbour
//     that it came from is the way to the subscriber.
//
//  2. A withdrawal takes the same ways. One of an unknown subscription ends. Withdrawn ids are kept, because a slower
//     copy of the subscription may still come, and would be chased by its withdrawal round a cycle for ever.
//
//  3. A publication is delivered to the clients here whose subscriptions match it, and goes once to each neighbour that
//     is the way to others. One that a broker has seen ends there, because in a cycle several ways meet.
//
//  4. A neighbour that has come up, perhaps without its state, is sent all subscriptions that did not come from it.
package main

import (
	"encoding/json"
	"fmt"
	"sort"
)

type subscription struct {
	client, neighbour string // one of the two
	predicates        json.RawMessage
}

var (
	me        Call
	published int
	seen      = map[string]bool{}
	up        = map[string]bool{}
	known     = map[string]subscription{}
	withdrawn = map[string]bool{}
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

func others(source string, message Message) (actions []Object) {
	for _, neighbour := range sorted(up) {
		if neighbour != source {
			actions = append(actions, send(neighbour, message))
		}
	}
	return actions
}

func subscribing(id string, predicates json.RawMessage, hops int) Message {
	return Message{Kind: "subscribe", ID: id, Predicates: predicates, Hops: hops}
}

func learn(id string, entry subscription) {
	known[id] = entry
	index(id, entry.predicates)
}

func forget(id string) {
	withdrawn[id] = true
	delete(known, id)
	unindex(id)
}

func spread(number string, message Message, source string) []Object {
	seen[number] = true
	var clients, ways []string
	for _, key := range match() {
		if entry := known[key]; entry.client != "" {
			clients = append(clients, entry.client)
		} else if entry.neighbour != source {
			ways = append(ways, entry.neighbour)
		}
	}
	actions := []Object{deliver(distinct(clients), same(number, message.Hops))}
	for _, neighbour := range distinct(ways) {
		actions = append(actions, send(neighbour, same(number, message.Hops+1)))
	}
	return actions
}

func receive(neighbour string, message Message) []Object {
	_, isKnown := known[message.ID]
	switch message.Kind {
	case "subscribe":
		if !isKnown && !withdrawn[message.ID] {
			learn(message.ID, subscription{neighbour: neighbour, predicates: message.Predicates})
			return others(neighbour, subscribing(message.ID, message.Predicates, message.Hops+1))
		}
	case "unsubscribe":
		withdrawn[message.ID] = true
		if isKnown {
			forget(message.ID)
			return others(neighbour, Message{Kind: "unsubscribe", ID: message.ID, Hops: message.Hops + 1})
		}
	case "publish":
		if number := string(message.Header); !seen[number] {
			return spread(number, message, neighbour)
		}
	}
	return nil
}

func handle(call Call) []Object {
	switch call.Call {
	case "init":
		me = call
	case "subscribe":
		learn(call.ID, subscription{client: call.Client, predicates: call.Subscription})
		return others("", subscribing(call.ID, call.Subscription, 1))
	case "unsubscribe":
		forget(call.ID)
		return others("", Message{Kind: "unsubscribe", ID: call.ID, Hops: 1})
	case "publish":
		published++
		return spread(fmt.Sprintf("%s.%d.%d", me.Broker, me.Incarnation, published), call.Message, "")
	case "receive":
		return receive(call.Neighbour, call.Message)
	case "link_up":
		up[call.Neighbour] = true
		var actions []Object
		for _, id := range sorted(known) {
			if entry := known[id]; entry.neighbour != call.Neighbour {
				actions = append(actions, send(call.Neighbour, subscribing(id, entry.predicates, 1)))
			}
		}
		return actions
	case "link_down":
		delete(up, call.Neighbour)
	}
	return nil
}

func main() {
	calls := []string{"link_up", "link_down"}
	serve(Object{"contract": 1, "calls": calls, "needs": []string{"contents"}}, handle)
}
