
// --- the first screen of a comparison: what happened, why, and where ---------------------------
const signed = (ns, shown = shownTime) => (ns < 0 ? "−" : "+") + shown(Math.abs(ns));
const change = ratio => { const p = 100 * (ratio - 1); return (p < 0 ? "−" : "+") + shownPercent(Math.abs(p)); };
const ratioWords = ratio => ratio >= 1.1 || ratio < 1 / 1.1 ? threeDigits(ratio) + "×" : change(ratio);
const kindOf = grade => /FASTER/.test(grade) ? "saves" : /SLOWER/.test(grade) ? "costs" : "unsure"; // no colour without a verdict
const gradeChip = grade => grade ? make("span", { className: "grade " + grade, textContent: grade }) : "";

// What people call the sides: short names stand everywhere, long ones in the title alone.
const sideName = i => sides[i] || "AB"[i];

function addWaterfall(first, to) {
  const bars = first.bars;
  if (bars.every(b => b.total || !(b.to - b.from))) return; // nothing changed: no picture of it
  bars.forEach((b, i) => { b.ns = b.to - b.from; if (b.total) b.name = sideName(i ? 1 : 0); });
  const wide = Math.max(1040, bars.length * 84), high = 284, bottom = 60, top = 26, levels = bars.flatMap(b => b.total ? [b.to] : [b.from, b.to]);
  const most = Math.max(...levels), low = Math.min(...levels), base = low > most / 2 ? Math.max(0, low - (most - low) * 0.6) : 0;
  const px = i => 8 + i * (wide - 16) / bars.length, py = v => high - bottom - (v - base) / (most - base || 1) * (high - bottom - top), thick = (wide - 16) / bars.length * 0.84;
  const title = first.unsure ? "What the time is made of" : "Why the time changed";
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": title + ": " + bars.filter(b => !b.total).map(b => `${b.name} ${signed(b.ns)}`).join(", ") });
  bars.forEach((b, i) => {
    const y0 = py(b.total ? base : Math.max(b.from, b.to)), y1 = py(b.total ? b.to : Math.min(b.from, b.to)), rect = draw("rect", { x: px(i), y: Math.min(y0, y1), width: thick, height: Math.max(1, Math.abs(y1 - y0)), rx: 2,
      class: b.total ? "whole" : first.unsure ? "unsure" : b.ns < 0 ? "saves" : "costs" }, tip(`${b.name}: ${b.total ? shownTime(b.to) : signed(b.ns)}`));
    svg.append(rect, draw("text", { x: px(i) + thick / 2, y: Math.min(y0, y1) - 6, "text-anchor": "middle" }, b.total ? shownTime(b.to) : signed(b.ns)));
    if (i + 1 < bars.length) svg.append(draw("line", { x1: px(i) + thick, x2: px(i + 1), y1: py(b.to), y2: py(b.to), class: "link" }));
    const lines = b.name.split(" ").reduce((all, word) => { // lines of a bar's width
      const last = all[all.length - 1];
      return all.length && (last + " " + word).length <= 15 ? [...all.slice(0, -1), last + " " + word] : [...all, word];
    }, []).slice(0, 3);
    lines.forEach((line, n) => svg.append(draw("text", { x: px(i) + thick / 2, y: high - bottom + 16 + n * 14, "text-anchor": "middle", class: "soft" }, line.length > 15 ? line.slice(0, 14) + "…" : line)));
  });
  to.append(card("why", title, `one step per side, the median one; ${first.unsure ? "" : "green saves, red costs; "}the parts add up${base ? "; the axis begins at " + shownTime(base) : ""}`,
    make("div", { className: "box scroll", tabIndex: 0, role: "region", "aria-label": title }, svg)));
}

