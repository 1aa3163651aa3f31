
// --- the first screen -----------------------------------------------------------------------------
const sentence = parts => stopped(parts.flatMap(([text, bold]) => bold ? make("b", null, ...linked(text)) : linked(text)));
// A line may break behind a button; a full stop or comma stays with its word.
const endsInObject = node => node.className === "object" || node.lastChild && endsInObject(node.lastChild);
function stopped(nodes) {
  return nodes.flatMap((node, i) => {
    const stops = next => typeof next === "string" ? next.match(/^[.,;:)]*/)[0] : "", own = stops(nodes[i + 1]);
    if (typeof node === "string" && i && endsInObject(nodes[i - 1])) node = node.slice(stops(node).length);
    return own && endsInObject(node) ? make("span", { className: "one" }, node, own) : node;
  });
}
// Names of classes, causes, parts and kernels in a text are found in the timeline by a click.
let objects = new Map(), objectNames = null;
function nameObjects(page) {
  for (const k of page.kernels.list) objects.set(k.name, () => findIn(k.name, { name: k.name, kinds: ["stream", "ops"] }));
  for (const n of page.tree.nodes) if (n.range && n.inclusive < 0.995 * page.tree.total && !objects.has(n.label)) objects.set(n.label, () => findIn(n.label, partOf(n)));
  for (const s of page.bar.segments) if (!s.name.includes("unknown")) objects.set(s.name, () => findSegment(s));
  const names = [...objects.keys()].filter(name => name.length > 3 || page.bar.segments.some(s => s.name === name)).sort((a, b) => b.length - a.length);
  objectNames = page.timeline && names.length ? new RegExp(`(?<![\\w.])(${names.map(name => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})(?![\\w])`, "gi") : null;
}
// A number and its unit stay on one line, and so does an option.
const unbroken = text => text.split(/(\(?\d[\d.,]* (?:%|[nµm]?s|[kMGT]?B|[kMGT]?FLOP)(?!\w)\)?|--[\w-]+)/).map((part, i) => i % 2 ? make("span", { className: "one", textContent: part }) : part);
function linked(text) {
  if (!objectNames) return unbroken(text);
  const find = name => objects.get(name) || [...objects].find(([other]) => other.toLowerCase() === name.toLowerCase())[1];
  return stopped(text.split(objectNames).map((part, i) => i % 2 ? make("button", { className: "object", textContent: part, title: "find it in the timeline", onclick: () => find(part)() }) : unbroken(part)).flat());
}
function card(id, title, what, ...content) {
  return make("section", { id, "aria-label": title },
    make("h2", { textContent: title + " " }, what ? make("span", { className: "what", textContent: what }) : ""), ...content);
}

function addHeadline(page, to) {
  const box = make("section", { className: "box headline", id: "overview", "aria-label": "Overview" },
    ...page.headline.map(line => make("p", { className: "say" }, ...sentence(line))));
  for (const line of [page.first, ...page.whatif]) if (line.length) box.append(make("p", { className: "first" }, "→ ", ...line.flatMap(([text, bold]) => bold ? make("b", null, ...unbroken(text)) : unbroken(text))));
  box.append(make("dl", { className: "figures" }, ...page.figures.map(([value, what]) =>
    make("div", null, make("dd", { textContent: value }), make("dt", { textContent: what })))), stepStrip(page.steps));
  to.append(box);
}

// A bar of segments that add up to `percent`; those of idle time are hatched. Each is found in the timeline.
function segmentsBar(segments, label, lines) {
  const bar = make("div", { className: "bar", role: "img", "aria-label": label + ": " + segments.map(s => `${s.name} ${shownPercent(s.percent)}`).join(", ") });
  for (const s of segments) {
    const part = make("div", { className: s.idle ? "idle" : "" }), words = `${s.name} ${shownPercent(s.percent)}`;
    part.style.flexGrow = s.percent;
    part.style.backgroundColor = fill(s.colour);
    part.style.color = ink(s.colour);
    if (s.percent * 11.8 > words.length * 7.4 + 14) part.append(s.idle ? make("span", { textContent: words }) : words);
    tellsOver(part, () => [s.name, ...lines(s), s.idle ? "the device does nothing" : "the device works"]);
    part.addEventListener("click", () => findSegment(s));
    bar.append(part);
  }
  return bar;
}
// Where the timeline has what a segment is of.
const hasOf = s => s.idle ? { kinds: ["idle"], name: s.name } : s.name === "memcpy" ? { kinds: ["copies"] } : s.name === "CUDA graphs" ? { kinds: ["stream"], name: "CUDA graph" }
  : { kinds: ["stream"], colour: s.colour, class: s.name };
