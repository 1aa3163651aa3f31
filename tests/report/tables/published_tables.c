/*
 * Tables of traces that others recorded against the numbers that others
 * published for them, at the precision that was published; and what the rules
 * of the advice say of them.
 *   test_published_tables fixtures|local FOLDER
 * Exit status 77 where FOLDER is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/advice/advice.h"
#include "report/analysis/digest.h"
#include "report/tables/report.h"
#include "tests/report/advice/judged_traces.h"
#include "tests/support/joined.h"

static const struct expectation {
	const char *file, *table;
	const char *key_column, *key; /* of the row; NULL = the first */
	const char *column, *value;   /* "12.5": a real to one digit, "7" a whole number or text */
} fixtures[] = {
/* TraceLens: GPU timeline, operations */
#define BERT "imports/bert-small-h100.json.gz"
        {BERT, "gpu", NULL, NULL, "computation_ns", "307197"},
        {BERT, "gpu", NULL, NULL, "copy_exposed_ns", "2240"},
        {BERT, "gpu", NULL, NULL, "comm_exposed_ns", "0"},
        {BERT, "gpu", NULL, NULL, "busy_ns", "309437"},
        {BERT, "gpu", NULL, NULL, "idle_ns", "3598388"},
        {BERT, "gpu", NULL, NULL, "timeline_ns", "3907825"},
        {BERT, "ops", "name", "aten::addmm", "calls", "26"},
        {BERT, "ops", "name", "aten::addmm", "self_cuda_ns", "197598"},
        {BERT, "ops", "name", "aten::addmm", "flops", "8036168946"},
        {BERT, "ops", "name", "aten::_flash_attention_forward", "self_cuda_ns", "37408"},
        {BERT, "roofline", "name", "gemm", "gpu_ns", "197598"},
        {BERT, "softmax-matmul", "part", "whole attention", "gpu_ns", "37408"},
        {BERT, "softmax-matmul", "part", "whole attention", "flops", "162865152"},
        {BERT, "classes", "class", "attention", "gpu_ns", "37408"},
        {BERT, "memory-time", "operation", "[CUDA memcpy Device-to-Host]", "total_ns", "2240"},
        /* baseTimeNanoseconds is an epoch of the profiler's, 17 days before the first event */
        {BERT, "summary", "item", "trace.recorded", "text", "2025-07-18T09:14:43Z"},
        {"imports/alexnet-a100.json.gz", "summary", "item", "trace.recorded", "text",
         "2023-09-06T22:39:28Z"},
        {"imports/alexnet-a100.json.gz", "gpu", NULL, NULL, "kernel_ns", "10728000"},
        {"imports/alexnet-a100.json.gz", "gpu", NULL, NULL, "kernels", "79"},
};

