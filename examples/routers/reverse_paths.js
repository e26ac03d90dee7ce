#!/usr/bin/env node
// Reverse paths: subscriptions flood the overlay, and publications go back the ways that they came by.
//
// 1. A broker that hears of a subscription first passes it on, and notes where it came from: its next hop.
// 2. A withdrawal goes to every broker. Withdrawn names are kept, because a slower copy may still come.
// 3. A publication is sent to the next hops of all subscriptions that match it, and handled once at each broker.
// 4. A broker that was restarted, as `B4.2`, has lost its clients: its neighbours withdraw all names of `B4.1`.
// 5. A neighbour that comes up may have missed anything, so it is told of all subscriptions and all withdrawals.
'use strict';
const { ask, serve, tell } = require('./brokerlab.js');

const declaration = { calls: ['link_up', 'link_down', 'tables'], needs: ['contents'] };

const send = (neighbour, message) => ({ do: 'send', neighbour, message });

// The broker that gave a name, and its incarnation: `B4.1` of `B4.1.7`.
const life = (id) => id.split('.').slice(0, -1).join('.');

serve(declaration, ({ broker, incarnation }) => {
  const clients = new Map();
  const nextHops = new Map();  // null for subscriptions of clients here; each with its message
  const withdrawn = new Set();
  const seen = new Set();
  const links = new Set();
  let published = 0;

  function flood(source, message) {
    const onward = { ...message, hops: (message.hops || 0) + 1 };
    return [...links].filter((neighbour) => neighbour !== source).map((neighbour) => send(neighbour, onward));
  }

  function learn(source, message) {
    const { id, predicates } = message;
    if (nextHops.has(id) || withdrawn.has(id) || withdrawn.has(life(id))) return [];
    tell({ of: 'index', key: id, predicates });
    nextHops.set(id, { source, message });
    return flood(source, message);
  }

  function forget(source, message) {
    if (withdrawn.has(message.id)) return [];
    withdrawn.add(message.id);
    for (const id of [...nextHops.keys()].filter((each) => [each, life(each)].includes(message.id))) {
      nextHops.delete(id);
      tell({ of: 'unindex', key: id });
      clients.delete(id);
    }
    return flood(source, message);
  }

  function route(source, message) {
    const { header } = message;
    if (seen.has(header)) return [];
    seen.add(header);
    const matching = ask({ for: 'match' }).keys;
    const notified = new Set(matching.filter((id) => clients.has(id)).map((id) => clients.get(id)));
    const hops = new Set(matching.map((id) => nextHops.get(id).source));
    const onward = { same: 0, header, hops: (message.hops || 0) + 1 };
    return [
      { do: 'deliver', clients: [...notified], message: { same: 0, header } },
      ...[...hops].filter((hop) => hop !== null && hop !== source).map((hop) => send(hop, onward)),
    ];
  }

  const received = { subscribe: learn, unsubscribe: forget, publish: route };

  return {
    subscribe({ id, client, subscription }) {
      clients.set(id, client);
      return learn(null, { kind: 'subscribe', id, predicates: subscription });
    },
    unsubscribe({ id }) {
      return forget(null, { kind: 'unsubscribe', id });
    },
    publish({ message }) {
      published += 1;
      const header = Buffer.from(`${broker}.${incarnation}.${published}`).toString('base64');
      return route(null, { ...message, header });
    },
    receive({ message, neighbour }) {
      const receiver = received[message.kind];
      return receiver ? receiver(neighbour, message) : { malformed: `no messages of kind ${message.kind}` };
    },
    link_up({ neighbour, incarnation: current }) {
      links.add(neighbour);
      const lives = Array.from({ length: current - 1 }, (_, before) => `${neighbour}.${before + 1}`);
      const former = lives.flatMap((id) => forget(null, { kind: 'unsubscribe', id }));
      const known = [...nextHops.values()].filter(({ source }) => source !== neighbour);
      return [
        ...former,
        ...known.map(({ message }) => send(neighbour, message)),
        ...[...withdrawn].sort().map((id) => send(neighbour, { kind: 'unsubscribe', id })),
      ];
    },
    link_down({ neighbour }) {
      links.delete(neighbour);
    },
    tables: () => ({ tables: { subscriptions: [...nextHops.keys()].sort() } }),
  };
});
