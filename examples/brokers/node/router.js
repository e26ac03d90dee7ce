// Subscription forwarding with reverse paths, over any overlay.
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
const { Routing } = require('./routing.js');

const MOST_HOPS = 10000;
const told = ([id, body]) => [id, { body, predicates: content.subscription(body) }];
const snapshot = ({ origin, incarnation, epoch, number, subscriptions }, hops) => ({
  kind: 'control', id: 'snapshot', hops, origin, incarnation, epoch, number,
  subscriptions: [...subscriptions].map(([id, { body }]) => [id, body.toString('base64')]),
});

class Router extends Routing {
  constructor(config, ...rest) {
    super(config, ...rest);
    this.origin = { origin: this.id, incarnation: this.incarnation, epoch: 0, number: 0, subscriptions: this.own };
    this.origins = new Map([[this.id, this.origin]]);
    Object.assign(this, { requests: new Map(), asked: 0 });  // for new epochs: the latest of each broker
  }

  announce(kind, id, body) {
    const { origin, incarnation } = this.origin;
    this.flood(undefined, { kind, id, body, hops: 1, origin, incarnation, number: (this.origin.number += 1) });
  }

  publish(message, publication) {
    const interested = ([, { subscriptions }]) => [...subscriptions.values()].some(
      ({ predicates }) => content.matches(predicates, publication));
    this.route({ ...message, targets: [...this.origins].filter(interested).map(([origin]) => origin) }, publication);
  }

  route(message, publication) {
    const byWay = new Map();
    for (const target of message.targets) {
      const way = target === this.id ? this.id : this.origins.get(target)?.way;
      byWay.set(way, [...(byWay.get(way) || []), target]);
    }
    for (const [way, targets] of byWay) {
      if (way === this.id) this.notify(message, publication || content.publication(message.body));
      else if (way && message.hops < MOST_HOPS) this.send(this.links.get(way), { ...message, hops: message.hops + 1, targets });
      else this.drop(message, `there is no way to ${targets}`);
    }
  }

  drop({ kind, id, hops }, text) {
    this.dropped += 1;
    this.log.note('dropped', { kind, id, hops, text });
  }

  // Neighbours

  /** Whatever is not a field of every message travels in its header. */
  send(link, { kind, id, body, hops, published, header: _former, label: _none, ...fields }) {
    link.send({ kind, id, body, hops, published, header: Buffer.from(JSON.stringify(fields)) });
  }

  handle(link, { header, ...fields }) {
    const message = { ...fields, ...JSON.parse(header) };
    if (message.kind === 'publish') this.route(message);
    else if (message.kind !== 'control') this.change(link, message);
    else if (message.id === 'snapshot') this.snapshot(link, message);
    else this.request(link, message);
  }

  begin(link, again) {
    for (const known of this.origins.values()) {
      if (![known.way, known.origin].includes(link.neighbour)) this.send(link, snapshot(known, 1));
    }
    if (again) this.linkDown();
  }

  linkDown() {
    const { id: by, incarnation } = this;
    this.request(undefined, { kind: 'control', id: 'request', hops: 1, by, incarnation, number: (this.asked += 1) });
  }

  /** A broker asks all origins for a new epoch. */
  request(link, message) {
    const { by, incarnation, number } = message;
    const latest = this.requests.get(by);
    if (latest && (latest.incarnation > incarnation || (latest.incarnation === incarnation && latest.number >= number))) return;
    this.requests.set(by, { incarnation, number });
    this.flood(link, message);
    this.origin.epoch += 1;
    this.flood(undefined, snapshot(this.origin, 1));
  }

  /** All that a neighbour knows of an origin. */
  snapshot(link, { origin, incarnation, epoch, number, subscriptions, hops }) {
    let known = this.origins.get(origin);
    if (origin === this.id || known?.incarnation > incarnation) return;
    if (known?.incarnation !== incarnation) known = { origin, incarnation, epoch: -1, number: -1 };
    if (number <= known.number && epoch <= known.epoch) return;
    const contents = subscriptions.map(([id, body]) => told([id, Buffer.from(body, 'base64')]));
    if (number > known.number) Object.assign(known, { number, subscriptions: new Map(contents) });
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
    for (const link of this.links.values()) if (link !== source && link.incarnation) this.send(link, message);
  }

  tables() {
    const rows = [...this.origins.values()].map(({ origin, way, subscriptions }) => [origin, { way, subscriptions: subscriptions.size }]);
    return Object.fromEntries(rows.filter(([, { subscriptions }]) => subscriptions));
  }
}

exports.Router = Router;
