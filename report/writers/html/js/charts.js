
// --- charts of tables: SVG with the number in a title on each mark ------------------------------

const UNITS = { us: [[1e6, "s"], [1e3, "ms"], [1, "µs"]],
  ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "bytes"]],
  FLOP: [[1e15, "PFLOP"], [1e12, "TFLOP"], [1e9, "GFLOP"], [1e6, "MFLOP"], [1, "FLOP"]] };
function scaleOf(unit, values) {
  const most = Math.max(...values.filter(v => typeof v === "number").map(Math.abs), 0);
  const list = UNITS[unit] || [[1, unit]];
  return list.find(([by]) => most >= by) || list[list.length - 1];
}
function shown(value, by, decimals) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return value;
  const v = value / by;
  const d = decimals !== undefined ? decimals : Number.isInteger(v) ? 0 : Math.abs(v) >= 100 ? 1 : Math.abs(v) >= 1 ? 2 : Math.min(12, 2 - Math.floor(Math.log10(Math.abs(v))));
  return v.toLocaleString("en-US", { minimumFractionDigits: decimals === undefined ? 0 : d, maximumFractionDigits: d });
}
// What a series is of has one colour in all pictures: a cause of idle time its own, a phase a shade as ranges have.
const SERIES = [0, 7, 8, 6, 3, 1, 9, 10], PHASES = ["forward", "loss", "backward", "optimizer", "remainder"];
const USES = ["computing", "collective", "copy", "launch", "host", "sync", "data", "wait", "device", "start", "end", "unknown", "setup", "paging", "shared"];
function colour(i, id = "") {
  const use = USES.indexOf(id.replace(/_us$/, "")), phase = PHASES.findIndex(p => id.includes(p));
  return use >= 0 ? fill(uses[use]) : phase >= 0 ? hex(phases[phase]) : fill(SERIES[i % SERIES.length]);
}
function clip(text, n) { // the end distinguishes names better than the beginning
  const head = Math.min(9, n >> 1);
  return text.length > n ? text.slice(0, head) + "…" + text.slice(Math.min(-1, head + 1 - n)) : text;
}
// As much of a text as a line has room for.
function fitted(pen, text, wide) {
  let letters = Math.min(text.length, Math.ceil(wide / 3));
  while (letters > 3 && pen.measureText(clip(text, letters)).width > wide) letters--;
  return clip(text, letters);
}
function clips(texts, n) { // of those that would look alike, from where they differ
  const short = texts.map(t => clip(t, n));
  return texts.map((t, i) => {
    const alike = texts.filter((other, k) => other !== t && short[k] === short[i]);
    let from = 9;
    while (alike.length && from < t.length && alike.every(other => other[from] === t[from])) from++;
    const rest = t.slice(Math.max(from - 4, 8));
    return alike.length ? t.slice(0, 8) + "…" + (rest.length > n - 9 ? rest.slice(0, n - 10) + "…" : rest) : short[i];
  });
}
const CELL = 46; // letters that a cell has room for, as page.css says
function unlike(texts) { // what does not fit ends in …; of those that would then look alike, from where they differ
  const short = clips(texts, CELL), begin = texts.map(t => t.slice(0, CELL - 2));
  return texts.map((t, i) => texts.some((other, k) => other !== t && begin[k] === begin[i]) ? short[i] : t);
}

