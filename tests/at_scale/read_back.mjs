// DuckDB reads every table of a fleet back, with sums, counts and texts equal to those of our own
// report, and roll-ups that add up to the events. Prints what is wrong; exit status 1 then.
import fs from 'node:fs';
import { query, views } from './duckdb.mjs';

let wrong = 0;

function check(what, isRight, found) {
	if (!isRight) {
		wrong++;
		console.log(`WRONG: ${what}: ${JSON.stringify(found)}`);
	} else {
		console.log(`right: ${what}`);
	}
}

// A query whose every row is something wrong.
async function none(what, sql) {
	const { rows } = await query(sql);
	check(what, rows.length === 0, rows.slice(0, 3));
}

async function number(sql) {
	return Number((await query(sql)).rows[0][0]);
}

const tables = await views();
const reports = fs.readdirSync('report').filter((f) => f.endsWith('.csv'));

for (const table of tables) {
	const files = await number(`SELECT count(DISTINCT filename) FROM read_parquet(
		'*/*/${table}.parquet', filename = true)`);
	const rows = await number(`SELECT count(*) FROM ${table}`);
	const said = await number(`SELECT sum(num_rows) FROM parquet_file_metadata('*/*/${table}.parquet')`);
	check(`${table}: ${rows} rows`, rows === said, { rows, said, files });
}
check('a rank for each trace', await number('SELECT count(DISTINCT rank) FROM kernels') === reports.length,
	reports.length);

// --- our report, CSV ---
await query(`CREATE TABLE report AS SELECT regexp_extract(filename, 'rank-(\\d+)', 1) AS rank,
	"Name" AS name, "Instances" AS kernels, "Total Time (ns)" AS total_ns, "Min (ns)" AS min_ns,
	"Max (ns)" AS max_ns, "Med (ns)"::DOUBLE AS median_ns, "StdDev (ns)"::DOUBLE AS std_ns
	FROM read_csv('report/*.csv', filename = true)`);
await query(`CREATE TABLE events AS SELECT rank, name, count(*) AS kernels, sum(dur_ns) AS total_ns,
	min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, median(dur_ns) AS median_ns,
	stddev_samp(dur_ns) AS std_ns
	FROM kernels GROUP BY rank, name`);
check('the report has rows', await number('SELECT count(*) FROM report') > 0, reports);
await none('kernel-summary.csv and events: counts, sums, extrema', `
	(SELECT rank, name, kernels, total_ns, min_ns, max_ns FROM report
	EXCEPT SELECT rank, name, kernels, total_ns, min_ns, max_ns FROM events)
	UNION ALL (SELECT rank, name, kernels, total_ns, min_ns, max_ns FROM events
	EXCEPT SELECT rank, name, kernels, total_ns, min_ns, max_ns FROM report)`);
await none('kernel-summary.csv and events: median and standard deviation', `
	SELECT * FROM report r JOIN events e USING (rank, name)
	WHERE r.median_ns <> e.median_ns
	OR abs(r.std_ns - coalesce(e.std_ns, 0)) > 1e-9 * r.std_ns`);

// --- joins inside ---
await none('launches of kernels and the api table', `
	SELECT k.rank, k.correlation FROM kernels k LEFT JOIN api a
	ON a.rank = k.rank AND a.pid = k.pid AND a.correlation = k.correlation
	WHERE k.launch_start_ns IS DISTINCT FROM a.start_ns OR k.launch_dur_ns IS DISTINCT FROM a.dur_ns
	OR k.launch_api IS DISTINCT FROM a.name OR k.launch_tid IS DISTINCT FROM a.tid`);
await none('the path of a kernel is the innermost range around its launch', `
	WITH innermost AS (
		SELECT k.rank, k.correlation, arg_max(n.path, n.depth) AS path, any_value(k.nvtx_path) AS said
		FROM (FROM kernels WHERE rank IN (SELECT rank FROM kernels GROUP BY rank ORDER BY rank LIMIT 4)) k
		JOIN nvtx n ON n.rank = k.rank AND n.tid = k.launch_tid AND n.start_ns <= k.launch_start_ns
		AND n.start_ns + n.dur_ns >= k.launch_start_ns + k.launch_dur_ns
		GROUP BY k.rank, k.correlation)
	FROM innermost WHERE path IS DISTINCT FROM said`);

// --- roll-ups ---
await none('roll-ups and events: counts, sums, extrema of each rank, step and path', `
	WITH r AS (SELECT rank, step, step_kind, nvtx_path, name, grid_x, sum(kernels) AS n, sum(sum_ns) AS sum,
		sum(sum_sq_hi)::HUGEINT * 4294967296 + sum(sum_sq_lo) AS sq, min(min_ns) AS min, max(max_ns) AS max
		FROM rollup GROUP BY ALL),
	e AS (SELECT rank, step, step_kind, nvtx_path, name, grid_x, count(dur_ns) AS n, sum(dur_ns) AS sum,
		sum(dur_ns::HUGEINT * dur_ns) AS sq, min(dur_ns) AS min, max(dur_ns) AS max
		FROM kernels GROUP BY ALL)
	(FROM r EXCEPT FROM e) UNION ALL (FROM e EXCEPT FROM r)`);
await none('histograms of all ranks and events', `
	WITH r AS (SELECT r.name, h.bucket, sum(h.kernels) AS n FROM rollup r
		JOIN rollup_histogram h USING (rank, row) GROUP BY ALL),
	e AS (SELECT name, CASE WHEN dur_ns < 128 THEN dur_ns ELSE
		(floor(log2(dur_ns))::BIGINT - 7) * 128 + (dur_ns >> (floor(log2(dur_ns))::BIGINT - 7)) END AS bucket,
		count(*) AS n FROM kernels WHERE dur_ns IS NOT NULL GROUP BY ALL)
	(FROM r EXCEPT FROM e) UNION ALL (FROM e EXCEPT FROM r)`);
await none('times lie in their buckets', `
	SELECT * FROM rollup_histogram h JOIN rollup r USING (rank, row)
	WHERE h.from_ns > r.max_ns OR h.from_ns + h.width_ns <= r.min_ns OR h.kernels < 1`);

// --- metadata ---
await none('every chunk: zstd, statistics, V2 encodings', `
	SELECT file_name, path_in_schema FROM parquet_metadata('*/*/kernels.parquet')
	WHERE compression <> 'ZSTD' OR stats_null_count IS NULL
	OR (stats_null_count < num_values AND stats_min_value IS NULL)
	OR encodings LIKE '%PLAIN_DICTIONARY%'`);
await none('statistics are the extremes', `
	WITH s AS (SELECT min(stats_min_value::BIGINT) AS least, max(stats_max_value::BIGINT) AS most
		FROM parquet_metadata('events/*/kernels.parquet') WHERE path_in_schema = 'start_ns'),
	e AS (SELECT min(start_ns) AS least, max(start_ns) AS most FROM kernels)
	(FROM s EXCEPT FROM e)`);
check('every file says its trace, base and version', await number(`
	SELECT count(*) FROM parquet_kv_metadata('events/*/*.parquet')
	WHERE decode(key) IN ('trace.hash', 'trace.base_ns', 'warpsheet.version', 'trace.rank')`)
	=== await number("SELECT 4 * count(*) FROM glob('events/*/*.parquet')"), reports.length);

process.exit(wrong ? 1 : 0);
