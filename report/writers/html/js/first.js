
// --- the first screen -----------------------------------------------------------------------------
const sentence = parts => parts.map(([text, bold]) => bold ? make("b", { textContent: text }) : text);
function card(id, title, what, ...content) {
  return make("section", { id, "aria-label": title },
    make("h2", { textContent: title + " " }, what ? make("span", { className: "what", textContent: what }) : ""), ...content);
}

function addHeadline(page, to) {
  const box = make("section", { className: "box headline", id: "overview", "aria-label": "Overview" },
    ...page.headline.map(line => make("p", { className: "say" }, ...sentence(line))));
  for (const line of [page.first, ...page.whatif]) if (line.length) box.append(make("p", { className: "first" }, "→ ", ...sentence(line)));
  box.append(make("dl", { className: "figures" }, ...page.figures.map(([value, what]) =>
    make("div", null, make("dd", { textContent: value }), make("dt", { textContent: what })))));
  to.append(box);
}

function addBar(page, to) {
  const { title, whole, segments, step } = page.bar;
  if (!segments.length) return;
  const bar = make("div", { className: "bar", role: "img", "aria-label": title + ": " +
    segments.map(s => `${s.name} ${shownPercent(s.percent)}`).join(", ") });
  const list = make("div", { className: "legend" });
  let idle = 0;
  for (const s of segments) {
    const part = make("div", { className: s.idle ? "idle" : "" }), words = `${s.name} ${shownPercent(s.percent)}`;
    part.style.flexGrow = s.ns / whole;
    part.style.background = fill(s.colour);
    part.style.color = ink(s.colour);
    if (s.idle) part.style.opacity = [1, 0.72, 0.5, 0.36][Math.min(idle++, 3)];
    if (s.percent * 11.8 > words.length * 7.4 + 14) part.textContent = words;
    tellsOver(part, () => [s.name, `${shownTime(s.ns / whole * step)} of ${shownTime(step)}, ${shownPercent(s.percent)}`,
      s.idle ? "the device does nothing" : "the device works"]);
    bar.append(part);
    const item = make("span", null, chip(s.colour), words);
    if (s.percent >= 0.5) list.append(item);
  }
  to.append(card("where-time", title, `${page.work} time by class, then idle time by cause`, bar, list));
}

