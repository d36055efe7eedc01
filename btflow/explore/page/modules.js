// Takes what the two scripts that follow define by AMD: Jupyter's manager of widgets, and anywidget.

// anywidget gives a widget two seconds to load its script; if they pass, every message to that widget is dropped from
// then on. Where ten pages open at once on a busy machine they do pass, and a figure or the link would stay empty.
const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => timeout(Math.max(ms, 600000));

const made = {};

// Each is made when it is first needed. anywidget says no name. What the manager loads later lies beside it.
export const modules = { module: () => ({ uri: new URL("lib/html-manager.js.gz", import.meta.url).href }) };

globalThis.define = (...given) => {
  const make = given.pop(), needs = given.pop(), name = given.pop() ?? "anywidget";
  modules[name] = () => (made[name] ??= make(...needs.map((need) => modules[need]())));
};