static const struct expectation local[] = {
/* the samples' own pages: GPU summary, execution summary, kernel and operator views */
#define RESNET "kineto/resnet50_w0_v100.pt.trace.json.gz"
        {RESNET, "gpu", NULL, NULL, "utilization", "55.51"},
        {RESNET, "gpu", NULL, NULL, "sm_efficiency", "54.68"},
        {RESNET, "gpu", NULL, NULL, "occupancy_kineto", "49.13"},
        {RESNET, "gpu", NULL, NULL, "tensor", "0.0"},
        /* printed as 31.74 GB, which are 2^30 bytes each */
        {RESNET, "gpu", NULL, NULL, "memory_gb", "34.08"},
        {RESNET, "gpu", NULL, NULL, "capability", "7.0"},
        {RESNET, "execution", "step", "Average", "kernel_us", "98589."},
        {RESNET, "execution", "step", "Average", "memcpy_us", "1915."},
        {RESNET, "execution", "step", "Average", "memset_us", "89."},
        {RESNET, "execution", "step", "Average", "runtime_us", "2908."},
        {RESNET, "execution", "step", "Average", "data_loader_us", "59262."},
        {RESNET, "execution", "step", "Average", "cpu_us", "13674."},
        {RESNET, "execution", "step", "Average", "other_us", "1156."},
        {RESNET, "execution", "step", "Average", "total_us", "177592."},
        {RESNET, "execution", "step", "5", "kernel_us", "98598."},
        {RESNET, "execution", "step", "5", "memcpy_us", "1941."},
        {RESNET, "execution", "step", "5", "memset_us", "90."},
        {RESNET, "execution", "step", "5", "runtime_us", "2796."},
        {RESNET, "execution", "step", "5", "data_loader_us", "69317."},
        {RESNET, "execution", "step", "5", "cpu_us", "14091."},
        {RESNET, "execution", "step", "5", "other_us", "1115."},
        {RESNET, "execution", "step", "5", "total_us", "187948."},
        {RESNET, "kernel-summary", NULL, NULL, "short_name", "cudnn::detail::dgrad_engine"},
        {RESNET, "kernel-summary", NULL, NULL, "instances", "162"},
        {RESNET, "kernel-summary", NULL, NULL, "total_ns", "80756000"},
        {RESNET, "kernel-summary", NULL, NULL, "max_ns", "1017000"},
        {RESNET, "kernel-summary", NULL, NULL, "min_ns", "323000"},
        {RESNET, "kernel-summary", NULL, NULL, "blocks_per_sm", "42.25"},
        {RESNET, "kernel-summary", NULL, NULL, "occupancy_kineto", "29.97"},
        {RESNET, "ops", NULL, NULL, "name", "aten::cudnn_convolution_backward_weight"},
        {RESNET, "ops", NULL, NULL, "calls", "318"},
        {RESNET, "ops", NULL, NULL, "self_cuda_ns", "142461000"},
        {RESNET, "ops", NULL, NULL, "self_cpu_ns", "22804000"},
        {RESNET, "ops", NULL, NULL, "cpu_ns", "40246000"},
#define DLRM "kineto/hta_negqueue_a100.json.gz"
        {DLRM, "gpu", NULL, NULL, "utilization", "32.24"},
        {DLRM, "gpu", NULL, NULL, "sm_efficiency", "17.49"},
        {DLRM, "gpu", NULL, NULL, "occupancy_kineto", "12.54"},
        {DLRM, "gpu", NULL, NULL, "kernel_ns", "401445000"},
        {DLRM, "losses", "cause", "kernels without a launch record", "count", "705"},
        {"kineto/hta_event_sync_multistream_a100.json.gz", "gpu", NULL, NULL, "kernel_ns",
         "369000"},
/* what nsys stats does not say: graphs traced as a whole */
#define GRAPH "nsys/a100_2p7b_compile_cudagraph.sqlite"
        {GRAPH, "kernel-summary", NULL, NULL, "total_ns", "49502"},
        {GRAPH, "losses", "cause", "CUDA graphs traced as a whole", "count", "10"},
        {GRAPH, "gpu", NULL, NULL, "comm_exposed_ns", "0"},
        {GRAPH, "gpu", NULL, NULL, "graph_ns", "7811141695"},
        {GRAPH, "gpu", NULL, NULL, "sm_efficiency", "nothing"},
/* MIOpen's convolutions, in bf16 whatever Composable Kernel calls their accumulators */
#define RESNET18 "kineto/ddp_resnet18_mi300.json.gz"
        {RESNET18, "classes", "class", "conv", "gpu_ns", "160928617"},
        {RESNET18, "roofline", NULL, NULL, "class", "conv"},
        {RESNET18, "roofline", NULL, NULL, "dtype", "bf16"},
        {RESNET18, "roofline", NULL, NULL, "flops", "27252070809600"},
        {RESNET18, "roofline", "name", "aten::convolution_backward", "flops", "17966636728320"},
        {RESNET18, "roofline", "name", "aten::miopen_convolution", "flops", "9285434081280"},
/* every range's name has its own number: 16,582 of them are 176 */
#define EMIT "nsys/h100_2gpu_1s_emit_nvtx.sqlite"
        {EMIT, "ops", "name", "aten::mm", "calls", "280"},
        {EMIT, "ops", "name", "aten::copy_", "calls", "1184"},
/* an AMD GPU */
#define SGLANG "kineto/sglang_qwen3_prefilldecode_mi300.json.gz"
        {SGLANG, "memory-time", NULL, NULL, "operation", "[HIP memcpy Device-to-Device]"},
        {SGLANG, "gpu", NULL, NULL, "capability", "nothing"},
        {SGLANG, "classes", "class", "gemm", "share", "85.29"},
/* by a second program: launched on the autograd thread, in Optimizer.step, in the loss; the last
 * row alone is what neither tells */
#define DDP "kineto/ddp_resnet_rank0_v100.json.gz"
        {DDP, "execution", "step", "Average", "total_us", "96703.520"},
        {DDP, "summary", "item", "step, mean", "time_ns", "96703520.4"},
        {DDP, "summary", "item", "step on the host, mean", "time_ns", "78828161.6"},
        {DDP, "summary", "item", "measured steps, backward", "time_ns", "313196213"},
        {DDP, "summary", "item", "measured steps, optimizer", "time_ns", "5532802"},
        {DDP, "summary", "item", "measured steps, loss", "time_ns", "108256"},
        {DDP, "summary", "item", "measured steps, forward", "time_ns", "149270987"},
        {DDP, "summary", "item", "measured steps, remainder", "time_ns", "45344"},
#define DEEPSEEK "kineto/deepseek_v3_train_h800.json.gz"
        {DEEPSEEK, "classes", "class", "comm", "gpu_ns", "113440000"},
        {DEEPSEEK, "classes", "class", "comm", "kernels", "36"},
#define VLLM "kineto/vllm_gptoss_decode_mi300.json.gz"
        {VLLM, "classes", "class", "gemm", "share", "77.4"},
};

struct opened {
	const char *file;
	struct joined *j;
};

static int open_file(struct opened *o, const char *folder, const char *file)
{
	char path[4096];
	struct ws_err err;

	if (o->file && !strcmp(o->file, file))
		return 1;
	joined_free(o->j);
	*o = (struct opened){.file = file};
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (joined_open(&o->j, path, &err) == WS_OK)
		return 1;
	printf("%s/%s: %s\n", folder, file, err.text);
	return 0;
}

