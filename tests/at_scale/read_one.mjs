// DuckDB reads the kernels of one trace back as our JSON report has them: every name, whatever is in
// it, its executions and their time. Exit status 1 when it does not.
import fs from 'node:fs';
import process from 'node:process';
import { query } from './duckdb.mjs';

const [report] = fs.readdirSync('report').filter((f) => f.endsWith('.json'));
const table = JSON.parse(fs.readFileSync(`report/${report}`, 'utf8'));
const at = (id) => table.columns.findIndex((c) => c.id === id);
const line = (name, n, total) => JSON.stringify([name, String(n), String(total)]);
const ours = table.rows.map((r) => line(r[at('name')], r[at('instances')], r[at('total_ns')])).sort();
const theirs = (await query(`SELECT name, count(dur_ns), sum(dur_ns)
	FROM 'events/**/kernels.parquet' GROUP BY name`)).rows.map((r) => line(...r)).sort();

if (!ours.length || ours.join('\n') !== theirs.join('\n')) {
	console.log(`WRONG: kernels of ${report}, ours and theirs:`, ours, theirs);
	process.exit(1);
}
console.log(`right: ${ours.length} kernels of ${report}`);