const findSegment = s => findIn(s.name, hasOf(s));
// A row that a click finds in the timeline, unless text is chosen in it or something in it was meant.
function finds(row, words, how) {
  row.classList.add("finds");
  row.addEventListener("click", e => { if (timelines.length && !String(getSelection()) && !e.target.closest("button, a, summary")) findIn(words, typeof how === "function" ? how() : how); });
}

function addBar(page, to) {
  const { title, whole, segments, step } = page.bar;
  if (!segments.length) return;
  const time = ns => shownTime(ns / whole * step), computing = segments.filter(s => s.of_class).reduce((sum, s) => sum + s.percent, 0);
  const list = make("div", { className: "legend" });
  for (const s of segments) {
    if (s.percent < 0.5 && !(100 * s.hidden / whole >= 0.5)) continue;
    const item = make("button", { className: "item" }, chip(s.colour, s.idle), `${s.name} ${shownPercent(s.percent)}${s.hidden ? `; ${time(s.hidden)} more, hidden` : ""}`);
    item.addEventListener("click", () => findSegment(s));
    list.append(item);
  }
  // what runs beside compute stands below it, in a paler tone, beside what nothing hides
  let before = 0;
  const strips = [];
  for (const s of segments) {
    const hidden = Math.min(100 * s.hidden / whole, before);
    if (100 * s.hidden / whole >= 0.5) {
      const strip = make("div", { className: "strip" }), tones = [[before - hidden, hidden, "hidden", `${s.name}: ${time(s.hidden)} hidden behind compute`], [before, s.percent, "", `${s.name}: ${time(s.ns)} not hidden`]];
      for (const [left, wide, tone, words] of tones) {
        const part = make("div", { className: tone });
        part.style.left = left + "%";
        part.style.width = wide + "%";
        part.style.backgroundColor = fill(s.colour);
        part.style.color = ink(s.colour);
        if (wide * 11.8 > words.length * 6.6 + 14) part.append(make("span", { textContent: words }));
        tellsOver(part, () => [words]);
        part.addEventListener("click", () => findSegment(s));
        strip.append(part);
      }
      strips.push(strip);
    }
    before += s.percent;
  }
  to.append(card("where-time", title, `${shownTime(step)}: ${page.work} time by class, then idle time by cause, hatched`,
    segmentsBar(segments, title, s => [`${time(s.ns)} of ${shownTime(step)}, ${shownPercent(s.percent)}`, s.hidden ? `${time(s.hidden)} more, hidden behind compute` : ""].filter(Boolean)), ...strips, list, ...eachDevice(page)));
}

// Of several devices what each did: one may wait for the others.
function eachDevice(page) {
  return !page.devices.length ? [] : [make("details", { className: "devices", open: page.devices.length <= 16 }, make("summary", { textContent: `each of ${page.devices.length} GPUs` }),
    ...page.devices.map(d => make("div", { className: "device" }, make("span", { textContent: d.name }), segmentsBar(d.segments, d.name, s => [`${shownPercent(s.percent)} of the time of ${d.name}`]))))];
}

// The strip of steps: one bar a step from 0, outliers in another colour. Of very many, the longest of some neighbours.
function stepStrip(steps) {
  if (!steps.length) return "";
  const most = Math.max(...steps.map(([, ns]) => ns)), each = Math.ceil(steps.length / 240), shown = [];
  for (let i = 0; i < steps.length; i += each) shown.push(steps.slice(i, i + each).reduce((a, b) => b[1] > a[1] ? b : a));
  const strip = make("div", { className: "steps", role: "img", "aria-label": `Time of ${steps.length} steps: ` + shown.slice(0, 40).map(([n, ns]) => `step ${n} ${shownTime(ns)}`).join(", ") });
  for (const [number, ns, outlier] of shown) {
    const bar = make("div", { className: outlier ? "outlier" : "" });
    bar.style.height = 100 * ns / most + "%";
    tellsOver(bar, () => [`step ${number}`, shownTime(ns), outlier ? "far from the others" : ""].filter(Boolean));
    strip.append(bar);
  }
  const outliers = steps.filter(([, , outlier]) => outlier).map(([n]) => n);
  return make("div", { className: "strip-of-steps" }, strip, make("span", { className: "soft", textContent: `each of ${steps.length} steps, ${shownTime(Math.min(...steps.map(([, ns]) => ns)))} to ${shownTime(most)}${each > 1 ? `, the longest of ${each} a bar` : ""}${
    outliers.length ? `; far from the others: step ${outliers.slice(0, 6).join(", ")}${outliers.length > 6 ? ` and ${outliers.length - 6} more` : ""}` : ""}` }));
}

