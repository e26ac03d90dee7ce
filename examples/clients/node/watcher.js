#!/usr/bin/env node
// A client program: subscribes to the quotes of the class STOCK, and publishes an alert for each whose close is high.
//
// 1. The broker speaks first: whatever is asked before its welcome would be lost with a stream that never opened.
// 2. The first frame names the session; requests follow in frames of their own. Answers carry the request's number.
// 3. What is not acknowledged is sent again on the next stream, with the same numbers, behind the declarations.
// 4. Notifications are numbered, because the first frame asks for it, and acknowledged once they are processed.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const OF_CONTRACT = ['proto', '../../../proto'].map((place) => path.join(__dirname, place)).find(fs.existsSync);
const options = { includeDirs: [OF_CONTRACT], keepCase: true, defaults: true, oneofs: true, longs: Number, enums: String };
const defined = loader.loadSync(['broker.proto', 'content.proto'], options);
const named = (name) => defined[`brokerlab.v1.${name}`];
const Broker = grpc.makeClientConstructor(named('BrokerClient'));
const AGAIN_AFTER = 200;  // ms

class Watcher {
  constructor(address, name, limit) {
    const session = `${name}-${crypto.randomUUID()}`;  // a process in a container has the same number in each life
    Object.assign(this, { name, limit, session, number: 0, alerts: 0, unacknowledged: [] });
    this.broker = new Broker(address, grpc.credentials.createInsecure());
  }

  open() {
    const stream = this.stream = this.broker.Session();
    stream.on('data', (frame) => this.receive(frame)).on('end', () => this.again('the broker closed the session'));
    stream.on('error', (error) => this.again(error.details));
  }

  /** Opens another stream, as often as one breaks. */
  again(reason) {
    if (this.leaving) process.exit(0);
    if (this.waiting) return;
    console.log(`the session broke: ${reason}`);
    this.waiting = setTimeout(() => { this.waiting = undefined; this.open(); }, AGAIN_AFTER);
  }

  receive({ welcome, events, acknowledged }) {
    if (this.leaving) return;
    if (welcome) this.begin();
    for (const event of events) {
      if (event.outcome === 'OUTCOME_REJECTED') console.log(`rejected: ${event.reason}`);
      if (isNotification(event)) this.notified(event);
    }
    const latest = Math.max(0, ...events.filter(isNotification).map(({ number }) => number));
    if (latest) this.stream.write({ acknowledged: latest });  // 0 of a broker that does not number
    if (acknowledged) this.unacknowledged = this.unacknowledged.filter(({ number }) => number > acknowledged);
  }

  begin() {
    this.stream.write({ session: this.session, numbered: true });
    const alerts = predicates({ class: ['eq', 'ALERT'], symbol: ['isPresent', ''], from: ['isPresent', ''] });
    const declared = [
      { operation: 'OPERATION_ATTACH' },
      { operation: 'OPERATION_ADVERTISE', id: 'alerts', body: alerts },
      { operation: 'OPERATION_SUBSCRIBE', id: 'quotes', body: predicates({ class: ['eq', 'STOCK'] }) },
    ];
    const requests = declared.map((request) => ({ ...request, client: this.name, number: this.number += 1 }));
    this.stream.write({ requests: [...requests, ...this.unacknowledged] });
  }

  notified({ id, body }) {
    const attributes = content(body);
    if (attributes.close <= this.limit) return;
    console.log(`${id}: ${attributes.symbol} is above ${this.limit}`);
    this.publish(`${this.session}-alert${this.alerts += 1}`, { class: 'ALERT', symbol: attributes.symbol, from: this.name });
  }

  publish(id, attributes) {
    const body = encoded(attributes);
    const request = { operation: 'OPERATION_PUBLISH', client: this.name, number: this.number += 1, id, body };
    this.unacknowledged.push(request);
    this.stream.write({ requests: [request] });
  }

  /** Closes this side of the stream; the broker then withdraws what was declared, and closes its own. */
  leave() {
    this.leaving = true;
    this.stream.end();
  }
}

const isNotification = ({ outcome }) => outcome === 'OUTCOME_NOTIFIED';
const valueOf = (value) => (typeof value === 'string' ? { text: value } : { decimal: value });

function encoded(attributes) {
  const list = Object.entries(attributes).map(([name, value]) => ({ name, value: valueOf(value) }));
  return named('Content').serialize({ attributes: list });
}

function predicates(wanted) {
  const list = Object.entries(wanted).map(([attribute, [operator, value]]) => ({ attribute, operator, value: valueOf(value) }));
  return named('Predicates').serialize({ predicates: list });
}

const content = (body) => Object.fromEntries(
  named('Content').deserialize(body).attributes.map(({ name, value }) => [name, value[value.kind]]),
);

const { BROKERLAB_ADDRESS, BROKERLAB_CLIENT, LIMIT = '20' } = process.env;
const watcher = new Watcher(BROKERLAB_ADDRESS, BROKERLAB_CLIENT, Number(LIMIT));
process.on('SIGTERM', () => watcher.leave());
watcher.open();
