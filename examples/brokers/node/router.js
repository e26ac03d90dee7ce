// Subscription forwarding with reverse paths.
//
// 1. A broker is the origin of its clients' subscriptions. It numbers its changes and sends them to all neighbours, which
//    pass on those that are new to them, in order.
// 2. The neighbour from which the newest epoch of an origin came first is the way back to it. A way leads to brokers of
//    the same epoch or a newer one, so that publications do not go in circles.
// 3. A publication carries its targets: the origins with a matching subscription, as its first broker knows them. Each
//    copy goes one way, with the targets that lie there, so that no broker gets two.
// 4. A broker whose link failed or whose neighbour was restarted asks all origins for a new epoch: other ways.
// 5. A neighbour that begins a new incarnation is told all that is known, but for what came from it.
'use strict';
const content = require('./content.js');
const { now } = require('./log.js');

const MOST_HOPS = 10000;
const fromText = (body) => Buffer.from(body, 'base64');
const told = ([id, body]) => [id, { body, predicates: content.subscription(fromText(body)) }];

class Router {
  constructor({ id, incarnation }, links, log, deliver) {
    Object.assign(this, { id, incarnation, links, log, deliver, dropped: 0, made: 0, asked: 0 });
    this.own = { origin: id, incarnation, epoch: 0, number: 0, subscriptions: new Map() };
    this.origins = new Map([[id, this.own]]);
    this.requests = new Map();  // for new epochs: the latest of each broker
  }

  subscribe(client, bytes) {
    const id = `${this.id}.${this.incarnation}.${(this.made += 1)}`;
    const body = bytes.toString('base64');
    this.own.subscriptions.set(id, { client, body, predicates: content.subscription(bytes) });
    this.announce({ kind: 'subscribe', id, body });
    return id;
  }

  unsubscribe(id) {
    this.own.subscriptions.delete(id);
    this.announce({ kind: 'unsubscribe', id });
  }

  announce(change) {
    const { origin, incarnation } = this.own;
    this.flood(undefined, { ...change, origin, incarnation, number: (this.own.number += 1), hops: 1 });
  }

  publish(message, publication) {
    const interested = ([, { subscriptions }]) => [...subscriptions.values()].some(
      ({ predicates }) => content.matches(predicates, publication));
    const targets = [...this.origins].filter(interested).map(([origin]) => origin);
    this.route({ kind: 'publish', ...message, hops: 0, targets }, publication);
  }

  route(message, publication) {
    const byWay = new Map();
    for (const target of message.targets) {
      const way = target === this.id ? this.id : this.origins.get(target)?.way;
      byWay.set(way, [...(byWay.get(way) || []), target]);
    }
    for (const [way, targets] of byWay) {
      if (way === this.id) this.notify(message, publication || content.publication(fromText(message.body)));
      else if (way && message.hops < MOST_HOPS) this.links.get(way).send({ ...message, hops: message.hops + 1, targets });
      else this.drop(message, `there is no way to ${targets}`);
    }
  }

  notify(message, publication) {
    const matching = [...this.own.subscriptions.values()].filter(({ predicates }) => content.matches(predicates, publication));
    this.deliver(new Set(matching.map(({ client }) => client)), { ...message, body: fromText(message.body) });
  }

  drop({ kind, id, hops }, text) {
    this.dropped += 1;
    this.log.note('dropped', { kind, id, hops, text });
  }

  // Neighbours

  receive(link, message, bytes) {
    const began = now();
    const { kind, id, hops } = message;
    if (kind === 'publish') this.route(message);
    else if (kind === 'control') this[message.label](link, message);
    else this.change(link, message);
    this.log.note('received', { kind, id, peer: link.neighbour, hops, bytes, duration: now() - began }, began);
  }

  begin(link, again) {
    for (const known of this.origins.values()) {
      if (![known.way, known.origin].includes(link.neighbour)) link.send(snapshot(known, 1));
    }
    if (again) this.linkDown();
  }

  linkDown() {
    const { id: by, incarnation } = this;
    this.request(undefined, { kind: 'control', id: 'request', label: 'request', by, incarnation, number: (this.asked += 1), hops: 1 });
  }

  /** A broker asks all origins for a new epoch. */
  request(link, message) {
    const { by, incarnation, number } = message;
    const latest = this.requests.get(by);
    if (latest && (latest.incarnation > incarnation || (latest.incarnation === incarnation && latest.number >= number))) return;
    this.requests.set(by, { incarnation, number });
    this.flood(link, message);
    this.own.epoch += 1;
    this.flood(undefined, snapshot(this.own, 1));
  }

  /** All that a neighbour knows of an origin. */
  snapshot(link, { origin, incarnation, epoch, number, subscriptions, hops }) {
    let known = this.origins.get(origin);
    if (origin === this.id || known?.incarnation > incarnation) return;
    if (known?.incarnation !== incarnation) known = { origin, incarnation, epoch: -1, number: -1 };
    if (number <= known.number && epoch <= known.epoch) return;
    if (number > known.number) Object.assign(known, { number, subscriptions: new Map(subscriptions.map(told)) });
    if (epoch > known.epoch) Object.assign(known, { epoch, way: link.neighbour });
    this.origins.set(origin, known);
    this.flood(link, snapshot(known, hops + 1));
  }

  change(link, message) {
    const { kind, id, body, origin, incarnation, number, hops } = message;
    const known = this.origins.get(origin);
    if (known?.incarnation !== incarnation || number !== known.number + 1) return;
    known.number = number;
    if (kind === 'subscribe') known.subscriptions.set(...told([id, body]));
    else known.subscriptions.delete(id);
    this.flood(link, { ...message, hops: hops + 1 });
  }

  /** Sends to all neighbours but one. Those that never came up are told all when they do. */
  flood(source, message) {
    for (const link of this.links.values()) if (link !== source && link.incarnation) link.send(message);
  }

  tables() {
    const rows = [...this.origins.values()].map(({ origin, way, subscriptions }) => [origin, { way, subscriptions: subscriptions.size }]);
    return Object.fromEntries(rows.filter(([, { subscriptions }]) => subscriptions));
  }
}

const snapshot = ({ origin, incarnation, epoch, number, subscriptions }, hops) => ({
  kind: 'control', id: 'snapshot', label: 'snapshot', origin, incarnation, epoch, number, hops,
  subscriptions: [...subscriptions].map(([id, { body }]) => [id, body]),
});

exports.Router = Router;