// The icicle: parents above their children, width is GPU time. Click or Enter zooms.
const MOST_LEVELS = 12;
// What of the timeline is in a part of the model: its ranges, and below them operations, classes and kernels.
function partOf(n) {
  const ranges = [], leaves = [];
  for (let up = n; up && up.path !== "all"; up = up.up) (up.range ? ranges : leaves).unshift(up.path.slice(up.up && up.up.path !== "all" ? up.up.path.length + 1 : 0));
  const steps = ranges.length > 1 ? `(?:${spaced(ranges[0])}/)?` : spaced(ranges[0] || ""), rest = ranges.slice(1).map(spaced).join("/");
  return { path: ranges.length ? new RegExp(`(^|/)${steps}${rest}(/|$)`) : null, leaves: leaves.filter(l => !l.startsWith("(")), kinds: leaves.length ? ["stream"] : ["stream", "thread"] };
}
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
  const whole = n => n.folds ? whole(n.children[0]) : n; // of a chain of only children the innermost
  for (const n of nodes) n.folds = n.children.length === 1 && n.children[0].inclusive === n.inclusive && n.range && n.children[0].range;
  const nameOf = n => n.folds ? `${n.label} › ${nameOf(n.children[0])}` : n.label;
  const short = n => { // of a long chain its ends
    const names = nameOf(n).split(" › ");
    return names.length > 3 ? `${names[0]} › … › ${names[names.length - 1]}` : names.join(" › ");
  };
  const lines = n => [n.path, `${shownTime(n.inclusive / per)}, ${shownPercent(100 * n.inclusive / total)} of ${work} time`, paintOf && n !== root ? paintOf(n).words : "",
    n.children.length ? `itself: ${shownTime(n.exclusive / per)}` : "", n.folded > 1 ? `${n.folded} equal layers` : "",
    [n.calls && counted(n.calls, "call"), work !== "host" && counted(n.kernels, "kernel")].filter(Boolean).join(", ") + " in all",
    n.flops >= 0 ? `${shownSI(n.flops / per, "FLOP")}, ${shownSI(n.flops / n.inclusive * 1e9, "FLOP/s")}` : ""].filter(Boolean);
  function place(of, left, width, row) {
    const n = whole(of); // its ranges are one box
    if (width < 0.12) return row; // under a pixel: its parent shows through
    const label = short(of), words = `${label} · ${shownTime(n.inclusive / per)} · ${shownPercent(100 * n.inclusive / total)}`;
    const e = make("div", { className: "node", role: "treeitem", tabIndex: 0, "aria-label": words, textContent: width > 4 ? words : width > 2 ? label : "" });
    e.style.left = left + "%";
    e.style.width = `calc(${width}% - 1px)`;
    e.style.top = row * 25 + "px";
    const paint = paintOf && paintOf(n);
    e.style.background = paint ? paint.paint : n.range ? shadeOf(row)[0] : fill(n.colour);
    e.style.color = paint ? paint.ink : n.range ? shadeOf(row)[1] : ink(n.colour);
    e.dataset.path = n.path;
    tellsOver(e, () => lines(n));
    e.addEventListener("click", () => { show(n === top ? outer(n) : n); findIn(n.path, partOf(n), true); });
    e.addEventListener("keydown", key => {
      if (key.key === "Enter" || key.key === " ") { key.preventDefault(); show(n === top ? outer(n) : n); }
    });
    box.append(e);
    let at = left, deepest = row;
    if (row + 1 >= MOST_LEVELS) return row; // a click shows what is deeper
    for (const child of n.children) {
      const part = child.inclusive / n.inclusive * width;
      deepest = Math.max(deepest, place(child, at, part, row + 1));
      at += part;
    }
    return deepest;
  }
  function outer(n) { // what holds the chain that it ends
    let up = n.up;
    while (up && up.folds && up !== root) up = up.up;
    return up || root;
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
  box.addEventListener("keydown", key => { if (key.key === "Escape") show(top !== root ? outer(top) : root); });
  return [where, box];
}
function addTree(page, to) {
  if (page.tree.nodes.length) to.append(card("where-model", page.tree.title, page.tree.what, ...icicleOf(page.tree, page.work)));
}

