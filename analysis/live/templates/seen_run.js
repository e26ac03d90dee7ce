// The state of `analysis/live/frames.py` as the page asks for it: courses over all seconds, and what holds at a moment.
// Times are seconds on the clock of the logs.
const CHECKPOINT_EVERY = 64, PHASES = ["start", "join", "run", "drain", "stop"];

class SeenVariant {
  constructor(name) {
    Object.assign(this, { name, brokers: [], links: [], ways: [], sites: [], phases: [], frames: [], followed: [], verdict: "", version: 0 });
    this.places = new Map();
    this.forget();
  }

  take(given) {
    if (given.overlay) {
      Object.assign(this, { ways: [], sites: [] }, given.overlay);
      this.names = this.brokers.map(([name]) => name);
      this.pairs = this.linkedPairs();
    }
    this.phases = given.phases;
    this.followed = given.followed ?? this.followed;
    this.verdict = given.verdict ?? this.verdict;
    let grown = false;
    for (const frame of given.frames) {
      const place = this.places.get(frame.at);
      if (place === undefined) { this.frames.push(frame); grown = true; }
      else this.frames[place] = frame;
    }
    if (grown) {
      this.frames.sort((a, b) => a.at - b.at);
      this.places = new Map(this.frames.map((frame, place) => [frame.at, place]));
    }
    this.forget();
  }

  // What follows from the frames is counted again when they have changed.
  forget() {
    this.version++;
    this.counted = this.cursor = null;
    this.checkpoints = [];
  }

  linkedPairs() {
    const found = new Map();
    this.links.forEach(([from, to], link) => {
      if (from < 0 || to < 0) return;
      const ends = [Math.min(from, to), Math.max(from, to)], key = ends.join("-");
      const [a, b] = ends.map(end => this.names[end]);
      if (!found.has(key)) found.set(key, { key, ends, links: [], ways: [`${a}-${b}`, `${b}-${a}`, `${a}->${b}`, `${b}->${a}`] });
      found.get(key).links.push(link);
    });
    return [...found.values()];
  }

  get first() { return this.frames[0].at; }
  get last() { return this.frames[this.frames.length - 1].at; }
  // The start of the run phase. A phase is known when it has ended, so while the run phase lasts it is the join phase's end.
  get zero() { return this.phase("run")?.[1] ?? this.phase("join")?.[2] ?? this.first; }
  phase(name) { return this.phases.find(([found]) => found === name); }
  phaseAt(time) {
    const within = this.phases.find(([, begin, end]) => begin <= time && time < end), last = this.phases[this.phases.length - 1];
    return within?.[0] ?? (last && time >= last[2] ? PHASES[PHASES.indexOf(last[0]) + 1] : undefined);
  }

  courses() {
    if (this.counted) return this.counted;
    const { first, last } = this, size = last - first + 1, course = () => new Float64Array(size), counted = {
      published: course(), notified: course(), missing: course(), median: course().fill(NaN), most: course().fill(NaN),
      queue: course(), due: course(), arrived: course(), strikes: [], shades: [],
    };
    const waiting = new Map(), active = new Map();
    let due = 0, arrived = 0, place = 0;
    for (let second = 0; second < size; second++) {
      const frame = this.frames[place]?.at === first + second ? this.frames[place++] : {};
      counted.published[second] = frame.published ?? 0;
      counted.notified[second] = frame.notified ?? 0;
      counted.due[second] = due += frame.due ?? 0;
      counted.arrived[second] = arrived += frame.arrived ?? 0;
      counted.missing[second] = due - arrived;
      counted.median[second] = frame.median_ms ?? NaN;
      counted.most[second] = frame.most_ms ?? NaN;
      for (const [link, count] of frame.queues ?? []) count ? waiting.set(link, count) : waiting.delete(link);
      for (const count of waiting.values()) counted.queue[second] = Math.max(counted.queue[second], count);
      if (active.size) counted.shades.push(second);
      for (const [kind, where, begins, at, site, to, joins] of frame.strikes ?? []) {
        counted.strikes.push({ kind, where, begins, at, site, to, joins });
        if (kind === "appeared" || kind === "vanished") continue;
        begins ? active.set(where, kind) : active.delete(where);
      }
      if (active.size && counted.shades[counted.shades.length - 1] !== second) counted.shades.push(second);
    }
    counted.strikes.sort((a, b) => a.at - b.at);
    counted.changes = counted.strikes.some(({ kind }) => kind === "appeared" || kind === "vanished");
    return this.counted = counted;
  }

