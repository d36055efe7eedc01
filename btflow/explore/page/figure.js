// A figure that is drawn whole, as wide as what it is in: what came last is drawn, as soon as Plotly is there.
const TYPES = { int8: Int8Array, int16: Int16Array, int32: Int32Array, uint8: Uint8Array, uint16: Uint16Array,
  uint32: Uint32Array, float32: Float32Array, float64: Float64Array };

// Return a value as Plotly takes it: arrays come as bytes with their type.
function read(value) {
  if (Array.isArray(value)) return value.map(read);
  if (!value || typeof value !== "object") return value;
  if (value.dtype && value.buffer) {
    const { buffer, byteOffset, byteLength } = value.buffer;
    return new TYPES[value.dtype](buffer.slice(byteOffset, byteOffset + byteLength));
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, read(part)]));
}

const AXIS = /^([xy])axis\d*$/;

// Return what a figure shows, for those who do not see it: its title, or what its axes have.
function described(layout) {
  const titles = (letter) => Object.keys(layout).filter((name) => AXIS.exec(name)?.[1] === letter)
    .map((name) => layout[name].title?.text).filter(Boolean).join(", ");
  const text = layout.title?.text || `${titles("y")} against ${titles("x")}`;
  return text.replace(/<[^>]*>/g, " ");
}

const LINE = 1.3; // Plotly's height of a line, in sizes of its letters
const ruler = document.createElement("canvas").getContext("2d");

// Return a text as lines no wider than there is room [px], broken between words: as few as it takes, about as wide each.
function folded(text, room) {
  const wide = (part) => ruler.measureText(part).width;
  const lines = (most) => text.split(" ").reduce((found, word) => {
    const last = `${found.at(-1)} ${word}`;
    return found.length && wide(last) <= most ? [...found.slice(0, -1), last] : [...found, word];
  }, []);
  if (!text || text.includes("<") || !(room > 0) || wide(text) <= room) return text;
  const fewest = lines(room).length;
  let most = wide(text) / fewest;
  while (most < room && lines(most).length > fewest) most += 4; // a letter or so
  return lines(Math.min(most, room)).join("<br>");
}

const EDGE = 40; // of a title, on both sides together [px]
const ABOVE = 14; // above a title of several lines [px]
const WIDE = 900; // what figures are made for [px]

// Return a layout whose title and subtitle are as wide as the figure at most, which is higher by their further lines.
function headed(layout, width, height) {
  const { title } = layout, common = layout.template?.layout ?? {};
  if (!title?.text) return { ...layout, height };
  const named = { ...common.title, ...title };
  const sizes = [named.font?.size ?? 17, title.subtitle?.font?.size ?? common.title?.subtitle?.font?.size ?? 12];
  const [text, below] = [title.text, title.subtitle?.text ?? ""].map((one, k) => {
    ruler.font = `${sizes[k]}px ${common.font?.family ?? "sans-serif"}`;
    return one.split("<br>").map((line) => folded(line, width - EDGE)).join("<br>");
  });
  const further = (after, before) => after.split("<br>").length - (before ?? "").split("<br>").length;
  const lower = LINE * sizes[0] * further(text, title.text);
  const more = Math.ceil(lower + LINE * sizes[1] * further(below, title.subtitle?.text));
  if (!more) return { ...layout, height };
  const place = { y: 1 - (ABOVE + lower / 2) / (height + more), yanchor: "top" }; // Plotly's top is above its middle
  const margin = { ...layout.margin, t: (layout.margin?.t ?? common.margin?.t ?? 100) + more };
  const shown = { ...title, ...place, text, subtitle: { ...title.subtitle, text: below } };
  return { ...layout, margin, height: height + more, title: shown };
}

// Return a layout whose range has room for what is written beside bars, a larger share of a narrow figure.
function widened(data, layout, width) {
  const range = layout.xaxis?.range, texts = data.filter((trace) => trace.mode === "text").flatMap((trace) => [...trace.text]);
  if (!range || !texts.length) return layout;
  const common = layout.template?.layout ?? {}, margin = { ...common.margin, ...layout.margin };
  ruler.font = `${common.font?.size ?? 14}px ${common.font?.family ?? "sans-serif"}`;
  const rows = data.filter((trace) => trace.type === "bar").flatMap((trace) => [...trace.y]);
  const widest = (some) => Math.max(0, ...some.map((text) => ruler.measureText(text).width));
  const room = (all) => all - (margin.r ?? 80) - Math.max(margin.l ?? 80, widest(rows) + 20); // the left margin grows
  const share = (all) => Math.max(0.2, 1 - 2 * widest(texts) / room(all));
  const more = (range[1] - range[0]) * Math.max(0, share(WIDE) / share(width) - 1) / 2;
  return { ...layout, xaxis: { ...layout.xaxis, range: [range[0] - more, range[1] + more] } };
}

// Return a layout whose titles and texts fit a figure of some width; it may be higher.
function suited(data, layout, width, height) {
  const shown = headed(widened(data, layout, width), width, height);
  return titled(shown, width, shown.height);
}

