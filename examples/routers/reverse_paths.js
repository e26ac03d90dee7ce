#!/usr/bin/env node
// Subscription forwarding: subscriptions go to every broker, publications go back the ways that subscriptions came.
//
// 1. A subscription is passed on to all neighbours. The first copy of it that reaches a broker counts: the neighbour
//    that it came from is the way to the subscriber.
// 2. A withdrawal takes the same ways. One of an unknown subscription ends. Withdrawn ids are kept, because a slower
//    copy of the subscription may still come, and would be chased by its withdrawal round a cycle for ever.
// 3. A publication is delivered to the clients here whose subscriptions match it, and goes once to each neighbour that
//    is the way to others. One that a broker has seen ends there, because in a cycle several ways meet.
// 4. A neighbour that has come up, perhaps without its state, is sent all subscriptions that did not come from it.
'use strict';
const { ask, serve, tell } = require('./brokerlab.js');

function subscribing(id, predicates, hops) {
  return { kind: 'subscribe', id, predicates, hops };
}

const declaration = { calls: ['link_up', 'link_down', 'tables'], needs: ['contents'] };

serve(declaration, ({ broker, incarnation }) => {
  const known = new Map();  // subscriptions by id: client or neighbour, and the predicates
  const withdrawn = new Set();
  const seen = new Set();
  const up = new Set();
  let published = 0;

  function others(source, message) {
    return [...up].filter((one) => one !== source).map((neighbour) => ({ do: 'send', neighbour, message }));
  }

  function learn(id, from, predicates) {
    known.set(id, { ...from, predicates });
    tell({ of: 'index', key: id, predicates });
  }

  function forget(id) {
    withdrawn.add(id);
    if (!known.delete(id)) return false;
    tell({ of: 'unindex', key: id });
    return true;
  }

  function spread(number, message, source) {
    seen.add(number);
    const clients = new Set();
    const ways = new Set();
    for (const key of ask({ for: 'match' }).keys) {
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

  const receivers = {
    subscribe(message, neighbour) {
      if (known.has(message.id) || withdrawn.has(message.id)) return [];
      learn(message.id, { neighbour }, message.predicates);
      return others(neighbour, subscribing(message.id, message.predicates, (message.hops || 0) + 1));
    },
    unsubscribe(message, neighbour) {
      return forget(message.id) ? others(neighbour, { same: 0, hops: (message.hops || 0) + 1 }) : [];
    },
    publish(message, neighbour) {
      const number = Buffer.from(message.header || '', 'base64').toString();
      return seen.has(number) ? [] : spread(number, message, neighbour);
    },
  };

  return {
    subscribe({ id, client, subscription }) {
      learn(id, { client }, subscription);
      return others(null, subscribing(id, subscription, 1));
    },
    unsubscribe({ id }) {
      forget(id);
      return others(null, { kind: 'unsubscribe', id, hops: 1 });
    },
    publish({ message }) {
      published += 1;
      return spread(`${broker}.${incarnation}.${published}`, message, null);
    },
    receive({ message, neighbour }) {
      const receiver = receivers[message.kind];
      return receiver ? receiver(message, neighbour) : { malformed: `no messages of kind ${message.kind}` };
    },
    link_up({ neighbour }) {
      up.add(neighbour);
      const rows = [...known].filter(([, entry]) => entry.neighbour !== neighbour);
      const message = ([id, { predicates }]) => subscribing(id, predicates, 1);
      return rows.map((row) => ({ do: 'send', neighbour, message: message(row) }));
    },
    link_down({ neighbour }) {
      up.delete(neighbour);
    },
    tables: () => ({ tables: { subscriptions: [...known.keys()].sort() } }),
  };
});
