// One end of a link to a neighbour, resumed without loss or repetition when a stream breaks: the service BrokerLink.
//
// 1. Messages to one incarnation of the neighbour are counted from 1, and kept until it has acknowledged them.
// 2. A stream begins with a hello of each end: its own incarnation, the neighbour's as it knows it, and how many messages
//    of that one it has handled. What the neighbour sent beyond them travels again. The end that did not dial answers.
// 3. A neighbour with another incarnation knows nothing: what was meant for the former one is dropped.
// 4. A neighbour that is silent for three beats is given up.
'use strict';
const { promisify } = require('node:util');
const grpc = require('@grpc/grpc-js');
const { now } = require('../log.js');
const { named } = require('../proto.js');

const LINK = named('BrokerLink');
const Neighbour = grpc.makeGenericClientConstructor(LINK, 'BrokerLink');
const LIMITS = { window: 128, link_queue: 100000 };

const ACKNOWLEDGE_AFTER = 100;  // ms, or a quarter of the window
const SILENT_BEATS = 3;
const KINDS = ['', 'advertise', 'unadvertise', 'subscribe', 'unsubscribe', 'publish', 'control'];
const LARGEST = { 'grpc.max_receive_message_length': 64 << 20, 'grpc.max_send_message_length': 64 << 20 };
const bytes = ({ body, header }) => (body?.length || 0) + (header?.length || 0);

class Link {
  constructor(broker, { neighbour, local, remote, dial, appearance = 1 }, log, router) {
    Object.assign(this, { broker, limits: { ...LIMITS, ...broker.limits }, neighbour, local, remote, dials: dial, appearance, log, router });
    Object.assign(this, { up: false, queue: [], flight: [], sent: 0, publications: 0, dropped: 0 });
    Object.assign(this, { incarnation: 0, acknowledged: 0, handled: 0, wait: this.limits.reconnect_first });
    setInterval(() => this.beat(), this.limits.heartbeat * 1000);
  }

  /** Passes a message on, or keeps it until the link is up. */
  send(message) {
    if (this.queue.length >= this.limits.link_queue) return this.drop([message], 'queue full');
    this.queue.push({ message, since: now() });
    return this.pump();
  }

  pump() {
    while (this.up && this.writable && this.queue.length && this.flight.length < this.limits.window) {
      const { message, since } = this.queue.shift();
      const { kind, id, hops } = message;
      this.flight.push(message);
      this.sent += 1;
      this.publications += kind === 'publish';
      this.log.note('sent', { kind, id, peer: this.neighbour, hops, queue: this.queue.length, duration: now() - since,
        bytes: bytes(message) });
      this.write([message]);
    }
  }

  drop(messages, text) {
    this.dropped += messages.length;
    for (const { kind, id, hops } of messages) this.log.note('dropped', { kind, id, peer: this.neighbour, hops, text });
  }

  // Streams

  async open() {
    if (this.dials) return this.dial();
    this.server = new grpc.Server(LARGEST);
    this.server.addService(LINK, { Link: (call) => this.watch(call) });
    return promisify(this.server.bindAsync.bind(this.server))(this.local, grpc.ServerCredentials.createInsecure());
  }

