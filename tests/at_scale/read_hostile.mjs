// DuckDB reads names that harm careless programs back as our JSON report has them: the folder is
// an export of fixtures/traces/hostile.wtrace. Exit status 1 when it does not.
import fs from 'node:fs';
import { query } from './duckdb.mjs';

const table = JSON.parse(fs.readFileSync('report/hostile.wtrace.json', 'utf8'));
const at = (id) => table.columns.findIndex((c) => c.id === id);
const pair = (name, total) => JSON.stringify([name, String(total)]);
const ours = table.rows.map((r) => pair(r[at('name')], r[at('total_ns')])).sort();
const theirs = (await query(`SELECT name, sum(dur_ns) FROM 'events/kernels.parquet' GROUP BY name`))
	.rows.map(([name, total]) => pair(name, total)).sort();

if (!ours.length || ours.join('\n') !== theirs.join('\n')) {
	console.log('WRONG: hostile names, ours and theirs:', ours, theirs);
	process.exit(1);
}
console.log(`right: ${ours.length} hostile names`);
