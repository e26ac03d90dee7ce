#!/usr/bin/env node
// Flooding: every publication goes over every link, and is matched at every broker.
//
// A publication is known by its publisher's broker and its number there, because clients choose names as they like. One
// that a broker has seen ends there.
'use strict';
const { serve } = require('./brokerlab.js');

let broker, incarnation, neighbours, published, seen;
const clients = new Map();  // of subscriptions, by their names in the overlay

function init(call) {
  ({ broker, incarnation } = call);
  neighbours = new Set(call.neighbours);
  published = 0;
  seen = new Set();
}

function spread(number, message, source, tools) {
  seen.add(number);
  const keys = tools.ask({ for: 'match' }).keys;
  const notified = [...new Set(keys.map((key) => clients.get(key)))];
  const header = Buffer.from(number).toString('base64');
  const onward = { same: 0, header, hops: (message.hops || 0) + 1 };
  const sends = [...neighbours].filter((neighbour) => neighbour !== source);
  return [
    { do: 'deliver', clients: notified, message: { same: 0, header } },
    ...sends.map((neighbour) => ({ do: 'send', neighbour, message: onward })),
  ];
}

serve({
  declare: () => ({ calls: [] }),
  init,
  subscribe(call, tools) {
    clients.set(call.id, call.client);
    tools.tell({ of: 'index', key: call.id, predicates: call.subscription });
  },
  unsubscribe(call, tools) {
    clients.delete(call.id);
    tools.tell({ of: 'unindex', key: call.id });
  },
  publish(call, tools) {
    published += 1;
    return spread(`${broker}.${incarnation}.${published}`, call.message, null, tools);
  },
  receive(call, tools) {
    const number = Buffer.from(call.message.header || '', 'base64').toString();
    return seen.has(number) ? [] : spread(number, call.message, call.neighbour, tools);
  },
});
