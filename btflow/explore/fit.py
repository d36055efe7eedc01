"""Makes live figures as wide as what they are in."""

from __future__ import annotations

import anywidget
import traitlets


class Fit(anywidget.AnyWidget):
    """A line without height; when its width changes or a figure is drawn, figures take the width of what they are in.

    Plotly's widget is drawn before the browser has laid it out, then 700 px wide, and looks again only when the window
    changes its size. So this says that it has.
    """

    again = traitlets.Int(0).tag(sync=True)
    """Raised when a figure was hidden and is shown."""

    _esm = """
    function render({ model, el }) {
      Object.assign(el.style, { width: "100%", height: "0", margin: "0", overflow: "hidden" });
      let width = 0, due = 0;
      const fit = () => {
        clearTimeout(due);
        due = setTimeout(() => window.dispatchEvent(new Event("resize")), 100);
      };
      const observer = new ResizeObserver(() => {
        if (el.clientWidth && el.clientWidth !== width) {
          width = el.clientWidth;
          fit();
        }
      });
      observer.observe(el);
      document.addEventListener("plotlywidget-after-render", fit);
      model.on("change:again", fit);
      return () => {
        observer.disconnect();
        model.off("change:again", fit);
        document.removeEventListener("plotlywidget-after-render", fit);
      };
    }
    export default { render };
    """
