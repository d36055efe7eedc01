// What the views of a link and of a swarm have in common: reading arrays, words for numbers, colours.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array, float32: Float32Array,
  float64: Float64Array };
const FONT = "Arial, Helvetica, sans-serif"; // that of the figures
const BLACK = "#000000";

// Return how many of ascending values are at or below one.
function upto(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const ascending = (values) => Float64Array.from(values).sort();

function round(value, digits = 3) {
  return String(Number(value.toPrecision(digits)));
}

const grouped = (value) => Math.round(value).toLocaleString("en");

// Return a time in words, such as "12 ms".
function span(seconds) {
  if (seconds === 0) return "0 ms";
  const [scale, unit] = seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${round(scale * seconds)} ${unit}`;
}

// Return the simulated time that is played, as finely as steps in it can be seen.
function clock(about, time) {
  const digits = Math.min(6, Math.max(0, Math.ceil(2.5 - Math.log10(about.length))));
  return `${(about.start + time).toFixed(digits)} s`;
}

function rate(bytes) {
  const [scale, unit] = bytes >= 1e6 ? [1e-6, "MB/s"] : bytes >= 1e3 ? [1e-3, "kB/s"] : [1, "B/s"];
  return `${round(scale * bytes)} ${unit}`;
}

const many = (count, noun) => `${grouped(count)} ${noun}${Math.round(count) === 1 ? "" : "s"}`;

// Return the colours in use: those of the page, and whether it is dark.
function theme(root) {
  const style = getComputedStyle(root);
  const own = (name) => style.getPropertyValue(`--motion-${name}`).trim();
  const [, red, green, blue] = /rgba?\((\d+)[, ]+(\d+)[, ]+(\d+)/.exec(style.backgroundColor) ?? [0, 255, 255, 255];
  const dark = 0.3 * red + 0.6 * green + 0.1 * blue < 128;
  return { text: style.color, muted: own("muted"), line: own("line"), fill: own("fill"), red: own("red"), dark,
    back: style.backgroundColor };
}

// Return a colour of the figures as it is seen on the page: black is not, on a dark one.
const seen = (colour, look) => (look.dark && colour === BLACK ? "#dddddd" : colour);

function write(ctx, text, x, y, { size = 12, colour, align = "left", bold = false, most } = {}) {
  ctx.font = `${bold ? "bold " : ""}${size}px ${FONT}`;
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour;
  let shown = text;
  while (most && shown.length > 2 && ctx.measureText(shown).width > most) shown = `${shown.slice(0, -2).trimEnd()}…`;
  ctx.fillText(shown, x, y);
}

// Return a canvas to draw on once and show often; size in the page's pixels.
function sheet(width, height) {
  const made = document.createElement("canvas");
  const dots = globalThis.devicePixelRatio || 1;
  made.width = Math.max(1, Math.round(width * dots));
  made.height = Math.max(1, Math.round(height * dots));
  made.getContext("2d").setTransform(dots, 0, 0, dots, 0, 0);
  return made;
}