  // What holds at a moment: queues and faults stay as they are until the logs say otherwise. A replay goes on from the
  // moment before, so that it costs the same late in a long run; to go back, it begins at a checkpoint.
  at(time) {
    const { strikes } = this.courses();
    if (!this.cursor || time < this.cursor.time) this.cursor = this.restored(time);
    const cursor = this.cursor;
    cursor.time = time;
    while (cursor.place < this.frames.length && this.frames[cursor.place].at <= time) {
      if (cursor.place % CHECKPOINT_EVERY === 0) this.checkpoints[cursor.place / CHECKPOINT_EVERY] ??= copied(cursor, this.frames[cursor.place].at);
      const frame = this.frames[cursor.place++];
      for (const [link, count] of frame.queues ?? []) cursor.waiting.set(link, count);
      for (const [broker, share] of frame.work ?? []) cursor.work.set(broker, share);
      for (const [site, , , unread, dropped] of frame.sites ?? []) {
        cursor.unread.set(site, (cursor.unread.get(site) ?? 0) + unread);
        cursor.dropped.set(site, (cursor.dropped.get(site) ?? 0) + dropped);
      }
      cursor.access = new Map((frame.sites ?? []).map(([site, toBroker, toClients]) => [site, [toBroker, toClients]]));
      cursor.sent = new Map(frame.sent ?? []);
      cursor.sentAt = frame.at;
      this.strike(cursor, strikes, frame.at);
    }
    if (cursor.sentAt !== Math.floor(time)) cursor.sent = cursor.access = new Map();
    this.strike(cursor, strikes, time);
    return cursor;
  }

  strike(cursor, strikes, time) {
    for (; cursor.struck < strikes.length && strikes[cursor.struck].at <= time; cursor.struck++) {
      const { kind, where, begins, at, site, to, joins } = strikes[cursor.struck];
      if (to >= 0) cursor.moved.set(site, to);
      if (joins >= 0) for (const [place, more] of [[site, -1], [joins, 1]]) cursor.clients.set(place, (cursor.clients.get(place) ?? 0) + more);
      if (site >= 0) cursor.siteOf.set(where, joins >= 0 ? joins : site);
      if (kind === "vanished") cursor.absent.add(where);
      else if (kind === "appeared") { cursor.absent.delete(where); cursor.appeared.set(where, at); cursor.newest = at; }
      else begins ? cursor.down.set(where, kind) : cursor.down.delete(where);
    }
  }

  restored(time) {
    const found = this.checkpoints.findLast(checkpoint => checkpoint && checkpoint.time <= time);
    if (found) return copied(found, found.time);
    // A link that appears before it has ever vanished was not there at the start.
    const absent = new Set(), known = new Set();
    for (const { kind, where } of this.courses().strikes) {
      if (kind === "appeared" && !known.has(where)) absent.add(where);
      if (kind === "appeared" || kind === "vanished") known.add(where);
    }
    return {
      time: -Infinity, place: 0, struck: 0, sentAt: NaN, newest: -Infinity, sent: new Map(), waiting: new Map(), work: new Map(), down: new Map(),
      absent, appeared: new Map(), access: new Map(), unread: new Map(), dropped: new Map(), moved: new Map(), clients: new Map(), siteOf: new Map(),
    };
  }

  // Where a broker is in the unit square: on the straight way between the corners before and after the time.
  position(broker, time) {
    if (!this.ways.length) return this.brokers[broker].slice(1);
    const way = this.ways[broker], passed = time - (this.phase("join")?.[1] ?? this.first);
    let low = 0, high = way.length - 1;
    if (passed <= way[0][0]) return way[0].slice(1);
    if (passed >= way[high][0]) return way[high].slice(1);
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (way[middle][0] <= passed) low = middle; else high = middle;
    }
    const [begin, ax, ay] = way[low], [end, bx, by] = way[high], part = end > begin ? (passed - begin) / (end - begin) : 0;
    return [ax + part * (bx - ax), ay + part * (by - ay)];
  }
}

function copied(cursor, time) {
  const copy = { ...cursor, time };
  for (const name of ["sent", "waiting", "work", "down", "appeared", "access", "unread", "dropped", "moved", "clients", "siteOf"]) copy[name] = new Map(cursor[name]);
  copy.absent = new Set(cursor.absent);
  return copy;
}