const isNarrow = () => innerWidth < 720; // letters stay readable on a phone
function bars(rows, names, series, unit) { // rows of horizontal bars, stacked where there are several series
  const high = 22, [left, wide] = isNarrow() ? [140, 130] : [250, 420], sums = rows.map(r => series.reduce((s, c) => s + Math.max(r[c.at] || 0, 0), 0));
  const most = Math.max(...sums, 1e-300), [by, label] = scaleOf(unit, sums);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 100} ${rows.length * high + 8}`, role: "img" });
  const labels = clips(rows.map(r => String(r[names])), isNarrow() ? 18 : 32);
  rows.forEach((r, i) => {
    let x = left;
    svg.append(draw("text", { x: left - 6, y: i * high + 16, "text-anchor": "end" }, tip(String(r[names])), labels[i]));
    series.forEach((c, k) => {
      const w = Math.max(r[c.at] || 0, 0) / most * wide;
      svg.append(draw("rect", { x, y: i * high + 4, width: w, height: high - 6, fill: series.length > 1 ? colour(k, c.id) : "var(--roof)" },
        tip(`${r[names]}${series.length > 1 ? ", " + c.name : ""}: ${shown(r[c.at], by)} ${label}`)));
      x += w;
    });
    svg.append(draw("text", { x: x + 5, y: i * high + 16, class: "soft" }, unit === "ns" ? shownTime(sums[i]) : `${shown(sums[i], by)} ${label}`));
  });
  return svg;
}
function groups(rows, names, series, unit) { // a bar a series beside each other in each row
  const thin = 16, [left, wide] = isNarrow() ? [140, 130] : [250, 420], step = series.length * thin + 10, values = rows.flatMap(r => series.map(c => Math.max(r[c.at] || 0, 0)));
  const most = Math.max(...values, 1e-300), [by, label] = scaleOf(unit, values);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 100} ${rows.length * step + 8}`, role: "img" });
  const labels = clips(rows.map(r => String(r[names])), isNarrow() ? 18 : 36);
  rows.forEach((r, i) => {
    svg.append(draw("text", { x: left - 6, y: i * step + 16, "text-anchor": "end" }, tip(String(r[names])), labels[i]));
    series.forEach((c, k) => {
      const w = Math.max(r[c.at] || 0, 0) / most * wide, y = i * step + 4 + k * thin;
      svg.append(draw("rect", { x: left, y, width: w, height: thin - 3, fill: colour(k) }, tip(`${r[names]}, ${c.name}: ${shown(r[c.at], by)} ${label}`)),
        draw("text", { x: left + w + 5, y: y + 11, class: "soft" }, r[c.at] === null ? "" : `${shown(r[c.at], by)} ${label}`));
    });
  });
  return svg;
}
function ticksOf(greatest) { // round steps of a linear axis from 0: their size and number
  const power = 10 ** Math.floor(Math.log10(greatest / 4)), tick = power * [1, 2, 2.5, 5, 10].find(k => 4 * k * power >= greatest * 0.999);
  return [tick, Math.ceil(greatest / tick - 1e-3)];
}
function ratios(rows, names, [of], unit, axis, grade) { // bars from 1, on a logarithmic axis: left of the line is less
  const high = 22, [left, wide] = isNarrow() ? [140, 220] : [250, 460], bars = rows.filter(r => r[of.at] > 0), reach = Math.max(0.05, ...bars.map(r => Math.abs(Math.log(r[of.at]))));
  const px = v => left + wide / 2 + Math.log(v) / reach * (wide / 2 - 50);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide} ${bars.length * high + 8}`, role: "img" }), labels = clips(bars.map(r => String(r[names])), isNarrow() ? 18 : 32);
  bars.forEach((r, i) => {
    const value = r[of.at], x = px(value), words = ratioWords(value);
    svg.append(draw("text", { x: left - 6, y: i * high + 16, "text-anchor": "end" }, tip(String(r[names])), labels[i]),
      draw("rect", { x: Math.min(x, px(1)), y: i * high + 4, width: Math.max(1, Math.abs(x - px(1))), height: high - 6, class: kindOf(r[grade]) }, tip(`${r[names]}: ${words}`)),
      draw("text", { x: value < 1 ? x - 5 : x + 5, y: i * high + 16, "text-anchor": value < 1 ? "end" : "start", class: "soft" }, words));
  });
  svg.append(draw("line", { x1: px(1), x2: px(1), y1: 0, y2: bars.length * high, class: "one" }));
  return svg;
}
function legend(series) {
  return make("div", { className: "legend" }, ...series.map((c, k) => {
    const box = make("span", { className: "chip" });
    box.style.background = colour(k, c.id);
    return make("span", null, box, c.name);
  }));
}
function columnsChart(rows, names, series, unit, axis) { // stacked columns over an ordered axis
  const wide = isNarrow() ? 300 : 760, high = 230, left = isNarrow() ? 48 : 70, gap = Math.min(wide / rows.length, 190);
  const sums = rows.map(r => series.reduce((s, c) => s + Math.max(r[c.at] || 0, 0), 0));
  const [by, label] = scaleOf(unit, sums), [tick, ticks] = ticksOf(Math.max(...sums, 1e-300) / by), most = ticks * tick * by;
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 10} ${high + 40}`, role: "img" });
  for (let i = 0; i <= ticks; i++) {
    const y = high - i / ticks * (high - 12);
    svg.append(draw("line", { x1: left, x2: left + wide, y1: y, y2: y, class: "axis" }),
      draw("text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "soft" }, `${shown(tick * i * by, by)}${i === ticks ? " " + label : ""}`));
  }
  svg.append(draw("text", { x: left + wide / 2, y: high + 36, "text-anchor": "middle", class: "soft" }, axis));
  const every = Math.max(Math.ceil(rows.length / (isNarrow() ? 12 : 40)), Math.ceil((6.6 * Math.max(...rows.map(r => String(r[names]).length)) + 5) / gap));
  rows.forEach((r, i) => {
    let y = high;
    series.forEach((c, k) => {
      const h = Math.max(r[c.at] || 0, 0) / most * (high - 12);
      y -= h;
      svg.append(draw("rect", { x: left + i * gap + gap * 0.1, y, width: gap * 0.8, height: h, fill: colour(k, c.id) },
        tip(`${r[names]}, ${c.name}: ${shown(r[c.at], by)} ${label}`)));
    });
    if (i % every === 0)
      svg.append(draw("text", { x: left + (i + 0.5) * gap, y: high + 16, "text-anchor": "middle", class: "soft" }, String(r[names])));
  });
  return svg;
}
const isMeasured = (t, r) => r[at(t, "warm_up")] !== "yes" && !r[at(t, "contains")];
// Which charts there are: of a table, the rows that pass `where`, at most `most` of them.
const CHARTS = [
  { table: "steps", title: "Time of each measured step by phase", names: "step",
    values: ["window_forward_ns", "window_loss_ns", "window_backward_ns", "window_optimizer_ns", "window_remainder_ns"],
    most: 200, kind: columnsChart, first: true, where: isMeasured },
  { table: "steps", title: "Time of each measured step by phase, on the host", names: "step",
    values: ["forward_ns", "loss_ns", "backward_ns", "optimizer_ns", "remainder_ns"],
    most: 200, kind: columnsChart, first: true, where: (t, r) => isMeasured(t, r) && r[at(t, "window_remainder_ns")] === null },
  { table: "execution", title: "Where each step went, idle causes included", names: "step", values: ["computing_us", "collective_us", "copy_us", "launch_us", "host_us", "sync_us", "data_us", "wait_us",
    "device_us", "start_us", "end_us", "unknown_us"], most: 200, kind: columnsChart, where: (t, r) => /^\d+$/.test(r[at(t, "step")]) },
  { table: "softmax-matmul", title: "Attention, all layers, forward: kernel time", names: "part", values: ["gpu_ns"], most: 6,
    where: (t, r) => r[at(t, "scope")] === "all layers" && r[at(t, "phase")] === "forward" },
  { table: "softmax-matmul", title: "Attention, all layers, forward: FLOPs", names: "part", values: ["flops"], most: 6,
    where: (t, r) => r[at(t, "scope")] === "all layers" && r[at(t, "phase")] === "forward" },
  { table: "api-summary", title: "API calls by time", names: "name", values: ["total_ns"], most: 10 },
  { table: "memory-time", title: "Copies and fills by time", names: "operation", values: ["total_ns"], most: 8 },
  { table: "diff-phases", title: "B / A by phase; the line is 1: no difference", names: "phase", values: ["ratio"], most: 12, kind: ratios, first: true,
    where: (t, r) => r[at(t, "measure")] === "GPU" && r[at(t, "ratio")] !== null },
  { table: "diff-phases", title: "Kernel time of a typical step by phase, A and B", names: "phase", values: ["typical_a_ns", "typical_b_ns"], most: 12, kind: groups, first: true,
    where: (t, r) => r[at(t, "measure")] === "GPU" },
  { table: "diff-ranges", title: "B / A of the ranges that changed most; the line is 1", names: "path", values: ["ratio"], most: 15, kind: ratios, first: true,
    where: (t, r) => r[at(t, "ratio")] !== null },
  { table: "diff-ops", title: "Operations that changed most: kernel time of the median step, A and B", names: "op", values: ["gpu_a_ns", "gpu_b_ns"], most: 12, kind: groups },
  { table: "diff-ops", title: "B / A of the operations that changed most; the line is 1", names: "op", values: ["ratio"], most: 15, kind: ratios,
    where: (t, r) => r[at(t, "ratio")] !== null },
];
function chart(spec) {
  const table = report.tables[spec.table];
  if (!table) return null;
  const names = at(table, spec.names), series = spec.values.map(id => ({ id, at: at(table, id), name: sided((table.columns[at(table, id)] || { title: "" }).title) }));
  if (names < 0 || series.some(c => c.at < 0)) return null;
  const rows = table.rows.filter(r => (!spec.where || spec.where(table, r)) && series.some(c => spec.kind === columnsChart ? r[c.at] !== null : r[c.at] > 0)).slice(0, spec.most);
  if (!rows.length) return null;
  const used = series.filter(c => rows.some(r => r[c.at] > 0)).map(c => ({ ...c, name: c.name.replace(/ \(\w+\)$/, "") }));
  if (rows.length < (spec.kind ? 1 : 2) || !used.length) return null;
  const unit = table.columns[series[0].at].unit;
  const card = make("div", { className: "card chart" }, make("h3", { textContent: sided(spec.title) }), (spec.kind || bars)(rows, names, used, unit,
    sided(table.columns[names].title).toLowerCase(), at(table, "grade")));
  if (used.length > 1 || spec.kind === columnsChart) card.append(legend(used));
  card.querySelector("svg").setAttribute("aria-label", `${sided(spec.title)}. The numbers are in the table ${sided(table.title)}.`);
  return card;
}

