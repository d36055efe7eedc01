// Give each entry of a figure's legend what its term means, which its trace has as `meta`: shown where the pointer rests,
// said to those who do not see it, and reached and switched by the keyboard as by a click.
function explainLegend(plot) {
  const SVG = "http://www.w3.org/2000/svg";
  for (const item of plot.querySelectorAll(".legend .traces")) {
    const name = item.querySelector(".legendtext")?.getAttribute("data-unformatted");
    const toggle = item.querySelector(".legendtoggle");
    const trace = plot.data.find((one) => one.name === name && one.visible !== false);
    const said = typeof trace?.meta === "string" ? trace.meta : "";
    let title = item.querySelector(":scope > title");
    if (said && !title) title = item.insertBefore(document.createElementNS(SVG, "title"), item.firstChild);
    if (title) title.textContent = said;
    item.setAttribute("aria-label", said.startsWith(`${name}:`) ? said : [name, said].filter(Boolean).join(". "));
    item.setAttribute("role", "button");
    item.setAttribute("tabindex", "0");
    item.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      for (const type of ["mousedown", "mouseup"]) toggle?.dispatchEvent(new MouseEvent(type, { bubbles: true }));
    };
  }
}
