// DuckDB reads what make_extremes wrote, value by value. Exit status 1 when it does not.
import process from 'node:process';
import { query } from './duckdb.mjs';

let wrong = 0;

async function same(what, sql, expected) {
	const found = JSON.stringify((await query(sql)).rows);

	if (found !== JSON.stringify(expected)) {
		wrong++;
		console.log(`WRONG: ${what}: ${found} instead of ${JSON.stringify(expected)}`);
	} else {
		console.log(`right: ${what}`);
	}
}

await query(`CREATE VIEW x AS FROM read_parquet('extremes')`);
await same('rows in order', 'SELECT count(*), sum(row), min(row), max(row) FROM x', [['1000', '499500', '0', '999']]);
await same('least and greatest integers', `SELECT count(*) FROM x WHERE far <> CASE row % 4
	WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN 0 ELSE -1 END`, [['0']]);
await same('greatest unsigned integers', `SELECT count(*), count(u), sum((u <> 18446744073709551615::UBIGINT - row)::INT)
	FROM x`, [['1000', '500', '0']]);
await same('reals', `SELECT row % 8, count(*), min(real)::VARCHAR, max(real)::VARCHAR, count(real)
	FROM x GROUP BY 1 ORDER BY 1`, [
	['0', '125', '0.0', '0.0', '125'], ['1', '125', '-0.0', '-0.0', '125'], ['2', '125', 'nan', 'nan', '125'],
	['3', '125', 'inf', 'inf', '125'], ['4', '125', '-inf', '-inf', '125'],
	['5', '125', '1e-310', '1e-310', '125'], ['6', '125', '0.1', '0.1', '125'], ['7', '125', null, null, '0']]);
await same('texts', 'SELECT DISTINCT row % 6, text FROM x ORDER BY 1', [['0', ''], ['1', 'nul\0inside'],
	['2', 'broken \ufffd'], ['3', '\u{1f525}'], ['4', '\'";\r\n\\'], ['5', null]]);
await same('a column of one value', 'SELECT DISTINCT same FROM x', [['42']]);
await same('columns of nulls', 'SELECT count(no_int), count(no_real), count(no_text) FROM x', [['0', '0', '0']]);
// the statistics let it look into the right row group only, and find the row there
await same('rows found by statistics', `SELECT row FROM x WHERE row IN (299, 300, 899, 900) ORDER BY row`,
	[['299'], ['300'], ['899'], ['900']]);
await same('row groups', `SELECT row_group_num_rows FROM parquet_metadata('extremes')
	WHERE path_in_schema = 'row' ORDER BY row_group_id`, [['300'], ['300'], ['300'], ['100']]);
await same('statistics', `SELECT DISTINCT path_in_schema, stats_min_value, stats_max_value, stats_null_count
	FROM parquet_metadata('extremes') WHERE row_group_id = 0 AND path_in_schema IN ('far', 'u', 'real', 'no_int')
	ORDER BY 1`, [['far', '-9223372036854775808', '9223372036854775807', '0'], ['no_int', null, null, '300'],
	['real', null, null, '37'], ['u', '18446744073709551316', '18446744073709551614', '150']]);
await same('a file without rows', `SELECT count(*), count(text) FROM read_parquet('extremes.empty')`, [['0', '0']]);
process.exit(wrong ? 1 : 0);
