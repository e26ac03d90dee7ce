// Subscription forwarding with reverse paths, over any overlay. README.md says how.
'use strict';
const content = require('./content.js');
const { now } = require('./log.js');

const snapshot = ({ subscriptions, way: _own, ...origin }, hops) => ({
  ...origin, kind: 'control', id: 'snapshot', hops, subscriptions: [...subscriptions].map(([id, { body }]) => [id, body]),
});

exports.Router = class {
  constructor({ id, incarnation }, links, log, deliver) {
    const first = incarnation * 2 ** 32;  // numbers of an incarnation are above those of the former ones
    Object.assign(this, { id, incarnation, links, log, deliver, dropped: 0, own: new Map() });
    this.origin = { origin: id, epoch: first, number: first, asked: first, subscriptions: this.own };
    this.origins = new Map([[id, this.origin]]);
  }

  subscribe(client, body) {
    const subscription = { id: `${this.origin.number}@${this.id}`, client, body, predicates: content.subscription(body) };
    this.own.set(subscription.id, subscription);
    this.announce('subscribe', subscription);
    return subscription;
  }

  unsubscribe(subscription) {
    this.own.delete(subscription.id);
    this.announce('unsubscribe', subscription);
  }

  announce(kind, { id, body }) { this.flood({ kind, id, body, hops: 1, origin: this.id, number: (this.origin.number += 1) }); }

  publish(message, publication) {
    const interested = [...this.origins.values()].filter(({ subscriptions: all }) => content.matching(all, publication).length);
    this.route({ ...message, targets: interested.map(({ origin }) => origin) }, publication);
  }

  route(message, publication) {
    const byWay = new Map();
    for (const target of message.targets) {
      const way = target === this.id ? this.id : this.origins.get(target)?.way;
      byWay.set(way, [...(byWay.get(way) || []), target]);
    }
    for (const [way, targets] of byWay) {
      if (way === this.id) this.deliver(content.matching(this.own, publication || content.publication(message.body)), message);
      else if (way) this.links.get(way).send({ ...message, hops: message.hops + 1, targets });
      else {
        this.dropped += 1;
        this.log.note('dropped', { kind: 'publish', id: message.id, hops: message.hops, text: `there is no way to ${targets}` });
      }
    }
  }

  receive(link, message, bytes) {
    const began = now();
    const { kind, id, hops } = message;
    if (kind === 'publish') this.route(message);
    else if (kind === 'control') this.learn(link, message);
    else this.change(link, message);
    this.log.note('received', { kind, id, peer: link.neighbour, hops, bytes, duration: now() - began }, began);
  }

  begin(link) { for (const known of this.origins.values()) if (known.way !== link.neighbour) link.send(snapshot(known, 1)); }

  linkDown() { this.origin.asked += 1; this.renew(); }

  renew() {
    this.origin.epoch += 1;
    this.flood(snapshot(this.origin, 1));
  }

  /** Takes what is new of all that a neighbour knows of an origin. */
  learn(link, { origin, epoch, number, asked, subscriptions, hops }) {
    const known = this.origins.get(origin) || { origin, epoch: 0, number: 0, asked };
    if (origin === this.id || (number <= known.number && epoch <= known.epoch)) return;
    if (asked > known.asked) this.renew();
    const contents = new Map(subscriptions.map(([id, body]) => [id, { body, predicates: content.subscription(body) }]));
    if (number > known.number) Object.assign(known, { number, subscriptions: contents });
    if (epoch > known.epoch) Object.assign(known, { epoch, asked, way: link.neighbour });
    this.origins.set(origin, known);
    this.flood(snapshot(known, hops + 1), link);
  }

  change(link, { kind, id, body, origin, number, hops }) {
    const known = this.origins.get(origin);
    if (number !== known?.number + 1) return;
    if (kind === 'subscribe') known.subscriptions.set(id, { body, predicates: content.subscription(body) });
    else known.subscriptions.delete(id);
    known.number = number;
    this.flood({ kind, id, body, origin, number, hops: hops + 1 }, link);
  }

  /** Sends to all neighbours but one. Those that never came up are told all when they do. */
  flood(message, source) {
    for (const link of this.links.values()) if (link !== source && link.incarnation) link.send(message);
  }

  tables() {
    const rows = [...this.origins.values()].filter(({ subscriptions }) => subscriptions.size);
    return Object.fromEntries(rows.map(({ origin, way, subscriptions }) => [origin, { way, subscriptions: subscriptions.size }]));
  }
};
