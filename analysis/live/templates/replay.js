// One page for a run that goes on and for one that is over, also as a part of the report. A server sends what has changed
// of a run that goes on.
const FOLLOWED_SECONDS = 20, LAST_EVENTS = 4, LAST_MOMENT = 0.999;

class Replay {
  constructor(root) {
    this.root = root;
    const parts = new Map();
    this.part = name => parts.get(name) ?? parts.set(name, root.querySelector("." + name)).get(name);
    this.live = root.dataset.feed === "live";
    Object.assign(this, { variants: new Map(), version: 0, over: !this.live, chosen: null, current: null, now: null, following: this.live, playing: false, before: null });
    this.map = new Sheet(this.part("map"));
    this.sheets = Object.fromEntries(["rates", "missing", "delays", "queue", "chosen"].map(name => [name, new Sheet(this.part(name))]));
    this.listen();
  }

  get variant() { return this.variants.get(this.current); }
  get followed() { return this.variant?.followed[this.part("follow").value]; }

  // The times between which the slider moves.
  get span() {
    const { variant, followed } = this;
    if (!followed) return [variant.first, variant.last + LAST_MOMENT];
    const { 0: [first], [followed[1].length - 1]: [last] } = followed[1];
    return [first, last + Math.max(0.05 * (last - first), 0.001)];
  }

  take(state) {
    this.version = state.version;
    this.over = this.over || state.over;
    for (const given of state.variants) {
      if (!this.variants.has(given.name)) {
        this.variants.set(given.name, new SeenVariant(given.name));
        this.part("variant").append(new Option(given.name, given.name));
        if (this.current === null || this.following) this.choose(given.name);
      }
      this.variants.get(given.name).take(given);
    }
    if (this.live && state.scenario) this.entitle(state.scenario);
    this.tellAwaited(state.awaited_hosts ?? []);
    this.part("variant").value = this.current ?? "";
    this.part("variant").parentElement.hidden = this.variants.size < 2;
    this.offerPublications();
  }

  // The name of the scenario, which a page that was opened before the run began does not know.
  entitle(scenario) {
    document.title = `${scenario}: live`;
    document.querySelector("h1").textContent = scenario;
  }

  // Hosts whose logs are missing, so that nobody takes a part of the overlay for the whole.
  tellAwaited(hosts) {
    const logs = `Without the logs of ${hosts.join(", ")}`, part = this.part("awaited");
    part.hidden = !hosts.length;
    this.set("awaited", this.over ? `${logs}, which are not there: what happened at their brokers and clients is not shown.`
      : `${logs} so far: hosts send them when the run is over.`);
  }

  choose(name) {
    this.current = name;
    this.chosen = this.now = null;
  }

  offerPublications() {
    const select = this.part("follow"), { variant } = this, offered = variant?.followed ?? [];
    if (select.dataset.of === `${this.current} ${offered.length}`) return;
    select.dataset.of = `${this.current} ${offered.length}`;
    const options = offered.map(([name, visits], index) => new Option(`the way of ${name}, at ${this.clock(visits[0][0])}`, index));
    select.replaceChildren(new Option("the whole run", ""), ...options);
    select.parentElement.hidden = !offered.length;
  }

  // Seconds from the start of the run phase.
  clock(time, decimals = 1) { return `${(time - this.variant.zero).toFixed(decimals).replace(/^-(?=[0.]+$)/, "")} s`; }

  draw() {
    const { variant, part } = this;
    if (!variant?.frames.length) {
      part("sentence").textContent = this.over ? "No node's log is there." : "Nothing has been logged yet: brokers and clients start.";
      return;
    }
    const followed = this.followed, [begin, end] = this.span;
    if (this.following) this.now = end;
    this.now = Math.min(end, Math.max(begin, this.now ?? end));
    const counted = variant.courses(), second = Math.min(variant.last, Math.floor(this.now)) - variant.first;
    const slider = part("time");
    if (Number(slider.min) !== begin || Number(slider.max) !== end) Object.assign(slider, { min: begin, max: end });
    slider.value = this.now;
    const drawn = drawMap(this.map, variant, this.now, this.chosen, followed);
    this.tell(counted, second, drawn);
    const passed = this.now - variant.first, times = [variant.first, variant.last].map(time => this.clock(time, 0));
    const chart = (name, lines, key = "") => this.sheets[name].chart(`${variant.name} ${variant.version} ${key}`, counted.shades, lines, times, passed);
    chart("rates", [counted.published, counted.notified]);
    chart("missing", [counted.missing]);
    chart("delays", [counted.median, counted.most]);
    chart("queue", [counted.queue]);
    this.drawChosen(chart);
  }

  drawChosen(chart) {
    const { chosen, variant } = this, title = this.part("chosen-title");
    // A site that was chosen by itself stays chosen where it goes.
    if (chosen?.sites?.length === 1) {
      const moment = variant.at(this.now);
      chosen.broker = brokerOf(variant, chosen.sites[0], moment);
      chosen.clients = clientsOf(variant, chosen.sites[0], moment);
    }
    const key = chosen && (chosen.pair?.key ?? `broker ${chosen.broker} ${chosen.sites ?? ""} ${chosen.clients ?? ""}`);
    if (chosen && this.course?.key !== `${variant.name} ${variant.version} ${key}`) {
      this.course = { key: `${variant.name} ${variant.version} ${key}`, ...courseOf(variant, chosen) };
    }
    const shown = chosen ? this.course : { key: "nothing", title: "Click a broker, a site or a link for its course.", legend: [], lines: [] };
    if (title.dataset.of !== shown.key) {
      title.dataset.of = shown.key;
      const words = shown.legend.map((text, place) => Object.assign(document.createElement("b"), { textContent: text, className: ["first", "second"][place] }));
      title.replaceChildren(shown.title, ...words.flatMap((word, place) => [place ? ", " : " ", word]));
      this.part("of-chosen").classList.toggle("nothing", !chosen);
      this.sheets.chosen.measure();
    }
    if (chosen) chart("chosen", shown.lines, key);
  }

