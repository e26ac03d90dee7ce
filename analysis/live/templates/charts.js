// Courses over the seconds of a run.
const LEFT = 46, TOP = 8, BOTTOM = 20, RIGHT = 44;
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 }), TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const number = value => (value < 100 ? TENTHS : WHOLE).format(value);

class Sheet {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.mark = canvas.parentElement.querySelector(".mark");
    this.measure();
  }

  measure() {
    const scale = devicePixelRatio || 1, style = getComputedStyle(this.canvas);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.scale = scale;
    this.shown = null;
    this.colours = {};
    for (const name of ["text", "quiet", "line", "first", "second", "some", "many", "broker", "ground", "shade"]) {
      this.colours[name] = style.getPropertyValue("--replay-" + name).trim();
    }
  }

  // Clears the canvas for something else than what it shows; false where it shows that already.
  clearFor(shown) {
    if (shown === this.shown) return false;
    this.shown = shown;
    this.pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.pen.clearRect(0, 0, this.width, this.height);
    return true;
  }

  // A chart of lines between two times, which are the same as long as `key` is. While a second lasts only the mark of the
  // moment moves, which is an element of its own, so that nothing is drawn again.
  chart(key, shades, lines, times, passed) {
    const size = lines[0].length, across = second => LEFT + (this.width - LEFT - RIGHT) * second / Math.max(1, size - 1);
    const second = Math.min(size - 1, Math.floor(passed));
    this.mark.style.transform = `translateX(${across(Math.min(size - 1, passed)).toFixed(1)}px)`;
    if (!this.clearFor(`${key} ${second}`)) return;
    this.drawLines(lines, shades, times, across);
    this.label("right");
    lines.forEach((values, place) => {
      this.pen.fillStyle = this.colours[["first", "second"][place]];
      if (Number.isFinite(values[second])) this.pen.fillText(number(values[second]), this.width - 4, TOP + 4 + 13 * place);
    });
  }

  label(align) {
    this.pen.font = "11px system-ui, sans-serif";
    this.pen.textAlign = align;
    this.pen.textBaseline = "middle";
  }

  drawLines(lines, shades, times, across) {
    const { pen } = this;
    let most = 0;
    for (const values of lines) for (const value of values) if (value > most) most = value;
    const down = value => TOP + (this.height - TOP - BOTTOM) * (1 - value / (most || 1));
    pen.fillStyle = this.colours.shade;
    for (const second of shades) pen.fillRect(across(second), 0, Math.max(1, across(1) - across(0)), this.height - BOTTOM);
    this.label("right");
    pen.fillStyle = this.colours.quiet;
    if (most) pen.fillText(number(most), LEFT - 5, TOP + 4);
    pen.fillText("0", LEFT - 5, this.height - BOTTOM - 4);
    this.label("center");
    times.forEach((time, end) => pen.fillText(time, end ? this.width - RIGHT : LEFT, this.height - 8));
    lines.forEach((values, place) => {
      pen.strokeStyle = this.colours[["first", "second"][place]];
      pen.lineWidth = 1.6;
      pen.lineCap = "round";
      pen.beginPath();
      let drawn = false;
      values.forEach((value, second) => {
        if (!Number.isFinite(value)) { drawn = false; return; }
        // A value between two gaps is a dot.
        drawn ? pen.lineTo(across(second), down(value)) : (pen.moveTo(across(second), down(value)), pen.lineTo(across(second), down(value)));
        drawn = true;
      });
      pen.stroke();
    });
  }
}

// Title and lines of what was chosen on the map.
function courseOf(variant, chosen) {
  if (chosen.sites) return courseOfSites(variant, chosen);
  const { first, last, names } = variant, size = last - first + 1;
  const sent = new Float64Array(size), other = new Float64Array(size), waiting = new Map();
  const links = new Set(chosen.pair ? chosen.pair.links : variant.links.flatMap(([from], link) => from === chosen.broker ? [link] : []));
  let place = 0, share = 0;
  for (let second = 0; second < size; second++) {
    const frame = variant.frames[place]?.at === first + second ? variant.frames[place++] : {};
    for (const [link, count] of frame.sent ?? []) if (links.has(link)) sent[second] += count;
    for (const [link, count] of frame.queues ?? []) if (links.has(link)) waiting.set(link, count);
    for (const [broker, value] of frame.work ?? []) if (broker === chosen.broker) share = 100 * value;
    other[second] = chosen.pair ? Math.max(0, ...waiting.values()) : share;
  }
  const [name, what, rest] = chosen.pair
    ? [chosen.pair.ends.map(end => names[end]).join("–"), "messages a second", "longest queue"]
    : [names[chosen.broker], "messages sent a second", "% of a processor"];
  return { title: name + ":", legend: [what, rest], lines: [sent, other] };
}
