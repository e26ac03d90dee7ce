// One page for a run that goes on and for one that is over. It holds the state of `analysis/live/frames.py`; of a run that
// goes on, a server sends what has changed. Times are seconds on the clock of the logs.
(function () {
  const byId = id => document.getElementById(id);
  const live = document.body.dataset.feed === "live";
  const variants = new Map();
  let over = !live, chosen = null, current = null, now = null, following = live, playing = false, version = 0;

  function take(state) {
    version = state.version;
    over = over || state.over;
    for (const given of state.variants) {
      if (!variants.has(given.name)) {
        variants.set(given.name, { name: given.name, frames: [], places: new Map(), counted: null });
        const option = new Option(given.name, given.name);
        byId("variant").append(option);
        if (current === null || following) current = given.name;
      }
      const variant = variants.get(given.name);
      Object.assign(variant, given.overlay, { phases: given.phases, counted: null });
      for (const frame of given.frames) {
        const place = variant.places.get(frame.at);
        if (place === undefined) { variant.places.set(frame.at, variant.frames.length); variant.frames.push(frame); }
        else variant.frames[place] = frame;
      }
      variant.frames.sort((a, b) => a.at - b.at);
      variant.frames.forEach((frame, place) => variant.places.set(frame.at, place));
    }
    byId("variant").value = current ?? "";
  }

  // The courses over all seconds, counted once for each state.
  function courses(variant) {
    if (variant.counted) return variant.counted;
    const first = variant.frames[0].at, last = variant.frames[variant.frames.length - 1].at, size = last - first + 1;
    const course = () => new Float64Array(size), counted = {
      first, last, published: course(), notified: course(), missing: course(), median: course().fill(NaN),
      most: course().fill(NaN), queue: course(), due: course(), arrived: course(), struck: [], shades: [],
    };
    const waiting = new Map(), active = new Map();
    let due = 0, arrived = 0, place = 0;
    for (let at = first; at <= last; at++) {
      const second = at - first, frame = variant.frames[place]?.at === at ? variant.frames[place++] : {};
      counted.published[second] = frame.published ?? 0;
      counted.notified[second] = frame.notified ?? 0;
      due += frame.due ?? 0;
      arrived += frame.arrived ?? 0;
      counted.due[second] = due;
      counted.arrived[second] = arrived;
      counted.missing[second] = due - arrived;
      counted.median[second] = frame.median_ms ?? NaN;
      counted.most[second] = frame.most_ms ?? NaN;
      for (const [link, count] of frame.queues ?? []) count ? waiting.set(link, count) : waiting.delete(link);
      counted.queue[second] = Math.max(0, ...waiting.values());
      for (const [kind, where, begins] of frame.strikes ?? []) {
        counted.struck.push([at, kind, where]);
        if (kind === "appeared" || kind === "vanished") continue;
        begins ? active.set(where, kind) : active.delete(where);
      }
      if (active.size) counted.shades.push(second);
    }
    variant.counted = counted;
    return counted;
  }

  // What holds at a second: queues and faults stay as they are until the logs say otherwise.
  function moment(variant, at) {
    const found = { sent: new Map(), waiting: new Map(), work: new Map(), down: new Map(), absent: new Set() };
    for (const frame of variant.frames) {
      if (frame.at > at) break;
      for (const [link, count] of frame.queues ?? []) found.waiting.set(link, count);
      for (const [broker, share] of frame.work ?? []) found.work.set(broker, share);
      for (const [kind, where, begins] of frame.strikes ?? []) {
        if (kind === "vanished") found.absent.add(where);
        else if (kind === "appeared") found.absent.delete(where);
        else begins ? found.down.set(where, kind) : found.down.delete(where);
      }
      if (frame.at === at) for (const [link, count] of frame.sent ?? []) found.sent.set(link, count);
    }
    return found;
  }

  function prepared(canvas) {
    const scale = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    const width = Math.round(box.width * scale), height = Math.round(box.height * scale);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    return [pen, box.width, box.height];
  }
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const number = value => value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });

  function spots(variant, width, height) {
    const edge = 26;
    return variant.brokers.map(([, x, y]) => [edge + x * (width - 2 * edge), edge + y * (height - 2 * edge)]);
  }

  function pairs(variant) {
    const found = new Map();
    variant.links.forEach(([from, to], link) => {
      if (from < 0 || to < 0) return;
      const key = Math.min(from, to) + "-" + Math.max(from, to);
      if (!found.has(key)) found.set(key, { ends: [Math.min(from, to), Math.max(from, to)], links: [] });
      found.get(key).links.push(link);
    });
    return [...found.values()];
  }

  function drawMap(variant) {
    const [pen, width, height] = prepared(byId("map")), at = spots(variant, width, height);
    const found = moment(variant, now), names = variant.brokers.map(broker => broker[0]);
    const [line, some, many, text] = ["line", "some", "many", "text"].map(colour);
    for (const pair of pairs(variant)) {
      const [a, b] = pair.ends, ways = [`${names[a]}-${names[b]}`, `${names[b]}-${names[a]}`];
      if (ways.some(way => found.absent.has(way))) continue;
      const sent = pair.links.reduce((sum, link) => sum + (found.sent.get(link) ?? 0), 0);
      const waiting = Math.max(...pair.links.map(link => found.waiting.get(link) ?? 0));
      const cut = [...found.down.keys()].some(way => ways.includes(way) || ways.includes(way.replace("->", "-")));
      pen.beginPath();
      pen.setLineDash(cut ? [4, 5] : []);
      pen.lineWidth = pair === chosen?.pair ? 10 : Math.min(9, 1 + 1.6 * Math.log10(1 + sent));
      pen.strokeStyle = waiting >= 100 ? many : waiting > 0 ? some : line;
      pen.moveTo(...at[a]);
      pen.lineTo(...at[b]);
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const small = names.length > 70, radius = small ? 5 : 11;
    names.forEach((name, broker) => {
      const state = found.down.get(name), [x, y] = at[broker];
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      pen.fillStyle = state ? colour("ground") : colour("broker");
      pen.fill();
      pen.lineWidth = state || chosen?.broker === broker ? 3 : 1;
      pen.strokeStyle = state && !state.startsWith("pause") ? many : chosen?.broker === broker ? colour("first") : text;
      pen.stroke();
      if (small) return;
      pen.fillStyle = state ? text : colour("ground");
      pen.font = "9px system-ui, sans-serif";
      pen.fillText(name.replace(/^B/, ""), x, y);
    });
  }

  function drawChart(id, counted, lines) {
    const [pen, width, height] = prepared(byId(id)), left = 46, top = 8, bottom = 6, right = 44;
    const size = counted.last - counted.first, across = second => left + (width - left - right) * second / Math.max(1, size);
    const most = Math.max(1e-9, ...lines.flatMap(values => [...values].filter(Number.isFinite)));
    const down = value => top + (height - top - bottom) * (1 - value / most);
    pen.fillStyle = colour("shade");
    for (const second of counted.shades) pen.fillRect(across(second), 0, Math.max(1, across(1) - across(0)), height);
    pen.fillStyle = colour("quiet");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(number(most), left - 5, top + 4);
    pen.fillText("0", left - 5, height - bottom - 4);
    lines.forEach((values, place) => {
      pen.strokeStyle = colour(["first", "second"][place]);
      pen.lineWidth = 1.6;
      pen.beginPath();
      let drawn = false;
      values.forEach((value, second) => {
        if (!Number.isFinite(value)) { drawn = false; return; }
        drawn ? pen.lineTo(across(second), down(value)) : pen.moveTo(across(second), down(value));
        drawn = true;
      });
      pen.stroke();
      const value = values[now - counted.first];
      if (Number.isFinite(value)) {
        pen.fillStyle = pen.strokeStyle;
        pen.fillText(number(value), width - 4, top + 4 + 13 * place);
      }
    });
    pen.fillStyle = colour("text");
    pen.fillRect(across(now - counted.first), 0, 1, height);
  }

  function drawChosen(variant, counted) {
    const size = counted.last - counted.first + 1, sent = new Float64Array(size), other = new Float64Array(size);
    const names = variant.brokers.map(broker => broker[0]);
    let title = "Nothing chosen: click a broker or a link";
    if (chosen) {
      const links = new Set(chosen.pair ? chosen.pair.links : variant.links.flatMap(([from], link) => from === chosen.broker ? [link] : []));
      const waiting = new Map(), share = { last: 0 };
      let place = 0;
      for (let at = counted.first; at <= counted.last; at++) {
        const frame = variant.frames[place]?.at === at ? variant.frames[place++] : {};
        for (const [link, count] of frame.sent ?? []) if (links.has(link)) sent[at - counted.first] += count;
        for (const [link, count] of frame.queues ?? []) if (links.has(link)) waiting.set(link, count);
        for (const [broker, value] of frame.work ?? []) if (broker === chosen.broker) share.last = 100 * value;
        other[at - counted.first] = chosen.pair ? Math.max(0, ...waiting.values()) : share.last;
      }
      title = chosen.pair
        ? `${names[chosen.pair.ends[0]]}–${names[chosen.pair.ends[1]]}: messages a second, and longest queue`
        : `${names[chosen.broker]}: messages sent a second, and % of a processor`;
    }
    byId("chosen-title").textContent = title;
    drawChart("chosen", counted, chosen ? [sent, other] : []);
  }

  function draw() {
    const variant = variants.get(current);
    if (!variant || !variant.frames.length) {
      byId("sentence").textContent = over ? "Nothing was logged." : "Nothing has been logged yet: brokers and clients start.";
      return;
    }
    const counted = courses(variant);
    if (now === null || following) now = counted.last;
    now = Math.min(counted.last, Math.max(counted.first, now));
    Object.assign(byId("time"), { min: counted.first, max: counted.last, value: now });
    const run = variant.phases.find(([name]) => name === "run"), zero = run ? run[1] : counted.first;
    const phase = variant.phases.find(([, begin, end]) => begin <= now + 1 && now < end);
    byId("second").textContent = `${number(Math.round(now - zero))} s${phase ? ", " + phase[0] : ""}`;
    const place = now - counted.first, due = counted.due[place], missing = counted.missing[place];
    byId("sentence").textContent =
      `Arrived: ${number(counted.arrived[place])} of ${number(due)} notifications that were due by then` +
      (missing ? `; not arrived ${over && now === counted.last ? "at all" : "yet"}: ${number(missing)}.` : ".");
    byId("feed").textContent = live ? (over ? "The run is over. " : "Live. ") : "Replay. ";
    byId("events").textContent = counted.struck.filter(([at]) => at <= now).slice(-4)
      .map(([at, kind, where]) => `${number(Math.round(at - zero))} s: ${kind} ${where}`).join("; ");
    byId("play").textContent = playing ? "Pause" : following ? "Following" : "Play";
    drawMap(variant);
    drawChart("rates", counted, [counted.published, counted.notified]);
    drawChart("missing", counted, [counted.missing]);
    drawChart("delays", counted, [counted.median, counted.most]);
    drawChart("queue", counted, [counted.queue]);
    drawChosen(variant, counted);
  }

  function choose(event) {
    const variant = variants.get(current), box = byId("map").getBoundingClientRect();
    if (!variant) return;
    const x = event.clientX - box.left, y = event.clientY - box.top, at = spots(variant, box.width, box.height);
    const near = at.map(([bx, by]) => Math.hypot(bx - x, by - y)), broker = near.indexOf(Math.min(...near));
    chosen = null;
    if (near[broker] < 16) chosen = { broker };
    else {
      let best = 10;
      for (const pair of pairs(variant)) {
        const [[ax, ay], [bx, by]] = pair.ends.map(end => at[end]), length = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
        const share = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
        const away = Math.hypot(ax + share * (bx - ax) - x, ay + share * (by - ay) - y);
        if (away < best) { best = away; chosen = { pair }; }
      }
    }
    draw();
  }

  let before = null, rest = 0;
  function step(time) {
    if (!playing) { before = null; return; }
    rest += before === null ? 0 : (time - before) / 1000 * Number(byId("speed").value);
    before = time;
    if (rest >= 1) {
      now += Math.floor(rest);
      rest -= Math.floor(rest);
      if (now >= courses(variants.get(current)).last) playing = false;
      draw();
    }
    requestAnimationFrame(step);
  }

  byId("variant").addEventListener("change", event => { current = event.target.value; chosen = null; now = null; draw(); });
  byId("time").addEventListener("input", event => { now = Number(event.target.value); following = false; draw(); });
  byId("play").addEventListener("click", () => {
    const last = courses(variants.get(current)).last;
    if (live && !over) { following = !following; playing = false; }
    else { playing = !playing; following = false; if (playing && now >= last) now = courses(variants.get(current)).first; }
    draw();
    requestAnimationFrame(step);
  });
  byId("map").addEventListener("click", choose);
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  take(JSON.parse(byId("state").textContent));
  draw();
  if (live) {
    const token = new URLSearchParams(location.search).get("token");
    const events = new EventSource(`/events?token=${encodeURIComponent(token)}&since=${version}`);
    events.addEventListener("message", event => {
      take(JSON.parse(event.data));
      if (over) events.close();
      draw();
    });
  }
})();
