"use strict";
const $ = id => document.getElementById(id);
/* What the page makes of files: a title, the command, how many files it takes, and its heading in the output of
 * `warpsheet tables`. Output files are named after the job. */
const JOBS = {
	report: {title: "report", args: ["report"], from: 1, to: 1, tables: "report TRACE"},
	diff: {title: "comparison", args: ["diff"], from: 2, to: 2, tables: "diff"},
	ranks: {title: "ranks of one run", args: ["report"], from: 2, tables: "report TRACE...: ranks"},
	aa: {title: "spread of runs", args: ["aa"], from: 2},
	sweep: {title: "configurations", args: ["sweep"], from: 2, tables: "sweep"},
};
const TRACE = /\.(wtrace|json|json\.gz|pb|sqlite)$/i;
let files = []; /* [name below /in, File] */
let job, working = null, tables, addsTo = null, urls = [], answerCsv = "";

/* --- the program --- */

const code = URL.createObjectURL(new Blob([$("code").textContent], {type: "text/javascript"}));
const compiled = (async () => {
	const gzip = Uint8Array.from(atob($("wasm").textContent.trim()), c => c.charCodeAt(0));
	$("wasm").remove();
	return WebAssembly.compile(await new Response(new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
})();
const stop = () => working && working.end(null);

/* What a command answered: {code, out, err, made: [{name, blob}]}; null: it was stopped. */
async function command(...args) {
	stop();
	const began = performance.now();
	const clock = setInterval(() => { $("clock").textContent = Math.round((performance.now() - began) / 1000) + " s"; }, 500);
	const mine = working = {};
	const answer = new Promise(done => { mine.end = done; });
	$("what").textContent = "Reading " + nameAll();
	$("bar").removeAttribute("value");
	$("clock").textContent = "";
	$("work").hidden = false;
	const module = await compiled;
	if (working === mine) {
		mine.worker = new Worker(code);
		mine.worker.onmessage = ({data}) => {
			if (data.answer) {
				mine.end(data.answer);
				return;
			}
			$("what").textContent = data.progress === "tables" ? "Making tables" : "Reading " + data.progress;
			$("bar").value = data.percent;
		};
		mine.worker.onerror = e => mine.end({code: /memory/i.test(e.message) ? 5 : 70, out: "", err: e.message || "the browser ended the program", made: []});
		mine.worker.postMessage({module, args, files});
	}
	const result = await answer;
	if (mine.worker)
		mine.worker.terminate();
	clearInterval(clock);
	if (working === mine) {
		working = null;
		$("work").hidden = true;
	}
	return result;
}

/* --- what is said --- */

const nameAll = () => files.length > 2 ? files.length + " traces" : files.map(([name]) => name).join(", ");
function say(text, isWrong) {
	$("message").firstElementChild.textContent = text;
	$("message").hidden = !text;
	$("message").className = isWrong ? "wrong" : "";
}
/* The messages without the program's name, and without advice for a terminal. */
const words = text => text.split("\n").map(line => line.replace(/^warpsheet: /, "")).filter(line => !/^reading '.*Run 'warpsheet import'/.test(line))
	.join("\n").trim();
function sayFailure({code: exit, err}) {
	const these = files.length > 1 ? "these traces" : "this trace";
	say(exit === 5 && /memory/.test(err)
		? "The browser has too little memory for " + these + ": a page can use 4 GB at most. The installed program needs far less: warpsheet report."
		: words(err) || "The program ended with status " + exit + ".", true);
}

/* --- files that are made --- */

function save(name, blob) {
	const a = document.createElement("a");
	a.href = URL.createObjectURL(blob);
	a.download = name;
	a.textContent = name;
	urls.push(a.href);
	return a;
}
const madeOf = (answer, name) => answer.made.find(one => one.name === name);
/* Runs the job with this output file. Returns its blob; null after a failure, which is shown. */
async function make(name, ...options) {
	const answer = await command(...JOBS[job].args, ...files.map(([file]) => file), ...options, "-o", "/out/" + name);
	const made = answer && madeOf(answer, name);
	if (!answer && !working)
		say("Stopped.");
	else if (answer && !made)
		sayFailure(answer);
	return made ? {blob: made.blob, beside: answer.made.filter(one => one !== made), err: words(answer.err)} : null;
}
/* A workbook is made on request: few people want one, and it takes as long as the page. */
function laterLink(name) {
	const button = document.createElement("button");
	button.className = "link";
	button.textContent = name;
	button.onclick = async () => {
		const made = await make(name);
		if (!made)
			return;
		say("");
		const links = [save(name, made.blob), ...made.beside.map(one => save(one.name, one.blob))];
		button.replaceWith(...links);
		links.forEach(a => a.click());
	};
	return button;
}
async function listTables() {
	tables = {};
	let of;
	for (const line of (await command("tables") || {out: ""}).out.split("\n"))
		if (/^\S/.test(line))
			tables[of = line.trim()] = [];
		else if (line.trim())
			tables[of].push(line.trim().split(/\s+/)[0]);
}

/* --- the report of the files --- */

/* The report with frame.js in it, which sends dropped files to this page. */
async function shownCopy(blob) {
	const text = await blob.text(), at = text.indexOf("script-src 'sha256-");
	return at < 0 ? text : text.replace("script-src '", "script-src 'sha256-{{frame.hash}}' '") + "<script>{{frame.js}}</" + "script>";
}
/* A frame for each report: Chromium sometimes lays out nothing in one that is displayed again when its document comes. */
const noReport = $("report").cloneNode();
function display(url) {
	const frame = noReport.cloneNode();
	const loaded = new Promise(done => { frame.onload = done; });
	frame.hidden = false;
	frame.src = url;
	$("report").replaceWith(frame);
	return loaded;
}
async function show() {
	$("report").replaceWith(noReport.cloneNode());
	for (const url of urls.splice(0))
		URL.revokeObjectURL(url);
	delete document.body.dataset.done;
	document.body.dataset.state = "working";
	for (const id of ["query", "saves", "csv", "more", "jobs"])
		$(id).hidden = true;
	$("ask").setAttribute("aria-expanded", false);
	$("answer").textContent = "";
	$("names").textContent = nameAll();
	say("");
	const shown = job, made = await make(shown + ".html");
	if (working) /* other files were dropped meanwhile */
		return;
	$("jobs").hidden = files.length < 2;
	$("job").replaceChildren(...Object.entries(JOBS).filter(([, one]) => files.length >= one.from && files.length <= (one.to || Infinity))
		.map(([name, one]) => new Option(one.title, name, false, name === shown)));
	$("swap").hidden = shown !== "diff";
	if (!made) {
		document.body.dataset.state = "empty";
		$("drop").hidden = false;
		$("names").textContent = files.length > 1 ? nameAll() : "";
		return;
	}
	say(made.err);
	$("names").textContent = shown === "diff" ? "A: " + files[0][0] + " · B: " + files[1][0] : nameAll();
	document.title = nameAll() + " - Warpsheet";
	$("drop").hidden = true;
	const copy = URL.createObjectURL(new Blob([await shownCopy(made.blob)], {type: "text/html"}));
	urls.push(copy);
	const loaded = display(copy);
	$("links").replaceChildren(save(shown + ".html", made.blob), laterLink(shown + ".xlsx"));
	$("saves").hidden = $("more").hidden = false;
	$("ask").hidden = $("compare").hidden = shown !== "report";
	document.body.dataset.state = "shown";
	await loaded;
	if (!tables)
		await listTables();
	$("table").replaceChildren(...(tables[JOBS[shown].tables] || []).map(name => new Option(name)));
	$("csv").hidden = !$("table").options.length;
	document.body.dataset.done = shown;
}

/* Files keep their names; if two have the same name, each gets a folder of its own. */
function take(list) {
	const names = list.map(file => file.name);
	if (!list.length)
		return;
	files = list.map((file, i) => [new Set(names).size === names.length ? file.name : i + 1 + "/" + file.name, file]);
	job = files.length === 1 ? "report" : files.length === 2 ? "diff" : files.every(([name]) => /-r\d+\.wtrace$/.test(name)) ? "aa" : "ranks";
	show().catch(e => say(String(e), true));
}
/* The traces in a folder and its subfolders. From a page on the disk Chromium reads folders by handles alone, not by entries. */
async function inFolder(one) {
	if (one.kind === "file")
		return [await one.getFile()];
	if (one.isFile)
		return [await new Promise((done, failed) => one.file(done, failed))];
	const found = [];
	if (one.kind) {
		for await (const inside of one.values())
			found.push(inside);
	} else {
		const reader = one.createReader();
		for (let some; !some || some.length; found.push(...some))
			some = await new Promise((done, failed) => reader.readEntries(done, failed));
	}
	const all = await Promise.all(found.map(inFolder));
	return all.flat().filter(file => TRACE.test(file.name)).sort((a, b) => a.name < b.name ? -1 : 1);
}

/* The files, or the traces of the folders. */
async function filesOf(transfer) {
	const list = [...transfer.files], items = [...transfer.items];
	const entries = items.map(item => item.webkitGetAsEntry && item.webkitGetAsEntry());
	if (!entries.some(entry => entry && entry.isDirectory))
		return list;
	const all = await Promise.all(items.map((item, i) => item.getAsFileSystemHandle ? item.getAsFileSystemHandle() : entries[i]));
	return (await Promise.all(all.map(inFolder))).flat();
}
const cover = isOver => { $("cover").hidden = !isOver; };
addEventListener("dragover", e => {
	e.preventDefault();
	cover(true);
});
addEventListener("dragleave", e => e.relatedTarget || cover(false));
addEventListener("drop", async e => {
	e.preventDefault();
	cover(false);
	const list = await filesOf(e.dataTransfer);
	take(list);
	if (!list.length)
		say("The folder has no traces in it (.wtrace, .json, .json.gz, .xplane.pb, .sqlite).", true);
});
/* The report has another origin, and drops on it do not reach this page. So the page covers it as soon as a file is over it. */
addEventListener("message", e => {
	if (e.source !== $("report").contentWindow || !e.data || !Array.isArray(e.data.files))
		return;
	cover(e.data.kind !== "drop");
	take(e.data.files.filter(file => file instanceof File));
});
function choose(before) {
	addsTo = before;
	$("pick").value = "";
	$("pick").click();
}
$("pick").onchange = () => take([...(addsTo || []), ...$("pick").files]);
$("choose").onclick = $("again").onclick = () => choose(null);
$("compare").onclick = () => choose(files.map(([, file]) => file));
$("job").onchange = () => {
	job = $("job").value;
	show();
};
$("swap").onclick = () => {
	files.reverse();
	show();
};
$("stop").onclick = stop;
$("close").onclick = () => say("");
$("getcsv").onclick = async () => {
	const name = $("table").value + ".csv", made = await make(name, "--table", $("table").value);
	if (made)
		save(name, made.blob).click();
};

/* --- queries --- */

function rowsOf(csv) {
	const rows = [[]];
	for (const [, quoted, bare, end] of csv.replaceAll("\r\n", "\n").matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/g)) {
		rows[rows.length - 1].push(quoted === undefined ? bare : quoted.replaceAll("\"\"", "\""));
		if (end === "\n")
			rows.push([]);
		else if (!end)
			break;
	}
	return rows.filter(row => row.length > 1 || row[0]);
}
const MOST_ROWS = 1000;
function tableOf([titles, ...rows]) {
	const table = document.createElement("table");
	for (const title of titles)
		(table.tHead ? table.tHead.rows[0] : table.createTHead().insertRow()).append(Object.assign(document.createElement("th"), {textContent: title}));
	const body = table.createTBody();
	for (const row of rows.slice(0, MOST_ROWS)) {
		const line = body.insertRow();
		for (const value of row)
			Object.assign(line.insertCell(), {textContent: value, className: /^-?[\d.]+(e[-+]?\d+)?$/.test(value) ? "number" : ""});
	}
	return table;
}
async function query(...sql) {
	const answer = await command("query", files[0][0], ...sql, "--format", "csv");
	const p = document.createElement("p");
	if (!answer)
		return;
	answerCsv = answer.code ? "" : answer.out;
	$("getanswer").hidden = !answerCsv;
	p.className = answer.code ? "wrong" : "soft";
	if (answer.code) {
		p.textContent = words(answer.err);
		$("answer").replaceChildren(p);
		return;
	}
	const rows = rowsOf(answer.out), n = rows.length - 1;
	p.textContent = n > MOST_ROWS ? "The first " + MOST_ROWS + " of " + n + " rows" : n === 1 ? "1 row" : n + " rows";
	$("answer").replaceChildren(tableOf(rows), p);
}
$("ask").onclick = () => {
	$("query").hidden = !$("query").hidden;
	$("ask").setAttribute("aria-expanded", !$("query").hidden);
	if (!$("query").hidden)
		$("sql").focus();
};
$("query").firstElementChild.onsubmit = e => {
	e.preventDefault();
	query($("sql").value || $("sql").placeholder);
};
$("help").onclick = () => query();
$("getanswer").onclick = () => save("query.csv", new Blob([answerCsv], {type: "text/csv"})).click();

compiled.then(() => { document.body.dataset.ready = "1"; },
	e => say("This browser cannot run the program (" + e.message + "). Chrome, Edge, Firefox and Safari of 2023 or later can.", true));
