
// --- the page ---------------------------------------------------------------------------------------
function addSummary(table) {
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
  }
  return cards;
}
function addNotes(section, table) { // many are folded
  const notes = table.notes.map(n => make("p", { className: "note", textContent: n })), rest = notes.splice(notes.length > 5 ? 2 : 5);
  section.append(...notes, rest.length ? make("details", null, make("summary", { className: "note", textContent: `${rest.length} more notes` }), ...rest) : "");
}
const drawn = new Set(); // each chart once: where it is first
const isVerdict = table => /-verdict$/.test(table.table);
// to: where its pictures stand, apart from it. closed: until a link opens it.
function addSection(main, table, summary, to, closed) {
  const section = make("section", { id: table.table, "aria-label": sided(table.title) }), verdict = isVerdict(table);
  const charts = CHARTS.filter(c => (verdict ? c.first : c.table === table.table) && !drawn.has(c)).map(c => { const card = chart(c); if (card) drawn.add(c); return card; }).filter(Boolean);
  const head = [make("h2", { textContent: sided(table.title) + " " }), summary ? "" : make("span", { className: "what", textContent: sided(table.what) + "." })];
  const inside = closed ? make("details", { className: "table" }, make("summary", null, ...head)) : section;
  if (!closed) { head[0].append(head[1]); section.append(head[0]); }
  if (table.not_recorded) inside.append(make("p", { textContent: "Not recorded. " + table.not_recorded }));
  const cards = charts.length ? make("div", { className: "cards" }, ...charts) : "";
  if (to) to.append(...charts);
  else if (!verdict) section.append(cards);
  if (closed) section.append(inside);
  if (summary) inside.append(addSummary(table));
  const answers = ["softmax-matmul", "idle"].includes(table.table); // of these the notes are what people look for
  if (answers) addNotes(inside, table);
  if (!summary && table.rows.length) addTable(inside, table);
  if (verdict && !to) section.append(cards); // what it says comes first
  if (cut[table.table]) inside.append(make("p", { className: "note", textContent: `The first ${table.rows.length} of ${cut[table.table]} rows; all of them: --table ${table.table} --format csv` }));
  if (!answers) addNotes(inside, table);
  main.append(section);
}
// Tables without a row are one line each, closed.
function addEmpty(main, tables) {
  if (tables.length) main.append(make("details", { className: "table", id: "empty" }, make("summary", { textContent: counted(tables.length, "table") + " without a row" }),
    ...tables.map(t => make("p", { className: "note" }, make("strong", { textContent: t.title + ": " }), t.not_recorded || "nothing of it is in this report"))));
}
// What a link, or the address, names is opened and shown.
function openLinked(hash) {
  const section = document.getElementById(decodeURIComponent(hash.slice(1))), closed = section && section.querySelector(":scope > details");
  if (!closed) return;
  closed.open = true;
  section.scrollIntoView();
}
// What the reader looks for first; the rest stands as the report has it.
const ORDER = ["slow-step", "advice", "idle", "idle-gaps", "ranges-rollup", "ranges", "kernel-summary", "classes", "ops", "softmax-matmul", "roofline", "steps", "step-statistics", "memory", "api-summary"];
const LAST = ["summary", "losses", "method"];
function inOrder(tables, page) {
  const place = t => ORDER.includes(t.table) ? ORDER.indexOf(t.table) : LAST.includes(t.table) ? 1000 + LAST.indexOf(t.table) : 100;
  return page ? tables.map((t, i) => [t, i]).sort(([a, i], [b, k]) => place(a) - place(b) || i - k).map(([t]) => t) : tables;
}
const NAV = [["slow-step", "Slow step"], ["where-time", "Overview"], ["why", "Waterfall"], ["changes", "What changed"], ["each", "In one picture"], ["where-model", "Model"], ["timeline", "Timeline"], ["where-roof", "Roofline"], ["what-to-do", "What to do"], ["top-kernels", "Kernels"], ["durations", "Durations"], ["memory-picture", "Memory"]];
function addNav(tables, page) {
  const nav = $("nav"), link = (id, text) => make("a", { href: "#" + id, textContent: text });
  const first = NAV.filter(([id]) => document.getElementById(id) && (id !== "slow-step" || page.slow_step)).map(([id, text]) => link(id, id === "top-kernels" ? page.kernels.noun + "s" : text)), rest = tables.filter(t => t.rows.length).map(t => link(t.table, sided(t.title)));
  if (first.length) nav.append(...first, make("details", null, make("summary", { textContent: "All tables" }), make("div", { className: "all" }, ...rest)));
  else nav.append(...rest);
}
async function open() {
  const data = JSON.parse(new TextDecoder().decode(await unpack("data"))), main = $("main"), page = data.page;
  ({ report, views, cut, classes: classColours, names: classNames, colours, uses, shades, phases } = data);
  const tables = inOrder(Object.values(report.tables), page);
  sides = (tables.find(t => t.sides) || { sides: [] }).sides;
  main.replaceChildren(); // what stands there for those who run no scripts
  setColours();
  dark.addEventListener("change", setColours);
  document.body.append(told);
  if (page) {
    const place = addFirstScreen(page, main);
    if (page.timeline) place.replaceWith(await timelineCard(page.timeline));
    main.append(make("h2", { className: "tables", id: "tables", textContent: "All tables" }));
  }
  const isDiff = data.first && data.first.bars.length > 0;
  if (isDiff) await addDiffScreen(data.first, main);
  else if (data.first) {
    addAnswers(data.first, main);
    addRows(data.first.rows, main);
    if (data.first.timeline) main.append(await timelineCard(data.first.timeline));
    main.append(make("h2", { className: "tables", id: "tables", textContent: "All tables" }));
  }
  const isFolded = page || (data.first && !isDiff), pictures = isFolded ? make("div", { className: "cards", id: "pictures" }) : null;
  if (pictures) $("#tables").before(pictures);
  for (const table of tables) if (!isFolded || table.rows.length) addSection(main, table, page && table.table === "summary", pictures, (isFolded && !(page && page.slow_step && table.table === "slow-step")) || (isDiff && !isVerdict(table)));
  if (isFolded) addEmpty(main, tables.filter(t => !t.rows.length));
  addNav(tables, page);
  addEventListener("hashchange", () => openLinked(location.hash));
  document.addEventListener("click", e => { const link = e.target.closest("a[href^='#']"); if (link) openLinked(link.hash); });
  openLinked(location.hash);
  document.body.dataset.ready = String(tables.length);
}
open().catch(e => {
  $("main").append(make("p", { textContent: "This page could not be opened: " + e.message + ". It needs a browser of 2023 or later." }));
  throw e;
});
