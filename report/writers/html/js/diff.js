
// --- the first screen of a comparison: what happened, why, and where ---------------------------
const signed = (ns, shown = shownTime) => (ns < 0 ? "−" : "+") + shown(Math.abs(ns));
const change = ratio => { const p = 100 * (ratio - 1); return (p < 0 ? "−" : "+") + shownPercent(Math.abs(p)); };
const gradeChip = grade => grade ? make("span", { className: "grade " + grade, textContent: grade }) : "";

// What people call the sides: short names stand everywhere, long ones in the title alone.
const sideName = i => sides[i] || "AB"[i];
function sideTitles(verdict) {
  const named = verdict.notes.map(n => /^([AB]) is (.*?): /.exec(n)).filter(Boolean).map(m => m[2]);
  return sides.length ? sides : named.length === 2 ? named.map((n, i) => `${n} (${"AB"[i]})`) : ["A", "B"];
}

// Largest changes first stand for themselves; what is under 1 % of the step is one part of its group.
function partsOf(table) {
  const id = name => at(table, name), total = table.rows.find(r => r[id("group")] === "total");
  if (!total) return null;
  const [a, b] = [total[id("a_ns")], total[id("b_ns")]], least = Math.max(a, b) / 100, parts = [];
  for (const group of new Set(table.rows.map(r => r[id("group")]))) {
    if (group === "total") continue;
    let rest = 0, n = 0;
    for (const r of table.rows.filter(r => r[id("group")] === group)) {
      if (Math.abs(r[id("diff_ns")]) >= least) parts.push({ name: r[id("part")], ns: r[id("diff_ns")] });
      else { rest += r[id("diff_ns")]; n++; }
    }
    if (n) parts.push({ name: group === "idle" ? "other waiting" : "other " + group, ns: rest });
  }
  return { a, b, parts };
}
function addWaterfall(table, to) {
  const found = table && partsOf(table);
  if (!found) return null;
  const bars = [{ name: sideName(0), from: 0, to: found.a, total: true }];
  let level = found.a;
  for (const p of found.parts) bars.push({ name: p.name, from: level, to: level += p.ns, ns: p.ns });
  bars.push({ name: sideName(1), from: 0, to: found.b, total: true });
  const wide = Math.max(1040, bars.length * 84), high = 270, bottom = 46, top = 26, levels = bars.flatMap(b => b.total ? [b.to] : [b.from, b.to]);
  const most = Math.max(...levels), low = Math.min(...levels), base = low > most / 2 ? Math.max(0, low - (most - low) * 0.6) : 0;
  const px = i => 8 + i * (wide - 16) / bars.length, py = v => high - bottom - (v - base) / (most - base || 1) * (high - bottom - top), thick = (wide - 16) / bars.length * 0.84;
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "Why the step changed: " + found.parts.map(p => `${p.name} ${signed(p.ns)}`).join(", ") });
  bars.forEach((b, i) => {
    const y0 = py(b.total ? base : Math.max(b.from, b.to)), y1 = py(b.total ? b.to : Math.min(b.from, b.to)), rect = draw("rect", { x: px(i), y: Math.min(y0, y1), width: thick, height: Math.max(1, Math.abs(y1 - y0)), rx: 2,
      class: b.total ? "whole" : b.ns < 0 ? "saves" : "costs" }, tip(`${b.name}: ${b.total ? shownTime(b.to) : signed(b.ns)}`));
    svg.append(rect, draw("text", { x: px(i) + thick / 2, y: Math.min(y0, y1) - 6, "text-anchor": "middle" }, b.total ? shownTime(b.to) : signed(b.ns)));
    if (i + 1 < bars.length) svg.append(draw("line", { x1: px(i) + thick, x2: px(i + 1), y1: py(b.to), y2: py(b.to), class: "link" }));
    const words = b.name.split(" "), half = Math.ceil(words.length / 2), lines = b.name.length > 13 && words.length > 1 ? [words.slice(0, half).join(" "), words.slice(half).join(" ")] : [b.name];
    lines.forEach((line, n) => svg.append(draw("text", { x: px(i) + thick / 2, y: high - bottom + 16 + n * 14, "text-anchor": "middle", class: "soft" }, line.length > 15 ? line.slice(0, 14) + "…" : line)));
  });
  to.append(card("why", "Why the step changed", `time per step; green saves, red costs; the parts add up${base ? "; the axis begins at " + shownTime(base) : ""}`,
    make("div", { className: "box scroll", tabIndex: 0, role: "region", "aria-label": "Why the step changed" }, svg)));
  return found;
}