  // The words beside the drawings. Texts are set only where they change, so that nothing is laid out again in vain.
  tell(counted, second, { there, held }) {
    const { variant, followed, now } = this, due = counted.due[second], missing = counted.missing[second];
    const ended = this.over && second === variant.last - variant.first, phase = variant.phaseAt(now);
    const since = followed ? `${(1000 * (now - followed[1][0][0])).toFixed(2)} ms after ${followed[0]} came to ${variant.names[followed[1][0][1]]}` : "";
    // Tenths that nobody can read are left out while they pass quickly.
    const decimals = this.playing && Number(this.part("speed").value) > 1 ? 0 : 1;
    const moment = followed ? since : `${this.clock(decimals ? now : Math.floor(now), decimals)}${phase ? ", " + phase : ""}`;
    if (this.set("moment", moment)) this.part("time").setAttribute("aria-valuetext", moment);
    this.set("sentence", followed
      ? `${held.size} of ${variant.names.length} brokers have ${followed[0]}.`
      : !due ? "No notification was due by then."
      : `Arrived: ${number(counted.arrived[second])} of ${number(due)} notifications that were due by then` +
        (!missing ? "." : ended ? `; never arrived: ${number(missing)} (the verdict says whether they had to).` : `; not arrived yet: ${number(missing)}.`));
    this.set("verdict", this.over && variant.verdict ? `The judge, of the whole run: ${variant.verdict}` : "");
    const struck = counted.strikes.filter(({ at }) => at <= now).slice(-LAST_EVENTS);
    const words = struck.map(({ at, kind, where, to }) => `${this.clock(at)}: ${kind.replace("_", " ")} ${where}${to >= 0 ? ` at ${variant.names[to]}` : ""}`);
    this.part("of-sites").hidden = !variant.sites.length;
    if (counted.changes) words.unshift(`${there.length} links, ${this.inParts(there)}`);
    this.set("events", words.join("; "));
    this.set("play", this.playing ? "Pause" : this.following && !this.over ? "Following" : "Play");
    const seen = followed ? `${since}: ${held.size} brokers have it` : `The overlay at ${moment}: ${there.length} links`;
    if (!this.playing) this.part("map").setAttribute("aria-label", seen);
  }

  inParts(there) {
    const count = parts(this.variant.names.length, there);
    return count === 1 ? "one part" : `${count} parts`;
  }

  set(name, text) {
    const element = this.part(name);
    if (element.textContent === text) return false;
    element.textContent = text;
    return true;
  }

  play() {
    const [begin, end] = this.span;
    if (this.live && !this.over) { this.following = !this.following; this.playing = false; this.draw(); return; }
    this.playing = !this.playing;
    this.following = false;
    this.before = null;
    if (this.playing && this.now >= end) this.now = begin;
    this.draw();
    requestAnimationFrame(time => this.step(time));
  }

  step(time) {
    if (!this.playing) return;
    const [begin, end] = this.span, pace = this.followed ? (end - begin) / FOLLOWED_SECONDS : Number(this.part("speed").value);
    this.now += this.before === null ? 0 : pace * (time - this.before) / 1000;
    this.before = time;
    if (this.now >= end) this.playing = false;
    this.draw();
    requestAnimationFrame(following => this.step(following));
  }

  go(time) {
    this.now = time;
    this.following = this.playing = false;
    this.draw();
  }

  listen() {
    const { part } = this, on = (name, kind, action) => part(name).addEventListener(kind, action);
    on("variant", "change", event => { this.choose(event.target.value); this.offerPublications(); this.draw(); });
    on("follow", "change", () => {
      part("speed").parentElement.hidden = Boolean(this.followed);
      this.go(this.span[0]);
    });
    on("time", "input", event => this.go(Number(event.target.value)));
    on("time", "keydown", event => {
      const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key], [begin, end] = this.span;
      if (!way) return;
      event.preventDefault();
      this.go(this.now + way * (this.followed ? (end - begin) / 100 : 1));
    });
    on("play", "click", () => this.play());
    on("map", "click", event => {
      const { variant, map } = this;
      if (!variant?.frames.length) return;
      const box = map.canvas.getBoundingClientRect();
      this.chosen = found(variant, this.now, [event.clientX - box.left, event.clientY - box.top], box.width, box.height);
      this.draw();
    });
    // Measured with the next picture, because an observer must not itself change what it observes.
    new ResizeObserver(() => requestAnimationFrame(() => this.measure())).observe(this.map.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.measure());
  }

  measure() {
    for (const sheet of [this.map, ...Object.values(this.sheets)]) sheet.measure();
    this.draw();
  }

  follow() {
    const token = new URLSearchParams(location.search).get("token");
    const events = new EventSource(`/events?token=${encodeURIComponent(token)}&since=${this.version}`);
    events.addEventListener("message", event => {
      this.take(JSON.parse(event.data));
      if (this.over) events.close();
      this.draw();
    });
  }
}

(async function () {
  for (const root of document.querySelectorAll(".replay")) {
    const given = root.querySelector(".state"), replay = new Replay(root);
    replay.take(JSON.parse(given.type === "application/gzip" ? await unpacked(given.textContent) : given.textContent));
    replay.draw();
    if (replay.live) replay.follow();
    root.dataset.ready = "";
  }
})();