// The icicle: parents above their children, width is GPU time. Click or Enter zooms.
const SHADES = ["#233a5e", "#2d5480", "#3a6db5", "#5b8bd0", "#87aadf", "#b3cbec", "#d8e4f5"];
// paintOf: how a comparison paints a box, and what it tells of it.
function icicleOf({ title, total, nodes, per }, work, paintOf) {
  const root = { parent: -1, label: "all", path: "all", folded: 1, inclusive: total, exclusive: 0, calls: 0, kernels: 0, flops: -1, depth: -1, children: [] };
  for (const n of nodes) {
    n.children = [];
    n.up = n.parent < 0 ? root : nodes[n.parent];
    n.depth = n.up.depth + 1;
    n.up.children.push(n);
  }
  const box = make("div", { className: "icicle", role: "tree", "aria-label": title }), where = make("p", { className: "crumbs" });
  let top = root;
  const lines = n => [n.path, `${shownTime(n.inclusive / per)}, ${shownPercent(100 * n.inclusive / total)} of ${work} time`, paintOf && n !== root ? paintOf(n).words : "",
    n.children.length ? `itself: ${shownTime(n.exclusive / per)}` : "", n.folded > 1 ? `${n.folded} equal layers` : "",
    [n.calls && counted(n.calls, "call"), work !== "host" && counted(n.kernels, "kernel")].filter(Boolean).join(", ") + " in all",
    n.flops >= 0 ? `${shownSI(n.flops / per, "FLOP")}, ${shownSI(n.flops / n.inclusive * 1e9, "FLOP/s")}` : ""].filter(Boolean);
  function place(n, left, width, row) {
    if (width < 0.12) return row; // under a pixel: its parent shows through
    const words = `${n.label} · ${shownTime(n.inclusive / per)} · ${shownPercent(100 * n.inclusive / total)}`;
    const e = make("div", { className: "node", role: "treeitem", tabIndex: 0, "aria-label": words, textContent: width > 4 ? words : width > 2 ? n.label : "" });
    const shade = Math.min(row, SHADES.length - 1);
    e.style.left = left + "%";
    e.style.width = `calc(${width}% - 1px)`;
    e.style.top = row * 25 + "px";
    const paint = paintOf && paintOf(n);
    e.style.background = paint ? paint.paint : n.range ? SHADES[shade] : fill(n.colour);
    e.style.color = paint ? paint.ink : n.range ? shade < 3 ? "#fff" : "#10212b" : ink(n.colour);
    e.dataset.path = n.path;
    tellsOver(e, () => lines(n));
    e.addEventListener("click", () => show(n === top ? n.up || root : n));
    e.addEventListener("keydown", key => {
      if (key.key === "Enter" || key.key === " ") { key.preventDefault(); show(n === top ? n.up || root : n); }
    });
    box.append(e);
    let at = left, deepest = row;
    for (const child of n.children) {
      const part = child.inclusive / n.inclusive * width;
      deepest = Math.max(deepest, place(child, at, part, row + 1));
      at += part;
    }
    return deepest;
  }
  function show(n) {
    untell();
    top = n;
    box.replaceChildren();
    let deepest = 0;
    if (n === root) {
      let at = 0;
      for (const child of root.children) {
        const part = child.inclusive / total * 100;
        deepest = Math.max(deepest, place(child, at, part, 0));
        at += part;
      }
    } else {
      deepest = place(n, 0, 100, 0);
    }
    box.style.height = (deepest + 1) * 25 + "px";
    const above = [];
    for (let up = n; up && up !== root; up = up.up) above.unshift(up);
    where.replaceChildren(...(n === root ? [] : [make("button", { textContent: "all", onclick: () => show(root) }),
      ...above.flatMap(up => [" › ", make("button", { textContent: up.label, onclick: () => show(up) })])]));
  }
  show(root);
  box.addEventListener("keydown", key => { if (key.key === "Escape") show(top.up && top !== root ? top.up : root); });
  return [where, box];
}
function addTree(page, to) {
  if (page.tree.nodes.length) to.append(card("where-model", page.tree.title, page.tree.what, ...icicleOf(page.tree, page.work)));
}

