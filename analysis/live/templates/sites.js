// Sites of clients: small squares beside their broker. Where there is no room for all, a broker has one for its sites,
// with their number.
const SITE = 4.5, SITE_AWAY = 17, SITE_MARGIN = 12, DIRECTIONS = 16, SITES_APART = 0.62, MOST_SITES_OF_BROKER = 8, ROOM_OF_NODE = 2300, NAMED_SITES = 14, NAMES_TOLD = 6;
const ACCESS_FAULTS = { link_down: "cut", flap: "cut", degrade: "poor", corrupt: "poor" };

// The broker of a site at a moment: the one at which it arrived last, or the one that it begins at.
function brokerOf(variant, site, moment) { return moment.moved.get(site) ?? variant.sites[site][1]; }

// The number of clients that are on a site at a moment, after those that moved.
function clientsOf(variant, site, moment) { return variant.sites[site][2] + (moment.clients.get(site) ?? 0); }

// Marks: each is of some sites of one broker, at a place of the canvas.
function siteMarks(variant, at, moment, width, height, radius) {
  const of = at.map(() => []);
  variant.sites.forEach((_, site) => of[brokerOf(variant, site, moment)].push(site));
  const room = width * height / (at.length + variant.sites.length) >= ROOM_OF_NODE, reach = radius + (room ? SITE_AWAY : 2);
  const away = awayFromLinks(variant, at, width, height, reach), marks = [];
  of.forEach((sites, broker) => {
    if (!sites.length) return;
    const groups = room && sites.length <= MOST_SITES_OF_BROKER ? sites.map(site => [site]) : [sites];
    groups.forEach((group, place) => {
      const turn = away[broker] + (place - (groups.length - 1) / 2) * Math.min(SITES_APART * 2, 2 * Math.PI / groups.length);
      const [x, y] = at[broker], inside = (value, most) => Math.min(most - 10, Math.max(10, value));
      marks.push({ broker, turn, sites: group, one: groups.length === sites.length, half: groups.length === sites.length ? SITE : room ? SITE + 3 : SITE + 1, x: inside(x + reach * Math.cos(turn), width), y: inside(y + reach * Math.sin(turn), height) });
    });
  });
  return marks;
}

// The direction, for each broker, in which sites are farthest from its links and within the canvas.
function awayFromLinks(variant, at, width, height, reach) {
  const turns = at.map(() => []);
  for (const { ends: [a, b] } of variant.pairs) {
    turns[a].push(Math.atan2(at[b][1] - at[a][1], at[b][0] - at[a][0]));
    turns[b].push(Math.atan2(at[a][1] - at[b][1], at[a][0] - at[b][0]));
  }
  return at.map(([x, y], broker) => {
    let best = 0, most = -Infinity;
    for (let step = 0; step < DIRECTIONS; step++) {
      const turn = 2 * Math.PI * (step + 0.5) / DIRECTIONS, [sx, sy] = [x + reach * Math.cos(turn), y + reach * Math.sin(turn)];
      const outside = Math.max(0, SITE_MARGIN - sx, sx - width + SITE_MARGIN) + Math.max(0, SITE_MARGIN - sy, sy - height + SITE_MARGIN);
      const crowd = at.length > SMALL_MAP ? 0 : at.filter(([ox, oy], other) => other !== broker && Math.hypot(ox - sx, oy - sy) < SITE_AWAY).length;
      const apart = Math.min(2, ...turns[broker].map(link => Math.abs(Math.atan2(Math.sin(link - turn), Math.cos(link - turn)))));
      if (apart - outside - crowd > most) [most, best] = [apart - outside - crowd, turn];
    }
    return best;
  });
}

// What holds at a mark: messages of the second, notifications unread and dropped so far, and faults.
function siteState(variant, moment, mark) {
  const state = { sent: 0, unread: 0, dropped: 0, down: "", access: "", clients: 0, slow: false };
  for (const site of mark.sites) {
    const [toBroker, toClients] = moment.access.get(site) ?? [0, 0];
    state.sent += toBroker + toClients;
    state.unread += moment.unread.get(site) ?? 0;
    state.dropped += moment.dropped.get(site) ?? 0;
    state.slow ||= variant.sites[site][4] > 0;
  }
  for (const [where, kind] of moment.down) {
    const site = moment.siteOf.get(where);
    if (!mark.sites.includes(site)) continue;
    if (ACCESS_FAULTS[kind]) state.access = state.access === "cut" ? "cut" : ACCESS_FAULTS[kind];
    else if (where === variant.sites[site][0]) state.down = kind;
    else if (kind !== "move") state.clients++;
  }
  return state;
}

