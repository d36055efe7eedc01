// A swarm: the seeds in the middle, the other peers around them, filled as far as they hold the file. An uplink glows by
// its rate and has an arc by what waits in it; lines are as wide as the rate at which one peer serves another. Beside
// them a map of pieces over time.

const NEVER = 65535;
const GLOW = "#E69F00"; // of the figures' palette
const RAMPS = { light: ["#f0f0f0", "#56B4E9", "#00395c"], dark: ["#262626", "#0072B2", "#cfeaff"] };
const COLUMNS = 400; // of the map, at most
const EDGE = 30; // around the map, for what is written there [px]
const MAPS = ["peers over time", "pieces over time"];

function swarmView({ about, columns }) {
  const { have, start, done, left, limit, seed, time, sent, queue, unchoked, interested, rounds, pairs, source, sink,
    share } = columns;
  const [count, pieces] = have.shape, klass = columns.class;
  const peers = [...seed.keys()], seeds = peers.filter((p) => seed[p]);
  const leechers = peers.filter((p) => !seed[p]).sort((a, b) => klass[a] - klass[b] || finish(a) - finish(b) || a - b);
  const held = peers.map((p) => have.slice(p * pieces, (p + 1) * pieces).sort());
  const completions = ascending(leechers.map((p) => done[p]).filter((t) => t >= 0));
  const all = ascending(leechers.flatMap((p) => Array.from(held[p]).filter((at) => at !== NEVER)));
  const slowest = queue.reduce((most, wait) => Math.max(most, wait), 0);
  const widest = strongest();
  let place = {}, map = null, lines = null, chosen = MAPS[0];

  function finish(p) {
    return done[p] >= 0 ? done[p] : Infinity;
  }

  // The rate at which lines are widest: few are faster [B/s].
  function strongest() {
    const rates = [];
    for (let look = 1; look < time.length; look++) {
      const passed = time[look] - time[look - 1];
      if (passed > 0) for (let k = pairs[look]; k < pairs[look + 1]; k++) rates.push((share[k] * about.unit) / passed);
    }
    rates.sort((a, b) => a - b);
    return rates[Math.floor(0.98 * rates.length)] || 1;
  }

  const parts = (now) => (now / about.length) * about.steps;
  const pieceCount = (p, now) => (seed[p] ? pieces : upto(held[p], parts(now)));
  const lookAt = (now) => Math.min(time.length - 1, Math.max(1, upto(time, now)));
  const colour = (p, look) => seen(about.colours[klass[p] % about.colours.length], look);
  const here = (p, now) => start[p] <= now && !(left[p] <= now);

  // What a peer has sent since the look before, per second [B/s].
  function rateOf(p, look) {
    const passed = time[look] - time[look - 1];
    return passed > 0 ? sent[look * count + p] / passed : 0;
  }

  function layout(width) {
    const narrow = width < 720, gap = 14;
    const round = narrow ? Math.min(width, 420) : Math.min(0.46 * width, 470);
    const circle = { x: narrow ? width / 2 : round / 2, y: round / 2 + 4, r: round / 2 };
    const chart = narrow ? { x: 30, y: round + 40, w: width - 38, h: 230 }
      : { x: round + gap + 30, y: 30, w: width - round - gap - 38, h: round - 62 };
    const rings = leechers.length > 160 ? 3 : leechers.length > 40 ? 2 : 1; // one behind the other
    const size = Math.max(2, Math.min(15, ((Math.PI * (circle.r - 20) * rings) / Math.max(3, leechers.length)) * 0.68));
    const ring = circle.r - 1.6 * size - 3;
    place = { width, narrow, circle, chart, size, spot: spotsOf(circle, ring, size, rings) };
    map = null;
    lines = null;
    return Math.max(chart.y + chart.h + 26, narrow ? 0 : round + 8);
  }

  // Where each peer stands, and how large it is.
  function spotsOf(circle, ring, size, rings) {
    const found = new Array(count);
    leechers.forEach((p, i) => {
      const angle = (2 * Math.PI * i) / leechers.length - Math.PI / 2, far = ring - (i % rings) * 2.5 * size;
      found[p] = { x: circle.x + far * Math.cos(angle), y: circle.y + far * Math.sin(angle), r: size };
    });
    const inner = seeds.length > 1 ? Math.min(0.3 * ring, 9 * seeds.length) : 0;
    seeds.forEach((p, i) => {
      const angle = (2 * Math.PI * i) / seeds.length;
      found[p] = { x: circle.x + inner * Math.cos(angle), y: circle.y + inner * Math.sin(angle), r: Math.max(12, size) };
    });
    return found;
  }

  function draw(ctx, look, now) {
    const at = lookAt(now);
    if (now <= time[time.length - 1]) ctx.drawImage(linesOf(look, at), 0, 0, place.width, 2 * place.circle.y);
    for (const p of peers) drawPeer(ctx, look, p, at, now);
    drawClasses(ctx, look);
    drawMap(ctx, look, now);
  }

  // Who serves whom since the look before: drawn once for each look.
  function linesOf(look, at) {
    if (lines?.at === at && lines.look === look.back) return lines.sheet;
    const drawn = sheet(place.width, 2 * place.circle.y);
    drawLines(drawn.getContext("2d"), look, at);
    lines = { at, look: look.back, sheet: drawn };
    return drawn;
  }

  function drawLines(ctx, look, at) {
    const passed = time[at] - time[at - 1];
    if (!(passed > 0)) return;
    for (let k = pairs[at + 1] - 1; k >= pairs[at]; k--) {
      const strong = Math.min(1, (share[k] * about.unit) / passed / widest);
      const from = place.spot[source[k]], to = place.spot[sink[k]];
      ctx.strokeStyle = colour(source[k], look);
      ctx.globalAlpha = 0.15 + 0.6 * strong;
      ctx.lineWidth = 0.4 + 4 * strong;
      ctx.beginPath();
      ctx.moveTo(from.x, from.y);
      const bend = 0.25; // towards the middle, so that neighbours' lines are seen
      const [x, y] = ["x", "y"].map((axis) => ((from[axis] + to[axis]) / 2) * (1 - bend) + place.circle[axis] * bend);
      ctx.quadraticCurveTo(x, y, to.x, to.y);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  function disc(ctx, x, y, r, from = 0, to = 2 * Math.PI) {
    ctx.beginPath();
    ctx.arc(x, y, r, from, to);
  }

  function drawPeer(ctx, look, p, at, now) {
    const { x, y, r } = place.spot[p], own = colour(p, look), there = here(p, now);
    ctx.globalAlpha = there ? 1 : 0.25;
    const lit = there ? Math.min(1, rateOf(p, at) / limit[p]) : 0;
    if (lit > 0.02) {
      ctx.globalAlpha = 0.15 + 0.55 * lit;
      ctx.fillStyle = GLOW;
      disc(ctx, x, y, r + 2 + 0.35 * r);
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = look.back;
    disc(ctx, x, y, r);
    ctx.fill();
    const part = pieceCount(p, now) / pieces, half = Math.acos(1 - 2 * part); // filled up to a height
    ctx.fillStyle = own;
    disc(ctx, x, y, r, Math.PI / 2 - half, Math.PI / 2 + half);
    ctx.fill();
    ctx.strokeStyle = part === 1 ? look.text : own;
    ctx.lineWidth = part === 1 ? 2 : 1.2;
    disc(ctx, x, y, r);
    ctx.stroke();
    const wait = queue[at * count + p];
    if (there && wait > 0 && slowest > 0) {
      ctx.strokeStyle = look.red;
      ctx.lineWidth = Math.max(2, 0.22 * r);
      disc(ctx, x, y, r + 3 + 0.35 * r, -Math.PI / 2, -Math.PI / 2 + (2 * Math.PI * wait) / slowest);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    if (seed[p] && seeds.length === 1) {
      ctx.fillStyle = look.back;
      ctx.fillRect(x - 17, y + r + 8, 34, 14);
      write(ctx, "seed", x, y + r + 15, { align: "center", colour: look.text });
    }
  }

  function drawClasses(ctx, look) {
    const sizes = about.classes.map((name, c) => [name, peers.filter((p) => klass[p] === c).length]);
    const shown = sizes.filter(([, n]) => n > 0);
    let y = place.circle.y - place.circle.r + 8;
    for (const [name, n] of shown) {
      const c = about.classes.indexOf(name);
      ctx.fillStyle = seen(about.colours[c % about.colours.length], look);
      ctx.fillRect(2, y - 5, 10, 10);
      write(ctx, `${name} (${n})`, 16, y, { colour: look.text, most: place.circle.x });
      y += 17;
    }
  }

  // The map with all that is written around it is drawn once; what is to come is covered.
  function drawMap(ctx, look, now) {
    const { x, y, w, h } = place.chart, edge = x - EDGE, top = y - EDGE;
    if (!map || map.look !== look.back) map = { look: look.back, sheet: chartSheet(look) };
    ctx.drawImage(map.sheet, edge, top, w + EDGE + 8, h + 2 * EDGE);
    const at = x + (w * now) / about.length;
    ctx.globalAlpha = 0.6;
    ctx.fillStyle = look.back;
    ctx.fillRect(at, y, x + w - at, h);
    ctx.globalAlpha = 1;
    ctx.fillStyle = look.text;
    ctx.fillRect(at - 0.75, y - 3, 1.5, h + 6);
  }

  function chartSheet(look) {
    const { x, y, w, h } = place.chart, made = sheet(w + EDGE + 8, h + 2 * EDGE), ctx = made.getContext("2d");
    ctx.translate(EDGE - x, EDGE - y);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(mapSheet(look), x, y, w, h);
    if (chosen === MAPS[0]) drawClassStrip(ctx, look);
    drawRounds(ctx, look);
    const title = chosen === MAPS[0] ? "pieces held by each peer, by class and completion"
      : "peers that hold each piece, the first out on top";
    write(ctx, title, x - 8, y - 19, { colour: look.text, most: w + 8 });
    write(ctx, clock(about, 0), x, y + h + 13, { size: 11, colour: look.muted });
    write(ctx, clock(about, about.length), x + w, y + h + 13, { size: 11, align: "right", colour: look.muted });
    drawScale(ctx, look, x + w / 2, y + h + 13);
    return made;
  }

  function drawScale(ctx, look, middle, y) {
    for (let i = 0; i < 50; i++) {
      const [r, g, b] = ramp(i / 49, look);
      ctx.fillStyle = `rgb(${r},${g},${b})`;
      ctx.fillRect(middle - 50 + 2 * i, y - 5, 2, 9);
    }
    write(ctx, "none", middle - 56, y, { size: 11, align: "right", colour: look.muted });
    write(ctx, "all", middle + 56, y, { size: 11, colour: look.muted });
  }

  function drawClassStrip(ctx, look) {
    const { x, y, h } = place.chart, high = h / leechers.length;
    leechers.forEach((p, i) => {
      ctx.fillStyle = colour(p, look);
      ctx.fillRect(x - 8, y + i * high, 6, high + 0.5);
    });
  }

  // When the first seed's choker runs, where they can be told apart.
  function drawRounds(ctx, look) {
    const { x, y, w } = place.chart;
    if (!tellRounds(w)) return;
    ctx.fillStyle = look.muted;
    for (let one = 1; one < time.length; one++) {
      if (rounds[one] > rounds[one - 1]) ctx.fillRect(x + (w * time[one]) / about.length, y - 9, 1, 6);
    }
  }

  const tellRounds = (wide) => rounds[rounds.length - 1] * 5 < wide;

  function ramp(part, look) {
    const channels = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
    const stops = RAMPS[look.dark ? "dark" : "light"].map(channels);
    const [from, to, along] = part < 0.5 ? [stops[0], stops[1], 2 * part] : [stops[1], stops[2], 2 * part - 1];
    return from.map((value, i) => Math.round(value + along * (to[i] - value)));
  }

  // Pieces in the order in which their first copy left a seed.
  function pieceRows() {
    const first = new Uint16Array(pieces).fill(NEVER), times = Array.from({ length: pieces }, () => []);
    for (const p of leechers) {
      for (let k = 0; k < pieces; k++) {
        const at = have[p * pieces + k];
        if (at === NEVER) continue;
        if (at < first[k]) first[k] = at;
        times[k].push(at);
      }
    }
    return [...first.keys()].sort((a, b) => first[a] - first[b]).map((k) => Uint16Array.from(times[k]).sort());
  }

  function mapRows() {
    return chosen === MAPS[0] ? [leechers.map((p) => held[p]), pieces] : [pieceRows(), leechers.length];
  }

  function mapSheet(look) {
    const [rows, most] = mapRows(), wide = Math.min(COLUMNS, Math.round(place.chart.w));
    const made = document.createElement("canvas");
    made.width = wide;
    made.height = Math.max(1, rows.length);
    const ctx = made.getContext("2d"), image = ctx.createImageData(made.width, made.height);
    rows.forEach((times, row) => {
      for (let column = 0; column < wide; column++) {
        const part = upto(times, ((column + 0.5) / wide) * about.steps) / most;
        image.data.set([...ramp(part, look), 255], 4 * (row * wide + column));
      }
    });
    ctx.putImageData(image, 0, 0);
    return made;
  }

  function words(now) {
    const out = upto(all, parts(now)), whole = upto(completions, now), number = leechers.length;
    const mean = round(out / Math.max(1, number));
    const at = lookAt(now), together = peers.reduce((sum, p) => sum + rateOf(p, at), 0);
    const after = now >= about.length ? "" : `, ${rate(together)} together`;
    return `${grouped(whole)} of ${many(number, "peer")} complete; `
      + `${grouped(out)} of ${grouped(number * pieces)} pieces have arrived `
      + `(${round((100 * out) / (number * pieces), 2)} %), ${mean} of ${pieces} on each in the mean${after}.`;
  }

  function tip(x, y, now) {
    const near = peers.find((p) => Math.hypot(place.spot[p].x - x, place.spot[p].y - y) <= place.spot[p].r + 4);
    if (near !== undefined) return tipOf(near, now);
    const { x: edge, y: top, w, h } = place.chart, at = timeAt(x, y);
    if (at === null || x < edge) return null;
    if (chosen !== MAPS[0]) return clock(about, at);
    const p = leechers[Math.min(leechers.length - 1, Math.floor(((y - top) / h) * leechers.length))];
    return p === undefined ? null : `${called(p)} at ${clock(about, at)}: ${pieceCount(p, at)} of ${pieces} pieces`;
  }

  const called = (p) => `peer ${p} (${about.classes[klass[p]]})`;

  function tipOf(p, now) {
    const at = lookAt(now), wait = queue[at * count + p];
    if (!(start[p] <= now)) return `${called(p)}\nhas not started`;
    if (left[p] <= now) return `${called(p)}\nhas left`;
    const said = [called(p), seed[p] ? "seed" : `${pieceCount(p, now)} of ${pieces} pieces`,
      `sends ${rate(rateOf(p, at))} of ${rate(limit[p])}`];
    if (about.linked) said.push(`wait in its uplink ${span(wait)}`);
    const wanting = about.fidelity === "flow" ? "" : `, ${interested[at * count + p]} are interested in it`;
    said.push(`serves ${unchoked[at * count + p]}${wanting}`);
    if (done[p] >= 0) said.push(`${done[p] <= now ? "complete" : "will be complete"} at ${clock(about, done[p])}`);
    return said.join("\n");
  }

  function timeAt(x, y) {
    const { x: edge, y: top, w, h } = place.chart;
    if (x < edge - 10 || x > edge + w + 10 || y < top || y > top + h) return null;
    return Math.min(1, Math.max(0, (x - edge) / w)) * about.length;
  }

  const kept = about.carried > 0.98 ? ""
    : ` Lines: at most ${about.strongest} at a time, the strongest, which carry ${round(100 * about.carried, 2)} % of all.`;
  const ticks = tellRounds(400) ? " Ticks above the map: the seed's choker runs." : "";
  const arcs = about.linked ? ` Red arcs: the wait in an uplink, full at ${span(slowest)}.` : "";
  return { layout, draw, words, tip, timeAt, steps: ascending(time),
    choices: { "map of": MAPS }, chosen: (_, value) => { chosen = value; map = null; },
    note: `Seed ${about.seed} of the random numbers${about.fidelity === "flow" ? ", in flow" : ""}. `
      + `A peer is filled as far as it holds the file, and glows as its upload limit is used; a strong edge: complete.${arcs}${kept}${ticks}` };
}
