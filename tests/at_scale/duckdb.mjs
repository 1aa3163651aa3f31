// DuckDB in memory, run in a folder: what both scripts here need.
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';

const [modules, folder] = [process.env.AT_SCALE_MODULES, process.env.AT_SCALE_FOLDER];
const require = createRequire(path.join(modules, 'package.json'));
const { DuckDBInstance } = require('@duckdb/node-api');
const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
const connection = await instance.connect();

process.chdir(folder);

// Columns and rows of a statement; integers of more than 53 bits come as text.
export async function query(sql) {
	const reader = await connection.runAndReadAll(sql);
	return { columns: reader.columnNames(), rows: reader.getRowsJson() };
}

export async function views() {
	const tables = {
		events: ['kernels', 'nvtx', 'facts', 'api', 'memcpy', 'memset', 'sync', 'graph_launch',
			'memory', 'cpu_op', 'python_call', 'gpu_range', 'overhead', 'counter', 'gpu_sample', 'payload_value'],
		rollups: ['rollup', 'rollup_histogram'],
	};
	for (const [where, names] of Object.entries(tables))
		for (const name of names)
			await query(`CREATE VIEW ${name} AS FROM read_parquet('${where}/*/${name}.parquet',
				hive_partitioning = true)`);
	return [...tables.events, ...tables.rollups];
}
