// One end of a link to a neighbour: lines of JSON over TCP, resumed without loss or repetition when a stream breaks.
'use strict';
const { once } = require('node:events');
const net = require('node:net');
const readline = require('node:readline');
const { now } = require('./log.js');

const SILENT_BEATS = 3;
const MOST_KEPT = 100000;
const endpoint = (address) => ({ host: address.split(':')[0], port: address.split(':')[1] });

/** Bytes within JSON. */
function packed(key, value) { return Buffer.isBuffer(this[key]) ? { base64: this[key].toString('base64') } : value; }
const unpacked = (_key, value) => (value?.base64 === undefined ? value : Buffer.from(value.base64, 'base64'));

exports.Link = class {
  constructor(broker, { neighbour, local, remote, dial: dials }, log, router) {
    Object.assign(this, { broker, neighbour, local, remote, dials, log, router });
    Object.assign(this, { up: false, incarnation: 0, kept: [], flying: 0, acknowledged: 0 });
    Object.assign(this, { handled: 0, sent: 0, publications: 0, dropped: 0 });
    setInterval(() => this.beat(), broker.limits.heartbeat * 1000);
  }

  /** Passes a message on, or keeps it until the link is up. */
  send(message) {
    if (this.kept.length >= MOST_KEPT) this.drop(message, 'too many messages wait');
    else this.kept.push({ message, since: now() });
    if (this.up) this.pump();
  }

  /** Sends what was never sent. */
  pump() {
    while (this.flying < this.kept.length) {
      const { message, since } = this.kept[this.flying];
      this.flying += 1;
      this.sent += 1;
      this.publications += message.kind === 'publish';
      const left = now(), bytes = this.write({ message });  // in this order: it may be received before this goes on
      this.note('sent', message, { queue: this.kept.length - this.flying, duration: left - since, bytes }, left);
    }
  }

  drop(message, text) {
    this.dropped += 1;
    this.note('dropped', message, { text });
  }

  note(event, { kind, id, hops }, fields, time) { this.log.note(event, { kind, id, peer: this.neighbour, hops, ...fields }, time); }

  async open() {
    if (this.dials) return this.dial();
    return once(net.createServer((socket) => this.serve(socket)).listen(endpoint(this.local)), 'listening');
  }

  dial() {
    const socket = net.connect({ ...endpoint(this.remote), localAddress: endpoint(this.local).host });
    socket.on('close', () => setTimeout(() => this.dial(), this.broker.limits.reconnect_first * 1000));
    this.serve(socket);
  }

  /** Serves a stream. A new one means that the neighbour has given the former one up. */
  serve(socket) {
    const { broker: { id, incarnation }, incarnation: known } = this;
    this.end();
    Object.assign(this, { socket, silent: 0 });  // beats, not seconds: a machine that stops has heard nobody
    readline.createInterface({ input: socket }).on('error', () => {}).on('line', (line) => {
      try { if (this.socket === socket) this.receive(JSON.parse(line, unpacked), Buffer.byteLength(line) + 1); } catch (error) {
        console.error(`link to ${this.neighbour}: ${error.message}`);
        socket.destroy();
      }
    });
    socket.setNoDelay().on('error', () => {}).on('close', () => this.socket === socket && this.end());
    this.write({ hello: { id, incarnation, known } });
  }

  end() {
    const { socket, up } = this;
    Object.assign(this, { socket: undefined, up: false });
    socket?.destroy();
    if (!up) return;
    this.log.note('link_down', { peer: this.neighbour, count: this.incarnation });
    this.router.linkDown();
  }

  beat() {
    if (this.socket && (this.silent += 1) > SILENT_BEATS) this.end();
    else if (this.up) this.write({});
  }

  write(frame) {
    const line = Buffer.from(`${JSON.stringify({ ...frame, handled: this.handled }, packed)}\n`);
    this.socket.write(line);
    return line.length;
  }

  receive({ hello, message, handled }, bytes) {
    if (hello) this.greet(hello, handled);
    else if (this.up) this.release(handled);
    else throw new Error('no hello came');
    this.silent = 0;
    if (!message) return;
    this.router.receive(this, message, bytes);
    this.handled += 1;
    if (this.up) this.write({});
  }

  greet({ id, incarnation, known }, handled) {
    const former = this.incarnation;
    if (id !== this.neighbour || !(incarnation >= former)) throw new Error(`hello of ${id}, incarnation ${incarnation}`);
    if (incarnation !== former) {
      for (const { message } of this.kept) this.drop(message, 'the neighbour was restarted');
      Object.assign(this, { incarnation, kept: [], flying: 0, acknowledged: 0, handled: 0 });
    } else {
      if (known === this.broker.incarnation) this.release(handled);
      for (const { message } of this.kept.slice(0, this.flying)) this.write({ message });
    }
    this.up = true;
    this.log.note('link_up', { peer: this.neighbour, count: incarnation });
    if (incarnation !== former) this.router.begin(this);
    this.pump();
  }

  /** The neighbour has handled so many messages. */
  release(number) {
    const more = number - this.acknowledged;
    if (!(more >= 0 && more <= this.flying)) throw new Error(`${number} messages acknowledged after ${this.acknowledged}`);
    this.kept.splice(0, more);
    this.flying -= more;
    this.acknowledged = number;
  }

  get drained() { return !this.up || !this.kept.length; }
  status() {
    const { neighbour, up, kept, flying: in_flight, sent, handled: received, dropped, publications } = this;
    return { neighbour, up, queued: kept.length - in_flight, in_flight, sent, received, dropped, publications, utilisation: 1 };
  }
};