// A ratio on a logarithmic axis with 1 in the middle: left of the line is faster.
function ratioMark(ratio, grade, reach, low, high) {
  const svg = draw("svg", { viewBox: "0 0 260 18", class: "ratio", role: "img", "aria-label": change(ratio) });
  const px = v => 130 + Math.max(-1, Math.min(1, Math.log(v) / reach)) * 70, x = px(ratio), kind = /FASTER/.test(grade) ? "saves" : /SLOWER/.test(grade) ? "costs" : "unsure";
  const ends = low > 0 && high > 0 ? [px(low), px(high)] : [x, x];
  svg.append(draw("line", { x1: 130, x2: 130, y1: 1, y2: 17, class: "one" }), draw("rect", { x: ends[0], y: 8, width: ends[1] - ends[0], height: 2, class: kind }), draw("circle", { cx: x, cy: 9, r: 5, class: kind }),
    draw("text", { x: x < 130 ? Math.min(x, ends[0]) - 9 : Math.max(x, ends[1]) + 9, y: 13, "text-anchor": x < 130 ? "end" : "start", class: "soft" }, ratio >= 1.1 || ratio < 1 / 1.1 ? threeDigits(ratio) + "×" : change(ratio)));
  return svg;
}
function addChanges(table, to) {
  if (!table || !table.rows.length) return;
  const get = (r, name) => r[at(table, name)], rows = [...table.rows].filter(r => get(r, "ratio") > 0).sort((a, b) => Math.abs(get(b, "diff_ns")) - Math.abs(get(a, "diff_ns"))).slice(0, 10);
  if (!rows.length) return;
  const reach = Math.max(0.1, ...rows.flatMap(r => ["ratio", "low", "high"].map(c => Math.abs(Math.log(get(r, c) || 1)))));
  const body = make("tbody", null, ...rows.map(r => {
    const name = make("td", { className: "kernel", title: get(r, "op") }, get(r, "op") + " ", make("span", { className: "soft", textContent: get(r, "shape") || "" })), klass = get(r, "class") || "", mark = make("td");
    mark.append(ratioMark(get(r, "ratio"), get(r, "grade") || "", reach, get(r, "low"), get(r, "high")));
    const one = value => make("td", { className: "n", textContent: value === null ? "" : shownTime(value) });
    return make("tr", null, name, make("td", { className: "class" }, klass ? chip(classColours[klass] === undefined ? 5 : classColours[klass]) : "", klass), make("td", { className: "n", textContent: get(r, "instances_a") === get(r, "instances_b") ? shownCount(get(r, "instances_a")) : `${get(r, "instances_a")} → ${get(r, "instances_b")}` }),
      one(get(r, "gpu_a_ns")), one(get(r, "gpu_b_ns")), make("td", { className: "n " + (get(r, "grade") || ""), textContent: signed(get(r, "diff_ns")) }), mark);
  }));
  const heads = [["Operation"], ["Class"], ["Calls", 1], [sideName(0), 1], [sideName(1), 1], ["Change", 1], ["Ratio, log scale"]];
  to.append(card("changes", "Operations that changed most", "the same work on both sides, for as many calls; ratio with its 95 % interval; left of the line is faster",
    make("div", { className: "box scroll plain", tabIndex: 0, role: "region", "aria-label": "Operations that changed most" },
      make("table", null, make("thead", null, make("tr", null, ...heads.map(([name, number]) => make("th", { scope: "col", className: number ? "n" : "", textContent: name })))), body))));
}

// Work without a counterpart, largest first.
function addOnly(table, to) {
  if (!table || !table.rows.length) return;
  const get = (r, name) => r[at(table, name)], list = side => {
    const rows = table.rows.filter(r => get(r, "side") === side);
    return make("div", { className: "box" }, make("h3", { textContent: "Only in " + (sides["AB".indexOf(side)] || ["the baseline", "the candidate"]["AB".indexOf(side)]) }), make("ul", null, ...rows.slice(0, 6).map(r =>
      make("li", { textContent: `${get(r, "class")} in ${get(r, "path")}: ${shown(get(r, "kernels"), 1)} kernel${get(r, "kernels") === 1 ? "" : "s"}, ${shownTime(get(r, "gpu_ns"))}` }))));
  };
  to.append(card("only-one", "What only one side did", "in no ratio", make("div", { className: "pair" }, ...["A", "B"].filter(s => table.rows.some(r => get(r, "side") === s)).map(list))));
}

function addDiffScreen(to) {
  const verdict = report.tables["diff-verdict"], waterfall = report.tables["diff-waterfall"];
  if (!verdict || !waterfall) return;
  const row = subject => verdict.rows.find(r => r[0] === subject), get = (r, name) => r[at(verdict, name)];
  const box = make("section", { className: "box headline", id: "overview", "aria-label": "Overview" });
  const reasons = verdict.rows.filter(r => r[0] === "not the same work").map(r => r[1]);
  if (reasons.length) box.append(make("p", { className: "say" }, make("b", { textContent: "Different work: " }), reasons.join(", ") + "."));
  for (const subject of ["damaged", "overall", "GPU time of a step", "GPU time of kernels"]) {
    const r = row(subject), words = r && (subject === "overall" ? r[1] : `${subject}: ${r[1]}`);
    if (r && !(subject !== "overall" && get(r, "grade") === "UNLIKE")) box.append(make("p", { className: "say" }, words, " ", gradeChip(get(r, "grade"))));
  }
  const matched = row("matched work");
  if (matched) box.append(make("p", { className: "soft", textContent: matched[1] }));
  $("h1").textContent = sideTitles(verdict).join(" → ");
  to.append(box);
  addWaterfall(waterfall, to);
  addChanges(report.tables["diff-ops"], to);
  addOnly(report.tables["diff-only"], to);
  to.append(make("h2", { className: "tables", id: "tables", textContent: "All tables" }));
}
