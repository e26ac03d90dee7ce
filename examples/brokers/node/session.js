// Sessions of clients: one stream each, continued by name when it breaks.
//
// 1. The broker speaks first. The first frame of the client names the session.
// 2. Declarations are confirmed in order. Publications are acknowledged together, behind the rejections among them.
// 3. A publication whose number is not above the greatest handled one is a repeat, and not routed again.
// 4. The end of a stream withdraws all that its clients declared. A client that attaches elsewhere moves with nothing.
'use strict';
const grpc = require('@grpc/grpc-js');
const content = require('./content.js');
const { now } = require('./log.js');

const ACKNOWLEDGE_AFTER = 400;  // ms
const ACKNOWLEDGED_AT_ONCE = 128;
const EVENTS_IN_FRAME = 64;
const LARGE = 1 << 20;  // bytes that wait, beyond which a frame has one event
const MOST = { requests: 4096, name: 256, bytes: 32 << 20 };
const OPERATIONS = ['', 'attach', 'detach', 'advertise', 'unadvertise', 'subscribe', 'unsubscribe', 'publish', 'compose'];
const [, CONFIRMED, REJECTED, NOTIFIED] = [0, 1, 2, 3];

class Rejected extends Error {}
const status = (code, details) => ({ code: grpc.status[code], details });
const long = (name) => name.length > MOST.name && [...name].length > MOST.name;

class Sessions {
  constructor(broker, router, log) {
    Object.assign(this, { broker, router, log, published: 0, delivered: 0, rejected: 0, dropped: 0, malformed: 0 });
    Object.assign(this, { open: new Set(), byName: new Map(), clients: new Map() });
  }

  serve(call) { this.open.add(new Session(this, call)); }

  /** One event for each session with clients among these. */
  deliver(clients, { id, body, hops }) {
    const bySession = new Map();
    for (const { id: name, session } of clients) bySession.set(session, [...(bySession.get(session) || []), name]);
    for (const [session, names] of bySession) {
      const taken = session.notify({ outcome: NOTIFIED, clients: names, id, body, hops });
      this[taken ? 'delivered' : 'dropped'] += names.length;
      const text = taken ? undefined : 'the session does not read';
      for (const client of names) {
        this.log.note(taken ? 'delivered' : 'dropped', { kind: 'publish', id, client, hops, bytes: body.length, text });
      }
    }
  }
}

class Session {
  constructor(sessions, call) {
    Object.assign(this, { sessions, call, router: sessions.router, limits: sessions.broker.limits, clients: new Map() });
    Object.assign(this, { progress: { last: 0, rejections: new Map() }, events: [], bytes: 0, handled: 0, acknowledged: 0 });
    call.on('data', (frame) => this.receive(frame)).on('drain', () => this.pump(true));
    for (const event of ['end', 'cancelled', 'error', 'close']) call.on(event, () => this.end());
    this.write({ welcome: { incarnation: sessions.broker.incarnation } });
  }

  // What comes in

  receive({ requests = [], session, malformed }) {
    if (this.ended || this.sessions.stopping) return;
    const reason = malformed || (requests.length > MOST.requests && 'too many requests')
      || (requests.some(({ operation }) => !OPERATIONS[operation]) && 'an unknown operation')
      || ((long(session) || requests.some(({ client, id }) => long(client) || long(id))) && 'a name is too long');
    if (reason) {
      this.sessions.malformed += 1;
      this.end(status('INVALID_ARGUMENT', `malformed frame: ${reason}`));
      return;
    }
    if (session) this.continue(session);
    for (const request of requests) this.carryOut({ ...request, number: Number(request.number) });
    if (this.handled - this.acknowledged >= ACKNOWLEDGED_AT_ONCE) this.acknowledge();
    else if (this.handled > this.acknowledged) this.later ??= setTimeout(() => this.acknowledge(), ACKNOWLEDGE_AFTER);
  }

  continue(name) {
    const { byName } = this.sessions;
    const former = byName.get(name);
    this.progress = former?.progress || this.progress;
    former?.end(status('ABORTED', 'another stream continues the session'));
    this.name = name;
    byName.delete(name);
    byName.set(name, this);  // the latest last
    if (byName.size > 2 * this.limits.sessions) byName.delete([...byName].find(([, { ended }]) => ended)?.[0]);
  }