// Roofline: FLOP/s over FLOP/byte, both logarithmic; the roofs are lines with their names.
function addRoofline(page, to) {
  const { points, roofs } = page.roofline;
  if (points.length < 2) return;
  const wide = innerWidth < 720 ? 340 : 520, high = 330, left = 48, bottom = 44, top = 22; // letters stay readable on a phone
  const flops = Math.max(...roofs.map(r => r.flops), 0), bytes = Math.max(...roofs.map(r => r.bytes), 0);
  const xs = points.map(p => Math.log10(p.intensity)), ys = points.map(p => Math.log10(p.rate));
  if (flops && bytes) xs.push(Math.log10(flops / bytes) + 0.4);
  if (flops) ys.push(Math.log10(flops));
  const x0 = Math.floor(Math.min(...xs) - 0.1), x1 = Math.ceil(Math.max(...xs) + 0.1), y0 = Math.floor(Math.min(...ys) - 0.1), y1 = Math.ceil(Math.max(...ys) + 0.15);
  const px = v => left + (v - x0) / (x1 - x0) * (wide - left - 14), py = v => high - bottom - (v - y0) / (y1 - y0) * (high - bottom - top);
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "Roofline: " +
    points.map(p => `${p.name} ${shownSI(p.rate, "FLOP/s")}`).join(", ") });
  const round = e => shownSI(10 ** e, "").replace(" ", "");
  for (let e = x0; e <= x1; e++)
    svg.append(draw("line", { x1: px(e), x2: px(e), y1: top, y2: high - bottom, class: "grid" }),
      draw("text", { x: px(e), y: high - bottom + 16, "text-anchor": "middle", class: "soft" }, e < 0 ? String(+(10 ** e).toPrecision(1)) : round(e)));
  for (let e = y0; e <= y1; e++)
    svg.append(draw("line", { x1: left, x2: wide - 14, y1: py(e), y2: py(e), class: "grid" }),
      draw("text", { x: left - 6, y: py(e) + 4, "text-anchor": "end", class: "soft" }, round(e)));
  svg.append(draw("text", { x: (left + wide) / 2, y: high - 8, "text-anchor": "middle", class: "soft" }, "FLOP per byte"),
    draw("text", { x: 4, y: 12, class: "soft" }, "FLOP/s"));
  const taken = []; // boxes that a name must not cross
  for (const r of roofs) {
    const long = r.name.length * 6.3;
    if (r.bytes) { // up to the highest peak
      const end = flops ? Math.min(x1, Math.log10(flops / r.bytes)) : x1, start = Math.max(x0, y0 - Math.log10(r.bytes));
      const a = [px(start), py(start + Math.log10(r.bytes))], b = [px(end), py(end + Math.log10(r.bytes))];
      const turn = Math.atan2(b[1] - a[1], b[0] - a[0]) * 180 / Math.PI, mid = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 - 6];
      for (let i = -3; i <= 3; i++) {
        const x = mid[0] + i * long / 6 * Math.cos(turn * Math.PI / 180), y = mid[1] + i * long / 6 * Math.sin(turn * Math.PI / 180);
        taken.push({ y, high: 14, x0: x - long / 10, x1: x + long / 10 });
      }
      svg.append(draw("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: "roof" }),
        draw("text", { x: mid[0], y: mid[1], class: "soft", "text-anchor": "middle", transform: `rotate(${turn} ${mid[0]} ${mid[1]})` }, r.name));
    } else {
      const from = bytes ? Math.max(x0, Math.log10(r.flops / bytes)) : x0, y = py(Math.log10(r.flops));
      taken.push({ y: y - 5, high: 13, x0: px(x1) - long, x1: px(x1) });
      svg.append(draw("line", { x1: px(from), x2: px(x1), y1: y, y2: y, class: "roof" }),
        draw("text", { x: px(x1), y: y - 5, "text-anchor": "end", class: "soft" }, r.name));
    }
  }
  const largest = Math.max(...points.map(p => p.ns)), size = p => Math.max(3, 15 * Math.sqrt(p.ns / largest));
  taken.push(...points.map(p => ({ y: py(Math.log10(p.rate)) + 4, high: 6 + size(p), x0: px(Math.log10(p.intensity)) - size(p), x1: px(Math.log10(p.intensity)) + size(p) })));
  for (const p of points) {
    const x = px(Math.log10(p.intensity)), y = py(Math.log10(p.rate)), r = size(p);
    const circle = draw("circle", { cx: x, cy: y, r, class: "point", tabindex: 0, role: "img", "aria-label": p.name });
    circle.style.fill = fill(p.colour);
    tellsOver(circle, () => [p.name, `${shownSI(p.rate, "FLOP/s")} at ${threeDigits(p.intensity)} FLOP/byte`,
      `${shownPercent(p.percent)} of ${page.work} time${p.dtype ? ", " + p.dtype : ""}`, p.attained === null ? "" : `${shownPercent(p.attained)} of its roof`].filter(Boolean));
    svg.append(circle);
    if (!p.labelled) continue;
    const words = p.name.length > 26 ? p.name.slice(0, 10) + "…" + p.name.slice(-14) : p.name, long = words.length * 6.3;
    const free = ({ at, ends }) => at > top && at < high - bottom && ends[0] > left && ends[1] < wide - 4 && !taken.some(t => Math.abs(t.y - at) < t.high && t.x0 < ends[1] && t.x1 > ends[0]);
    const place = [0, 13, -13, 26, -26, 39, -39, 52, -52, 65, -65].flatMap(d => [1, -1].map(side => ({ d, side, at: y + 4 + d,
      ends: [x + side * (r + 4), x + side * (r + 4 + long)].sort((a, b) => a - b) }))).find(free);
    if (!place) continue; // its circle tells
    const { d, side, at, ends } = place;
    taken.push({ y: at, high: 12, x0: ends[0], x1: ends[1] });
    if (Math.abs(d) > 13) svg.append(draw("line", { x1: x, y1: y, x2: x + side * (r + 3), y2: at - 4, class: "lead" }));
    svg.append(draw("text", { x: x + side * (r + 4), y: at, "text-anchor": side < 0 ? "end" : "start", class: "halo" }, words));
  }
  to.append(card("where-roof", "Roofline", `one circle per operation, area = ${page.work} time; circles hold ${shownPercent(points.reduce((sum, p) => sum + p.percent, 0))} of it` + (roofs.length ? "" : "; the peaks of this device are unknown: pass --peaks"), make("div", { className: "box" }, svg)));
}