// Roofline: FLOP/s over FLOP/byte, both logarithmic; the roofs are lines with their names.
function addRoofline(page, to) {
  const { points, roofs } = page.roofline;
  if (points.length < 2) return;
  const wide = isNarrow() ? 340 : 520, high = 330, left = 48, bottom = 44, top = 22;
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
  const held = points.reduce((sum, p) => sum + p.percent, 0);
  to.append(card("where-roof", "Roofline", `one circle per operation, area = ${page.work} time; circles hold ${shownPercent(held)} of it${held < 90 ? "; of the rest no FLOPs and bytes are known" : ""}` + (roofs.length ? "" : "; the peaks of this device are unknown: pass --peaks"), make("div", { className: "box" }, svg)));
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
  const { list, none, caveat, note, rungs } = page.findings;
  const items = list.map(f => {
    const li = make("li", null, make("span", { className: "do" }, ...unbroken(f.advice + " ")));
    if (f.gain > 0) li.append(make("b", { className: "gain" }, ...unbroken(f.saves)));
    li.append(make("div", { className: "soft" }, ...linked(`${f.evidence}${f.more ? `; ${f.more} more like this` : ""}.`.replace(/\.\.$/, "."))));
    return li;
  });
  const box = make("div", { className: "box todo" });
  box.append(items.length ? make("ol", null, ...items.slice(0, 5)) : make("p", { textContent: none + "." }));
  if (items.length > 5)
    box.append(make("details", null, make("summary", { textContent: `${items.length - 5} more` }), make("ol", { start: 6 }, ...items.slice(5))));
  if (caveat) box.append(make("p", null, ...linked(caveat)));
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
  const most = Math.max(5, ...list.map(k => k.percent)), body = make("tbody"), names = unlike(list.map(k => k.name));
  for (const [i, k] of list.entries()) {
    const bar = make("span", { className: "share" });
    bar.style.width = 9 * k.percent / most + "em";
    bar.style.background = fill(k.colour);
    const row = make("tr", null, make("td", { className: "kernel", title: k.full, textContent: names[i] }), make("td", { className: "class" }, chip(k.colour), k.class),
      make("td", { className: "n", textContent: k.calls / samples >= 1000 ? shownCount(Math.round(k.calls / samples)) : threeDigits(k.calls / samples) }), make("td", { className: "n", textContent: shownTime(k.ns / samples) }),
      make("td", { className: "bars" }, bar, shownPercent(k.percent)), make("td", { className: "n", textContent: k.mean === null ? "" : shownTime(k.mean) }));
    if (unit) row.append(make("td", { className: "n", textContent: k.rate > 0 ? threeDigits(k.rate / unit) : "" }));
    if (roofed) row.append(make("td", { className: "n", textContent: k.attained === null ? "" : shownPercent(k.attained) }));
    finds(row, k.name, { name: k.name, kinds: page.kernels.noun === "Kernel" ? ["stream"] : ["ops"] });
    body.append(row);
  }
  to.append(card("top-kernels", title, [more ? `${list.length} of ${list.length + more} names` : "", page.devices.length > 1 ? `time summed over ${page.devices.length} GPUs` : ""].filter(Boolean).join("; "),
    make("div", { className: "box scroll plain", tabIndex: 0, role: "region", "aria-label": title },
      make("table", null, make("thead", null, make("tr", null, ...heads.map(([name, number]) => make("th", { scope: "col", className: number ? "n" : "", textContent: name })))), body))));
}

