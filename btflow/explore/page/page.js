// What ipywidgets leave out for screen readers: sliders take the name and the value of the text above them.
new MutationObserver(() => {
  for (const handle of document.querySelectorAll(".btflow-field .noUi-handle")) {
    const field = handle.closest(".btflow-field");
    const label = field.querySelector("label");
    const text = field.querySelector("input");
    if (label && handle.getAttribute("aria-label") === null) handle.setAttribute("aria-label", label.textContent);
    if (text && handle.getAttribute("aria-valuetext") !== text.value) handle.setAttribute("aria-valuetext", text.value);
  }
  for (const text of document.querySelectorAll(".btflow-field input[type=text]")) {
    const refused = String(text.closest(".btflow-refused") !== null);
    if (text.getAttribute("aria-invalid") !== refused) text.setAttribute("aria-invalid", refused);
  }
}).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-valuenow", "class"] });
