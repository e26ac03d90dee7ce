// The overlay at a moment. Links of the same look are drawn together, so that thousands take a few milliseconds.
const EDGE = 26, FRESH = 0.01, SMALL_MAP = 70;

function spots(variant, time, width, height) {
  // A plane in which brokers move has one scale for both directions; other drawings fill the canvas.
  const side = Math.min(width, height), [across, down] = variant.ways.length ? [side, side] : [width, height];
  return variant.brokers.map((_, broker) => {
    const [x, y] = variant.position(broker, time);
    return [(width - across) / 2 + EDGE + x * (across - 2 * EDGE), (height - down) / 2 + EDGE + y * (down - 2 * EDGE)];
  });
}

function pairsThere(variant, moment) {
  return moment.absent.size ? variant.pairs.filter(pair => !pair.ways.some(way => moment.absent.has(way))) : variant.pairs;
}

function drawMap(sheet, variant, time, chosen, followed) {
  const { pen, width, height, colours } = sheet, moment = variant.at(time), there = pairsThere(variant, moment);
  const fresh = time - FRESH * (variant.last - variant.first), held = new Set(), counted = { there, held };
  if (followed) for (const [when, broker] of followed[1]) if (when <= time) held.add(broker);
  // Without movement, a map stays as it is until another second begins, or something strikes.
  const moves = variant.ways.length > 0 || moment.newest > fresh, since = moves ? time : `${Math.floor(time)} ${moment.struck}`;
  const shown = `${variant.name} ${variant.version} ${since} ${chosen?.broker} ${chosen?.pair?.key} ${chosen?.sites} ${followed?.[0]} ${held.size}`;
  if (!sheet.clearFor(shown)) return counted;
  const at = spots(variant, time, width, height), looks = new Map(), cuts = moment.down.size > 0;
  for (const pair of there) {
    let sent = 0, waiting = 0;
    for (const link of pair.links) {
      sent += moment.sent.get(link) ?? 0;
      waiting = Math.max(waiting, moment.waiting.get(link) ?? 0);
    }
    const cut = cuts && pair.ways.some(way => moment.down.has(way));
    const appeared = moment.appeared.size > 0 && pair.ways.some(way => moment.appeared.get(way) > fresh);
    const thickness = pair === chosen?.pair ? 10 : followed ? 1 : Math.min(9, 1 + 1.6 * Math.log10(1 + sent)) + (appeared ? 2 : 0);
    const colour = followed || !waiting ? colours.line : waiting >= 100 ? colours.many : colours.some;
    const key = `${colour} ${Math.round(2 * thickness)} ${cut}`;
    if (!looks.has(key)) looks.set(key, { colour, thickness, cut, pairs: [] });
    looks.get(key).pairs.push(pair.ends);
  }
  for (const look of looks.values()) stroke(pen, at, look);
  pen.setLineDash([]);
  if (followed) drawSpread(pen, at, time, followed, colours);
  drawBrokers(sheet, variant, at, moment, chosen, held);
  if (variant.sites.length && !followed) drawSites(sheet, variant, at, moment, chosen, radiusOf(variant));
  return counted;
}

function stroke(pen, at, { colour, thickness, cut, pairs }) {
  pen.beginPath();
  for (const [a, b] of pairs) {
    pen.moveTo(...at[a]);
    pen.lineTo(...at[b]);
  }
  pen.setLineDash(cut ? [4, 5] : []);
  pen.strokeStyle = colour;
  pen.lineWidth = thickness;
  pen.stroke();
}

// The links over which a publication first reached brokers by a time.
function drawSpread(pen, at, time, [, visits], colours) {
  const pairs = visits.filter(([when, , sender]) => when <= time && sender >= 0).map(([, broker, sender]) => [sender, broker]);
  stroke(pen, at, { colour: colours.many, thickness: 3, cut: false, pairs });
}

function radiusOf(variant) { return variant.names.length > SMALL_MAP ? 5 : 11; }

function drawBrokers({ pen, colours }, variant, at, moment, chosen, held) {
  const small = variant.names.length > SMALL_MAP, radius = radiusOf(variant);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = "9px system-ui, sans-serif";
  variant.names.forEach((name, broker) => {
    const state = moment.down.get(name), [x, y] = at[broker], isChosen = chosen?.broker === broker && !chosen.sites;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fillStyle = state ? colours.ground : held.has(broker) ? colours.many : colours.broker;
    pen.fill();
    pen.lineWidth = state || isChosen ? 3 : 1;
    pen.strokeStyle = state && !state.startsWith("pause") ? colours.many : isChosen ? colours.first : colours.text;
    pen.stroke();
    if (small) return;
    pen.fillStyle = state ? colours.text : colours.ground;
    pen.fillText(name.replace(/^B(?=\d)/, ""), x, y);
  });
}

// The broker, sites or link at a place of the canvas; null where there is none.
function found(variant, time, [x, y], width, height) {
  const at = spots(variant, time, width, height), near = at.map(([bx, by]) => Math.hypot(bx - x, by - y));
  const broker = near.reduce((best, distance, index) => distance < near[best] ? index : best, 0);
  const site = variant.sites.length ? foundSite(variant, at, variant.at(time), [x, y], width, height) : null;
  if (near[broker] < (site ? 8 : 16)) return { broker };
  if (site) return { sites: site.sites, broker: site.broker };
  let best = 10, chosen = null;
  for (const pair of pairsThere(variant, variant.at(time))) {
    const [[ax, ay], [bx, by]] = pair.ends.map(end => at[end]), length = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
    const share = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
    const away = Math.hypot(ax + share * (bx - ax) - x, ay + share * (by - ay) - y);
    if (away < best) { best = away; chosen = { pair }; }
  }
  return chosen;
}

// The number of parts that the links there leave the overlay in.
function parts(count, pairs) {
  const parent = Array.from({ length: count }, (_, index) => index);
  const top = index => { while (parent[index] !== index) index = parent[index] = parent[parent[index]]; return index; };
  for (const { ends: [a, b] } of pairs) {
    const first = top(a), second = top(b);
    if (first !== second) { parent[first] = second; count -= 1; }
  }
  return count;
}