// How long kernels take: how many, and how much of their time, of each length on a logarithmic axis; the line is the time of all up to there.
function addDurations(page, to) {
  const bins = page.durations, kernels = bins.reduce((s, b) => s + b[2], 0), all = bins.reduce((s, b) => s + b[3], 0);
  if (kernels < 20 || !all || bins.length < 2) return;
  const wide = isNarrow() ? 340 : 560, high = 200, left = 44, bottom = 36, top = 14, each = (wide - left - 8) / bins.length, most = Math.max(...bins.flatMap(b => [b[2] / kernels, b[3] / all]));
  const py = share => high - bottom - share * (high - bottom - top), label = ns => shownTime(ns).replace(/ /, "\u00a0");
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img" });
  for (const share of [0, 0.25, 0.5, 0.75, 1])
    svg.append(draw("line", { x1: left, x2: wide - 8, y1: py(share), y2: py(share), class: "grid" }), draw("text", { x: left - 6, y: py(share) + 4, "text-anchor": "end", class: "soft" }, 100 * share + " %"));
  let count = 0, time = 0, best = [0];
  const line = [`${left},${py(0)}`], every = Math.ceil(bins.length * 52 / (wide - left));
  bins.forEach(([from, to, n, ns], i) => {
    const x = left + i * each, words = `${shownTime(from)} to ${shownTime(to)}: ${counted(n, "kernel")} (${shownPercent(100 * n / kernels)}), ${shownTime(ns / page.kernels.samples)}${page.kernels.each} (${shownPercent(100 * ns / all)})`;
    for (const [share, at, kind] of [[n / kernels, 0, "how-many"], [ns / all, 0.44, "how-long"]])
      svg.append(draw("rect", { x: x + each * (0.08 + at), y: py(share), width: each * 0.42, height: py(0) - py(share), class: kind }, tip(words)));
    count += n;
    time += ns;
    line.push(`${x + each},${py(time / all)}`);
    if (to !== null && count / kernels - time / all > best[0]) best = [count / kernels - time / all, to, count / kernels, time / all];
    if (i % every === 0) svg.append(draw("text", { x, y: high - bottom + 16, "text-anchor": "middle", class: "soft" }, from ? label(from) : "0"));
  });
  svg.append(draw("polyline", { points: line.join(" "), class: "sum" }), draw("text", { x: wide - 8, y: high - 4, "text-anchor": "end", class: "soft" }, "duration, log scale"));
  const words = best[0] ? `${shownPercent(100 * best[2])} of kernels take less than ${shownTime(best[1])}: ${shownPercent(100 * best[3])} of the time.` : "";
  svg.setAttribute("aria-label", "Durations of kernels. " + words);
  const swatch = (kind, name) => make("span", null, make("span", { className: "chip " + kind }), name);
  to.append(card("durations", "How long kernels take", words, make("div", { className: "box" }, svg, make("div", { className: "legend" }, swatch("how-many", "share of kernels"), swatch("how-long", "share of their time"), swatch("sum", "time of all that are no longer")))));
}
// Lines over time: of each its rows in order of time, a column, its style and words. Nothing where there is too little to draw.
function overTime(lines, time, unitName, words) {
  const rows = lines.flatMap(l => l.rows), values = lines.flatMap(l => l.rows.map(r => r[l.column] || 0)), most = Math.max(...values), least = Math.min(0, ...values);
  const from = Math.min(...rows.map(r => r[time])), till = Math.max(...rows.map(r => r[time]));
  if (rows.length < 3 || !(most > least) || !(till > from)) return null;
  const [by, unit] = scaleOf(unitName, [most, least]), wide = isNarrow() ? 340 : 560, high = 200, bottom = 26, top = 14, [tick, all] = ticksOf((most - least) / by);
  const low = Math.floor(least / by / tick), ticks = least < 0 ? Math.ceil(most / by / tick) : all;
  // a long unit is in the heading alone
  const ticksWords = Array.from({ length: ticks - low + 1 }, (_, i) => shown((low + i) * tick, 1) + (low + i === ticks && unit && unit.length < 13 ? " " + unit : "")), left = Math.max(56, 14 + 6.6 * Math.max(...ticksWords.map(w => w.length)));
  const px = ns => left + (ns - from) / (till - from) * (wide - left - 12), py = v => high - bottom - (v / (tick * by) - low) / (ticks - low) * (high - bottom - top);
  const greatest = `at most ${shown(most, by)}${unit && " " + unit}`, svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${words}: ${greatest}` });
  for (let i = low; i <= ticks; i++) svg.append(draw("line", { x1: left, x2: wide - 12, y1: py(i * tick * by), y2: py(i * tick * by), class: "grid" }), draw("text", { x: left - 6, y: py(i * tick * by) + 4, "text-anchor": "end", class: "soft" }, ticksWords[i - low]));
  for (let i = 0; i <= 4; i += isNarrow() ? 2 : 1) svg.append(draw("text", { x: px(from + i / 4 * (till - from)), y: high - 8, "text-anchor": i === 4 ? "end" : i ? "middle" : "start", class: "soft" }, shownTime(from + i / 4 * (till - from))));
  for (const l of lines) {
    const path = l.rows.map((r, i) => `${i ? `H${px(r[time])}V` : `M${px(r[time])},`}${py(r[l.column])}`).join("") + `H${px(till)}`;
    const e = draw("path", { d: path, class: l.style }, tip(`${l.words}: at most ${shown(Math.max(...l.rows.map(r => r[l.column])), by)}${unit && " " + unit}`));
    e.style.stroke = colour(l.paint);
    svg.append(e);
  }
  return [svg, greatest];
}
// Its rows that pass by device, or by another column: a line for each column, with a value; of the first devices, as many as there are colours.
function linesOf(table, columns, passes, by = "device", nameOf = d => `device ${d}`) {
  const [device, time] = [by, "time_ns"].map(id => at(table, id)), rows = table.rows.filter(r => passes(r) && columns.some(([id]) => r[at(table, id)] !== null)), every = [...new Set(rows.map(r => r[device]))], devices = every.slice(0, SERIES.length);
  const lines = devices.flatMap((d, k) => columns.map(([id, style, words]) => ({ column: at(table, id), style, paint: k, words: `${words}${devices.length > 1 ? `, ${nameOf(d)}` : ""}`,
    rows: rows.filter(r => r[device] === d && r[at(table, id)] !== null).sort((a, b) => a[time] - b[time]) }))).filter(l => l.rows.length);
  const names = devices.length > 1 ? legend(devices.map(d => ({ id: "", name: nameOf(d) }))) : "";
  if (every.length > devices.length) names.append(make("span", { className: "soft", textContent: `${devices.length} of ${every.length}; the table has all` }));
  return [lines, time, names];
}
// Memory of devices over time: in use, and held by the allocator.
function addMemory(to) {
  const table = report.tables.memory;
  if (!table) return;
  const [lines, time, names] = linesOf(table, [["allocated", "used", "in use"], ["reserved", "held", "held by the allocator"]], r => r[at(table, "section")] === "over time");
  const picture = overTime(lines, time, "bytes", "Memory over time");
  if (picture) to.append(card("memory-picture", "Memory over time", `${picture[1]}; full line in use, dashed held by the allocator`, make("div", { className: "box" }, picture[0], names)));
}
// Power and clock of GPUs over time.
function addClocks(to) {
  const table = report.tables["gpu-samples"];
  if (!table) return;
  for (const [id, unit, title] of [["power_w", "W", "Power over time"], ["sm_mhz", "MHz", "SM clock over time"]]) {
    const [lines, time, names] = linesOf(table, [[id, "used", title]], () => true), picture = overTime(lines, time, unit, title);
    if (picture) to.append(card(`${id}-picture`, title, picture[1], make("div", { className: "box" }, picture[0], names)));
  }
}
// Counters of the program over time: a picture of each, or of the fields of a group that have one unit. The first eight of which there is something to draw.
function addCounters(to) {
  const table = report.tables["counter-samples"], rowsOf = new Map();
  if (!table) return;
  const [number, name, group, domain, unit] = ["counter", "name", "of_group", "domain", "unit"].map(id => at(table, id));
  for (const r of table.rows) {
    const of = [r[domain], r[group] || r[number], r[unit]].join("\n");
    if (!rowsOf.has(of)) rowsOf.set(of, []);
    rowsOf.get(of).push(r);
  }
  let drawn = 0, others = 0;
  for (const rows of rowsOf.values()) {
    const first = rows[0], title = `${first[group] || first[name]} over time`;
    const [lines, time, names] = linesOf({ ...table, rows }, [["value", "used", title]], () => true, "counter", n => rows.find(r => r[number] === n)[name]);
    const picture = drawn < 8 && overTime(lines, time, first[unit] || "", title);
    if (picture) to.append(card(`counter-${first[number]}-picture`, title, picture[1], make("div", { className: "box" }, picture[0], names)));
    if (picture) drawn++;
    else others++;
  }
  if (drawn && others) to.append(make("p", { className: "soft", textContent: `${drawn} of ${drawn + others} counters and groups are drawn. The table Counters over Time has all.` }));
}

function addFirstScreen(page, to) {
  if (page.timeline) nameObjects(page);
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
  const more = make("div", { className: "pair" });
  addDurations(page, more);
  addMemory(more);
  addClocks(more);
  addCounters(more);
  to.append(more);
  return timeline;
}
