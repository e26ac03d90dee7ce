// One end of a link to a neighbour: lines of JSON over TCP, resumed without loss or repetition when a stream breaks.
//
// 1. Messages to one incarnation of the neighbour are numbered from 1, and kept until it has acknowledged them.
// 2. A stream begins with a hello of each end: its own incarnation, the neighbour's as it knows it, and how many messages
//    of that one it has handled. What the neighbour sent beyond them travels again.
// 3. A neighbour with another incarnation knows nothing: what was meant for the former one is dropped.
// 4. A neighbour that is silent for three beats is given up.
'use strict';
const net = require('node:net');
const readline = require('node:readline');
const { now } = require('./log.js');

const ACKNOWLEDGE_AFTER = 100;  // ms, or a quarter of the window
const SILENT_BEATS = 3;

function split(address) {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
const bytes = ({ body }) => (body ? Buffer.byteLength(body, 'base64') : 0);

class Link {
  constructor(broker, { neighbour, local, remote, dial }, log, router) {
    Object.assign(this, { broker, limits: broker.limits, neighbour, local, remote, dials: dial, log, router });
    Object.assign(this, { up: false, queue: [], flight: [], sent: 0, publications: 0, dropped: 0 });
    Object.assign(this, { incarnation: 0, numbered: 0, handled: 0, wait: this.limits.reconnect_first });
    this.beats = setInterval(() => this.beat(), this.limits.heartbeat * 1000);
  }

  /** Passes a message on, or keeps it until the link is up. */
  send(message) {
    if (this.queue.length >= this.limits.link_queue) return this.drop([message], 'queue full');
    this.queue.push({ message, since: now() });
    return this.pump();
  }

  pump() {
    while (this.up && this.queue.length && this.flight.length < this.limits.window && !this.socket.writableNeedDrain) {
      const { message, since } = this.queue.shift();
      this.flight.push([(this.numbered += 1), message]);
      this.sent += 1;
      this.publications += message.kind === 'publish';
      this.log.note('sent', { kind: message.kind, id: message.id, peer: this.neighbour, hops: message.hops,
        queue: this.queue.length, duration: now() - since, bytes: bytes(message) });
      this.write('message', this.numbered, message);
    }
  }

  drop(messages, text) {
    this.dropped += messages.length;
    for (const { kind, id, hops } of messages) this.log.note('dropped', { kind, id, peer: this.neighbour, hops, text });
  }

  // Streams

  async open() {
    if (this.dials) return this.dial();
    this.server = net.createServer((socket) => this.adopt(socket).hello());
    return new Promise((done, fail) => { this.server.once('error', fail).listen(split(this.local), done); });
  }

  dial() {
    const socket = net.connect({ ...split(this.remote), localAddress: split(this.local).host }, () => this.hello());
    this.adopt(socket);
  }

  /** Serves a stream. A new one means that the neighbour has given the former one up. */
  adopt(socket) {
    this.end();
    this.socket = socket.setNoDelay(true);
    this.silent = 0;  // beats, not seconds: a machine that stops for a while has heard nobody
    socket.on('drain', () => this.pump()).on('error', () => {}).on('close', () => {
      if (this.socket === socket) this.end();
      if (!this.dials || this.closed) return;
      this.retry = setTimeout(() => this.dial(), this.wait * 1000);
      this.wait = Math.min(2 * this.wait, this.limits.reconnect_last);
    });
    readline.createInterface({ input: socket }).on('line', (line) => {
      if (this.socket !== socket) return;
      this.silent = 0;
      try { this.receive(...JSON.parse(line)); } catch (error) {
        console.error(`link to ${this.neighbour}: ${error.message}`);
        socket.destroy();
      }
    }).on('error', () => {});
    return this;
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
    if (this.socket && (this.silent += 1) > SILENT_BEATS) this.socket.destroy();
    else this.acknowledge();
  }

  // Frames

  hello() {
    const { broker: { id, incarnation }, incarnation: known, handled } = this;
    this.write('hello', { id, incarnation, known, handled });
  }

  receive(what, first, second) {
    if (what === 'hello') return this.greet(first);
    if (!this.up) throw new Error('no hello came');
    if (what === 'acknowledged') return this.acknowledged(first);
    if (first !== this.handled + 1) throw new Error(`message ${first} came after ${this.handled}`);
    this.router.receive(this, second, bytes(second));
    this.handled = first;
    if (first % (this.limits.window >> 2 || 1) === 0) return this.acknowledge();
    return (this.later ??= setTimeout(() => this.acknowledge(), ACKNOWLEDGE_AFTER));
  }

  greet({ id, incarnation, known, handled }) {
    if (id !== this.neighbour || incarnation < this.incarnation) throw new Error(`hello of ${id}, incarnation ${incarnation}`);
    const former = this.incarnation;
    this.wait = this.limits.reconnect_first;
    if (incarnation !== former) {
      this.drop([...this.flight.map(([, message]) => message), ...this.queue.map(({ message }) => message)], 'neighbour restarted');
      Object.assign(this, { incarnation, numbered: 0, handled: 0, flight: [], queue: [] });
    } else {
      if (known === this.broker.incarnation) this.acknowledged(handled);  // sends nothing yet: the link is down
      for (const [number, message] of this.flight) this.write('message', number, message);
    }
    this.up = true;
    this.log.note('link_up', { peer: this.neighbour, count: incarnation });
    if (incarnation !== former) this.router.begin(this, former !== 0);
    this.pump();
  }

  acknowledge() {
    clearTimeout(this.later);
    this.later = undefined;
    if (this.up) this.write('acknowledged', this.handled);
  }

  acknowledged(number) {
    while (this.flight.length && this.flight[0][0] <= number) this.flight.shift();
    this.pump();
  }

  write(...frame) { this.socket?.write(`${JSON.stringify(frame)}\n`); }

  // The broker

  get drained() { return !this.up || (!this.queue.length && !this.flight.length); }

  close() {
    this.closed = true;
    clearInterval(this.beats);
    clearTimeout(this.retry);
    this.server?.close();
    this.end();
  }

  status() {
    const { neighbour, up, queue, flight, sent, handled, dropped, publications } = this;
    return { neighbour, up, queued: queue.length, in_flight: flight.length, sent, received: handled, dropped, publications,
      utilisation: 1 };
  }
}

exports.Link = Link;
