#!/usr/bin/env node
// Flooding: every publication goes over every link, and is matched at every broker.
//
// A publication is known by its publisher's broker and its number there, because clients choose names as they like. One
// that a broker has seen ends there.
'use strict';
const { ask, serve, tell } = require('./brokerlab.js');

serve({ calls: [] }, ({ broker, incarnation, neighbours }) => {
  const clients = new Map();  // of subscriptions, by their names in the overlay
  const seen = new Set();
  let published = 0;

  function spread(number, message, source) {
    seen.add(number);
    const { keys } = ask({ for: 'match' });
    const notified = [...new Set(keys.map((key) => clients.get(key)))];
    const header = Buffer.from(number).toString('base64');
    const onward = { same: 0, header, hops: (message.hops || 0) + 1 };
    const sends = neighbours.filter((neighbour) => neighbour !== source);
    return [
      { do: 'deliver', clients: notified, message: { same: 0, header } },
      ...sends.map((neighbour) => ({ do: 'send', neighbour, message: onward })),
    ];
  }

  return {
    subscribe({ id, client, subscription }) {
      clients.set(id, client);
      tell({ of: 'index', key: id, predicates: subscription });
    },
    unsubscribe({ id }) {
      clients.delete(id);
      tell({ of: 'unindex', key: id });
    },
    publish({ message }) {
      published += 1;
      return spread(`${broker}.${incarnation}.${published}`, message, null);
    },
    receive({ message, neighbour }) {
      const number = Buffer.from(message.header || '', 'base64').toString();
      return seen.has(number) ? [] : spread(number, message, neighbour);
    },
  };
});
