// What ipywidgets leave out for screen readers: sliders take the name and the value of the text above them, and a text
// says whether it was refused. The value of a text changes without any event, hence the clock.
function say(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

setInterval(() => {
  for (const field of document.querySelectorAll(".btflow-field")) {
    const [label, text, handle] = ["label", "input[type=text]", ".noUi-handle"].map((what) => field.querySelector(what));
    if (text) say(text, "aria-invalid", String(field.querySelector(".btflow-refused") !== null));
    if (handle && label && text) {
      say(handle, "aria-label", label.textContent);
      say(handle, "aria-valuetext", text.value);
    }
  }
}, 300);
