#!/usr/bin/env node
// Subscription forwarding: subscriptions go to every broker, publications go back the ways that subscriptions came.
//
// 1. A subscription is passed on to all neighbours. The first copy of it that reaches a broker counts: the neighbour
//    that it came from is the way to the subscriber.
// 2. A withdrawal takes the same ways. One of an unknown subscription ends.
// 3. A publication is delivered to the clients here whose subscriptions match it, and goes once to each neighbour that
//    is the way to others. One that a broker has seen ends there, because in a cycle several ways meet.
// 4. A neighbour that has come up, perhaps without its state, is sent all subscriptions that did not come from it.
'use strict';
const { serve } = require('./brokerlab.js');

let broker, incarnation, published, seen, up;
const known = new Map();  // subscriptions by id: client or neighbour, and the predicates

function init(call) {
  ({ broker, incarnation } = call);
  published = 0;
  seen = new Set();
  up = new Set();
}

function others(source, message) {
  return [...up].filter((one) => one !== source).map((neighbour) => ({ do: 'send', neighbour, message }));
}

function subscription(id, predicates, hops) {
  return { kind: 'subscribe', id, predicates, hops };
}

function spread(number, message, source, tools) {
  seen.add(number);
  const clients = new Set();
  const ways = new Set();
  for (const key of tools.ask({ for: 'match' }).keys) {
    const { client, neighbour } = known.get(key);
    if (client !== undefined) clients.add(client);
    else if (neighbour !== source) ways.add(neighbour);
  }
  const header = Buffer.from(number).toString('base64');
  const onward = { same: 0, header, hops: (message.hops || 0) + 1 };
  return [
    { do: 'deliver', clients: [...clients], message: { same: 0, header } },
    ...[...ways].map((neighbour) => ({ do: 'send', neighbour, message: onward })),
  ];
}

function learn(id, from, predicates, tools) {
  known.set(id, { ...from, predicates });
  tools.tell({ of: 'index', key: id, predicates });
}

function forget(id, tools) {
  known.delete(id);
  tools.tell({ of: 'unindex', key: id });
}

function receiveSubscription({ neighbour, message }, tools) {
  if (known.has(message.id)) return [];
  learn(message.id, { neighbour }, message.predicates, tools);
  return others(neighbour, subscription(message.id, message.predicates, (message.hops || 0) + 1));
}

function receiveWithdrawal({ neighbour, message }, tools) {
  const entry = known.get(message.id);
  if (entry === undefined || entry.neighbour !== neighbour) return [];
  forget(message.id, tools);
  return others(neighbour, { same: 0, hops: (message.hops || 0) + 1 });
}

function receivePublication({ neighbour, message }, tools) {
  const number = Buffer.from(message.header || '', 'base64').toString();
  return seen.has(number) ? [] : spread(number, message, neighbour, tools);
}

const receivers = { subscribe: receiveSubscription, unsubscribe: receiveWithdrawal, publish: receivePublication };

serve({
  declare: () => ({ calls: ['link_up', 'link_down', 'tables'], needs: ['contents'] }),
  init,
  subscribe(call, tools) {
    learn(call.id, { client: call.client }, call.subscription, tools);
    return others(null, subscription(call.id, call.subscription, 1));
  },
  unsubscribe(call, tools) {
    forget(call.id, tools);
    return others(null, { kind: 'unsubscribe', id: call.id, hops: 1 });
  },
  publish(call, tools) {
    published += 1;
    return spread(`${broker}.${incarnation}.${published}`, call.message, null, tools);
  },
  receive(call, tools) {
    const receiver = receivers[call.message.kind];
    return receiver ? receiver(call, tools) : { malformed: `no messages of kind ${call.message.kind}` };
  },
  link_up({ neighbour }) {
    up.add(neighbour);
    const rows = [...known].filter(([, entry]) => entry.neighbour !== neighbour);
    const message = ([id, { predicates }]) => subscription(id, predicates, 1);
    return rows.map((row) => ({ do: 'send', neighbour, message: message(row) }));
  },
  link_down({ neighbour }) {
    up.delete(neighbour);
  },
  tables: () => ({ tables: { subscriptions: [...known.keys()].sort() } }),
});
