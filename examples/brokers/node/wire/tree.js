// Forwarding on one tree, as brokerlab's own brokers do it with `protocol: cbf`, so that this broker can be among them.
//
// 1. A subscription is known by its content. A neighbour is told each one that somebody else wants, and when nobody does.
// 2. A publication goes to the neighbours that want it, but not back.
// 3. A neighbour that was restarted has lost all and is told anew. What it does not say again within a time is withdrawn.
'use strict';
const content = require('../content.js');
const { now } = require('../log.js');
const { Router } = require('../router.js');

const RECONCILE_AFTER = 5000;  // ms

/** True of the names in `prepared`: this broker's neighbours in the tree, in MessagePack. */
function inTree(prepared, name) {
  const text = Buffer.from(name);
  const head = text.length < 32 ? [0xa0 | text.length] : [0xd9, text.length];
  return !prepared || Buffer.from(prepared, 'base64').includes(Buffer.from([...head, ...text]));
}

class Tree extends Router {
  constructor(config, ...rest) {
    super(config, ...rest);
    const neighbours = config.links.map(({ neighbour }) => neighbour).filter((name) => inTree(config.prepared, name));
    this.told = new Map(neighbours.map((name) => [name, new Set()]));
    this.table = new Map();  // by content: who wants it
    this.unconfirmed = new Map();  // contents that restarted neighbours have not said again
  }

  announce(kind, { id, body }) {
    this.origin.number += 1;  // by which ids of subscriptions differ
    this.change(kind, `\0${id}`, { id, body, hops: 0 });
  }

  receive({ neighbour }, message, bytes) {
    const began = now();
    const { kind, id, hops, body } = message;
    if (!this.told.has(neighbour)) throw new Error(`${neighbour} is not in the tree`);
    if (kind === 'publish') this.publish(message, content.publication(body), neighbour);
    else if (kind.endsWith('subscribe')) this.change(kind, neighbour, message);
    else throw new Error(`${kind} is no message of this routing`);
    this.log.note('received', { kind, id, peer: neighbour, hops, bytes, duration: now() - began }, began);
  }

  publish(message, publication, source) {
    const wanting = new Set(content.matching(this.table, publication).flatMap(({ from }) => [...from]));
    this.deliver(content.matching(this.own, publication), message);
    for (const name of this.told.keys()) {
      if (name !== source && wanting.has(name)) this.links.get(name).send({ ...message, hops: message.hops + 1 });
    }
  }

  change(kind, direction, { id, body, hops }) {
    const key = body.toString('latin1');
    const entry = this.table.get(key) || { id, body, predicates: content.subscription(body), from: new Set() };
    this.unconfirmed.get(direction)?.delete(key);
    if (kind === 'subscribe') this.table.set(key, entry) && entry.from.add(direction);
    else if (entry.from.delete(direction) && !entry.from.size) this.table.delete(key);
    for (const name of this.told.keys()) this.tell(name, key, entry, hops);
  }

  tell(name, key, { id, body, from }, hops) {
    const [link, told] = [this.links.get(name), this.told.get(name)];
    const wanted = [...from].some((direction) => direction !== name);
    if (wanted === told.has(key) || !link.incarnation) return;  // a neighbour that never came up is told all when it does
    told[wanted ? 'add' : 'delete'](key);
    link.send({ kind: wanted ? 'subscribe' : 'unsubscribe', id, body, hops: hops + 1 });
  }

  begin(link, again) {
    const name = link.neighbour;
    if (!this.told.has(name)) return;
    this.told.get(name).clear();
    for (const [key, entry] of this.table) this.tell(name, key, entry, 0);
    if (!again) return;
    this.unconfirmed.set(name, new Set([...this.table].filter(([, { from }]) => from.has(name)).map(([key]) => key)));
    this.reconcile(link);
  }

  linkDown() {}  // a tree has no other ways

  reconcile(link) {
    clearTimeout(link.reconciling);
    link.reconciling = setTimeout(() => {
      if (!link.up) return this.reconcile(link);  // it can say nothing
      for (const key of this.unconfirmed.get(link.neighbour)) this.change('unsubscribe', link.neighbour, this.table.get(key));
      return this.unconfirmed.delete(link.neighbour);
    }, RECONCILE_AFTER);
  }

  get awaited() { return this.unconfirmed.size; }

  tables() { return Object.fromEntries([...this.told].filter(([, told]) => told.size).map(([name, told]) => [name, told.size])); }
}

exports.Router = Tree;