// A ratio on a logarithmic axis with 1 in the middle: left of the line is faster.
function ratioMark(ratio, grade, reach, low, high) {
  const svg = draw("svg", { viewBox: "0 0 260 18", class: "ratio", role: "img", "aria-label": change(ratio) });
  const px = v => 130 + Math.max(-1, Math.min(1, Math.log(v) / reach)) * 56, x = px(ratio), kind = kindOf(grade);
  const ends = low > 0 && high > 0 ? [px(low), px(high)] : [x, x];
  svg.append(draw("line", { x1: 130, x2: 130, y1: 1, y2: 17, class: "one" }), draw("rect", { x: ends[0], y: 8, width: ends[1] - ends[0], height: 2, class: kind }), draw("circle", { cx: x, cy: 9, r: 5, class: kind }),
    draw("text", { x: x < 130 ? Math.min(x, ends[0]) - 9 : Math.max(x, ends[1]) + 9, y: 13, "text-anchor": x < 130 ? "end" : "start", class: "soft" }, ratioWords(ratio)));
  return svg;
}
function addChanges(changes, to) {
  if (!changes.length) return;
  const reach = Math.max(0.1, ...changes.flatMap(c => [c.ratio, c.low, c.high].map(v => Math.abs(Math.log(v || 1)))));
  const one = value => make("td", { className: "n", textContent: value === null ? "" : shownTime(value) });
  const names = unlike(changes.map(c => c.name)), body = make("tbody", null, ...changes.map((c, i) => {
    const name = make("td", { className: "kernel", title: c.name }, names[i] + " ", make("span", { className: "soft", textContent: c.shape })), mark = make("td");
    mark.append(ratioMark(c.ratio, c.grade, reach, c.low, c.high));
    return make("tr", null, name, make("td", { className: "class" }, c.class ? chip(c.colour) : "", c.class),
      make("td", { className: "n", textContent: c.calls[0] === c.calls[1] ? shownCount(c.calls[0]) : c.calls.map(shownCount).join(" → ") }),
      one(c.ns[0]), one(c.ns[1]), make("td", { className: "n " + c.grade, textContent: signed(c.ns[1] - c.ns[0]) }), mark);
  }));
  const heads = [["Operation"], ["Class"], ["Calls", 1], [sideName(0), 1], [sideName(1), 1], ["Change", 1], ["Ratio, log scale"]];
  to.append(card("changes", "Operations that changed most", "the same work on both sides, for as many calls; ratio with its 95 % interval; left of the line is faster",
    make("div", { className: "box scroll plain", tabIndex: 0, role: "region", "aria-label": "Operations that changed most" },
      make("table", null, make("thead", null, make("tr", null, ...heads.map(([name, number]) => make("th", { scope: "col", className: number ? "n" : "", textContent: name })))), body))));
}