static size_t row_of(const struct ws_table *t, const struct expectation *e)
{
	int c = e->key_column ? ws_table_column_index(t->def, e->key_column) : -1;

	for (size_t r = 0; r < t->nrows && c >= 0; r++) {
		const struct ws_cell *cell = &ws_table_cells(t, r)[c];

		if (cell->type == WS_CELL_TEXT && cell->text.len == strlen(e->key) &&
		    !memcmp(cell->text.ptr, e->key, cell->text.len))
			return r;
	}
	return e->key_column ? t->nrows : 0;
}

/* The cell as text, with as many digits as the expected value has. */
static void print_cell(const struct ws_cell *cell, const char *like, char *text, size_t size)
{
	const char *point = strchr(like, '.');
	int digits = point ? (int)strlen(point + 1) : 0;

	if (cell->type == WS_CELL_TEXT)
		snprintf(text, size, "%.*s", (int)cell->text.len, cell->text.ptr);
	else if (cell->type == WS_CELL_INT)
		snprintf(text, size, "%lld", (long long)cell->i);
	else if (cell->type == WS_CELL_REAL)
		snprintf(text, size, "%.*f%s", digits, cell->r, point && !digits ? "." : "");
	else
		snprintf(text, size, "nothing");
}

static int check(struct opened *o, const struct expectation *e)
{
	struct ws_table *t = NULL;
	struct ws_err err;
	char text[256] = "no row or column";
	size_t row;
	int column, ok;

	if (one_table(o->j->m, &o->j->rows, ws_table_def_by_name(e->table), NULL, &t, &err) !=
	    WS_OK) {
		printf("%s %s: %s\n", e->file, e->table, err.text);
		return 0;
	}
	row = row_of(t, e);
	column = ws_table_column_index(t->def, e->column);
	if (row < t->nrows && column >= 0)
		print_cell(&ws_table_cells(t, row)[column], e->value, text, sizeof(text));
	ok = !strcmp(text, e->value);
	if (!ok)
		printf("%s, %s, %s, %s: %s is published, not %s\n", e->file, e->table,
		       e->key ? e->key : "first row", e->column, e->value, text);
	ws_table_free(t);
	return ok;
}

/* Is the rule in a list of them: "A1 A20"? */
static int lists(const char *list, const char *rule)
{
	size_t len = strlen(rule);

	for (const char *p = list; (p = strstr(p, rule)); p += len)
		if (p[len] == ' ' || p[len] == '\0')
			return 1;
	return 0;
}

static size_t check_advice(struct opened *o, const struct judged_trace *j)
{
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_selection sel;
	struct ws_arena temp = {0};
	struct ws_digest digest = {0};
	struct ws_table_context tab = {.m = o->j->m, .sel = &sel, .digest = &digest, .temp = &temp};
	const struct ws_findings *a;
	size_t wrong = 0;

	filter.scope = WS_SCOPE_STEPS;
	ws_select_rows(o->j->m, &o->j->rows, &filter, &sel);
	ws_digest_of_rows(&digest, o->j->m, &sel, WS_DIGEST_STEPS);
	a = ws_advice_find(&tab);
	for (int i = 0; i < WS_RULES; i++) {
		const char *id = ws_rule_defs[i].id;
		int quiet = !a->fired[i] && !a->not_judged[i];

		if (a->fired[i] == lists(j->fires, id) && quiet == lists(j->quiet, id))
			continue;
		printf("%s: %s %s\n", j->file, id,
		       a->fired[i] ? "fires"
		       : quiet     ? "finds nothing"
		                   : a->not_judged[i]);
		wrong++;
	}
	ws_digest_release(&digest);
	ws_selection_release(&sel);
	ws_arena_free(&temp);
	return wrong;
}

int main(int argc, char **argv)
{
	int is_local = argc == 3 && !strcmp(argv[1], "local");
	const struct expectation *list = is_local ? local : fixtures;
	size_t n = is_local ? sizeof(local) / sizeof(*local) : sizeof(fixtures) / sizeof(*fixtures);
	const struct judged_trace *judged = is_local ? judged_local : judged_fixtures;
	size_t traces = is_local ? sizeof(judged_local) / sizeof(*judged_local)
	                         : sizeof(judged_fixtures) / sizeof(*judged_fixtures);
	struct opened o = {0};
	size_t wrong = 0;

	if (argc != 3)
		return 2;
	if (access(argv[2], R_OK) != 0) {
		printf("SKIP: no folder %s\n", argv[2]);
		return 77;
	}
	for (size_t i = 0; i < n; i++)
		wrong += !open_file(&o, argv[2], list[i].file) || !check(&o, &list[i]);
	for (size_t i = 0; i < traces; i++)
		wrong += open_file(&o, argv[2], judged[i].file) ? check_advice(&o, &judged[i]) : 1;
	joined_free(o.j);
	printf("%zu published numbers, advice on %zu traces, %zu wrong\n", n, traces, wrong);
	return wrong ? 1 : 0;
}
