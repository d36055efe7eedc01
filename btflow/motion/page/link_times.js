// What is when on a link, from the columns of its trace (btflow/motion/link.py): nothing here is drawn.

const REFUSED = 1, DROPPED = 2, LOST = 3; // fates
const NOBODY = 65535; // flow of what was dropped before it was seen
const NO_QUEUE = 255;

// Return the running sums of values, from 0 on.
function sums(values) {
  const found = new Float64Array(values.length + 1);
  values.forEach((value, i) => { found[i + 1] = found[i] + value; });
  return found;
}

function linkTimes({ about, columns }) {
  const { flow, ack, queue, fate, bytes, came, begins, leaves, arrives } = columns;
  const flows = about.flows, count = came.length, main = about.queue;
  const goes = (i) => begins[i] >= -Infinity; // whether it is sent in the time of the trace
  const forward = Uint8Array.from(flow, (f, i) =>
    (f === NOBODY ? queue[i] === main : (ack[i] === 1) === flows[f].backward));
  const ends = Float64Array.from(leaves, (time, i) => (arrives[i] >= 0 ? arrives[i] : time >= 0 ? time : about.length));
  const longest = ends.reduce((most, end, i) => Math.max(most, end - came[i]), 0);
  const packet = bytes.reduce((most, size) => Math.max(most, size), 1) / about.rate; // time that the largest takes
  const back = commonest();
  const there = new Map([main, back].map((q) => [q, comingsAndGoings(q)]));
  const trip = leaves.reduce((least, time, i) => // the shortest
    (arrives[i] > time ? Math.min(least, arrives[i] - time) : least), about.length);
  const sent = new Map([main, back].map((q) => [q, flows.map((_, f) => sentBy(q, f))]));

  function pick(wanted) {
    const found = [];
    for (let i = 0; i < count; i++) if (wanted(i)) found.push(i);
    return found;
  }

  // The queue that most parcels pass which go the other way.
  function commonest() {
    const counts = new Map();
    queue.forEach((q, i) => { if (!forward[i] && q !== NO_QUEUE) counts.set(q, (counts.get(q) ?? 0) + 1); });
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? NO_QUEUE;
  }

  function comingsAndGoings(q) {
    const inside = pick((i) => queue[i] === q && fate[i] !== REFUSED);
    const gone = inside.filter((i) => goes(i) || fate[i] === DROPPED)
      .map((i) => [fate[i] === DROPPED ? leaves[i] : begins[i], bytes[i]]).sort((a, b) => a[0] - b[0]);
    return { came: inside.map((i) => came[i]), gone: gone.map(([time]) => time),
      cameBytes: sums(inside.map((i) => bytes[i])), goneBytes: sums(gone.map(([, size]) => size)) };
  }

  function sentBy(q, f) {
    const found = pick((i) => queue[i] === q && flow[i] === f && goes(i)).sort((a, b) => begins[a] - begins[b]);
    return { times: found.map((i) => begins[i]), bytes: sums(found.map((i) => bytes[i])) };
  }

  // Return how many packets wait in a queue at a time, and how long all of them take [s].
  function waiting(q, time) {
    const { came, gone, cameBytes, goneBytes } = there.get(q);
    const [entered, left] = [upto(came, time), upto(gone, time)];
    return [entered - left, Math.max(0, cameBytes[entered] - goneBytes[left]) / about.rate];
  }

  const mostWaiting = (q) => there.get(q).came.reduce((most, time) => Math.max(most, waiting(q, time)[0]), 0);
  const longestWait = (q) => begins.reduce((most, time, i) =>
    (queue[i] === q ? Math.max(most, time - came[i] || 0) : most), 0);

  // Return the most packets that wait between two times, by some of the moments at which one comes.
  function peak(q, from, to) {
    const { came } = there.get(q), inside = came.slice(upto(came, from), upto(came, to));
    const some = inside.filter((_, i) => i % Math.ceil(inside.length / 40) === 0);
    return Math.max(waiting(q, from)[0], ...some.map((time) => waiting(q, time)[0]));
  }

  // Numbers of the parcels that are on their way at a time, those that come soon, and those gone for a while.
  function* alive(time, before, after) {
    const first = upto(came, time - longest - after);
    for (let i = first; i < count && came[i] <= time + before; i++) if (ends[i] + after >= time) yield i;
  }

  // Return how many parcels are on their way at a time.
  function crowd(time) {
    let found = 0;
    for (const i of alive(time, 0, 0)) found += i >= 0;
    return found;
  }

  // Return the place in the queue of all that waits, and what is left of the packet that is being sent, as a share.
  function places(time) {
    const found = new Map();
    let left = 0;
    for (const i of alive(time, 0, 0)) {
      if (queue[i] !== main || fate[i] === REFUSED || !(time >= came[i])) continue;
      if (time >= begins[i]) left = time < leaves[i] ? (leaves[i] - time) / (leaves[i] - begins[i]) : left;
      else if (!(time >= leaves[i])) found.set(i, found.size);
    }
    return { left, found };
  }

  // Return what part of the link's time each flow takes between two times.
  function shares(q, from, to) {
    return sent.get(q).map(({ times, bytes: total }) =>
      (total[upto(times, to)] - total[upto(times, from)]) / (about.rate * Math.max(to - from, 1e-12)));
  }

  const lost = pick((i) => fate[i] > 0);
  const drops = ascending(lost.map((i) => (fate[i] === LOST ? arrives[i] : leaves[i])));
  const steps = ascending(pick((i) => queue[i] === main).flatMap((i) => [came[i], fate[i] ? leaves[i] : begins[i]])
    .filter((time) => time >= 0 && time <= about.length));
  const own = pick((i) => queue[i] === main && flow[i] !== NOBODY);
  const passing = [...new Set(own.map((i) => flow[i]))].sort((a, b) => a - b);
  return { flows, main, back, forward, packet, trip, drops, steps, passing, goes, alive, crowd, waiting, mostWaiting,
    longestWait, peak, places, shares };
}
