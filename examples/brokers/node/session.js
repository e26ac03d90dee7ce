// Sessions of clients: one stream each, continued by name when it breaks.
'use strict';
const grpc = require('@grpc/grpc-js');
const content = require('./content.js');
const { now } = require('./log.js');

const MOST = { requests: 4096, name: 256, sessions: 2000, bytes: 32 << 20, frame: 1024 };
const OPERATIONS = ['', 'attach', 'detach', 'advertise', 'unadvertise', 'subscribe', 'unsubscribe', 'publish', 'compose'];
const [CONFIRMED, REJECTED, NOTIFIED] = [1, 2, 3];
const long = (name) => name.length > MOST.name && [...name].length > MOST.name;

class Session {
  constructor(sessions, call) {
    const { router, log, broker, counts } = sessions;
    Object.assign(this, { sessions, call, router, log, counts, clients: new Map(), bytes: 0 });
    this.progress = { last: 0, rejections: new Map() };  // of its publications, over all streams
    call.on('data', (frame) => this.receive(frame));
    for (const event of ['end', 'cancelled', 'error', 'close']) call.on(event, () => this.end());
    this.write({ welcome: { incarnation: broker.incarnation } });
  }

  receive({ requests = [], session, malformed }) {
    if (this.ended || this.sessions.stopping) return undefined;
    const reason = malformed || (requests.length > MOST.requests && 'too many requests')
      || (requests.some(({ operation }) => !OPERATIONS[operation]) && 'an unknown operation')
      || ((long(session) || requests.some(({ client, id }) => long(client) || long(id))) && 'a name is too long');
    if (reason) {
      this.counts.malformed += 1;
      return this.end('INVALID_ARGUMENT', `malformed frame: ${reason}`);
    }
    if (session) this.continue(session);
    for (const request of requests) this.carryOut({ ...request, number: Number(request.number) });
    const published = requests.findLast(({ operation }) => OPERATIONS[operation] === 'publish');
    return published && this.write({ acknowledged: published.number });
  }

  continue(name) {
    const { byName } = this.sessions;
    const former = byName.get(name);
    former?.end('ABORTED', 'another stream continues the session');
    Object.assign(this, { name, progress: former?.progress || this.progress });
    byName.delete(name);
    byName.set(name, this);  // the latest last
    if (byName.size > MOST.sessions) byName.delete([...byName].find(([, { ended }]) => ended)?.[0]);
  }

  carryOut(request) {
    const { client, number, operation, id, body } = request;
    const [kind, began] = [OPERATIONS[operation], now()];
    const repeat = kind === 'publish' && this.name && number <= this.progress.last;
    const reason = repeat ? this.progress.rejections.get(number) : this.attempt(kind, request);
    const answer = { clients: [client], number, id, outcome: reason === undefined ? CONFIRMED : REJECTED, reason };
    if (kind === 'publish') this.progress.last = Math.max(this.progress.last, number);
    if (kind !== 'publish' || reason !== undefined) this.write({ events: [answer] });
    if (id) this.log.note('received', { kind, id, client, hops: 0, bytes: body.length }, began);
  }

  /** Carries a request out, or says why not. */
  attempt(kind, request) {
    const { client, id, number } = request;
    try {
      content.demand(kind !== 'compose', 'this broker does not detect composite subscriptions');
      content.demand(kind === 'attach' || this.clients.has(client), `client ${client} is not attached to this session`);
      return this[kind](this.clients.get(client), request);
    } catch (error) {
      if (!(error instanceof content.Rejected)) throw error;
      this.counts.rejected += 1;
      if (kind === 'publish') this.progress.rejections.set(number, error.message);
      this.log.note('rejected', { kind: id ? kind : 'control', id, client, text: error.message });
      return error.message;
    }
  }

  attach(_former, { client: id }) {
    content.demand(id && !id.startsWith('\0'), 'a client needs a name that does not begin with a zero character');
    const former = this.sessions.clients.get(id);
    former?.session.detach(former);
    const client = { id, session: this, advertisements: new Map(), subscriptions: new Map() };
    this.clients.set(id, client);
    this.sessions.clients.set(id, client);
  }

  detach({ id, subscriptions }) {
    for (const subscription of subscriptions.values()) this.router.unsubscribe(subscription);
    this.clients.delete(id);
    this.sessions.clients.delete(id);
  }

  advertise({ advertisements }, { id, body }) { advertisements.set(id, content.advertisement(body)); }
  unadvertise({ advertisements }, { id }) { content.demand(advertisements.delete(id), `there is no advertisement ${id}`); }

  /** Repeating a subscription has no effect; another one under the same name replaces it. */
  subscribe(client, { id, body }) {
    const present = client.subscriptions.get(id);
    if (present?.body.equals(body)) return;
    client.subscriptions.set(id, this.router.subscribe(client, body));
    if (present) this.router.unsubscribe(present);
  }

  unsubscribe({ subscriptions }, { id }) {
    content.demand(subscriptions.has(id), `there is no subscription ${id}`);
    this.router.unsubscribe(subscriptions.get(id));
    subscriptions.delete(id);
  }

  publish({ advertisements }, { id, body, published }) {
    const publication = content.publication(body);
    const conforms = [...advertisements.values()].some((advertised) => [...publication].every(advertised.conforms));
    content.demand(conforms, `publication ${id} conforms to no advertisement of its client`);
    this.counts.published += 1;
    this.router.publish({ kind: 'publish', id, body, hops: 0, published: published === '0' ? `${now()}` : published }, publication);
  }

  /** Sends a frame, which waits in the stream until the client reads. */
  write(frame, bytes = MOST.frame) {
    if (this.ended) return;
    this.bytes += bytes;
    this.call.write(frame, () => { this.bytes -= bytes; });
    if (this.bytes > 2 * MOST.bytes) this.end('RESOURCE_EXHAUSTED', 'the client does not read');
  }

  get drained() { return !this.bytes; }

  /** The stream has ended, or ends now for a reason. */
  end(code, details) {
    if (this.ended) return;
    this.ended = true;
    this.sessions.open.delete(this);
    for (const client of this.clients.values()) this.detach(client);
    if (code) this.call.emit('error', { code: grpc.status[code], details });
    else this.call.end();
  }
}

exports.Sessions = class {
  constructor(broker, router, log) {
    Object.assign(this, { broker, router, log, open: new Set(), byName: new Map(), clients: new Map() });
    this.counts = { published: 0, delivered: 0, rejected: 0, dropped: 0, malformed: 0 };
  }

  serve(call) { this.open.add(new Session(this, call)); }

  /** One event for each session with clients of these subscriptions. */
  deliver(subscriptions, { id, body, hops }) {
    const clients = [...new Set(subscriptions.map(({ client }) => client))];
    for (const session of new Set(clients.map((client) => client.session))) {
      const names = clients.filter((client) => client.session === session).map((client) => client.id);
      const text = session.bytes < MOST.bytes ? undefined : 'the session does not read';
      const event = text ? 'dropped' : 'delivered';
      if (!text) session.write({ events: [{ outcome: NOTIFIED, clients: names, id, body, hops }] }, MOST.frame + body.length);
      this.counts[event] += names.length;
      for (const client of names) this.log.note(event, { kind: 'publish', id, client, hops, bytes: body.length, text });
    }
  }
};
