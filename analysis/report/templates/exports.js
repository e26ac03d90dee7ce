// Below each plot: the plot as a picture, and its data as a table. Both are made in the page, without a network.
function offerExports(plot) {
  const offers = [
    ["SVG", "Save this plot as SVG", () => savePicture(plot, "svg")],
    ["PNG", "Save this plot as PNG", () => savePicture(plot, "png")],
    ["CSV", "Save the data of this plot", () => save(URL.createObjectURL(new Blob([csvOf(plot)], { type: "text/csv" })), plot.id + ".csv")],
  ];
  const row = document.createElement("p");
  row.className = "exports";
  for (const [word, title, action] of offers) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.title = title;
    button.addEventListener("click", action);
    row.append(button);
  }
  plot.after(row);
}
async function savePicture(plot, format) {
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();
  const figure = { data: plot.data, layout: { ...plot.layout, paper_bgcolor: ground } };
  const size = { width: plot.clientWidth, height: plot.clientHeight, scale: format === "png" ? 2 : 1 };
  save(await Plotly.toImage(figure, { format, ...size }), plot.id + "." + format);
}
function save(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
// A row for each point: the name of its line, then its coordinates; of a map, a row for each cell.
function csvOf(plot) {
  const wanted = ["x", "y", "z", "base", "q1", "median", "q3", "lowerfence", "upperfence", "mean", "customdata"];
  const columns = wanted.filter(column => plot.data.some(trace => Array.isArray(trace[column])));
  const titles = { x: plot.layout.xaxis?.title?.text, y: plot.layout.yaxis?.title?.text, customdata: "details" };
  const rows = [["series", ...columns.map(column => titles[column] || column)]];
  for (const trace of plot.data) {
    if (Array.isArray(trace.z)) {
      trace.y.forEach((y, i) => trace.x.forEach((x, j) => {
        const cell = { x, y, z: trace.z[i][j], customdata: trace.customdata?.[i]?.[j] };
        rows.push([trace.name, ...columns.map(column => cell[column])]);
      }));
      continue;
    }
    const length = Math.max(0, ...columns.map(column => trace[column]?.length || 0));
    for (let i = 0; i < length; i++) rows.push([trace.name, ...columns.map(column => trace[column]?.[i])]);
  }
  return rows.map(row => row.map(quoted).join(",") + "\r\n").join("");
}
function quoted(value) {
  const text = value === null || value === undefined ? "" : Array.isArray(value) ? value.join("; ") : String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
