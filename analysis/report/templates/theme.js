// Plots take the colours of text and lines from the page, and follow it when the reader changes between light and dark.
function followTheme(plots) {
  function paint() {
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--text").trim();
    const line = style.getPropertyValue("--line").trim();
    const card = style.getPropertyValue("--card").trim();
    for (const plot of plots) {
      const update = {
        "font.color": text, "hoverlabel.bgcolor": card, "hoverlabel.font.color": text, "hoverlabel.bordercolor": line,
      };
      for (const axis of ["xaxis", "yaxis"]) {
        update[axis + ".gridcolor"] = line;
        update[axis + ".linecolor"] = line;
        update[axis + ".zerolinecolor"] = line;
      }
      Plotly.relayout(plot, update);
    }
  }
  // What was drawn while folded away has no width yet.
  document.addEventListener("toggle", function (event) {
    if (event.target.open) event.target.querySelectorAll(".plot").forEach(plot => Plotly.Plots.resize(plot));
  }, true);
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}
