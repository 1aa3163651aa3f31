"use strict";
// The page of a report: the tables of the JSON beside this script, sorted and filtered on
// demand, and charts of them. All text goes through textContent: names are never markup.
const report = JSON.parse(document.getElementById("report").textContent);
const cut = JSON.parse(document.getElementById("cut").textContent);
const tables = Object.values(report.tables);
const main = document.querySelector("main"), nav = document.querySelector("nav");

function make(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {}))
    if (key in e) e[key] = value; else e.setAttribute(key, value);
  e.append(...children);
  return e;
}
function draw(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}
const at = (table, id) => table.columns.findIndex(c => c.id === id);

// --- numbers as people read them: one unit a column -------------------------------------------
const UNITS = { ns: [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]],
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
  const d = decimals !== undefined ? decimals : Number.isInteger(v) ? 0 : Math.abs(v) >= 100 ? 1 : Math.abs(v) >= 1 ? 2 : 4;
  return v.toLocaleString("en-US", { minimumFractionDigits: decimals === undefined ? 0 : d, maximumFractionDigits: d });
}
// of a comparison the names of the sides stand for A and B
const sides = (tables.find(t => t.sides) || { sides: [] }).sides;
const sided = title => sides.length ? title.replace(/(^| )([AB])(?=[ :,]|$)/g, (_, before, side) => before + sides[+(side === "B")]) : title;
function columnsOf(table) {
  return table.columns.map((c, i) => {
    const values = table.rows.map(r => r[i]);
    const alike = table.columns.flatMap((d, k) => c.unit && d.unit === c.unit ? table.rows.map(r => r[k]) : []); // one unit in a row
    const [by, unit] = scaleOf(c.unit, c.unit ? alike : values);
    const numbers = values.filter(v => typeof v === "number").map(v => Math.abs(v / by));
    const most = Math.max(...numbers, 0);
    const decimals = c.type === "text" || !UNITS[c.unit] && c.unit !== "%" || numbers.every(Number.isInteger) && by === 1 ? undefined
      : most >= 1000 ? 1 : most >= 1 ? 2 : most >= 0.01 ? 4 : undefined;
    return { ...c, by, decimals, label: sided(c.unit && unit !== c.unit ? c.title.replace(`(${c.unit})`, `(${unit})`) : c.title),
      empty: numbers.length === 0 && values.every(v => v === null) };
  });
}

// --- a table ---------------------------------------------------------------------------------
const SOME = 200;
function addTable(section, table) {
  const columns = columnsOf(table), body = make("tbody"), head = make("tr");
  const search = make("input", { type: "search", placeholder: "filter rows", "aria-label": `filter ${table.title}` });
  const count = make("span", { className: "soft" }), more = make("button", { textContent: "show all rows" });
  let order = table.rows.map((_, i) => i), limit = SOME, sorted = -1, down = true;

  function cell(c, value) {
    const td = make("td", { className: typeof value === "number" ? "n" : "t", textContent: shown(value, c.by, c.decimals) });
    if (typeof value === "string") td.title = value;
    if (c.id === "grade" && value) td.classList.add(...value.split(" "));
    return td;
  }
  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = order.filter(i => words.every(w => table.rows[i].some(v => String(v).toLowerCase().includes(w))));
    body.replaceChildren(...rows.slice(0, limit).map(i =>
      make("tr", null, ...columns.map((c, k) => c.empty ? "" : cell(c, table.rows[i][k])))));
    if (table.totals && !words.length)
      body.append(make("tr", { className: "total" }, ...columns.map((c, k) => c.empty ? "" : cell(c, table.totals[k]))));
    count.textContent = `${Math.min(limit, rows.length)} of ${rows.length} rows`;
    more.hidden = rows.length <= limit;
  }
  columns.forEach((c, k) => {
    if (c.empty) return;
    const th = make("th", { textContent: c.label, title: c.definition, className: c.type === "text" ? "" : "n", scope: "col" });
    th.addEventListener("click", () => {
      down = sorted === k ? !down : c.type !== "text";
      sorted = k;
      order.sort((a, b) => {
        const x = table.rows[a][k], y = table.rows[b][k];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
      });
      for (const other of head.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      fill();
    });
    head.append(th);
  });
  search.addEventListener("input", fill);
  more.addEventListener("click", () => { limit = Infinity; fill(); });
  fill();
  if (table.rows.length > 8) section.append(make("div", { className: "tools" }, search, count, more));
  const prose = ["advice", "idle", "diff-verdict", "sweep-verdict", "ranks-verdict", "losses", "method"].includes(table.table);
  section.append(make("div", { className: prose ? "scroll prose" : "scroll" }, make("table", null, make("thead", null, head), body)));
}

