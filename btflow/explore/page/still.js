// Figures of a page without a kernel: each element holds its figure as JSON.
const EDGE = 40; // of a title, on both sides together [px]

// Return a title whose second line is as wide as the figure at most.
function headed(title, width) {
  if (!title?.subtitle?.text) return title;
  ruler.font = "12px Arial";
  return { ...title, subtitle: { ...title.subtitle, text: folded(title.subtitle.text, width - EDGE) } };
}

function draw(plotly, el) {
  const { data, layout, frames } = JSON.parse(el.querySelector("script").textContent);
  const plot = document.createElement("div");
  plot.setAttribute("role", "figure");
  plot.setAttribute("aria-label", described(layout));
  el.querySelector("p").replaceWith(plot);
  let width = 0, dark = null;
  const again = () => {
    if (!el.clientWidth || (el.clientWidth === width && isDark(el) === dark)) return; // folded, or as it is
    [width, dark] = [el.clientWidth, isDark(el)];
    const height = layout.height ?? layout.template?.layout?.height ?? 560;
    const shade = dark ? darkened : (same) => same;
    const paper = dark ? { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" } : {};
    const fitted = { ...titled(layout, width, height), title: headed(layout.title, width) };
    const shown = { ...shade(fitted), ...paper, width, height, autosize: false };
    const config = { ...CONFIG, ...(width < NARROW ? { displayModeBar: false } : {}) };
    plotly.react(plot, { data: shade(data), layout: shown, config, frames: shade(frames ?? []) });
  };
  new ResizeObserver(again).observe(el);
  night.addEventListener("change", again);
  new MutationObserver(again).observe(document.body, { attributeFilter: ["data-md-color-scheme"] }); // of the site
}

globalThis.btflowStills = (plotly) => document.querySelectorAll(".btflow-still").forEach((el) => draw(plotly, el));
