// The link to the state, in the address bar and to copy; files that Python writes, saved by the browser.
function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const SETTLED = 1000; // what changes again within this time is one state of the history: a slider is dragged [ms]

function render({ model, el }) {
  const page = location.origin + location.pathname;
  const field = document.createElement("input");
  field.readOnly = true;
  field.setAttribute("aria-label", "Link to this state");
  const copy = document.createElement("button");
  copy.textContent = "Copy link";
  copy.onclick = async () => {
    field.select();
    try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy link"; }, 1500);
  };
  let visits = 0; // how often the page was sent somewhere
  let arrived = true; // the next state is the one of the address, not another one
  let last = 0;
  const open = () => {
    visits += 1;
    arrived = true;
    model.set("opened", `${visits}?${location.search.slice(1)}`);
    model.save_changes();
  };
  const show = () => {
    const query = model.get("query");
    field.value = page + "?" + query;
    if (!query || location.search === "?" + query) { arrived = false; return; }
    const settled = performance.now() - last > SETTLED;
    last = performance.now();
    history[arrived || !settled ? "replaceState" : "pushState"](null, "", "?" + query);
    arrived = false;
  };
  el.classList.add("btflow-share");
  el.append(field, copy);
  const buttons = [["toml", "Save scenario (TOML)"], ["csv", "Save data (CSV)"]].map(([kind, label]) => {
    const button = document.createElement("button");
    button.textContent = label;
    button.onclick = () => model.send({ save: kind });
    el.append(button);
    return button;
  });
  const offer = () => buttons.forEach((button) => { button.hidden = !model.get("saves"); });
  const saved = (message) => { if (message.name) save(message.name, message.text); };
  model.on("msg:custom", saved);
  model.on("change:query", show);
  model.on("change:saves", offer);
  addEventListener("popstate", open);
  offer();
  if (model.get("opened")) show(); else open();
  return () => {
    model.off("msg:custom", saved);
    model.off("change:query", show);
    model.off("change:saves", offer);
    removeEventListener("popstate", open);
  };
}

export default { render };
