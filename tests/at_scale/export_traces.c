/*
 * Exports traces into one fleet, and beside it what our own report says of
 * each, to compare with:
 *   export_traces FOLDER TRACE...
 * writes FOLDER/events, FOLDER/rollups (Parquet) and FOLDER/report/NAME.csv
 * and .json (the table kernel-summary). Prints what it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "report/analysis.h"
#include "report/export_parquet.h"
#include "report/rollup.h"

static void must(enum ws_status rc, const struct ws_err *err)
{
	if (rc == WS_OK)
		return;
	fprintf(stderr, "export_traces: %s\n", err->text);
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static FILE *create(const char *folder, const char *name, const char *extension)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/report/%s.%s", folder, name, extension);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void close_file(FILE *f)
{
	if (fclose(f) != 0) {
		perror("export_traces");
		exit(1);
	}
}

static void report(const struct ws_model *m, const char *folder, const char *name)
{
	struct ws_report *all;
	struct ws_table *t;
	struct ws_err err;
	FILE *f;

	must(ws_table_make(m, ws_table_def_by_name("kernel-summary"), NULL, &t, &err), &err);
	f = create(folder, name, "csv");
	must(ws_out_csv(f, t, &err), &err);
	close_file(f);
	must(ws_report_make(m, NULL, &all, &err), &err);
	f = create(folder, name, "json");
	must(ws_out_json_table(f, all, t, &err), &err);
	close_file(f);
	ws_report_free(all);
	ws_table_free(t);
}

int main(int argc, char **argv)
{
	static const char *const folders[] = {"", "/events", "/rollups", "/report"};
	double events_s = 0, rollups_s = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: export_traces FOLDER TRACE...\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s%s", argv[1], folders[i]);
		mkdir(path, 0777);
	}
	for (int i = 2; i < argc; i++) {
		const char *slash = strrchr(argv[i], '/');
		char folder[4096];
		struct ws_model *m;
		struct ws_err err;
		double begin = seconds();

		snprintf(folder, sizeof(folder), "%s/events", argv[1]);
		must(ws_export_parquet(argv[i], folder, NULL, &err), &err);
		events_s += seconds() - begin;
		begin = seconds();
		must(ws_model_open(&m, argv[i], &err), &err);
		snprintf(folder, sizeof(folder), "%s/rollups", argv[1]);
		must(ws_rollup_export(m, folder, NULL, &err), &err);
		rollups_s += seconds() - begin;
		report(m, argv[1], slash ? slash + 1 : argv[i]);
		ws_model_free(m);
	}
	printf("%d traces: events in %.2f s, roll-ups in %.2f s\n", argc - 2, events_s, rollups_s);
	return 0;
}
