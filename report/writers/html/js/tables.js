
// --- tables ---------------------------------------------------------------------------------------
const at = (table, id) => table.columns.findIndex(c => c.id === id);
let report, views, cut, sides, classColours = {}, classNames = {};
// of a comparison the names of the sides stand for A and B
const sided = title => sides.length ? title.replace(/(^| )([AB])(?=[ :,]|$)/g, (_, before, side) => before + sides[+(side === "B")]) : title;

// The columns that people see, the name first, in one unit each: as every format has them.
const columnsOf = table => views[table.table].columns.map((how, n) => ({ ...table.columns[how.index], ...how, k: how.index, by: 10 ** how.exponent, label: how.title, isDetail: n >= views[table.table].answers }));
// A mean with the deviation of its times, in one unit: "33.29 ± 0.71".
const shownOf = (c, row) => shownCell(c, row[c.k]) + (c.spread !== undefined && row[c.k] !== null && row[c.spread] !== null ? " ± " + shownCell(c, row[c.spread]) : "");
function shownCell(c, value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return c.class && classNames[value] || value;
  if (c.plain) return String(value);
  if (value === 0) return "0";
  const v = value / c.by, size = Math.abs(v), decimals = !c.mixed ? c.decimals : Number.isInteger(v) ? 0 : Math.max(0, Math.min(9, 2 - Math.floor(Math.log10(size))));
  if (size && size < 0.5 * 10 ** -decimals) return (v < 0 ? "−<" : "<") + (10 ** -decimals).toFixed(decimals);
  return v.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace(/^-/, "−");
}

// Paths of ranges as a tree: each row with its label, and the row that it lies in.
function treeOf(table) {
  const labels = views[table.table].labels, column = views[table.table].columns.find(c => c.tree);
  if (!labels || !column) return null;
  const rows = [], above = []; // above[d]: the last row of depth d
  labels.forEach(([label, depth], i) => {
    const up = depth > 0 && above[depth - 1] !== undefined ? above[depth - 1] : -1;
    rows.push({ up, label, depth, children: 0, open: true });
    if (up >= 0) rows[up].children++;
    above.length = depth;
    above[depth] = i;
  });
  if (rows.length > 60) for (const row of rows) row.open = row.depth < 3; // a long tree begins with its upper levels
  return { column: column.index, rows };
}

