// Unpacks the library of plots, which the page holds compressed, and draws every plot of the page.
(async function () {
  const plots = Array.from(document.querySelectorAll(".plot"));
  if (typeof DecompressionStream === "undefined") {
    for (const plot of plots) plot.textContent = "This browser is too old to draw the plots of this page.";
    return;
  }
  const library = document.createElement("script");
  library.textContent = await unpacked(document.getElementById("plotly-library").textContent);
  document.head.append(library);
  const template = JSON.parse(document.getElementById("plot-template").textContent);
  for (const plot of plots) {
    const { data, layout } = JSON.parse(plot.nextElementSibling.textContent);
    // Dragging zooms and a double click goes back; the library's buttons would cover the legends on a phone.
    await Plotly.newPlot(plot, data, { ...layout, template }, { responsive: true, displayModeBar: false });
    offerExports(plot);
  }
  followTheme(plots);
  document.documentElement.dataset.plots = "drawn";
})();