// --- charts: SVG with the number in a title on each mark --------------------------------------
const COLOURS = 8, colour = i => `var(--c${i % COLOURS})`;
const clip = (text, n) => text.length > n ? text.slice(0, 9) + "…" + text.slice(10 - n) : text; // the end tells more
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
const tip = text => draw("title", {}, text);

function bars(rows, names, series, unit, line) { // rows of horizontal bars, stacked where there are several series
  const high = 22, left = 250, wide = 420, sums = rows.map(r => series.reduce((s, c) => s + Math.max(r[c.at] || 0, 0), 0));
  const most = Math.max(...sums, line || 0, 1e-300), [by, label] = scaleOf(unit, sums);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 100} ${rows.length * high + 8}`, role: "img" });
  const labels = clips(rows.map(r => String(r[names])), 32);
  rows.forEach((r, i) => {
    let x = left;
    svg.append(draw("text", { x: left - 6, y: i * high + 16, "text-anchor": "end" }, tip(String(r[names])), labels[i]));
    series.forEach((c, k) => {
      const w = Math.max(r[c.at] || 0, 0) / most * wide;
      svg.append(draw("rect", { x, y: i * high + 4, width: w, height: high - 6, fill: colour(series.length > 1 ? k : 0) },
        tip(`${r[names]}${series.length > 1 ? ", " + c.name : ""}: ${shown(r[c.at], by)} ${label}`)));
      x += w;
    });
    svg.append(draw("text", { x: x + 5, y: i * high + 16, class: "soft" }, `${shown(sums[i], by)} ${label}`));
  });
  if (line) svg.append(draw("line", { x1: left + line / most * wide, x2: left + line / most * wide, y1: 0, y2: rows.length * high, stroke: "var(--ink)", "stroke-dasharray": "4 3" }));
  return svg;
}
function groups(rows, names, series, unit, line) { // a bar a series beside each other in each row
  const thin = 16, left = 250, wide = 420, step = series.length * thin + 10, values = rows.flatMap(r => series.map(c => Math.max(r[c.at] || 0, 0)));
  const most = Math.max(...values, line || 0, 1e-300), [by, label] = scaleOf(unit, values);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 100} ${rows.length * step + 8}`, role: "img" });
  const labels = clips(rows.map(r => String(r[names])), 36);
  rows.forEach((r, i) => {
    svg.append(draw("text", { x: left - 6, y: i * step + 16, "text-anchor": "end" }, tip(String(r[names])), labels[i]));
    series.forEach((c, k) => {
      const w = Math.max(r[c.at] || 0, 0) / most * wide, y = i * step + 4 + k * thin;
      svg.append(draw("rect", { x: left, y, width: w, height: thin - 3, fill: colour(k) }, tip(`${r[names]}, ${c.name}: ${shown(r[c.at], by)} ${label}`)),
        draw("text", { x: left + w + 5, y: y + 11, class: "soft" }, r[c.at] === null ? "" : `${shown(r[c.at], by)} ${label}`));
    });
  });
  if (line) svg.append(draw("line", { x1: left + line / most * wide, x2: left + line / most * wide, y1: 0, y2: rows.length * step, stroke: "var(--ink)", "stroke-dasharray": "4 3" }));
  return svg;
}
function lines(rows, names, series, unit) { // a line a series over an ordered axis; the values' axis is logarithmic
  const wide = 700, high = 260, left = 80, values = rows.flatMap(r => series.map(c => r[c.at])).filter(v => v > 0);
  const lo = Math.floor(Math.log10(Math.min(...values))), hi = Math.ceil(Math.log10(Math.max(...values))), [by, label] = scaleOf(unit, values);
  const px = i => left + (i + 0.5) / rows.length * wide, py = v => high - (Math.log10(v) - lo) / Math.max(hi - lo, 1) * (high - 12);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 10} ${high + 26}`, role: "img" });
  for (let e = lo; e <= hi; e++)
    svg.append(draw("line", { x1: left, x2: left + wide, y1: py(10 ** e), y2: py(10 ** e), class: "axis" }),
      draw("text", { x: left - 6, y: py(10 ** e) + 4, "text-anchor": "end", class: "soft" }, `${shown(10 ** e, by)} ${label}`));
  rows.forEach((r, i) => svg.append(draw("text", { x: px(i), y: high + 18, "text-anchor": "middle", class: "soft" }, String(r[names]))));
  series.forEach((c, k) => {
    const known = rows.map((r, i) => [r, i]).filter(([r]) => r[c.at] > 0);
    svg.append(draw("polyline", { points: known.map(([r, i]) => `${px(i)},${py(r[c.at])}`).join(" "), fill: "none", stroke: colour(k), "stroke-width": 2 }));
    for (const [r, i] of known)
      svg.append(draw("circle", { cx: px(i), cy: py(r[c.at]), r: 4, fill: colour(k) }, tip(`${r[names]}, ${c.name}: ${shown(r[c.at], by)} ${label}`)));
  });
  return svg;
}
function legend(series) {
  return make("div", { className: "legend soft" }, ...series.flatMap((c, k) => {
    const box = make("span");
    box.style.background = colour(k);
    return [box, c.name];
  }));
}
function columnsChart(rows, names, series, unit, line, axis) { // stacked columns over an ordered axis
  const wide = 760, high = 230, left = 70, gap = Math.min(wide / rows.length, 190);
  const sums = rows.map(r => series.reduce((s, c) => s + Math.max(r[c.at] || 0, 0), 0));
  const [by, label] = scaleOf(unit, sums), greatest = Math.max(...sums, 1e-300) / by, power = 10 ** Math.floor(Math.log10(greatest / 4));
  const tick = power * [1, 2, 2.5, 5, 10].find(k => 4 * k * power >= greatest * 0.999), ticks = Math.ceil(greatest / tick - 1e-3), most = ticks * tick * by;
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 10} ${high + 40}`, role: "img" });
  for (let i = 0; i <= ticks; i++) {
    const y = high - i / ticks * (high - 12);
    svg.append(draw("line", { x1: left, x2: left + wide, y1: y, y2: y, class: "axis" }),
      draw("text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "soft" }, `${shown(tick * i * by, by)}${i === ticks ? " " + label : ""}`));
  }
  svg.append(draw("text", { x: left + wide / 2, y: high + 36, "text-anchor": "middle", class: "soft" }, axis));
  rows.forEach((r, i) => {
    let y = high;
    series.forEach((c, k) => {
      const h = Math.max(r[c.at] || 0, 0) / most * (high - 12);
      y -= h;
      svg.append(draw("rect", { x: left + i * gap + gap * 0.1, y, width: gap * 0.8, height: h, fill: colour(k) },
        tip(`${r[names]}, ${c.name}: ${shown(r[c.at], by)} ${label}`)));
    });
    if (rows.length <= 40 || i % Math.ceil(rows.length / 40) === 0)
      svg.append(draw("text", { x: left + (i + 0.5) * gap, y: high + 16, "text-anchor": "middle", class: "soft" }, String(r[names])));
  });
  return svg;
}
function scatter(table) { // the roofline: FLOP/s over FLOP/byte, both logarithmic
  const x = at(table, "intensity"), y = at(table, "tflops"), name = at(table, "name"), roof = at(table, "attainable");
  const rows = table.rows.filter(r => r[x] > 0 && r[y] > 0);
  if (rows.length < 2) return null;
  const wide = 700, high = 300, left = 70, lx = rows.map(r => Math.log10(r[x]));
  const ly = rows.flatMap(r => [r[y], r[roof] || r[y]]).map(Math.log10);
  const x0 = Math.floor(Math.min(...lx)), x1 = Math.ceil(Math.max(...lx)) || 1, y0 = Math.floor(Math.min(...ly)), y1 = Math.ceil(Math.max(...ly));
  const px = v => left + (Math.log10(v) - x0) / Math.max(x1 - x0, 1) * wide, py = v => high - (Math.log10(v) - y0) / Math.max(y1 - y0, 1) * (high - 12);
  const svg = draw("svg", { viewBox: `0 0 ${left + wide + 20} ${high + 44}`, role: "img" });
  for (let i = x0; i <= x1; i++)
    svg.append(draw("line", { x1: px(10 ** i), x2: px(10 ** i), y1: 0, y2: high, class: "axis" }), draw("text", { x: px(10 ** i), y: high + 16, "text-anchor": "middle", class: "soft" }, String(+(10 ** i).toPrecision(1))));
  for (let i = y0; i <= y1; i++)
    svg.append(draw("line", { x1: left, x2: left + wide, y1: py(10 ** i), y2: py(10 ** i), class: "axis" }), draw("text", { x: left - 6, y: py(10 ** i) + 4, "text-anchor": "end", class: "soft" }, String(+(10 ** i).toPrecision(1))));
  svg.append(draw("text", { x: left + wide / 2, y: high + 36, "text-anchor": "middle", class: "soft" }, "FLOP/byte; dashes: what the device could do at that intensity (TFLOP/s)"));
  for (const r of rows) {
    if (r[roof] > 0) svg.append(draw("line", { x1: px(r[x]) - 6, x2: px(r[x]) + 6, y1: py(r[roof]), y2: py(r[roof]), stroke: "var(--soft)", "stroke-width": 2 }));
    svg.append(draw("circle", { cx: px(r[x]), cy: py(r[y]), r: 5, fill: colour(0), "fill-opacity": 0.75 },
      tip(`${r[name]}: ${shown(r[y], 1)} TFLOP/s at ${shown(r[x], 1)} FLOP/byte`)));
  }
  return svg;
}

// Which charts there are: of a table, the rows that pass `where`, at most `most` of them.
const CHARTS = [
  { table: "classes", title: "GPU time by class of work", names: "class", values: ["gpu_ns"], most: 14, first: true },
  { table: "kernel-summary", title: "The kernels that cost most", names: "short_name", values: ["total_ns"], most: 12, first: true },
  { table: "idle", title: "What the devices did, and what they waited for", names: "use", values: ["time_ns"], most: 12, first: true,
    where: (t, r) => r[at(t, "device")] === (t.rows.some(q => q[at(t, "device")] === "all") ? "all" : t.rows[0][at(t, "device")]) },
  { table: "steps", title: "Time of each measured step by phase", names: "step", values: ["forward_ns", "loss_ns", "backward_ns", "optimizer_ns", "remainder_ns"],
    most: 200, kind: columnsChart, first: true, where: (t, r) => r[at(t, "warm_up")] !== "yes" },
  { table: "softmax-matmul", title: "Attention, all layers, forward: GPU time", names: "part", values: ["gpu_ns"], most: 6,
    where: (t, r) => r[at(t, "scope")] === "all layers" && r[at(t, "phase")] === "forward" },
  { table: "softmax-matmul", title: "Attention, all layers, forward: FLOPs", names: "part", values: ["flops"], most: 6,
    where: (t, r) => r[at(t, "scope")] === "all layers" && r[at(t, "phase")] === "forward" },
  { table: "api-summary", title: "API calls by time", names: "name", values: ["total_ns"], most: 10 },
  { table: "memory-time", title: "Copies and fills by time", names: "operation", values: ["total_ns"], most: 8 },
  { table: "diff-phases", title: "B / A by phase; the line is 1: no difference", names: "phase", values: ["ratio"], most: 12, line: 1, first: true,
    where: (t, r) => r[at(t, "measure")] === "GPU" && r[at(t, "ratio")] !== null },
  { table: "diff-phases", title: "GPU time of a typical step by phase, A and B", names: "phase", values: ["typical_a_ns", "typical_b_ns"], most: 12, kind: groups, first: true,
    where: (t, r) => r[at(t, "measure")] === "GPU" },
  { table: "diff-ranges", title: "B / A of the ranges that changed most; the line is 1", names: "path", values: ["ratio"], most: 15, line: 1, first: true,
    where: (t, r) => r[at(t, "ratio")] !== null },
  { table: "diff-ops", title: "Operations that changed most: GPU time of a typical step, A and B", names: "op", values: ["typical_a_ns", "typical_b_ns"], most: 12, kind: groups },
  { table: "diff-ops", title: "B / A of the operations that changed most; the line is 1", names: "op", values: ["ratio"], most: 15, line: 1,
    where: (t, r) => r[at(t, "ratio")] !== null },
  { table: "ranks", title: "A step of each rank: computation and exposed communication", names: "rank", values: ["compute_ns", "exposed_ns"], most: 1024,
    kind: columnsChart, first: true },
  { table: "ranks", title: "Waiting that each rank caused to the others, per step", names: "rank", values: ["caused_ns"], most: 1024, kind: columnsChart },
  { table: "sweep-over-size", title: "Time of a step over the size, one line per configuration", values: /_ns_\d+$/, most: 60, kind: lines, first: true },
  { table: "sweep-over-dtype", title: "Time of a step by dtype", values: /_ns_\d+$/, most: 40, kind: groups, first: true },
  { table: "sweep-over-dtype", title: "Speed-up over the baseline; the line is 1", values: /^(speedup|low|high)_\d+$/, most: 40, kind: groups,
    line: 1, first: true },
];
function chart(spec) {
  const table = report.tables[spec.table];
  if (!table) return null;
  const ids = spec.values.filter ? spec.values : table.columns.map(c => c.id).filter(id => spec.values.test(id)); // a pattern: what there is of it
  const names = spec.names ? at(table, spec.names) : 0, series = ids.map(id => ({ at: at(table, id), name: sided((table.columns[at(table, id)] || { title: "" }).title) }));
  if (names < 0 || series.some(c => c.at < 0)) return null;
  const rows = table.rows.filter(r => (!spec.where || spec.where(table, r)) && series.some(c => r[c.at] > 0)).slice(0, spec.most);
  if (!rows.length) return null;
  const used = series.filter(c => rows.some(r => r[c.at] > 0)).map(c => ({ ...c, name: c.name.replace(/ \(\w+\)$/, "") }));
  if (rows.length < (spec.kind ? 1 : 2) || !used.length) return null;
  const unit = table.columns[series[0].at].unit;
  const card = make("div", { className: "card chart" }, make("h3", { textContent: sided(spec.title) }), (spec.kind || bars)(rows, names, used, unit, spec.line,
    sided(table.columns[names].title).toLowerCase()));
  if (used.length > 1 || spec.kind === columnsChart) card.append(legend(used));
  return card;
}

// --- the page --------------------------------------------------------------------------------
function addFirstPage(table, charts) {
  const section = at(table, "section"), item = at(table, "item"), text = at(table, "text"), cards = make("div", { className: "cards" });
  const groups = new Map();
  // what is not missing, and devices that ran nothing, are in their own tables
  const says = r => !(r[section] === "What is missing" || /^device \d+, kernels$/.test(r[item]))
    || table.columns.some((c, k) => c.type !== "text" && r[k]);
  for (const r of table.rows.filter(says)) groups.set(r[section], [...(groups.get(r[section]) || []), r]);
  for (const [name, rows] of groups) {
    const body = make("table");
    const scales = table.columns.map((c, k) => scaleOf(c.unit, rows.map(r => r[k])));
    for (const r of rows) {
      const numbers = table.columns.map((c, k) => [c, k]).filter(([c, k]) => c.type !== "text" && r[k] !== null)
        .map(([c, k]) => shown(r[k], scales[k][0]) + (scales[k][1] ? " " + scales[k][1] : ""));
      body.append(make("tr", null, make("td", { textContent: r[item] || "" }), make("td", { className: "n", textContent: numbers.join(" · ") }),
        make("td", { className: /^Top/.test(name) ? "long" : "", title: r[text] || "", textContent: r[text] || "" })));
    }
    cards.append(make("div", { className: /^(What|How|Where|Why|Top)/.test(name) ? "card wide" : "card" }, make("h3", { textContent: name }), body));
    if (name === "How long a step takes") cards.append(...charts);
  }
  return cards;
}
const addNotes = (section, table) => section.append(...table.notes.map(n => make("p", { className: "note", textContent: n })));
for (const table of tables) {
  const section = make("section", { id: table.table }), first = at(table, "section") >= 0 && table.table === "summary";
  const charts = CHARTS.filter(c => first || /-verdict$/.test(table.table) ? c.first : c.table === table.table).map(chart).filter(Boolean);
  section.append(make("h2", { textContent: sided(table.title) }));
  if (!first) section.append(make("p", { className: "soft", textContent: table.what + "." }));
  if (table.not_recorded) section.append(make("p", { textContent: "Not recorded. " + table.not_recorded }));
  const cards = charts.length && !first ? make("div", { className: "cards" }, ...charts) : "", verdict = /-verdict$/.test(table.table);
  if (!verdict) section.append(cards);
  if (first) section.append(addFirstPage(table, charts));
  const answers = ["softmax-matmul", "idle"].includes(table.table); // of these the notes are what people look for
  if (answers) addNotes(section, table);
  if (table.table === "roofline") { const s = scatter(table); if (s) section.append(make("div", { className: "card chart" }, make("h3", { textContent: "Roofline" }), s)); }
  if (!first && table.rows.length) addTable(section, table);
  if (verdict) section.append(cards); // what it says comes first
  if (cut[table.table]) section.append(make("p", { className: "note", textContent: `The first ${table.rows.length} of ${cut[table.table]} rows; all of them: --table ${table.table} --format csv` }));
  if (!answers) addNotes(section, table);
  main.append(section);
  if (table.rows.length || first) nav.append(make("a", { href: "#" + table.table, textContent: sided(table.title) }));
}
document.body.dataset.ready = String(tables.length);
