// The player of an overlay that changes. A slider moves through the whole run, or through the spread of one event.
(function () {
  const root = document.getElementById("player");
  if (!root) return;
  const played = JSON.parse(document.getElementById("player-data").textContent);
  const find = name => root.querySelector("." + name);
  const slider = find("time"), button = find("play"), status = find("status"), canvas = find("stage");
  const variants = find("variants"), events = find("events"), context = canvas.getContext("2d");
  const STEPS = 1000, SECONDS = 20, MARGIN = 14, FRESH = 0.01;
  let span = [0, 1], running = 0;

  const variant = () => played.variants[variants.value];
  const overlay = () => played.overlays[variant().overlay];
  const event = () => variant().events[events.value];
  const now = () => span[0] + (span[1] - span[0]) * slider.value / STEPS;

  function choices(select, names) {
    select.replaceChildren(...names.map(([value, text]) => new Option(text, value)));
    select.parentElement.hidden = names.length < 2;
  }

  function chooseVariant() {
    const names = variant().events.map((each, index) => [index, each.name + ", at " + each.visits[0][0].toFixed(2) + " s"]);
    choices(events, [["", "the whole run"], ...names]);
    chooseEvent();
  }

  function chooseEvent() {
    const whole = overlay();
    span = [whole.begin, whole.end];
    if (event()) {
      const visits = event().visits, first = visits[0][0], last = visits[visits.length - 1][0];
      span = [first, last + Math.max(0.05 * (last - first), 0.001)];
    }
    slider.value = 0;
    draw();
  }

  // Where a broker is: on the straight way between the two corners before and after the time.
  function position(way, time) {
    let low = 0, high = way.length - 1;
    if (time >= way[high][0]) return way[high];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (way[middle][0] <= time) low = middle; else high = middle;
    }
    if (low === high || time <= way[low][0]) return way[low];
    const part = (time - way[low][0]) / (way[high][0] - way[low][0]);
    return [time, way[low][1] + part * (way[high][1] - way[low][1]), way[low][2] + part * (way[high][2] - way[low][2])];
  }

  // Brokers with the event: all that it has reached; in the whole run, those that any event has just reached.
  function reached(time) {
    const found = new Set(), since = time - FRESH * (span[1] - span[0]);
    for (const each of event() ? [event()] : variant().events) {
      for (const [at, broker] of each.visits) {
        if (at > time) break;
        if (event() || at >= since) found.add(broker);
      }
    }
    return found;
  }

  function parts(count, links) {
    const parent = Array.from({length: count}, (_, index) => index);
    const top = index => { while (parent[index] !== index) index = parent[index] = parent[parent[index]]; return index; };
    for (const [a, b] of links) {
      const first = top(a), second = top(b);
      if (first !== second) { parent[first] = second; count -= 1; }
    }
    return count;
  }

  function drawLinks(links, places, colour, thickness) {
    context.beginPath();
    for (const [a, b] of links) {
      context.moveTo(...places[a]);
      context.lineTo(...places[b]);
    }
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.stroke();
  }

  function draw() {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    const time = now(), {brokers, ways, links, begin, end} = overlay(), held = reached(time);
    // A plane in which brokers move has one scale for both directions; other drawings fill the stage.
    const moving = ways.some(way => way.length > 1), side = Math.min(width, height);
    const across = (moving ? side : width) - 2 * MARGIN, down = (moving ? side : height) - 2 * MARGIN;
    const places = ways.map(way => {
      const [, x, y] = position(way, time);
      return [(width - across) / 2 + x * across, (height - down) / 2 + y * down];
    });
    const present = links.filter(([, , from, until]) => from <= time && (time < until || until === end));
    const fresh = Math.max(begin, time - FRESH * (end - begin));
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.globalAlpha = 0.55;
    drawLinks(present.filter(([, , from]) => from <= fresh), places, colour("--quiet"), 1);
    context.globalAlpha = 1;
    drawLinks(present.filter(([, , from]) => from > fresh), places, colour("--fair"), 2.5);
    const radius = Math.max(3, Math.min(13, 5.5 * Math.sqrt(width / brokers.length / 8)));
    const source = event() ? event().visits[0][1] : -1;
    brokers.forEach((name, index) => {
      context.beginPath();
      context.arc(...places[index], held.has(index) ? radius * 1.25 : radius, 0, 2 * Math.PI);
      context.fillStyle = held.has(index) ? "#cf3f2e" : "#4a6378";
      context.fill();
      if (index === source || held.has(index)) {
        context.lineWidth = index === source ? 3 : 1;
        context.strokeStyle = colour("--text");
        context.stroke();
      }
      if (radius >= 9) {
        context.fillStyle = "#ffffff";
        context.font = Math.min(radius, 2.6 * radius / name.length) + "px system-ui, sans-serif";
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(name, ...places[index]);
      }
    });
    const shown = event() ? (1000 * (time - span[0])).toFixed(2) + " ms after it was published" : time.toFixed(2) + " s";
    const has = held.size + " of " + brokers.length + " brokers " + (event() ? "have the event" : "just got an event");
    const pieces = parts(brokers.length, present);
    const text = shown + ": " + present.length + " links, " + (pieces === 1 ? "one part" : pieces + " parts") + ", " + has;
    status.textContent = text;
    slider.setAttribute("aria-valuetext", shown);
    canvas.setAttribute("aria-label", text);
  }

  function stop() {
    cancelAnimationFrame(running);
    running = 0;
    button.textContent = "Play";
  }

  function play() {
    if (running) return stop();
    if (slider.value >= STEPS) slider.value = 0;
    const from = Number(slider.value);
    let began = null;
    button.textContent = "Pause";
    running = requestAnimationFrame(function step(clock) {
      began = began ?? clock;
      slider.value = Math.min(STEPS, from + (clock - began) / 1000 / SECONDS * STEPS);
      draw();
      if (slider.value >= STEPS) stop(); else running = requestAnimationFrame(step);
    });
  }

  slider.max = STEPS;
  choices(variants, played.variants.map((each, index) => [index, each.name]));
  button.addEventListener("click", play);
  slider.addEventListener("input", () => { stop(); draw(); });
  variants.addEventListener("change", () => { stop(); chooseVariant(); });
  events.addEventListener("change", () => { stop(); chooseEvent(); });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  chooseVariant();
})();
