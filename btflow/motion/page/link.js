// A link: packets come from the senders, wait in the queue of the bottleneck, cross the link, and ACKs come back.
//
// The queue's box has a place for each packet of the buffer. Where it would be nearly empty, or the buffer counts
// bytes, a packet is as far from the way out as it will take to get there, and as long as it takes to send it. When
// packets pass too fast to be seen one by one, their shares are drawn in their place.

const BLUR = 1; // packets that pass between two pictures from which on their shares are drawn
const FALL = 0.6; // time that a dropped packet is seen falling [s of playing]
const STRIP = 96; // height of the curve below [px]
const MOST_SEEN = 3000; // packets at once that are drawn one by one while nothing moves
const LANE_AT_MOST = 26;

const WITHOUT_WINDOW = new Set(["not started", "connecting", "finished"]);

function linkView({ about, columns }) {
  const { flow, ack, queue, fate, bytes, came, begins, leaves, arrives } = columns;
  const when = linkTimes({ about, columns });
  const { flows, main, back, forward, packet, trip, drops, alive } = when;
  const room = about.room ? about.room * packet : Infinity; // what the buffer holds, as a time [s]
  const delays = [main, back].map(when.longestWait);
  const scale = room < 4 * delays[0] ? Math.max(room, delays[0]) : 1.15 * Math.max(delays[0], 2 * packet);
  const fair = ["fq-codel", "cake"].includes(about.discipline);
  const lanes = fair ? new Map(when.passing.map((f, lane) => [f, lane])) : null;
  const slots = about.packets && !fair && about.room < 4 * when.mostWaiting(main); // a place for each packet
  const bounded = slots || room <= 1.001 * scale; // the box ends where the buffer does
  const widest = columns.window.reduce((most, w) => (w > most ? w : most), 1);
  let place = {}, drawn = [], strip = null, shares = null, order = null, last = -1;

  const colour = (f, look) => (f === NOBODY ? look.red : seen(about.colours[f % about.colours.length], look));

  function layout(width) {
    const narrow = width < 640;
    const rows = flows.length, columnsOf = narrow && rows > 4 ? 2 : 1;
    const list = narrow ? { x: 0, y: 4, w: width, h: Math.ceil(rows / columnsOf) * Math.min(42, Math.max(8, 160 / rows)) }
      : { x: 0, y: 4, w: Math.min(230, 0.24 * width), h: Math.min(250, 54 * rows) };
    const stage = narrow ? { x: 0, y: list.h + 10, w: width } : { x: list.w + 8, y: 0, w: width - list.w - 8 };
    const lane = lanes ? Math.min(LANE_AT_MOST, 100 / lanes.size) * lanes.size : 54;
    const top = stage.y + 46, in_ = narrow ? 22 : 46, out = 20;
    const exit = stage.x + in_ + 0.56 * (stage.w - in_ - out);
    const box = { x: stage.x + in_, y: top, w: exit - stage.x - in_, h: lane };
    const low = top + lane + 46;
    const far = stage.x + stage.w - out;
    const hasBack = delays[1] > 1.5 * packet;
    place = { width, narrow, list, columnsOf, stage, box, exit, far, low, hasBack,
      forward: { exit, to: far, y: top, h: lane, box: box.w, sign: 1 },
      backward: hasBack ? { exit: far - 0.3 * stage.w, to: stage.x + 8, y: low, h: 22, box: 0.3 * stage.w, sign: -1 }
        : { exit: far, to: stage.x + 8, y: low + 4, h: 12, box: 0, sign: -1 },
      strip: { x: 44, y: Math.max(list.y + list.h + 24, low + (hasBack ? 62 : 48)), w: width - 52, h: STRIP } };
    strip = null;
    shares = null;
    return place.strip.y + STRIP + 22;
  }

  function draw(ctx, look, time, speed, playing) {
    drawn = [];
    const dense = playing ? speed / 60 > BLUR * packet : when.crowd(time) > MOST_SEEN;
    if (!playing) shares = null; // nothing is smoothed
    drawSenders(ctx, look, time);
    drawFrame(ctx, look, time);
    if (dense) drawShares(ctx, look, time, speed);
    else drawParcels(ctx, look, time);
    drawFalling(ctx, look, time, FALL * speed);
    drawStrip(ctx, look, time);
    last = time;
  }

  // The row of the last look at senders before a time.
  const lookAt = (time) => Math.max(0, upto(columns.time, time) - 1);

  function row(f) {
    const { list, columnsOf } = place;
    const high = list.h / Math.ceil(flows.length / columnsOf), wide = list.w / columnsOf;
    const x = list.x + (f % columnsOf) * wide, y = list.y + Math.floor(f / columnsOf) * high;
    return { x, y, w: wide - 8, h: Math.min(high, 46) };
  }

  function state(f, time) {
    const at = lookAt(time) * flows.length + f;
    return { window: columns.window[at], threshold: columns.threshold[at], rtt: columns.rtt[at],
      phase: about.phases[columns.phase[at]] };
  }

  function drawSenders(ctx, look, time) {
    flows.forEach((one, f) => {
      const { x, y, w, h } = row(f), now = state(f, time);
      const name = h >= 26, bar = name ? Math.min(9, h - 18) : Math.max(2, Math.min(9, h - 2));
      const top = name ? y + 16 : y + (h - bar) / 2;
      if (name) {
        const way = one.backward ? " ↓" : "";
        write(ctx, `${one.name}${way}`, x, y + 8, { size: 13, bold: true, colour: colour(f, look), most: w });
        if (h >= 38) write(ctx, said(one, now), x, top + bar + 9, { colour: look.muted, most: w });
      }
      ctx.fillStyle = look.fill;
      ctx.fillRect(x, top, w, bar);
      ctx.fillStyle = colour(f, look);
      if (now.window >= 0) ctx.fillRect(x, top, w * Math.min(1, now.window / widest), bar);
      if (now.window >= 0 && now.threshold <= widest) {
        ctx.fillStyle = look.text;
        ctx.fillRect(x + w * (now.threshold / widest), top - 2, 1.5, bar + 4);
      }
    });
  }

  // The queue in words, and what it may hold: packets, or bytes, which are said as a time.
  function held(packets, delay) {
    const most = about.room ? [` of ${grouped(about.room)}`, ` of ${span(room)}`] : ["", ""];
    return about.packets ? `queue ${grouped(packets)}${most[0]} packets, ${span(Number(delay.toPrecision(3)))}`
      : `queue ${grouped(packets)} packets, ${span(Number(delay.toPrecision(3)))}${most[1]}`;
  }

  function said(one, now) {
    if (one.kind === "voip" || !(now.window >= 0)) return now.phase;
    const segments = Math.round(now.window);
    return WITHOUT_WINDOW.has(now.phase) ? now.phase
      : `${grouped(segments)} segment${segments === 1 ? "" : "s"}, ${now.phase}`;
  }

  function drawFrame(ctx, look, time) {
    const { box, forward: out, backward: home, stage, far } = place;
    const [packets, delay] = when.waiting(main, time);
    ctx.fillStyle = look.fill;
    ctx.fillRect(box.x, box.y, box.w, box.h);
    ctx.fillRect(out.exit, box.y + box.h / 2 - 11, out.to - out.exit, 22);
    ctx.fillRect(home.to, home.y, home.exit - home.to, home.h);
    if (home.box) ctx.fillRect(home.exit, home.y - 8, home.box, home.h + 16);
    ctx.strokeStyle = look.muted;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    const middle = box.y + box.h / 2;
    for (const [edge, rim] of [[box.y, middle - 11], [box.y + box.h, middle + 11]]) { // the box, open on the left
      ctx.moveTo(box.x, edge);
      for (const [x, y] of [[out.exit, edge], [out.exit, rim], [far, rim]]) ctx.lineTo(x, y);
    }
    ctx.stroke();
    write(ctx, held(packets, delay), box.x, stage.y + 28, { size: 14, bold: true, colour: look.text, most: stage.w });
    write(ctx, `link, ${bits(about.rate)}`, out.to, box.y + box.h / 2 + 23, { align: "right", colour: look.muted });
    write(ctx, home.box ? `${about.queues[back]}` : "ACKs", home.to, home.y - 9, { colour: look.muted });
    if (bounded) markRoom(ctx, look, box);
  }

  // Where the buffer is full.
  function markRoom(ctx, look, box) {
    const x = place.exit - (slots ? 1 : room / scale) * box.w;
    ctx.fillStyle = look.red;
    ctx.fillRect(x - 1, box.y - 5, 2, box.h + 10);
    write(ctx, "full", Math.max(x - 1, 12), box.y + box.h + 12, { size: 11, align: "center", colour: look.red });
  }

  function bits(bytesPerSecond) {
    const value = 8 * bytesPerSecond;
    const [scaled, unit] = value >= 1e9 ? [value / 1e9, "Gbit/s"] : value >= 1e6 ? [value / 1e6, "Mbit/s"]
      : [value / 1e3, "kbit/s"];
    return `${round(scaled)} ${unit}`;
  }

  function across(i, lane) {
    const own = lanes && lane === place.forward ? lanes.get(flow[i]) : undefined;
    if (own === undefined) return [lane.y, lane.h];
    const high = lane.h / lanes.size;
    return [lane.y + own * high, high];
  }

  function drawParcels(ctx, look, time) {
    order = slots ? when.places(time) : null;
    for (const i of alive(time, 0.5 * trip, 0)) {
      ctx.fillStyle = colour(flow[i], look);
      const lane = forward[i] ? place.forward : place.backward;
      const here = queue[i] === (forward[i] ? main : back) && lane.box > 0;
      if (time < came[i]) { if (here && forward[i]) comes(ctx, i, lane, time); }
      else if (here && !(time >= begins[i])) waits(ctx, i, lane, time);
      else if (time >= begins[i] && fate[i] !== REFUSED) {
        if (here || queue[i] === NO_QUEUE || !forward[i] || lane.box === 0) travels(ctx, i, lane, time, here);
        else approaches(ctx, i, time);
      }
    }
  }

  function block(ctx, i, x, y, w, h) {
    const gap = w > 3 ? 0.8 : 0;
    ctx.fillRect(x, y, Math.max(1, w - gap), h);
    drawn.push({ x, y, w, h, i });
  }

  // Where it waits: in its place of the buffer, or as far from the way out as it takes to get there.
  function stands(i, lane, time) {
    if (slots && lane === place.forward) {
      const wide = lane.box / about.room, rank = order?.found.get(i) ?? order?.found.size ?? 0;
      return [Math.max(place.box.x, lane.exit - (rank + 1 + (order?.left ?? 0)) * wide), wide];
    }
    const goes = when.goes(i) ? begins[i] : fate[i] === DROPPED ? leaves[i] : about.length;
    const wide = Math.max(1.5, (bytes[i] / about.rate / scale) * lane.box);
    const way = Math.min(1, Math.max(0, goes - time) / scale) * lane.box;
    return [lane.sign > 0 ? lane.exit - way - wide : lane.exit + way, wide];
  }

  function waits(ctx, i, lane, time) {
    if (fate[i] === REFUSED) return;
    const [x, wide] = stands(i, lane, time), [y, high] = across(i, lane);
    const low = lane.sign > 0 ? 3 : 0;
    block(ctx, i, x, y + low, wide, high - 2 * low);
  }

  // On its way from the sender to the queue: no time in the model, drawn as half of the shortest trip.
  function comes(ctx, i, lane, time) {
    const [x, wide] = fate[i] === REFUSED ? [place.box.x - 8, 4] : stands(i, lane, came[i]);
    const [y, high] = across(i, lane);
    const from = flow[i] === NOBODY ? place.list : row(flow[i]), start = place.narrow ? 0 : from.x + from.w;
    const share = 1 - (came[i] - time) / (0.5 * trip);
    const line = place.narrow ? y + high / 2 : (1 - share) * (from.y + from.h / 2) + share * (y + high / 2);
    block(ctx, i, start + share * (x - start), line - 5, Math.min(wide, 8), 10);
  }

  // From another queue to that of the bottleneck.
  function approaches(ctx, i, time) {
    if (!(arrives[i] > leaves[i])) return;
    const from = row(flow[i]), share = Math.min(1, Math.max(0, (time - leaves[i]) / (arrives[i] - leaves[i])));
    const start = place.narrow ? 0 : from.x + from.w;
    const high = from.y + from.h / 2;
    block(ctx, i, start + share * (place.box.x - start), high + share * (place.box.y + 20 - high), 6, 10);
  }

  // Over the link: as long as it takes to send.
  function travels(ctx, i, lane, time, boxed) {
    const takes = Math.max(arrives[i] - leaves[i], 2 * (leaves[i] - begins[i]), 1e-9);
    const start = boxed || lane === place.forward ? lane.exit : place.far, way = Math.abs(lane.to - start);
    const front = Math.min(1, (time - begins[i]) / takes), tail = Math.min(1, Math.max(0, (time - leaves[i]) / takes));
    const wide = Math.max(lane.sign < 0 ? 3 : 2, (front - tail) * way);
    const x = lane.sign > 0 ? start + tail * way : start - tail * way - wide;
    const high = lane.sign > 0 ? 18 : lane.h - 2, y = lane.sign > 0 ? lane.y + lane.h / 2 - 9 : lane.y + 1;
    if (tail < 1) block(ctx, i, Math.max(lane.sign > 0 ? start : lane.to, x), y, Math.min(wide, way), high);
  }

  function drawFalling(ctx, look, time, takes) {
    let seenNow = 0;
    for (const i of alive(time, 0, takes)) {
      const when = fate[i] === LOST ? arrives[i] : leaves[i], fell = (time - when) / takes;
      if (!fate[i] || !(fell >= 0 && fell < 1)) continue;
      seenNow += 1;
      if (seenNow > 60) continue;
      const lane = forward[i] ? place.forward : place.backward;
      const x = fate[i] === LOST ? lane.to - lane.sign * 12 : fate[i] === DROPPED ? lane.exit - 8
        : lane.box ? Math.max(place.box.x - 6, stands(i, lane, when)[0] - (bounded ? 1e4 : 0)) : lane.exit;
      const [y, high] = across(i, lane);
      ctx.globalAlpha = 1 - fell ** 2;
      ctx.fillStyle = look.red;
      block(ctx, i, x - 2 + 6 * Math.sin(7 * i), y + high / 2 - 6 + 70 * fell ** 2, 8, 12);
      ctx.globalAlpha = 1;
    }
    if (seenNow) {
      write(ctx, `${seenNow} dropped`, place.box.x + 24, place.box.y + place.box.h + 16, { bold: true, colour: look.red });
    }
  }

  function drawShares(ctx, look, time, speed) {
    const over = Math.max(speed / 6, 10 * packet);
    const { forward: out, backward: home } = place;
    const stack = (parts, x, y, w, h) => {
      let low = y + h;
      parts.forEach((part, f) => {
        ctx.fillStyle = colour(f, look);
        ctx.fillRect(x, low - part * h, w, part * h);
        low -= part * h;
      });
    };
    stack(when.shares(main, time - over, time), out.exit, out.y + out.h / 2 - 9, out.to - out.exit, 18);
    const parts = when.shares(back, time - over, time), whole = parts.reduce((a, b) => a + b, 0);
    stack(parts.map((part) => part / Math.max(whole, 0.05)), home.to, home.y + 1, home.exit - home.to, home.h - 2);
    drawWaitingShares(ctx, look, time, stack);
  }

  // The queue, in columns: of each the share of the flows, smoothed from picture to picture.
  function drawWaitingShares(ctx, look, time, stack) {
    order = slots ? when.places(time) : null;
    const { box } = place, wide = 8, number = Math.floor(box.w / wide);
    const now = new Float64Array(number * flows.length);
    for (const i of alive(time, 0, 0)) {
      if (queue[i] !== main || flow[i] === NOBODY || fate[i] === REFUSED || time < came[i] || time >= begins[i]) continue;
      const [x, w] = stands(i, place.forward, time);
      for (let at = x; at < x + w; at += wide) {
        const column = Math.floor((place.exit - at) / wide);
        if (column >= 0 && column < number) now[column * flows.length + flow[i]] += Math.min(wide, x + w - at) / wide;
      }
    }
    const smooth = shares && Math.abs(time - last) < 0.2 * about.length ? 0.3 : 1;
    shares = now.map((value, i) => (shares ? shares[i] : 0) * (1 - smooth) + value * smooth);
    for (let column = 0; column < number; column++) {
      const parts = Array.from(shares.subarray(column * flows.length, (column + 1) * flows.length));
      const whole = Math.max(1, parts.reduce((a, b) => a + b, 0));
      stack(parts.map((part) => part / whole), place.exit - (column + 1) * wide, box.y + 3, wide - 1, box.h - 6);
    }
  }

  function drawStrip(ctx, look, time) {
    const { x, y, w, h } = place.strip;
    if (!strip || strip.look !== look.back) strip = { look: look.back, sheet: stripSheet(look) };
    ctx.drawImage(strip.sheet, 0, y - 16, place.width, h + 38);
    const at = x + (w * time) / about.length;
    ctx.fillStyle = look.text;
    ctx.fillRect(at - 0.75, y, 1.5, h);
  }

  // The queue over all of the trace, with drops and windows.
  function stripSheet(look) {
    const { x, w, h } = place.strip, made = sheet(place.width, h + 38), ctx = made.getContext("2d"), y = 16;
    const most = Float64Array.from({ length: Math.ceil(w) }, (_, pixel) =>
      when.peak(main, (pixel / w) * about.length, ((pixel + 1) / w) * about.length));
    const high = most.reduce((a, b) => Math.max(a, b), 1);
    const top = about.room && about.room < 2 * high ? Math.max(about.room, high) : 1.1 * high;
    ctx.fillStyle = look.fill;
    ctx.fillRect(x, y, w, h);
    ctx.fillStyle = look.line;
    most.forEach((value, pixel) => ctx.fillRect(x + pixel, y + h * (1 - value / top), 1.2, (h * value) / top));
    drawWindows(ctx, look, x, y, w, h);
    ctx.fillStyle = look.red;
    for (const drop of drops) ctx.fillRect(x + (w * drop) / about.length - 0.5, y, 1, 7);
    write(ctx, grouped(top), x - 4, y + 6, { size: 11, align: "right", colour: look.muted });
    write(ctx, "0", x - 4, y + h - 5, { size: 11, align: "right", colour: look.muted });
    write(ctx, "packets waiting (grey), windows (lines), drops (red)", x, y - 8, { size: 11, colour: look.muted, most: w });
    write(ctx, clock(about, 0), x, y + h + 10, { size: 11, colour: look.muted });
    write(ctx, clock(about, about.length), x + w, y + h + 10, { size: 11, align: "right", colour: look.muted });
    return made;
  }

  function drawWindows(ctx, look, x, y, w, h) {
    ctx.lineWidth = flows.length > 10 ? 0.8 : 1.6;
    flows.forEach((_, f) => {
      ctx.strokeStyle = colour(f, look);
      ctx.beginPath();
      let up = true;
      columns.time.forEach((time, at) => {
        const value = columns.window[at * flows.length + f];
        if (!(value > 0)) { up = true; return; }
        const point = [x + (w * time) / about.length, y + h * (1 - value / (1.05 * widest))];
        if (up) ctx.moveTo(...point);
        else ctx.lineTo(...point);
        up = false;
      });
      ctx.stroke();
    });
  }

  function words(time) {
    const [packets, delay] = when.waiting(main, time);
    const fallen = upto(drops, time);
    const shown = flows.slice(0, 3).map((one, f) => `${one.name}: ${said(one, state(f, time))}`);
    const more = flows.length > 3 ? [`and ${flows.length - 3} more`] : [];
    const queued = held(packets, delay);
    return `${queued[0].toUpperCase()}${queued.slice(1)}. `
      + `${fallen ? `Dropped so far: ${grouped(fallen)}. ` : ""}${[...shown, ...more].join("; ")}.`;
  }

  function tip(x, y, time) {
    for (let k = drawn.length - 1; k >= 0; k--) {
      const { x: left, y: top, w, h, i } = drawn[k];
      if (x >= left - 1 && x <= left + w + 1 && y >= top && y <= top + h) return tipOf(i);
    }
    const within = (r) => x >= r.x && x <= r.x + r.w && y >= r.y && y < r.y + r.h;
    const f = flows.findIndex((_, one) => within(row(one)));
    if (f >= 0) return tipOfFlow(f, time);
    const at = timeAt(x, y);
    return at === null ? null : `${clock(about, at)}: ${grouped(when.waiting(main, at)[0])} packets wait`;
  }

  function tipOf(i) {
    const name = flow[i] === NOBODY ? "not seen before it was dropped" : flows[flow[i]].name;
    const what = `${ack[i] ? "ACK" : "packet"} of ${name}, ${grouped(bytes[i])} B`;
    const waited = begins[i] - came[i];
    const end = { [REFUSED]: "dropped as it came", [DROPPED]: `dropped after ${span(leaves[i] - came[i])}`,
      [LOST]: "lost on the way" }[fate[i]];
    const wait = waited > 0 ? `waits ${span(waited)}` : "waits for nothing";
    return `${what}\ncame at ${clock(about, came[i])}\n${end ?? wait}`;
  }

  function tipOfFlow(f, time) {
    const now = state(f, time), one = flows[f];
    const around = now.rtt >= 0 ? `\nround-trip time ${span(now.rtt)}` : "";
    const limit = now.threshold >= 0 ? `\nslow-start threshold ${grouped(now.threshold)} segments` : "";
    return `${one.name} (${one.cc}): ${said(one, now)}${limit}${around}`;
  }

  function timeAt(x, y) {
    const { x: left, y: top, w, h } = place.strip;
    if (y < top - 4 || y > top + h + 14) return null;
    return Math.min(1, Math.max(0, (x - left) / w)) * about.length;
  }

  const cut = about.whole ? ""
    : ` It ends at ${clock(about, about.length)}, where it holds as many packets as a trace may.`;
  const distances = slots ? "" : " What waits is as far from the way out as it takes to get there.";
  return { layout, draw, words, tip, timeAt,
    steps: when.steps, note: `Seed ${about.seed} of the random numbers.${distances}${cut}` };

}