function drawSites({ pen, colours, width, height }, variant, at, moment, chosen, radius) {
  const marks = siteMarks(variant, at, moment, width, height, radius), named = marks.length <= NAMED_SITES;
  for (const mark of marks) {
    const state = siteState(variant, moment, mark);
    pen.beginPath();
    pen.moveTo(at[mark.broker][0] + radius * Math.cos(mark.turn), at[mark.broker][1] + radius * Math.sin(mark.turn));
    pen.lineTo(mark.x, mark.y);
    pen.setLineDash(state.access === "cut" ? [3, 4] : []);
    pen.strokeStyle = state.access === "poor" ? colours.some : colours.line;
    pen.lineWidth = Math.min(6, 1 + 1.2 * Math.log10(1 + state.sent)) + (state.access === "poor" ? 1 : 0);
    pen.stroke();
    pen.setLineDash([]);
    Object.assign(mark, state);
  }
  for (const mark of marks) drawSite(pen, colours, mark, variant, named, chosen?.sites?.[0] === mark.sites[0], width);
}

function drawSite(pen, colours, mark, variant, named, isChosen, width) {
  const { x, y, half, down, clients, slow, unread, one } = mark, stopped = down && down !== "pause" && down !== "move";
  pen.beginPath();
  pen.rect(x - half, y - half, 2 * half, 2 * half);
  pen.fillStyle = down || !one ? colours.ground : slow && unread ? colours.some : colours.broker;
  pen.fill();
  pen.lineWidth = down || clients || isChosen || unread ? 2.5 : 1;
  pen.strokeStyle = stopped || clients ? colours.many : isChosen ? colours.first : unread ? colours.some : colours.text;
  pen.stroke();
  pen.fillStyle = colours.text;
  pen.textBaseline = "middle";
  pen.font = "9px system-ui, sans-serif";
  pen.textAlign = "center";
  if (!one) pen.fillText(mark.sites.length, x, y + 0.5);
  const words = [named && one ? variant.sites[mark.sites[0]][0] : "", slow && unread ? `${WHOLE.format(unread)} unread` : ""].filter(Boolean).join(": ");
  if (words) nameSite(pen, mark, words, half, width);
}

// Words beyond a mark, as its broker sees it, and within the canvas.
function nameSite(pen, { x, y, turn }, words, half, width) {
  const beside = Math.abs(Math.cos(turn)) > 0.5, long = pen.measureText(words).width, way = Math.cos(turn) < 0 ? -1 : 1;
  const middle = beside ? x + way * (half + 4 + long / 2) : x;
  pen.fillText(words, Math.min(width - long / 2 - 2, Math.max(long / 2 + 2, middle)), beside ? y : y + (Math.sin(turn) < 0 ? -half - 7 : half + 8));
}

// The mark at a place of the canvas; null where there is none.
function foundSite(variant, at, moment, [x, y], width, height) {
  const marks = siteMarks(variant, at, moment, width, height, radiusOf(variant));
  return marks.find(mark => Math.hypot(mark.x - x, mark.y - y) < 11) ?? null;
}

// Title and lines of sites that were chosen on the map.
function courseOfSites(variant, { sites, broker, clients }) {
  const { first, last } = variant, size = last - first + 1, slow = sites.some(site => variant.sites[site][4] > 0);
  const lines = [new Float64Array(size), new Float64Array(size)];
  let place = 0, unread = 0;
  for (let second = 0; second < size; second++) {
    const frame = variant.frames[place]?.at === first + second ? variant.frames[place++] : {};
    for (const [site, toBroker, toClients, change] of frame.sites ?? []) {
      if (!sites.includes(site)) continue;
      lines[0][second] += toClients;
      lines[1][second] += slow ? 0 : toBroker;
      unread += change;
    }
    if (slow) lines[1][second] = unread;
  }
  return { title: `${sitesInWords(variant, sites, broker, clients)}:`, legend: ["notifications a second", slow ? "unread" : "publications a second"], lines };
}

function sitesInWords(variant, sites, broker, clients) {
  if (sites.length > 1) {
    const names = sites.slice(0, NAMES_TOLD).map(site => variant.sites[site][0]), more = sites.length - names.length;
    return `${sites.length} sites at ${variant.names[broker]} (${names.join(", ")}${more ? `, and ${more} more` : ""})`;
  }
  const [name, , , access, reads] = variant.sites[sites[0]], many = clients === 1 ? "1 client" : `${WHOLE.format(clients)} clients`;
  return `${name} at ${variant.names[broker]} (${many}${reads ? `, each reading ${number(reads)} a second` : ""}; access link ${access})`;
}
