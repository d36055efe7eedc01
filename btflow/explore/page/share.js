// The link to the state, in the address bar and to copy; files that Python writes, saved by the browser.
function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

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
  const show = () => {
    field.value = page + "?" + model.get("query");
    if (model.get("query")) history.replaceState(null, "", "?" + model.get("query"));
  };
  el.classList.add("btflow-share");
  el.append(field, copy);
  for (const [kind, label] of [["toml", "Save scenario (TOML)"], ["csv", "Save data (CSV)"]]) {
    const button = document.createElement("button");
    button.textContent = label;
    button.onclick = () => model.send({ save: kind });
    el.append(button);
  }
  const saved = (message) => { if (message.name) save(message.name, message.text); };
  model.on("msg:custom", saved);
  model.on("change:query", show);
  if (!model.get("opened")) {
    model.set("opened", location.search || "?");
    model.save_changes();
  } else {
    show();
  }
  return () => { model.off("msg:custom", saved); model.off("change:query", show); };
}

export default { render };
