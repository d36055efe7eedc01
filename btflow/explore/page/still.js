// Figures of a page without a kernel: each element holds its figure as JSON.
const NARROWEST = 0.75; // of its width, where panels are side by side; a telephone scrolls it

// Return whether panels are side by side.
function beside(layout) {
  const widths = Object.entries(layout).filter(([name, axis]) => AXIS.exec(name)?.[1] === "x" && axis.domain);
  return widths.some(([_, axis]) => axis.domain[1] - axis.domain[0] < 0.7);
}

function draw(plotly, el) {
  const { data, layout, frames } = JSON.parse(el.querySelector("script").textContent);
  const plot = document.createElement("div");
  plot.setAttribute("role", "figure");
  plot.setAttribute("aria-label", described(layout));
  el.querySelector("p").replaceWith(plot);
  el.style.overflowX = "auto";
  let seen = 0, dark = null;
  const again = () => {
    if (!el.clientWidth || (el.clientWidth === seen && isDark(el) === dark)) return; // folded, or as it is
    [seen, dark] = [el.clientWidth, isDark(el)];
    const width = Math.max(seen, beside(layout) ? NARROWEST * (layout.width ?? WIDE) : 0);
    const height = layout.height ?? layout.template?.layout?.height ?? 560;
    const shade = dark ? darkened : (same) => same;
    const paper = dark ? { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" } : {};
    const shown = { ...shade(suited(data, layout, width, height)), ...paper, width, autosize: false };
    const config = { ...CONFIG, ...(width < NARROW ? { displayModeBar: false } : {}) };
    plotly.react(plot, { data: shade(data), layout: shown, config, frames: shade(frames ?? []) });
  };
  new ResizeObserver(again).observe(el);
  night.addEventListener("change", again);
  new MutationObserver(again).observe(document.body, { attributeFilter: ["data-md-color-scheme"] }); // of the site
}

globalThis.btflowStills = (plotly) => document.querySelectorAll(".btflow-still").forEach((el) => draw(plotly, el));
