// What both ways of routing share: subscriptions of this broker's clients, and whom a publication notifies.
'use strict';
const content = require('./content.js');
const { now } = require('./log.js');

class Routing {
  constructor({ id, incarnation }, links, log, deliver) {
    Object.assign(this, { id, incarnation, links, log, deliver, dropped: 0, made: 0, own: new Map() });
  }

  subscribe(client, body) {
    const id = `${this.id}.${this.incarnation}.${(this.made += 1)}`;
    this.own.set(id, { client, body, predicates: content.subscription(body) });
    this.announce('subscribe', id, body);
    return id;
  }

  unsubscribe(id) {
    const { body } = this.own.get(id);
    this.own.delete(id);
    this.announce('unsubscribe', id, body);
  }

  notify(message, publication) {
    const matching = [...this.own.values()].filter(({ predicates }) => content.matches(predicates, publication));
    this.deliver(new Set(matching.map(({ client }) => client)), message);
  }

  receive(link, message, bytes) {
    const began = now();
    const { kind, id, hops } = message;
    this.handle(link, message);
    this.log.note('received', { kind, id, peer: link.neighbour, hops, bytes, duration: now() - began }, began);
  }

  linkDown() {}
}

exports.Routing = Routing;