// Return a layout whose axes have their titles beside them, however narrow or low the figure is.
function titled(layout, width, height) {
  const common = layout.template?.layout ?? {};
  const before = { l: 80, r: 80, t: 100, b: 80, ...common.margin, ...layout.margin }; // of Plotly, if none are said
  const more = { t: 0, b: 0 }; // the left margin grows by itself; so would these, but into the legend and the title
  const axes = {};
  for (const letter of ["x", "y"]) { // what a title below takes of the height, those on the left do without
    const long = letter === "x" ? width - before.l - before.r : height - before.t - before.b - more.t - more.b;
    for (const [name, axis] of Object.entries(layout).filter(([name]) => AXIS.exec(name)?.[1] === letter)) {
      const [begin, end] = axis.domain ?? [0, 1];
      const size = axis.title?.font?.size ?? common[`${letter}axis`]?.title?.font?.size ?? 14;
      ruler.font = `${size}px ${common.font?.family ?? "sans-serif"}`;
      const text = folded(axis.title?.text?.replaceAll("<br>", " "), (end - begin) * long);
      if (!text) continue;
      axes[name] = { ...axis, title: { ...axis.title, text } };
      const side = axis.side === "top" ? "t" : "b";
      const added = Math.ceil(LINE * size) * (text.split("<br>").length - 1);
      if (letter === "x") more[side] = Math.max(more[side], added);
    }
  }
  const legend = { ...common.legend, ...layout.legend };
  if (legend.y < 0 && legend.yref !== "container") // it keeps its place below the title
    legend.y -= more.b / (height - before.t - before.b - more.t - more.b);
  if (legend.entrywidthmode === "fraction" && width < WIDE / 2) legend.entrywidth = 1;
  return { ...layout, ...axes, legend, margin: { ...before, t: before.t + more.t, b: before.b + more.b } };
}

// Colours on a dark page: those of the lines a little lighter, ink and paper changed.
const DARK = { "#000000": "#e8e8e8", "#222222": "#e8e8e8", "#333333": "#c8ccd2", "#444444": "#c8ccd2", "#666666": "#a9aeb5",
  "#dddddd": "#3a4046", "#0072b2": "#4ba3db", "#009e73": "#2fc79c", "#a33c00": "#ff9d5c", "white": "#17191c",
  "rgba(255,255,255,0.85)": "rgba(23,25,28,0.85)" };

// Return data or a layout as a dark page shows it.
function darkened(value) {
  if (typeof value === "string") return DARK[value.toLowerCase()] ?? value;
  if (Array.isArray(value)) return value.map(darkened);
  if (!value || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, darkened(part)]));
}

// Return whether what a figure is on is dark, whoever made it so: the page, JupyterLab's theme.
function isDark(el) {
  for (let place = el; place; place = place.parentElement) {
    const [r, g, b, a] = getComputedStyle(place).backgroundColor.match(/[\d.]+/g).map(Number);
    if (a !== 0) return r + g + b < 3 * 110;
  }
  return false;
}

const NARROW = 400; // there Plotly's buttons would lie on the title [px]

// On a telephone's page a figure leaves room for the inputs below it.
const low = matchMedia("(max-width: 760px) and (min-height: 600px)");
const night = matchMedia("(prefers-color-scheme: dark)");
const LEAST = 400; // of a figure that is as high as the window leaves room for [px]
const BELOW = 50; // what stands below it and should be in view [px]

function render({ model, el }) {
  const plot = document.createElement("div");
  plot.setAttribute("role", "figure");
  el.style.width = "100%";
  el.append(plot);
  let plotly, busy = false, due = false, width = 0;

  const draw = async () => {
    due = true;
    if (busy || !plotly || !el.clientWidth) return;
    busy = true;
    while (due && el.clientWidth) {
      due = false;
      width = el.clientWidth;
      const { data, layout } = read(model.get("drawn"));
      if (!layout) break; // it is made, but nothing of it came yet
      const named = data.filter((trace) => trace.name && trace.showlegend !== false && trace.visible !== false).length;
      const room = Math.round(0.45 * innerHeight) + 20 * Math.min(1, Math.max(0, named - 4)); // a longer legend takes of the plot
      const left = innerHeight - (el.getBoundingClientRect().top + scrollY) - BELOW;
      const most = model.get("fills") ? Math.max(LEAST, Math.min(layout.height, left)) : layout.height;
      const height = low.matches ? Math.min(layout.height, room) : most;
      const config = { ...model.get("config"), ...(width < NARROW ? { displayModeBar: false } : {}) };
      try {
        const dark = isDark(el);
        const plain = dark ? { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" } : {};
        const shown = { ...(dark ? darkened : (same) => same)(suited(data, layout, width, height)), ...plain };
        const fitted = { uirevision: "kept", ...shown, width, autosize: false }; // a new figure leaves a zoom as it is
        await plotly.react(plot, dark ? darkened(data) : data, fitted, config);
        plot.setAttribute("aria-label", described(layout));
        explainLegend(plot);
      } catch (error) {
        console.error("btflow: a figure was not drawn", error);
      }
      await new Promise(requestAnimationFrame);
    }
    busy = false;
  };

  const observer = new ResizeObserver(() => el.clientWidth && (due || el.clientWidth !== width) && draw());
  observer.observe(el);
  const again = () => draw();
  night.addEventListener("change", again);
  addEventListener("resize", again);
  model.on("change:drawn", draw);
  ready.promise.then((found) => { plotly = found; draw(); });
  return () => {
    observer.disconnect();
    night.removeEventListener("change", again);
    removeEventListener("resize", again);
    model.off("change:drawn", draw);
    plotly?.purge(plot);
  };
}

export default { render };
