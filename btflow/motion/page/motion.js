// Plays a recorded run on a canvas: controls, words and the clock. What is drawn is in link.js and swarm.js, which come
// before this in one module; drawing.js has what both use.

const VIEWS = { link: linkView, swarm: swarmView };
const SLOWEST = -1, FASTEST = 2; // powers of ten of the speed
const RESTYLED = 500; // time between two looks at the page's colours [ms]: they may follow a switch of the page
const TOLD = 100; // time between two reports of the time while it plays [ms]

// Return the description and the columns of a packed trace (btflow/motion/trace.py).
function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  const whole = bytes.slice(8 + size).buffer; // at its own start, so that arrays are where their type wants them
  const columns = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.columns)) {
    columns[name] = new TYPES[dtype](whole, offset, shape.reduce((a, b) => a * b, 1));
    columns[name].shape = shape;
  }
  return { about: header.about, columns };
}

function element(parent, tag, name, properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  if (name) made.className = `btflow-motion-${name}`;
  parent.append(made);
  return made;
}

// What is on the buttons, as paths in a square of 16: letters for them are not in every font.
const SIGNS = { Play: "M4 2 L14 8 L4 14 Z", Pause: "M3 2 H7 V14 H3 Z M9 2 H13 V14 H9 Z",
  "One step back": "M2 2 H4 V14 H2 Z M14 2 L5 8 L14 14 Z", "One step forward": "M12 2 H14 V14 H12 Z M2 2 L11 8 L2 14 Z" };

function button(parent, name, action) {
  const made = element(parent, "button", "", { type: "button", onclick: action });
  named(made, name);
  return made;
}

function named(made, name) {
  made.innerHTML = `<svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true"><path d="${SIGNS[name]}"/></svg>`;
  made.title = name;
  made.setAttribute("aria-label", name);
}

class Player {
  constructor(parent, options = {}) {
    this.told = options.onTime ?? (() => {});
    this.heard = options.onPlaying ?? (() => {});
    this.playing = false;
    this.time = 0; // since the start of the trace [s]
    this.speed = 1;
    this.pointer = null;
    this.root = element(parent, "div", "", { className: "btflow-motion", tabIndex: 0 });
    this.root.setAttribute("role", "group");
    this.root.hidden = true; // until there is something to play
    this.words = element(this.root, "p", "words");
    this.build();
    this.canvas = element(this.root, "canvas", "canvas");
    this.canvas.setAttribute("role", "img");
    this.note = element(this.root, "p", "note");
    this.tip = element(this.root, "div", "tip", { hidden: true });
    this.listen();
  }

  build() {
    const bar = element(this.root, "div", "bar");
    button(bar, "One step back", () => this.step(-1));
    this.toggle = button(bar, "Play", () => this.play(!this.playing));
    button(bar, "One step forward", () => this.step(1));
    this.clock = element(bar, "output", "clock");
    this.scrub = element(bar, "input", "scrub", { type: "range", min: 0, step: "any" });
    this.scrub.setAttribute("aria-label", "Time");
    this.scrub.oninput = () => { this.play(false); this.seek(Number(this.scrub.value)); };
    const label = element(bar, "label", "speed", { textContent: "speed" });
    this.pace = element(label, "input", "", { type: "range", min: SLOWEST, max: FASTEST, step: 0.05, value: 0 });
    this.pace.setAttribute("aria-label", "Speed");
    this.said = element(label, "output", "");
    this.pace.oninput = () => this.setSpeed(10 ** Number(this.pace.value));
    this.choices = element(bar, "span", "choices");
  }

