// Figures of a page without a kernel: each element holds its figure as JSON.
const EDGE = 40; // of a title, on both sides together [px]

// Return a layout whose title is as wide as the figure at most, with room for its lines.
function headed(layout, width) {
  const { title } = layout;
  const fold = (text, size) => {
    ruler.font = `${size}px Arial`;
    return text ? folded(text, width - EDGE) : text;
  };
  if (!title?.text) return layout;
  const text = fold(title.text, title.font?.size ?? 17);
  const subtitle = { ...title.subtitle, text: fold(title.subtitle?.text, 12) };
  const lines = (part) => (part ?? "").split("<br>").length - 1;
  const more = 22 * lines(text) + 15 * lines(subtitle.text);
  return { ...layout, title: { ...title, text, subtitle }, margin: { ...layout.margin, t: layout.margin.t + more } };
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
    const fitted = headed(titled(layout, width, height), width);
    const shown = { ...shade(fitted), ...paper, width, height, autosize: false };
    const config = { ...CONFIG, ...(width < NARROW ? { displayModeBar: false } : {}) };
    plotly.react(plot, { data: shade(data), layout: shown, config, frames: shade(frames ?? []) });
  };
  new ResizeObserver(again).observe(el);
  night.addEventListener("change", again);
  new MutationObserver(again).observe(document.body, { attributeFilter: ["data-md-color-scheme"] }); // of the site
}

globalThis.btflowStills = (plotly) => document.querySelectorAll(".btflow-still").forEach((el) => draw(plotly, el));