  dial() {
    const client = new Neighbour(this.remote, grpc.credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1, ...LARGEST });
    this.take(client.Link());
    this.watch(this.call).once('status', () => {
      client.close();
      setTimeout(() => this.dial(), this.wait * 1000);
      this.wait = Math.min(2 * this.wait, this.limits.reconnect_last);
    });
    this.hello();
  }

  watch(call) {
    for (const event of ['end', 'cancelled', 'error', 'close']) call.on(event, () => this.call === call && this.end());
    return call.on('drain', () => this.call === call && this.pump(this.writable = true)).on('data', (frame) => {
      try { this.receive(call, frame); } catch ({ message: details }) {
        console.error(`link to ${this.neighbour}: ${details}`);
        this.refuse(call, { code: grpc.status.FAILED_PRECONDITION, details });
      }
    });
  }

  /** Serves a stream. A new one means that the former one was given up. */
  take(call) {
    this.end();
    Object.assign(this, { call, writable: true, silent: 0 });  // beats, not seconds: a machine that stops has heard nobody
  }

  refuse(call, status) {
    if (call.cancel) call.cancel();
    else call.emit('error', status);
  }

  end() {
    const { call, up } = this;
    Object.assign(this, { call: undefined, up: false });
    if (call) this.refuse(call, { code: grpc.status.CANCELLED, details: 'the stream was given up' });
    if (!up) return;
    this.log.note('link_down', { peer: this.neighbour, count: this.incarnation });
    this.router.linkDown();
  }

  beat() {
    if (this.call && (this.silent += 1) > SILENT_BEATS) this.end();
    else this.acknowledge();
  }

  // Frames

  hello() {
    const { broker: { id, incarnation, protocol }, incarnation: known, handled, appearance } = this;
    this.call.write({ hello: { broker: id, incarnation, protocol, neighbour_incarnation: known, handled, appearance } });
  }

  receive(call, { hello, messages, acknowledged }) {
    if (hello) return this.greet(call, hello);
    if (call !== this.call || !this.up) throw new Error('no hello came');
    this.silent = 0;
    this.release(Number(acknowledged));
    for (const message of messages) this.router.receive(this, { ...message, kind: KINDS[message.kind] }, bytes(message));
    this.handled += messages.length;
    this.unacknowledged += messages.length;
    if (this.unacknowledged >= (this.limits.window >> 2 || 1)) return this.acknowledge();
    return messages.length && (this.later ??= setTimeout(() => this.acknowledge(), ACKNOWLEDGE_AFTER));
  }

  greet(call, { broker, protocol, appearance, incarnation: sent, neighbour_incarnation: known, handled }) {
    const { incarnation: former, flight } = this;
    const incarnation = Number(sent);
    if (this.up && call === this.call) throw new Error('a hello amid a stream');
    if (broker !== this.neighbour || protocol !== this.broker.protocol || (Number(appearance) || 1) !== this.appearance
      || incarnation < former) throw new Error(`hello of ${broker}, incarnation ${incarnation} and appearance ${appearance}, by ${protocol}`);
    if (!this.dials) this.take(call);
    if (!this.dials) this.hello();
    this.wait = this.limits.reconnect_first;
    if (incarnation !== former) {
      this.drop([...flight, ...this.queue.map(({ message }) => message)], 'neighbour restarted');
      Object.assign(this, { incarnation, acknowledged: 0, handled: 0, flight: [], queue: [] });
    } else {
      this.release(Number(known) === this.broker.incarnation ? Number(handled) : 0);
      for (const message of flight) this.write([message]);
    }
    Object.assign(this, { up: true, silent: 0, unacknowledged: 0 });
    this.log.note('link_up', { peer: this.neighbour, count: incarnation });
    if (incarnation !== former) this.router.begin(this, former !== 0);
    this.pump();
  }

  acknowledge() {
    clearTimeout(this.later);
    Object.assign(this, { later: undefined, unacknowledged: 0 });
    if (this.up) this.write([]);
  }

  /** The neighbour has handled so many messages. */
  release(number) {
    const more = number - this.acknowledged;
    if (more < 0 || more > this.flight.length) throw new Error(`${number} messages acknowledged after ${this.acknowledged}`);
    this.flight.splice(0, more);
    this.acknowledged = number;
    if (more) this.pump();
  }

  write(messages) {
    const encoded = messages.map((message) => ({ ...message, kind: KINDS.indexOf(message.kind) }));
    this.writable = this.call.write({ messages: encoded, acknowledged: this.handled });
  }

  // The broker

  get drained() { return !this.up || (!this.queue.length && !this.flight.length); }

  status() {
    const { neighbour, up, queue, flight, sent, handled, dropped, publications } = this;
    return { neighbour, up, queued: queue.length, in_flight: flight.length, sent, received: handled, dropped, publications,
      utilisation: 1 };
  }
}

exports.Link = Link;