  listen() {
    this.root.onkeydown = (event) => this.key(event);
    this.canvas.onpointermove = (event) => {
      this.pointer = { x: event.offsetX, y: event.offsetY };
      if (event.buttons) this.drag(event.offsetX, event.offsetY);
      this.ask();
    };
    this.canvas.onpointerdown = (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.drag(event.offsetX, event.offsetY);
    };
    this.canvas.onpointerup = () => { this.dragging = false; };
    this.canvas.onpointerleave = () => { this.pointer = null; this.tip.hidden = true; };
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.root);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => { this.styled = null; this.resize(); };
    this.dark.addEventListener("change", this.repaint);
  }

  // Show a packed trace from its start on.
  load(bytes) {
    this.trace = unpack(bytes);
    this.root.hidden = false;
    const { about } = this.trace;
    this.view = VIEWS[about.kind](this.trace);
    this.root.setAttribute("aria-label", `Playback of ${about.title}`);
    this.canvas.setAttribute("aria-label", about.title);
    this.scrub.max = about.length;
    this.note.textContent = this.view.note;
    this.choices.replaceChildren();
    for (const [name, options] of Object.entries(this.view.choices ?? {})) this.choose(name, options);
    this.setSpeed(this.speed);
    this.time = 0;
    this.resize();
    this.seek(0);
  }

  choose(name, options) {
    const label = element(this.choices, "label", "", { textContent: `${name} ` });
    const list = element(label, "select", "");
    for (const option of options) element(list, "option", "", { value: option, textContent: option });
    list.onchange = () => { this.view.chosen(name, list.value); this.ask(); };
  }

  setSpeed(speed) {
    this.speed = speed;
    const shown = this.trace ? span(speed * this.trace.about.pace) : "";
    this.said.textContent = `each second shows ${shown}`;
    this.pace.setAttribute("aria-valuetext", this.said.textContent);
    if (this.view) this.ask();
  }

  play(on) {
    if (!this.trace) return;
    if (on && this.time >= this.trace.about.length) this.seek(0);
    if (on === this.playing) return;
    this.playing = on;
    named(this.toggle, on ? "Pause" : "Play");
    this.last = null;
    if (!on) this.tell();
    this.heard(on);
    this.ask();
  }

  // Go to a time since the start of the trace [s].
  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.trace.about.length);
    this.tell();
    this.ask();
  }

  step(by) {
    this.play(false);
    const steps = this.view.steps, exact = this.time * (1 + 1e-9) + 1e-9 * this.trace.about.length;
    const at = by > 0 ? upto(steps, exact) : upto(steps, this.time - 1e-9 * this.trace.about.length) - 1;
    this.seek(at < 0 ? 0 : at >= steps.length ? this.trace.about.length : steps[at]);
  }

  key(event) {
    const own = event.target.matches("input, select");
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const press = event.target.matches("button") && event.key === " "; // the button's own
    if (event.key === " " && !press) this.play(!this.playing);
    else if (by && !(own && event.target !== this.scrub)) this.step(by);
    else if (event.key === "Home" && !own) this.seek(0);
    else if (event.key === "End" && !own) this.seek(this.trace.about.length);
    else return;
    event.preventDefault();
  }

  drag(x, y) {
    const time = this.dragging ? this.view.timeAt(x, y) : null;
    if (time === null) return;
    this.play(false);
    this.seek(time);
  }

  tell() {
    this.reported = performance.now();
    this.told(this.trace.about.start + this.time);
  }

  resize() {
    const wide = this.root.clientWidth;
    if (!wide || !this.view) return;
    this.width = wide - 2;
    this.height = this.view.layout(this.width);
    const dots = globalThis.devicePixelRatio || 1;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * dots);
    this.canvas.height = Math.round(this.height * dots);
    this.ask();
  }

  // Draw once more as soon as the browser paints.
  ask() {
    this.asked ??= requestAnimationFrame((now) => { this.asked = null; this.frame(now); });
  }

  frame(now) {
    if (!this.root.isConnected || !this.width) return;
    const passed = this.last === null || this.last === undefined ? 0 : Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    if (this.playing) this.advance(passed * this.speed * this.trace.about.pace);
    const ctx = this.canvas.getContext("2d");
    const dots = globalThis.devicePixelRatio || 1;
    ctx.setTransform(dots, 0, 0, dots, 0, 0);
    if (!(now - this.styled < RESTYLED)) [this.look, this.styled] = [theme(this.root), now];
    ctx.clearRect(0, 0, this.width, this.height);
    this.view.draw(ctx, this.look, this.time, this.speed * this.trace.about.pace, this.playing);
    this.say();
    if (this.playing) this.ask();
  }

  advance(by) {
    this.time = Math.min(this.time + by, this.trace.about.length);
    if (this.time >= this.trace.about.length) this.play(false);
    else if (performance.now() - this.reported > TOLD) this.tell();
  }

  say() {
    const words = this.view.words(this.time);
    if (this.words.textContent !== words) {
      this.words.textContent = words;
      if (!this.playing) this.canvas.setAttribute("aria-label", words);
    }
    this.scrub.value = this.time;
    this.scrub.setAttribute("aria-valuetext", clock(this.trace.about, this.time));
    this.clock.textContent = clock(this.trace.about, this.time);
    const tip = this.pointer && this.view.tip(this.pointer.x, this.pointer.y, this.time);
    this.tip.hidden = !tip;
    if (!tip) return;
    this.tip.textContent = tip;
    const left = this.canvas.offsetLeft + this.pointer.x, most = this.width - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(4, Math.min(left + 12, most))}px`;
    this.tip.style.top = `${this.canvas.offsetTop + this.pointer.y + 16}px`;
  }

  destroy() {
    this.playing = false;
    if (this.asked) cancelAnimationFrame(this.asked);
    this.resized.disconnect();
    this.dark.removeEventListener("change", this.repaint);
    this.root.remove();
  }
}

// Return whether people have asked for less motion.
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Play a trace in an element of a page of its own: base64 of its deflated bytes. A frame gets as high as the page.
async function playText(parent, text, begin) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const player = new Player(parent);
  player.load(new Uint8Array(await new Response(stream).arrayBuffer()));
  if (begin && !calm()) player.play(true);
  const fit = () => {
    try {
      globalThis.frameElement?.setAttribute("height", document.documentElement.offsetHeight + 2);
    } catch { /* the frame is another site's */ }
  };
  new ResizeObserver(fit).observe(document.body);
}

// The widget: `packed` is a trace, `time` the simulated time [s], `playing` whether it plays.
function render({ model, el }) {
  const put = (name, value) => { model.set(name, value); model.save_changes(); };
  const player = new Player(el, {
    onTime: (time) => { player.sent = time; put("time", time); },
    onPlaying: (on) => put("playing", on),
  });
  const load = () => {
    const view = model.get("packed");
    if (!view.byteLength) return;
    const playing = model.get("playing"), time = model.get("time");
    player.play(false);
    player.load(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    player.seek(time - player.trace.about.start);
    player.play(playing && !calm());
  };
  model.on("change:packed", load);
  model.on("change:time", () => {
    if (player.trace && model.get("time") !== player.sent) player.seek(model.get("time") - player.trace.about.start);
  });
  model.on("change:playing", () => { // what the player itself has told needs no more
    if (model.get("playing") !== player.playing) player.play(model.get("playing") && !calm());
  });
  load();
  return () => player.destroy();
}

export default { render };
