
// --- the timeline ----------------------------------------------------------------------------------
// Columns of the boxes, in the order in which they were written: LEB128 numbers, n of each.
const COLUMNS = ["start", "dur", "busy", "count", "name", "class", "path", "operation", "shapes", "launch", "call", "lead", "callDur", "depth", "colour"];
function readBoxes(bytes, lanes) {
  let at = 0;
  const n = lanes.reduce((sum, lane) => sum + lane.n, 0), boxes = { n };
  const number = () => { // of up to 53 bits
    let value = 0, by = 1, byte;
    do { byte = bytes[at++]; value += (byte & 127) * by; by *= 128; } while (byte > 127);
    return value;
  };
  const unzigzag = v => v % 2 ? -(v + 1) / 2 : v / 2;
  for (const column of COLUMNS) {
    const values = boxes[column] = ["start", "dur", "busy", "lead", "callDur"].includes(column) ? new Float64Array(n) : new Uint32Array(n);
    for (let i = 0; i < n; i++) values[i] = number();
  }
  let i = 0;
  for (const lane of lanes) {
    lane.first = i;
    for (let before = 0; i < lane.first + lane.n; i++) before = boxes.start[i] = before + unzigzag(boxes.start[i]);
  }
  for (i = 0; i < n; i++) {
    boxes.busy[i] = boxes.dur[i] - unzigzag(boxes.busy[i]);
    boxes.lead[i] = boxes.lead[i] ? unzigzag(boxes.lead[i] - 1) : NaN; // from the call's start to its own
    boxes.callDur[i] -= 1; // -1: not known
  }
  return boxes;
}

// A range or operation whose time is nearly all that of the only one in it stands in one row with it, "a › b": `into` has
// the number of that one, `before` that of the one around it, each plus 1. Rows are depths less those that are folded.
const NEARLY = 0.97;
function foldChains(boxes, lanes) {
  boxes.row = Uint32Array.from(boxes.depth);
  boxes.into = new Uint32Array(boxes.n);
  boxes.before = new Uint32Array(boxes.n);
  for (const lane of lanes.filter(l => l.kind === "thread" || l.kind === "ops")) {
    const above = [], up = new Int32Array(lane.n).fill(-1), only = new Int32Array(lane.n).fill(-1); // above[d]: the last box of depth d; only: -1 none, -2 several
    for (let k = 0; k < lane.n; k++) {
      const i = lane.first + k, d = boxes.depth[i], parent = d ? above[d - 1] : undefined;
      above[d] = k;
      above.length = d + 1;
      if (parent === undefined || boxes.start[i] + boxes.dur[i] > boxes.start[lane.first + parent] + boxes.dur[lane.first + parent]) continue;
      up[k] = parent;
      only[parent] = only[parent] === -1 ? k : -2;
    }
    lane.depths = 0;
    for (let k = 0; k < lane.n; k++) {
      const i = lane.first + k, child = lane.first + only[k];
      if (up[k] >= 0) boxes.row[i] = boxes.row[lane.first + up[k]] + (boxes.into[lane.first + up[k]] ? 0 : 1);
      if (only[k] >= 0 && boxes.count[i] === 1 && boxes.count[child] === 1 && boxes.dur[child] >= NEARLY * boxes.dur[i]) {
        boxes.into[i] = child + 1;
        boxes.before[child] = i + 1;
      }
      lane.depths = Math.max(lane.depths, boxes.row[i] + 1);
    }
  }
}