// The bound of the step: each bar is its time without what the bar names, nor what stands above it.
function ladder(rungs) {
  const rows = rungs.map(r => make("tr", null,
    make("td", { textContent: r.name }),
    make("td", { className: "bars" }, make("span", { className: "share rung", style: `width:${(r.percent * .95).toFixed(1)}%` })),
    make("td", { className: "n", textContent: shownTime(r.ns) }),
    make("td", { className: "n soft", textContent: r.percent < 100 ? `${(100 / r.percent).toPrecision(3)}×` : "" })));
  return make("div", { className: "ladder" }, make("h3", { textContent: "What bounds the step" }), make("table", null, ...rows));
}

function addFindings(page, to) {
  const { list, none, note, rungs } = page.findings;
  const items = list.map(f => {
    const li = make("li", null, make("span", { className: "do", textContent: f.advice + " " }));
    if (f.gain > 0) li.append(make("b", { className: "gain", textContent: f.saves }));
    li.append(make("div", { className: "soft", textContent: `${f.title.toLowerCase().includes(f.evidence.split(":")[0].toLowerCase()) ? "" : f.title + ": "}${f.evidence}${f.more ? `; ${f.more} more like this` : ""}.`.replace(/\.\.$/, ".") }));
    return li;
  });
  const box = make("div", { className: "box todo" });
  box.append(items.length ? make("ol", null, ...items.slice(0, 5)) : make("p", { textContent: none + "." }));
  if (items.length > 5)
    box.append(make("details", null, make("summary", { textContent: `${items.length - 5} more` }), make("ol", { start: 6 }, ...items.slice(5))));
  if (note) box.append(make("p", { className: "soft", textContent: note + "." }));
  if (rungs.length) box.append(ladder(rungs));
  to.append(card("what-to-do", "What to do", "", box));
}

function addKernels(page, to) {
  const { list, more, each, samples, noun, unit, rates } = page.kernels, title = noun + "s that cost most";
  if (!list.length) return;
  const roofed = list.some(k => k.attained !== null);
  const heads = [[noun], ["Class"], [`Calls${each}`, 1], [`Time${each}`, 1], [`Share of ${page.work} time`], ["Mean", 1]];
  if (unit) heads.push([rates, 1]);
  if (roofed) heads.push(["% of roof", 1]);
  const most = Math.max(...list.map(k => k.percent)), body = make("tbody"), names = unlike(list.map(k => k.name));
  for (const [i, k] of list.entries()) {
    const bar = make("span", { className: "share" });
    bar.style.width = 9 * k.percent / most + "em";
    bar.style.background = fill(k.colour);
    const row = make("tr", null, make("td", { className: "kernel", title: k.full, textContent: names[i] }), make("td", { className: "class" }, chip(k.colour), k.class),
      make("td", { className: "n", textContent: k.calls / samples >= 1000 ? shownCount(Math.round(k.calls / samples)) : threeDigits(k.calls / samples) }), make("td", { className: "n", textContent: shownTime(k.ns / samples) }),
      make("td", { className: "bars" }, bar, shownPercent(k.percent)), make("td", { className: "n", textContent: k.mean === null ? "" : shownTime(k.mean) }));
    if (unit) row.append(make("td", { className: "n", textContent: k.rate > 0 ? threeDigits(k.rate / unit) : "" }));
    if (roofed) row.append(make("td", { className: "n", textContent: k.attained === null ? "" : shownPercent(k.attained) }));
    body.append(row);
  }
  to.append(card("top-kernels", title, more ? `${list.length} of ${list.length + more} names` : "",
    make("div", { className: "box scroll plain", tabIndex: 0, role: "region", "aria-label": title },
      make("table", null, make("thead", null, make("tr", null, ...heads.map(([name, number]) => make("th", { scope: "col", className: number ? "n" : "", textContent: name })))), body))));
}

function addFirstScreen(page, to) {
  addHeadline(page, to);
  addBar(page, to);
  addTree(page, to);
  const timeline = make("div", { id: "timeline-place" });
  to.append(timeline);
  const pair = make("div", { className: "pair" });
  addRoofline(page, pair);
  addFindings(page, pair);
  to.append(pair);
  addKernels(page, to);
  return timeline;
}
