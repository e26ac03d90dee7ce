// The pipe to the broker: calls of a handler by name, asks and tells in between. Only Go's own library is needed.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

// Message is one of a call, or of an action. Bytes are Base64 in JSON, as encoding/json has them.
type Message struct {
	Same       *int            `json:"same,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	ID         string          `json:"id,omitempty"`
	Header     []byte          `json:"header,omitempty"`
	Hops       int             `json:"hops,omitempty"`
	Predicates json.RawMessage `json:"predicates,omitempty"`
}

// Call has the fields of all calls; each call uses some.
type Call struct {
	Call, Broker, Client, ID, Neighbour string
	Incarnation                         int
	Neighbours                          []string
	Subscription                        json.RawMessage
	Message                             Message
}

// Object is a JSON object that is written.
type Object map[string]any

var input, output = bufio.NewReaderSize(os.Stdin, 1<<16), bufio.NewWriter(os.Stdout)

func readLine(into any) {
	line, err := input.ReadBytes('\n')
	if err != nil {
		os.Exit(0) // the broker has ended
	}
	if err := json.Unmarshal(line, into); err != nil {
		panic(err)
	}
}

func writeLine(said Object) {
	line, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	output.Write(append(line, '\n'))
	output.Flush()
}

// match asks for the keys of the subscriptions that the publication of the call matches.
func match() []string {
	var reply struct{ Keys []string }
	writeLine(Object{"ask": Object{"for": "match"}})
	readLine(&reply)
	return reply.Keys
}

func index(key string, predicates json.RawMessage) {
	writeLine(Object{"tell": Object{"of": "index", "key": key, "predicates": predicates}})
}

func unindex(key string) {
	writeLine(Object{"tell": Object{"of": "unindex", "key": key}})
}

func send(neighbour string, message Message) Object {
	return Object{"do": "send", "neighbour": neighbour, "message": message}
}

func deliver(clients []string, message Message) Object {
	return Object{"do": "deliver", "clients": clients, "message": message}
}

// same is the message of the call, with the header and the hops in place of its own.
func same(header string, hops int) Message {
	return Message{Same: new(int), Header: []byte(header), Hops: hops}
}

// distinct keeps the first of equal strings.
func distinct(all []string) []string {
	seen, kept := map[string]bool{}, []string{}
	for _, one := range all {
		if !seen[one] {
			seen[one] = true
			kept = append(kept, one)
		}
	}
	return kept
}

// serve answers calls until the broker ends. Handlers return actions.
func serve(declaration Object, handle func(Call) []Object) {
	for {
		var call Call
		readLine(&call)
		if call.Call == "declare" {
			writeLine(Object{"declaration": declaration})
			continue
		}
		actions := handle(call)
		if actions == nil {
			actions = []Object{}
		}
		writeLine(Object{"actions": actions})
	}
}
