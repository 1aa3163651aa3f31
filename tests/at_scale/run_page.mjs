// Runs the queries of docs/reference/at-scale.md, up to the heading "Elsewhere", on the fleet that the page
// describes, and compares the tables it shows with what comes back.
//   run_page.mjs PAGE [--update | --answers FILE]
// With --update the page gets the tables. With --answers it runs the same queries on the files of all ranks,
// which lie in the folder itself, and writes the answers into FILE, for spark.py. Prints how long each query took.
import fs from 'node:fs';
import process from 'node:process';

// where PAGE is, before duckdb.mjs goes into the fleet's folder
const page = fs.realpathSync(process.argv[2]);
const update = process.argv[3] === '--update';
const answersFile = process.argv[3] === '--answers' && process.argv[4];
const answers = [];
const { query } = await import('./duckdb.mjs');

function markdown({ columns, rows }) {
	const line = (cells) => `| ${cells.map((c) => c === null ? '' : String(c)).join(' | ')} |\n`;
	return line(columns) + line(columns.map(() => '---')) + rows.map(line).join('');
}

const text = fs.readFileSync(page, 'utf8');
const end = text.indexOf('\n## Elsewhere');
// a block of SQL, but not for Spark alone, and the table behind it when the statement has rows
const pattern = /```sql(?: duckdb)?\n([^]*?)```\n(\n\|[^]*?(?=\n(?:[^|]|$)))?/g;
let wrong = 0, queries = 0;

async function run(all, sql, table) {
	const statements = sql.split(/;\s*(?:\n|$)/).filter((s) => s.trim());
	let result;
	const begin = performance.now();

	for (const statement of statements)
		if (!answersFile || !/^\s*CREATE/.test(statement) || /dtype_of_rank/.test(statement))
			result = await query(statement);
	console.log(`${(performance.now() - begin).toFixed(0)} ms: ${statements.at(-1).trim().split('\n')[0]}`);
	if (/^\s*CREATE/.test(statements.at(-1)))
		return all;
	queries++;
	if (answersFile) {
		answers.push(result);
		return all;
	}
	const found = markdown(result);
	if (result.rows.length === 0 || (!update && `\n${found}` !== `${table}\n`)) {
		wrong++;
		console.log(`WRONG: the page shows\n${table}\nbut the query gives\n\n${found}`);
	}
	// the newline behind a table that was there is not part of the match
	return `\`\`\`sql\n${sql}\`\`\`\n\n${table ? found.slice(0, -1) : found}`;
}

if (answersFile)
	for (const name of ['kernels', 'nvtx', 'facts', 'rollup', 'rollup_histogram'])
		for (const suffix of ['', '_of_all'])
			await query(`CREATE VIEW ${name.replace('rollup_', '')}${suffix} AS FROM '${name}.parquet'`);

let out = '', from = 0;
for (const match of text.matchAll(pattern)) {
	if (match.index > end)
		break;
	out += text.slice(from, match.index) + await run(match[0], match[1], match[2]);
	from = match.index + match[0].length;
}
out += text.slice(from);
if (end < 0 || queries < 5) {
	console.log(`WRONG: ${queries} queries on the page`);
	wrong++;
}
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
console.log(`${((userCPUTime + systemCPUTime) / 1e6).toFixed(1)} s of processor time, ${(maxRSS / 1024).toFixed(0)} MB of memory`);
if (answersFile)
	fs.writeFileSync(answersFile, JSON.stringify(answers));
if (update)
	fs.writeFileSync(page, out);
process.exit(wrong ? 1 : 0);