  carryOut(request) {
    const { client, number, operation, id, body } = request;
    const word = OPERATIONS[operation];
    const answer = { clients: [client], number, id };
    const began = now();
    try {
      if (word === 'publish' && this.isRepeat(number)) {
        const reason = this.progress.rejections.get(number);
        if (reason !== undefined) this.put({ ...answer, outcome: REJECTED, reason });
        return;
      }
      if (word !== 'attach' && !this.clients.has(client)) throw new Rejected(`client ${client} is not attached to this session`);
      this[word](this.clients.get(client) || client, request);
      if (word !== 'publish') this.put({ ...answer, outcome: CONFIRMED });
    } catch (error) {
      if (!(error instanceof Rejected || error instanceof content.ContentError)) throw error;
      const reason = error.message;
      this.sessions.rejected += 1;
      if (word === 'publish') this.progress.rejections.set(number, reason);
      this.sessions.log.note('rejected', { kind: id ? word : 'control', id, client, text: reason });
      this.put({ ...answer, outcome: REJECTED, reason });
    } finally {
      if (id) this.sessions.log.note('received', { kind: word, id, client, hops: 0, bytes: body.length }, began);
    }
  }

  /** Counts a publication as handled. True for one that a former stream of the session has brought. */
  isRepeat(number) {
    const repeat = this.name !== undefined && number <= this.progress.last;
    this.handled = number;
    this.progress.last = Math.max(this.progress.last, number);
    return repeat;
  }

  attach(_former, { client: id }) {
    if (!id || id.startsWith('\0')) throw new Rejected('a client needs a name that does not begin with a zero character');
    this.sessions.clients.get(id)?.session.detach({ id });
    const client = { id, session: this, advertisements: new Map(), subscriptions: new Map() };
    this.clients.set(id, client);
    this.sessions.clients.set(id, client);
  }

  detach({ id }) {
    for (const { overlay } of this.clients.get(id).subscriptions.values()) this.router.unsubscribe(overlay);
    this.clients.delete(id);
    this.sessions.clients.delete(id);
  }

  advertise({ advertisements }, { id, body }) { advertisements.set(id, content.advertisement(body)); }

  unadvertise({ advertisements }, { id }) {
    if (!advertisements.delete(id)) throw new Rejected(`there is no advertisement ${id}`);
  }

  /** Repeating a subscription has no effect; another one under the same name replaces it. */
  subscribe(client, { id, body }) {
    content.subscription(body);
    const present = client.subscriptions.get(id);
    if (present?.body.equals(body)) return;
    if (present) this.router.unsubscribe(present.overlay);
    client.subscriptions.set(id, { body, overlay: this.router.subscribe(client, body) });
  }

  unsubscribe({ subscriptions }, { id }) {
    if (!subscriptions.has(id)) throw new Rejected(`there is no subscription ${id}`);
    this.router.unsubscribe(subscriptions.get(id).overlay);
    subscriptions.delete(id);
  }

  publish({ advertisements }, { id, body, published }) {
    const publication = content.publication(body);
    const conforms = [...advertisements.values()].some((advertised) => content.conforms(publication, advertised));
    if (!conforms) throw new Rejected(`publication ${id} conforms to no advertisement of its client`);
    this.sessions.published += 1;
    this.router.publish({ kind: 'publish', id, body, hops: 0, published: published === '0' ? String(now()) : published }, publication);
  }

  compose() { throw new Rejected('this broker does not detect composite subscriptions'); }

  // What goes out

  put(event) {
    this.events.push(event);
    this.bytes += event.body?.length || 0;
    if (this.events.length > 2 * this.limits.session_queue) this.end(status('RESOURCE_EXHAUSTED', 'the client does not read'));
    this.pump();
  }

  /** False when the client does not read and the notification is dropped. */
  notify(event) {
    if (this.events.length >= this.limits.session_queue || this.bytes >= MOST.bytes) return false;
    this.put(event);
    return true;
  }

  acknowledge() {
    clearTimeout(this.later);
    Object.assign(this, { later: undefined, due: true });
    this.pump();
  }

  /** Writes what waits as long as the client reads, an acknowledgement behind all events. */
  pump(drained = false) {
    this.writable ||= drained;
    while (this.writable && !this.ended && this.events.length) {
      const events = this.events.splice(0, this.bytes > LARGE ? 1 : EVENTS_IN_FRAME);
      for (const { body } of events) this.bytes -= body?.length || 0;
      this.write({ events });
    }
    if (!this.writable || this.ended || !this.due) return;
    Object.assign(this, { due: false, acknowledged: this.handled });
    this.write({ acknowledged: this.handled });
  }

  write(frame) { this.writable = this.call.write(frame); }

  get drained() { return !this.events.length; }

  /** The stream has ended, or ends now for a reason. */
  end(reason) {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.later);
    this.sessions.open.delete(this);
    for (const client of this.clients.values()) this.detach(client);
    if (reason) this.call.emit('error', reason);
    else this.call.end();
  }
}

exports.Sessions = Sessions;