// Many below each other, from 0: configurations of a sweep, runs of an A/A test, ranks. Those of a group have one axis.
function addRows({ title, what, list, more }, to) {
  if (!list.length) return;
  const groups = [...new Set(list.map(r => r.group))], parts = new Map(list.flatMap(r => r.parts.map(p => [p.name, p])));
  const paint = p => hex(dark.matches ? p.dark : p.light), narrow = isNarrow(), high = 24, left = narrow ? 0 : 250, wide = narrow ? 340 : 580, right = narrow ? 0 : 360, step = narrow ? 44 : high;
  const pictures = groups.map(group => {
    const rows = list.filter(r => r.group === group), most = Math.max(...rows.map(r => Math.max(r.ns || 0, r.high || 0)), 1), px = ns => left + ns / most * wide;
    const svg = draw("svg", { viewBox: `0 0 ${left + wide + right} ${rows.length * step + 4}`, role: "img", "aria-label": rows.map(r => `${r.name}: ${r.words}`).join("; ") });
    const labels = clips(rows.map(r => r.name), 32);
    rows.forEach((r, i) => {
      const y = i * step + (narrow ? 20 : 3);
      let at = 0;
      svg.append(narrow ? draw("text", { x: 0, y: y - 6 }, tip(r.name), (text => text.length > 52 ? text.slice(0, 51) + "…" : text)(`${r.name}: ${r.words}`)) : draw("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, tip(r.name), labels[i]));
      for (const p of r.parts) {
        svg.append(draw("rect", { x: px(at), y, width: Math.max(0.5, px(at + p.ns) - px(at)), height: high - 6, fill: paint(p), class: p.idle ? "idle" : "" }, tip(`${r.name}, ${p.name}: ${shownTime(p.ns)}`)));
        at += p.ns;
      }
      if (r.low !== null && r.high > r.low) for (const shade of ["spread halo", "spread"]) // on dark bars, too
        svg.append(draw("path", { d: `M${px(r.low)} ${y + 9}H${px(r.high)}` + [r.low, r.high].map(v => `M${px(v)} ${y + 4}v10`).join(""), class: shade }));
      if (!narrow) svg.append(draw("text", { x: px(Math.max(r.ns || 0, r.high || 0)) + 8, y: y + 14, class: "soft" }, r.words));
    });
    return [group && groups.length > 1 ? make("h3", { textContent: group }) : "", svg];
  });
  const legend = parts.size < 2 ? "" : make("div", { className: "legend" }, ...[...parts.values()].map(p => {
    const c = make("span", { className: p.idle ? "chip idle" : "chip" });
    c.style.backgroundColor = paint(p);
    return make("span", null, c, p.name);
  }));
  to.append(card("each", title, what, make("div", { className: "box" }, ...pictures.flat(), legend, more ? make("p", { className: "soft", textContent: `${shownCount(more)} more are in the tables` }) : "")));
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

// The model on both sides: the longer side is as wide as the page; colour says what changed.
// Of an uncertain comparison the colour says no more than which parts both sides have.
const UNSURE = [["both sides", "#8f969f", "#10212b"], ["one side only", "#e8c37a", "#10212b"]];
const CHANGES = [["under 3 %", "#8f969f", "#10212b"], ["faster", "#22744a", "#fff"], ["slower", "#b13f2d", "#fff"], ["one side only", "#e8c37a", "#10212b"]];
function changeOf(n, side, sides) {
  if (n.other === undefined) return [3, "no counterpart"];
  const other = sides[1 - side].tree.nodes[n.other], own = n.inclusive / sides[side].tree.per, theirs = other.inclusive / sides[1 - side].tree.per;
  const ratio = side ? own / theirs : theirs / own;
  return [ratio > 1.03 ? 2 : ratio < 1 / 1.03 ? 1 : 0, `${sideName(0)} ${shownTime(side ? theirs : own)}, ${sideName(1)} ${shownTime(side ? own : theirs)}: ${ratioWords(ratio)}`];
}
function addIcicles(first, to) {
  const sides = first.sides, times = sides.map(s => s.tree.total / s.tree.per), most = Math.max(...times);
  if (!sides.length || !sides.every(s => s.tree.nodes.length)) return;
  const legend = make("div", { className: "legend" }, ...(first.unsure ? UNSURE : CHANGES).map(([words, paint]) => {
    const c = make("span", { className: "chip" });
    c.style.background = paint;
    return make("span", null, c, words);
  }));
  const places = sides.map((s, side) => {
    const place = make("div", { className: "side" }, make("h3", { textContent: `${sideName(side)}: ${shownTime(times[side])}` }), ...icicleOf(s.tree, s.work, n => {
      const [kind, words] = changeOf(n, side, sides);
      const [, paint, ink] = first.unsure && kind < 3 ? UNSURE[0] : CHANGES[kind];
      return { paint, ink, words };
    }));
    place.style.width = Math.max(8, 100 * times[side] / most) + "%";
    return place;
  });
  to.append(card("where-model", "Where in the model", `${sides[0].work} time on one scale, ${sideName(0)} above ${sideName(1)}; ${first.unsure ? "" : "colour is the change; "}click to zoom`, legend, ...places));
}
async function addTimelines(first, to) {
  const sides = first.sides;
  if (!sides.length || !sides.every(s => s.timeline)) return;
  const whole = Math.max(...sides.map(s => s.timeline.length)), group = [], boxes = [];
  for (const [side, s] of sides.entries()) boxes.push(make("div", { className: "box time" }, make("h3", { textContent: `${sideName(side)}: ${s.timeline.what}` }), ...await openTimeline(s.timeline, side ? "boxes-b" : "boxes-a", whole, group)));
  to.append(card("timeline", "Timelines", `both from their beginning, on one scale; ${TIMELINE_HELP}`, ...boxes));
}

function addAnswers(first, to) {
  to.append(make("section", { className: "box headline", id: "overview", "aria-label": "Overview" },
    ...first.answers.map(a => make("p", { className: "say" }, ...sentence(a.line), " ", gradeChip(a.grade))),
    first.note ? make("p", { className: "soft", textContent: first.note }) : ""));
}
async function addDiffScreen(first, to) {
  addAnswers(first, to);
  addWaterfall(first, to);
  addChanges(first.changes, to);
  addIcicles(first, to);
  await addTimelines(first, to);
  addOnly(report.tables["diff-only"], to);
  to.append(make("h2", { className: "tables", id: "tables", textContent: "All tables" }));
}