// What a row is of, and where the timeline has that; null where it has nothing.
function placeOf(table, row) {
  const value = (...ids) => ids.map(id => row[at(table, id)]).find(v => v !== undefined && v !== null && v !== "");
  const name = value("short_name", "kernel", "next_kernel"), path = value("path", "range"), cls = value("op_class", "class"), op = value("op", "operation"), cause = value("cause");
  if (table.table === "losses") return null;
  const copies = op && op.match(/^\[[A-Z]+ (mem.*)\]$/); // "[CUDA memcpy Host-to-Device]"
  if (copies) return [op, { name: copies[1], kinds: ["copies"] }];
  if (value("start_ns") !== undefined && table.table !== "idle-gaps") return [name || path || op || "row", { start: value("start_ns"), name: name || undefined }];
  if (table.table === "idle-gaps" && value("start_ns") !== undefined) return [cause || "gap", { start: value("start_ns"), kinds: ["idle"] }];
  if (name) return [name, { name, kinds: ["stream", "copies"] }];
  if (path && !path.startsWith("(")) return [path, { path: new RegExp("^(.*/)?" + spaced(path).replace(/\\\\\//g, "/") + "(/|$)"), kinds: ["stream", "thread"] }];
  if (op) return [op, { leaves: [op], kinds: ["stream", "ops"] }];
  if (cause) return [cause, { name: cause, kinds: ["idle"] }];
  const read = cls && (classNames[cls] || cls.replace(/^\((.*)\)$/, "$1"));
  return cls ? [read, { class: read, colour: classColours[cls], kinds: ["stream"] }] : null;
}
const SOME = 50;
function addTable(section, table) {
  const columns = columnsOf(table), body = make("tbody"), head = make("tr"), tree = treeOf(table);
  const search = make("input", { type: "search", placeholder: "filter rows", "aria-label": `filter ${table.title}` });
  const count = make("span", { className: "soft" }), more = make("button", { textContent: "show all rows" }), details = make("button", { textContent: "more columns" });
  let order = table.rows.map((_, i) => i), limit = SOME, sorted = -1, down = true, all = !columns.some(c => c.isDetail);
  const prose = ["advice", "idle", "idle-gaps", "diff-verdict", "sweep-verdict", "ranks-verdict", "losses", "method"].includes(table.table);
  const seen = () => columns.filter(c => all || !c.isDetail);
  const classIs = new Set(columns.filter(c => c.class).map(c => c.k));
  const classes = columns.find(c => /^(op_)?class$/.test(c.id));

  function cell(c, i, first, text) {
    const value = i < 0 ? table.totals[c.k] : table.rows[i][c.k];
    const td = make("td", { className: (typeof value === "number" ? "n" : "t") + (first ? " key" : ""), textContent: text });
    if (typeof value === "string") td.title = value;
    if (c.id === "grade" && value) td.classList.add(...value.split(" "));
    if (c === classes && typeof value === "string" && value in classColours) td.prepend(chip(classColours[value]));
    if (tree && c.k === tree.column && i >= 0 && sorted < 0) {
      const node = tree.rows[i];
      td.textContent = node.label;
      td.style.paddingLeft = 10 + node.depth * 16 + (node.children ? 0 : 17) + "px";
      if (node.children) td.prepend(make("button", { className: "fold", textContent: node.open ? "▾" : "▸", "aria-expanded": String(node.open), "aria-label": `${node.label}: ${node.open ? "fold" : "unfold"}`,
        onclick: () => { node.open = !node.open; fill(); } }));
    }
    return td;
  }
  function isFolded(i) {
    for (let up = tree.rows[i].up; up >= 0; up = tree.rows[up].up) if (!tree.rows[up].open) return true;
    return false;
  }
  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), visible = seen();
    const rows = order.filter(i => words.every(w => table.rows[i].some((v, k) => String(classIs.has(k) && classNames[v] || v).toLowerCase().includes(w))) && (!tree || sorted >= 0 || words.length || !isFolded(i)));
    const some = rows.slice(0, limit), texts = visible.map(c => some.map(i => shownOf(c, table.rows[i]))).map((t, n) => visible[n].type === "text" && !prose ? unlike(t) : t);
    body.replaceChildren(...some.map((i, r) => {
      const row = make("tr", null, ...visible.map((c, n) => cell(c, i, n === 0, texts[n][r]))), place = timelines.length && placeOf(table, table.rows[i]);
      if (place) finds(row, ...place);
      return row;
    }));
    if (table.totals && !words.length)
      body.append(make("tr", { className: "total" }, ...visible.map((c, n) => cell(c, -1, n === 0, shownCell(c, table.totals[c.k])))));
    count.textContent = `${Math.min(limit, rows.length)} of ${table.rows.length} rows`;
    more.hidden = rows.length <= limit;
  }
  function sortBy(c) {
    down = sorted === c.k ? !down : c.type !== "text";
    if (tree && sorted === c.k && c.k === tree.column && down) { // back to the order of the tree
      sorted = -1;
      order = table.rows.map((_, i) => i);
    } else {
      sorted = c.k;
      order.sort((a, b) => {
        const x = table.rows[a][c.k], y = table.rows[b][c.k];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
      });
    }
    addHead();
    fill();
  }
  function addHead() {
    head.replaceChildren(...seen().map((c, n) => {
      const th = make("th", { textContent: c.label, title: c.definition, className: (c.type === "text" ? "" : "n") + (n === 0 ? " key" : ""), scope: "col", tabIndex: 0 });
      if (sorted === c.k) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      th.addEventListener("click", () => sortBy(c));
      th.addEventListener("keydown", e => {
        if (e.key !== "Enter" && e.key !== " ") return;
        e.preventDefault();
        sortBy(c);
        head.children[n].focus();
      });
      return th;
    }));
  }
  search.addEventListener("input", fill);
  more.addEventListener("click", () => { limit = Infinity; fill(); });
  details.addEventListener("click", () => { all = !all; details.textContent = all ? "fewer columns" : "more columns"; addHead(); fill(); });
  addHead();
  fill();
  const tools = make("div", { className: "tools" });
  if (table.rows.length > 8) tools.append(search, count, more);
  if (!all) tools.append(details);
  if (views[table.table].same) tools.append(make("span", { className: "soft", textContent: "all rows: " + views[table.table].same }));
  if (tools.children.length) section.append(tools);
  section.append(make("div", { className: prose ? "scroll rows prose" : "scroll rows", tabIndex: 0, role: "region", "aria-label": table.title },
    make("table", null, make("thead", null, head), body)));
}