const ROW = 18, AXIS = 24, GAP = 7, MOST_ROWS = 12, MOST_STREAMS = 8;
const TIMELINE_HELP = "scroll to zoom, drag to move, shift and drag to sum up, click a box; or keys w a s d, arrows, escape";
const timelines = []; // that are open: what is asked for elsewhere on the page is found in them
// Finds what `how` names in the timelines and shows the first of it; see `isOf`.
function findIn(words, how, stay) {
  const from = scrollY;
  timelines.forEach((one, i) => one.find(words, how, i > 0 || stay, from));
}
const spaced = text => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^/]*"); // a name in which * stands for any number
// The elements of a timeline. whole: ns that fit it at most; those of a group show the same part of it.
async function openTimeline(t, id, whole, group) {
  const boxes = readBoxes(await unpack(id), t.lanes), text = t.text;
  const canvas = make("canvas", { tabIndex: 0, role: "application" }), detail = make("div", { className: "detail", "aria-live": "polite" });
  canvas.setAttribute("aria-label", `Timeline of ${t.what}: ${t.lanes.map(l => l.name).join(", ")}. Keys: w and s zoom, a and d move, e unfolds deep lanes, arrows go from box to box, Enter tells, Escape shows all.`);
  const isOfRanks = t.lanes.some(l => l.kind === "rank");
  foldChains(boxes, t.lanes);
  // "a › b" of a chain; of a long one its ends
  function chainOf(i) {
    const names = [text[boxes.name[i]]];
    for (let up = boxes.before[i]; up; up = boxes.before[up - 1]) names.unshift(text[boxes.name[up - 1]]);
    return names.length > 3 ? `${names[0]} › … › ${names[names.length - 1]}` : names.join(" › ");
  }
  // rows of a lane: its depths; of a deep one the first, until it is unfolded
  let high = AXIS;
  for (const lane of t.lanes) {
    lane.longest = 0;
    for (let i = lane.first; i < lane.first + lane.n; i++) lane.longest = Math.max(lane.longest, boxes.dur[i]);
  }
  // many streams of a device are one lane until it is opened
  const groups = new Map();
  for (const lane of t.lanes.filter(l => l.kind === "stream"))
    groups.set(lane.device, [...(groups.get(lane.device) || []), lane]);
  for (const [device, lanes] of groups)
    if (lanes.length > MOST_STREAMS) for (const lane of lanes) lane.group = { device, lanes, first: lanes[0] };
  const isInside = lane => lane.group && !lane.group.first.open && lane !== lane.group.first;
  const nameOf = lane => lane.group && lane === lane.group.first && !lane.open ? `▸ ${lane.device}: ${lane.group.lanes.length} streams` : lane.name;
  function layOut() {
    high = AXIS;
    for (const lane of t.lanes) {
      if (isInside(lane)) {
        lane.y = lane.group.first.y;
        lane.rows = lane.group.first.rows;
        continue;
      }
      lane.y = high;
      lane.rows = Math.max(1, lane.open && !lane.group ? lane.depths : Math.min(lane.depths, MOST_ROWS));
      high += lane.rows * ROW + GAP;
    }
  }
  layOut();
  whole = whole || 1;
  const state = { from: 0, to: whole, chosen: -1, hovered: -1, wide: 900, found: null, at: -1, area: null };
  let left = 128; // of the names
  const least = Math.min(whole, 200); // ns: nothing is shorter than what a screen of these shows
  const px = ns => left + (ns - state.from) / (state.to - state.from) * (state.wide - left);
  const ns = x => state.from + (x - left) / (state.wide - left) * (state.to - state.from);

  const isNested = lane => lane.kind === "thread" || lane.kind === "ops";
  const isSeen = (lane, i) => boxes.row[i] < lane.rows;
  const look = i => lookOf(laneOf(i), i);
  function lookOf(lane, i) {
    if (isNested(lane)) return shadeOf(1 + boxes.row[i]);
    const c = colours[boxes.colour[i]];
    return [hex(dark.matches ? c[1] : c[0]), hex(c[2])];
  }
  const laneOf = i => t.lanes.find(l => i >= l.first && i < l.first + l.n);
  const rowOf = (lane, i) => Math.min(boxes.row[i], lane.rows - 1);
  // the first box of a lane that may reach into the view: no box is longer than the longest
  function firstIn(lane, at) {
    let lo = lane.first, hi = lane.first + lane.n;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (boxes.start[mid] + lane.longest < at) lo = mid + 1; else hi = mid;
    }
    return lo;
  }

  function drawAxis(pen, ink, grid) {
    const span = state.to - state.from, want = span / Math.max(3, (state.wide - left) / 110), power = 10 ** Math.floor(Math.log10(want));
    const tick = power * [1, 2, 5, 10].find(k => k * power >= want), shift = state.from - state.from % tick;
    // where three digits tell no tick from the next, ticks count from the first one
    const first = shift < state.from ? shift + tick : shift, base = state.to / tick > 100 ? first : 0, said = [];
    const words = at => !base ? at === 0 ? "0" : shownTime(Math.round(at / tick) * tick) : at > first + tick / 2 ? "+" + shownTime(Math.round((at - base) / tick) * tick) : exactTime(at, tick);
    pen.fillStyle = ink;
    pen.textAlign = "left";
    for (let at = shift; at <= state.to; at += tick) {
      if (at < state.from) continue;
      const x = Math.round(px(at)) + 0.5;
      pen.strokeStyle = grid;
      pen.beginPath();
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, high);
      pen.stroke();
      if (x < state.wide - 50) { pen.fillText(words(at), x + 3, 13); said.push(words(at)); }
    }
    canvas.dataset.ticks = said.join(" | ");
  }
  function exactTime(at, tick) { // with as many digits as the ticks have
    const [by, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([by]) => at >= by) || [1, "ns"];
    return `${(at / by).toFixed(Math.max(0, Math.ceil(Math.log10(by / tick))))} ${unit}`;
  }
  // Boxes under a pixel share it: so much of it is filled as they fill of its time.
  function drawLane(pen, lane, ink, back) {
    const perPixel = (state.to - state.from) / (state.wide - left), ends = new Float64Array(lane.rows).fill(-1), covered = new Float64Array(lane.rows), colour = new Array(lane.rows), hot = new Uint8Array(lane.rows), is = state.found && state.found.is;
    const flush = row => {
      if (ends[row] < 0) return;
      pen.globalAlpha = hot[row] ? 1 : Math.min(1, 0.12 + 0.88 * covered[row] / perPixel) * (is ? 0.2 : 1);
      pen.fillStyle = colour[row];
      pen.fillRect(ends[row], lane.y + row * ROW, 1, ROW - 2);
      pen.globalAlpha = 1;
      ends[row] = -1;
    };
    for (let i = firstIn(lane, state.from); i < lane.first + lane.n && boxes.start[i] < state.to; i++) {
      const end = boxes.start[i] + boxes.dur[i];
      if (end < state.from || !isSeen(lane, i)) continue;
      const row = rowOf(lane, i), x0 = Math.max(left, px(boxes.start[i])), x1 = Math.min(state.wide, px(end)), wide = x1 - x0;
      if (wide < 1) {
        const pixel = Math.floor(x0);
        if (ends[row] !== pixel) {
          flush(row);
          ends[row] = pixel;
          covered[row] = hot[row] = 0;
        }
        covered[row] += boxes.busy[i];
        if (!hot[row]) colour[row] = lookOf(lane, i)[0];
        if (is && is[i]) hot[row] = 1;
        continue;
      }
      flush(row);
      const [paint, words] = lookOf(lane, i), y = lane.y + row * ROW;
      pen.fillStyle = paint;
      if (boxes.count[i] > 1) pen.globalAlpha = Math.min(1, 0.3 + 0.7 * boxes.busy[i] / boxes.dur[i]);
      if (is && !is[i]) pen.globalAlpha *= 0.2;
      pen.fillRect(x0, y, wide > 3 ? wide - 0.6 : wide, ROW - 2);
      pen.globalAlpha = 1;
      if (wide > 34 && !(lane.group && !lane.group.first.open)) { // names of streams on each other say nothing
        const say = boxes.count[i] > 1 ? `${shownCount(boxes.count[i])} ${lane.kind === "thread" ? "ranges" : lane.kind === "ops" ? "operations" : lane.kind === "idle" ? "gaps" : lane.kind === "path" || lane.kind === "rank" ? "stretches" : "kernels"}` : boxes.into[i] ? "" : chainOf(i);
        pen.fillStyle = is && !is[i] ? ink : words;
        pen.save();
        pen.beginPath();
        pen.rect(x0, y, wide - 3, ROW);
        pen.clip();
        pen.fillText(fitted(pen, say, wide - 8), x0 + 4, y + 12);
        pen.restore();
      }
    }
    for (let row = 0; row < lane.rows; row++) flush(row);
    if (isInside(lane)) return;
    pen.fillStyle = back;
    pen.fillRect(0, lane.y - 1, left - 4, lane.rows * ROW + 1);
    pen.fillStyle = ink;
    pen.textAlign = "left";
    let letters = left > 100 ? 22 : 14; // as many as there is room for
    while (letters > 10 && pen.measureText(clip(nameOf(lane), letters)).width > left - 8) letters--;
    pen.fillText(clip(nameOf(lane), letters), 0, lane.y + 12);
    if (lane.depths > MOST_ROWS) pen.fillText(lane.open ? "▴ fold" : `▾ ${lane.depths - MOST_ROWS} deeper`, 0, lane.y + 12 + ROW);
  }
  function outline(pen, i, paint) {
    const lane = laneOf(i);
    if (!lane) return;
    const x0 = Math.max(left, px(boxes.start[i])), x1 = Math.min(state.wide, px(boxes.start[i] + boxes.dur[i]));
    if (x1 < left || x0 > state.wide) return;
    pen.strokeStyle = paint;
    pen.lineWidth = 2;
    pen.strokeRect(x0, lane.y + rowOf(lane, i) * ROW, Math.max(2, x1 - x0), ROW - 2);
    pen.lineWidth = 1;
  }
  let asked = false;
  function paint() {
    asked = false;
    state.wide = canvas.clientWidth || 900;
    left = state.wide < 520 ? 84 : 128;
    const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
    canvas.style.height = high + "px";
    if (canvas.width !== Math.round(state.wide * ratio) || canvas.height !== Math.round(high * ratio)) {
      canvas.width = Math.round(state.wide * ratio);
      canvas.height = Math.round(high * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, state.wide, high);
    pen.font = "11.5px system-ui, sans-serif";
    drawAxis(pen, css.getPropertyValue("--soft"), css.getPropertyValue("--grid"));
    for (const lane of t.lanes) drawLane(pen, lane, css.getPropertyValue("--soft"), css.getPropertyValue("--back"));
    if (state.area) {
      const { from, to, y0, y1 } = state.area, x0 = Math.max(left, px(from)), x1 = Math.min(state.wide, px(to));
      pen.globalAlpha = 0.18;
      pen.fillStyle = css.getPropertyValue("--link");
      if (x1 > x0) pen.fillRect(x0, y0, x1 - x0, y1 - y0);
      pen.globalAlpha = 1;
    }
    if (state.hovered >= 0) outline(pen, state.hovered, css.getPropertyValue("--soft"));
    if (state.chosen >= 0) outline(pen, state.chosen, css.getPropertyValue("--ink"));
    canvas.dataset.view = `${Math.round(state.from)} ${Math.round(state.to)}`;
  }
  const repaint = () => { if (!asked) { asked = true; requestAnimationFrame(paint); } };

  function view(from, to) {
    const span = Math.min(Math.max(to - from, least), whole);
    state.from = Math.max(0, Math.min(from + (to - from - span) / 2, whole - span));
    state.to = state.from + span;
    for (const other of group) other(state.from, state.to);
  }
  group.push((from, to) => { state.from = from; state.to = to; repaint(); });
  const zoom = (by, about) => view(about - (about - state.from) * by, about + (state.to - about) * by);
  const move = part => { const by = part * (state.to - state.from); view(state.from + by, state.to + by); };

  // --- what is under the pointer, and what is told of it
  function boxAt(x, y) {
    const at = ns(x), near = (state.to - state.from) / (state.wide - left) * 2;
    let best = -1, distance = near;
    if (x < left) return -1;
    for (const lane of t.lanes.filter(l => y >= l.y && y < l.y + l.rows * ROW)) {
      const row = Math.floor((y - lane.y) / ROW);
      for (let i = firstIn(lane, at - near); i < lane.first + lane.n && boxes.start[i] < at + near; i++) {
        if (rowOf(lane, i) !== row || !isSeen(lane, i)) continue;
        const end = boxes.start[i] + boxes.dur[i], away = at < boxes.start[i] ? boxes.start[i] - at : at > end ? at - end : 0;
        if (away < distance || (away === 0 && (best < 0 || boxes.into[best]))) { best = i; distance = away; }
        if (away === 0) distance = 0;
      }
    }
    return best;
  }
  const KINDS = { thread: "range", ops: "operation", stream: "kernel", copies: "copy", idle: "idle", path: "on the longest chain", rank: "it is" };
  function facts(i) {
    const lane = laneOf(i), many = boxes.count[i] > 1, list = [];
    const add = (what, value) => { if (value) list.push([what, value]); };
    if (many) {
      add("what", `${shownCount(boxes.count[i])} that are shorter than ${shownTime(t.shortest)}`);
      add("time", `${shownTime(boxes.busy[i])} in ${shownTime(boxes.dur[i])}`);
    } else {
      add(KINDS[lane.kind], text[boxes.name[i]]);
      add("time", `${shownTime(boxes.dur[i])}, from ${shownTime(boxes.start[i])} on`);
      add("around it", boxes.before[i] ? chainOf(boxes.before[i] - 1) : "");
      add("class", text[boxes.class[i]]);
      if (!isNested(lane) || text[boxes.path[i]] !== text[boxes.name[i]]) add(isNested(lane) ? "path" : "module", text[boxes.path[i]]);
      add(lane.kind === "ops" ? "sizes" : "operation", [text[boxes.operation[i]], text[boxes.shapes[i]]].filter(Boolean).join(": "));
      add("launch", text[boxes.launch[i]]);
      if (boxes.callDur[i] >= 0) {
        add("call", `${text[boxes.call[i]]}, ${shownTime(boxes.callDur[i])}`);
        add("latency", `${shownTime(boxes.lead[i])} from the call to its start`);
      }
    }
    add("on", lane.name);
    return list;
  }
  function choose(i) {
    state.chosen = i;
    state.area = null;
    detail.replaceChildren(i < 0 ? make("p", { className: "soft", textContent: "Click a box: name, module, operation, call and latency." })
      : make("dl", null, ...facts(i).flatMap(([what, value]) => [make("dt", { textContent: what }), make("dd", { textContent: value })])));
    if (i >= 0) { // it is seen
      const end = boxes.start[i] + boxes.dur[i], span = state.to - state.from;
      if (end < state.from || boxes.start[i] > state.to) view(boxes.start[i] + boxes.dur[i] / 2 - span / 2, boxes.start[i] + boxes.dur[i] / 2 + span / 2);
    }
    repaint();
  }
  // --- finding, and summing up an area
  const finder = make("input", { type: "search", placeholder: "find a kernel, range, class", "aria-label": "find in the timeline" });
  const foundWords = make("span", { className: "soft", role: "status" });
  // Is box i of what is looked for? words: all of them in its texts; else what `how` has: kinds of lanes, name, class, path, start.
  function isOf(lane, i, words, how) {
    const name = text[boxes.name[i]], cls = text[boxes.class[i]], operation = text[boxes.operation[i]], path = text[boxes.path[i]], many = boxes.count[i] > 1;
    if (!how) return lane.kind !== "path" && words.every(w => [name, cls, operation, path].some(v => v.toLowerCase().includes(w)));
    if (how.kinds && !how.kinds.includes(lane.kind)) return false;
    if (how.start !== undefined) return boxes.start[i] + t.begin === how.start && (how.name === undefined || name === how.name);
    if (how.class !== undefined && !(many ? boxes.colour[i] === how.colour : (cls || "unclassified") === how.class)) return false;
    if (how.name !== undefined && name !== how.name) return false;
    if (how.path && !how.path.test(path.replace(/\\\//g, "/"))) return false;
    return !how.leaves || how.leaves.every(leaf => [name, operation, cls].includes(leaf));
  }
  function find(said, how, stay, from) {
    const words = how ? [] : said.toLowerCase().split(/\s+/).filter(Boolean), is = new Uint8Array(boxes.n), list = [];
    if (how) finder.value = "";
    state.at = -1;
    state.found = null;
    if (how || words.length) {
      for (const lane of t.lanes) for (let i = lane.first; i < lane.first + lane.n; i++) if (isOf(lane, i, words, how)) { is[i] = 1; list.push(i); }
      list.sort((a, b) => boxes.start[a] - boxes.start[b] || a - b);
      state.found = { said, is: list.length ? is : null, list, time: list.reduce((sum, i) => sum + boxes.busy[i], 0), count: list.reduce((sum, i) => sum + boxes.count[i], 0) };
    }
    if (!stay && how) canvas.parentElement.scrollIntoView({ block: "center" });
    go(how && !stay ? 1 : 0, from);
  }
  function go(by, from) {
    const found = state.found, n = found ? found.list.length : 0;
    if (n && by) {
      state.at = (state.at + by + n) % n;
      choose(found.list[state.at]);
    }
    foundWords.replaceChildren(!found ? "" : !n ? `“${clip(found.said, 40)}” is not in ${t.what}${t.shortest ? ", or too short to be drawn by itself" : ""}`
      : `${state.at >= 0 ? shownCount(state.at + 1) + " of " : ""}${found.list.some(i => boxes.count[i] > 1) ? `${counted(n, "box").replace(/xs$/, "xes")}, each mostly` : `${shownCount(n)}, ${shownTime(found.time)}:`} ${clip(found.said, 60)} `,
      n > 1 ? make("button", { textContent: "‹", "aria-label": "previous one found", onclick: () => go(-1) }) : "", n > 1 ? make("button", { textContent: "›", "aria-label": "next one found", onclick: () => go(1) }) : "",
      found ? make("button", { textContent: "×", "aria-label": "forget what was found", onclick: forget }) : "",
      from !== undefined && !finder.value ? make("button", { textContent: "↩ back", onclick: () => scrollTo({ top: from }) }) : "");
    repaint();
  }
  function forget() {
    finder.value = "";
    choose(-1);
    find("");
  }
  finder.addEventListener("input", () => find(finder.value));
  finder.addEventListener("keydown", e => {
    if (e.key === "Enter") { e.preventDefault(); go(e.shiftKey ? -1 : 1); }
    if (e.key === "Escape") forget();
  });
  // Kernels and copies of an area, by class: of the lanes that it touches, of all streams where it touches none of them.
  function sumOf({ from, to, y0, y1 }) {
    const touched = t.lanes.filter(l => ["stream", "copies", "rank"].includes(l.kind) && l.y < y1 && l.y + l.rows * ROW > y0);
    const of = new Map(), all = { count: 0, ns: 0 };
    for (const lane of touched.length ? touched : t.lanes.filter(l => l.kind === "stream" || l.kind === "rank"))
      for (let i = firstIn(lane, from); i < lane.first + lane.n && boxes.start[i] < to; i++) {
        const inside = Math.min(to, boxes.start[i] + boxes.dur[i]) - Math.max(from, boxes.start[i]), part = boxes.dur[i] ? inside / boxes.dur[i] : 1;
        if (inside < 0 || part <= 0) continue;
        const name = lane.kind === "copies" ? "memcpy" : boxes.count[i] > 1 && lane.kind !== "rank" ? "short kernels, drawn together" : text[boxes.class[i]] || "unclassified", sum = of.get(name) || { count: 0, ns: 0, colour: boxes.colour[i] };
        sum.count += boxes.count[i];
        sum.ns += boxes.busy[i] * part;
        of.set(name, sum);
        if (lane.kind !== "copies") { all.count += boxes.count[i]; all.ns += boxes.busy[i] * part; }
      }
    return { all, by: [...of].sort(([, a], [, b]) => b.ns - a.ns) };
  }
  function showSum() {
    const { from, to } = state.area, { all, by } = sumOf(state.area);
    state.chosen = -1;
    detail.replaceChildren(make("p", null, make("strong", { textContent: shownTime(to - from) }), ` from ${exactTime(from, (to - from) / 100)} on: `, make("strong", { textContent: `${counted(all.count, isOfRanks ? "stretch" : "kernel")}, ${shownTime(all.ns)}` })),
      make("table", null, ...by.map(([name, s]) => make("tr", null, make("td", null, chip(s.colour), name), make("td", { className: "n", textContent: shownCount(s.count) }), make("td", { className: "n", textContent: shownTime(s.ns) }),
        make("td", { className: "n", textContent: name !== "memcpy" && all.ns ? shownPercent(100 * s.ns / all.ns) : "" })))));
    repaint();
  }

  // from box to box: along a lane, or to what is nearest in the lane above or below
  function step(key) {
    const i = state.chosen, lane = i < 0 ? t.lanes.find(l => l.kind === "stream") || t.lanes[0] : laneOf(i);
    if (!lane) return;
    if (i < 0) { choose(Math.min(firstIn(lane, state.from), lane.first + lane.n - 1)); return; }
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const by = key === "ArrowLeft" ? -1 : 1, row = rowOf(lane, i);
      for (let k = i + by; k >= lane.first && k < lane.first + lane.n; k += by) if (rowOf(lane, k) === row && !boxes.into[k]) { choose(k); return; }
      return;
    }
    const middle = Math.min(Math.max(boxes.start[i] + boxes.dur[i] / 2, state.from), state.to), y = lane.y + rowOf(lane, i) * ROW + ROW / 2;
    for (let d = 1; d <= high / 6; d++) {
      const other = boxAt(px(middle), y + (key === "ArrowUp" ? -1 : 1) * (ROW / 2 + d * 6));
      if (other >= 0 && other !== i) { choose(other); return; }
    }
  }

  // A click on the name of a deep lane, or the key e, shows all its levels.
  function unfold(x, y) {
    const lanes = t.lanes.filter(l => (l.depths > MOST_ROWS || (l.group && (l === l.group.first || !isInside(l)))) && (x === undefined || (x < left && y >= l.y && y < l.y + l.rows * ROW)));
    for (const lane of new Set(lanes.map(l => l.group ? l.group.first : l))) lane.open = !lane.open;
    if (lanes.length) { layOut(); repaint(); }
    return lanes.length > 0;
  }

  let drag = null;
  canvas.addEventListener("wheel", e => {
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) move((e.deltaX || e.deltaY) / 600); else zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 150), ns(Math.max(left, e.offsetX)));
    e.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", e => { drag = { x: e.offsetX, y: e.offsetY, from: state.from, to: state.to, moved: false, sums: e.shiftKey || summing.ariaPressed === "true" }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", e => {
    if (drag) {
      const by = (drag.x - e.offsetX) / (state.wide - left) * (drag.to - drag.from);
      drag.moved = drag.moved || Math.abs(drag.x - e.offsetX) > 3;
      if (drag.moved && drag.sums) {
        const [from, to] = [drag.x, e.offsetX].map(x => Math.max(0, Math.min(whole, ns(Math.max(left, Math.min(state.wide, x)))))).sort((a, b) => a - b), [y0, y1] = [drag.y, e.offsetY].sort((a, b) => a - b);
        untell();
        state.area = { from, to, y0, y1: y1 + 1 };
        showSum();
        return;
      }
      if (drag.moved) { untell(); view(drag.from + by, drag.to + by); }
      return;
    }
    const i = boxAt(e.offsetX, e.offsetY);
    if (i !== state.hovered) { state.hovered = i; repaint(); }
    if (i < 0) untell(); else tell(facts(i).slice(0, 4).map(([, value]) => value), e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerup", e => {
    if (drag && !drag.moved && !unfold(e.offsetX, e.offsetY)) choose(boxAt(e.offsetX, e.offsetY));
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => { untell(); state.hovered = -1; repaint(); });
  canvas.addEventListener("dblclick", e => zoom(0.4, ns(e.offsetX)));
  canvas.addEventListener("keydown", e => {
    const about = state.chosen >= 0 ? Math.min(Math.max(boxes.start[state.chosen] + boxes.dur[state.chosen] / 2, state.from), state.to) : (state.from + state.to) / 2;
    const does = { w: () => zoom(0.6, about), s: () => zoom(1 / 0.6, about), a: () => move(-0.25), d: () => move(0.25), e: () => unfold(), Enter: () => choose(state.chosen),
      Escape: () => { if (state.found) forget(); else if (state.area || state.chosen >= 0) choose(-1); else view(0, whole); } }[e.key] || (e.key.startsWith("Arrow") ? () => step(e.key) : null);
    if (!does || e.ctrlKey || e.metaKey || e.altKey) return;
    does();
    e.preventDefault();
  });
  dark.addEventListener("change", repaint);
  addEventListener("resize", repaint);
  addEventListener("beforeprint", paint);
  choose(-1);
  const rest = t.shortest ? ` What is shorter than ${shownTime(t.shortest)} is drawn together; --timeline STEP draws one step, warpsheet export --format chrome has all.` : "";
  const summing = make("button", { textContent: "sum up", ariaPressed: "false", title: "drag over an area: its kernels, their time, by class",
    onclick: () => { summing.ariaPressed = String(summing.ariaPressed !== "true"); canvas.style.cursor = summing.ariaPressed === "true" ? "crosshair" : ""; canvas.style.touchAction = summing.ariaPressed === "true" ? "none" : ""; } });
  const buttons = make("div", { className: "tools" }, ...[["−", "zoom out", () => zoom(1 / 0.6, (state.from + state.to) / 2)], ["+", "zoom in", () => zoom(0.6, (state.from + state.to) / 2)],
    ["◂", "move left", () => move(-0.25)], ["▸", "move right", () => move(0.25)], ["all", "show all", () => view(0, whole)]]
    .map(([words, label, onclick]) => make("button", { textContent: words, "aria-label": label, onclick })),
    summing, finder, foundWords);
  const counts = make("p", { className: "soft", textContent: isOfRanks ? "Upper row of a rank: computing and idle. Lower row: waiting for the last rank, then communication." : `${counted(t.kernels, "kernel")}, ${counted(t.copies, "copy")}, ${counted(t.ranges, "range")}${t.ops ? `, ${counted(t.ops, "operation")}` : ""}.${rest}` });
  new ResizeObserver(repaint).observe(canvas);
  timelineOf = { state, boxes, t, view, px, laneOf, rowOf, sumOf, paint };
  timelines.push({ find });
  return [buttons, canvas, detail, counts];
}
async function timelineCard(t) {
  return card("timeline", "Timeline", `${t.what}; ${TIMELINE_HELP}`, make("div", { className: "box time" }, ...await openTimeline(t, "boxes", t.length, [])));
}
let timelineOf = null; // for tests
