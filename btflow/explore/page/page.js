// What ipywidgets leave out for screen readers: sliders take the name and the value of the text above them, a text says
// whether it was refused, the buttons that play have names. The value of a text changes without any event, hence the
// clock.
function say(element, name, value) {
  if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function nameField(field) {
  const [label, text, handle] = ["label", "input[type=text]", ".noUi-handle"].map((what) => field.querySelector(what));
  say(text, "aria-invalid", String(field.querySelector(".btflow-refused") !== null));
  if (handle && label && text) {
    say(handle, "aria-label", label.textContent);
    say(handle, "aria-valuetext", text.value);
  }
}


function nameSide(side) {
  say(side, "role", "group");
  say(side, "aria-label", side.querySelector("b")?.textContent ?? "");
}

function nameTabs(tabs) {
  say(tabs, "role", "navigation");
  say(tabs, "aria-label", "Panels");
  for (const tab of tabs?.querySelectorAll("button") ?? []) {
    say(tab, "aria-current", tab.classList.contains("mod-active") ? "page" : "false");
  }
}

setInterval(() => {
  for (const [selector, name] of [["field", nameField], ["side", nameSide]]) {
    document.querySelectorAll(`.btflow-${selector}`).forEach(name);
  }
  nameTabs(document.querySelector(".btflow-tabs"));
  for (const fold of document.querySelectorAll(".btflow-fold")) say(fold, "aria-expanded", String(fold.textContent.startsWith("Fewer")));
  say(document.getElementById("js-plotly-tester"), "aria-hidden", "true");
}, 300);
