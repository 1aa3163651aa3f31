/*
 * What a kernel's name says that it is, against the operation that launched
 * it, over traces that others recorded; and how much neither knows.
 *   test_class_agreement FOLDER FILE...
 * Exit status 77 where FOLDER is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/model/model.h"
#include "tests/support/joined.h"

/* Of the GPU time, what neither an operation nor the name tells; and of that, what is of no class
 * at all: not even a compiler's. */
#define UNKNOWN_PERCENT_MAX      2.0
#define UNCLASSIFIED_PERCENT_MAX 1.0

/* Reviewed: both are right. The operation's class, the name's, a part of the name, why. */
static const struct difference {
	const char *by_operation, *by_name, *part;
} differences[] = {
        /* cuDNN unfolds the input and multiplies, by the kernels of cuBLAS */
        {"conv", "gemm", "gemm_"},
        /* MIOpen transposes and scales around its convolutions */
        {"conv", "copy", "batched_transpose_"},
        {"conv", "elementwise", "SubTensorOp"},
        /* a linear layer writes its bias into the result before it multiplies */
        {"gemm", "copy", "copy_device_to_device"},
};

struct counts {
	uint64_t both, disagree;
	int64_t gpu_ns, unknown_ns, unclassified_ns;
};

/* The class that a class counts as. */
static const char *summary_of(struct ws_bytes class)
{
	static const enum ws_op_class summaries[] = {
#define X(NAME, name, SUMMARY, meaning) WS_CLASS_##SUMMARY,
	        WS_OP_CLASS_LIST(X)
#undef X
	};

	for (int i = 0; i < WS_CLASS_COUNT; i++) {
		const char *name = ws_op_class_name((enum ws_op_class)i);

		if (class.len == strlen(name) && !memcmp(class.ptr, name, class.len))
			return ws_op_class_name(summaries[i]);
	}
	return NULL;
}

static int is_reviewed(const char *by_operation, const char *by_name, struct ws_bytes name)
{
	for (size_t i = 0; i < sizeof(differences) / sizeof(*differences); i++) {
		const struct difference *d = &differences[i];

		if (!strcmp(by_operation, d->by_operation) && !strcmp(by_name, d->by_name) &&
		    memmem(name.ptr, name.len, d->part, strlen(d->part)))
			return 1;
	}
	return 0;
}

static void look_at(const struct ws_model *m, const struct ws_joined_kernel *k, struct counts *c)
{
	const struct ws_config *config = &m->configs[k->kind->config];
	const uint32_t by_operation = k->kind->range_class;
	const int64_t dur_ns = k->kind->timed ? k->dur_ns : 0;
	struct ws_bytes name = m->texts[config->name];
	const char *operation, *named;

	c->gpu_ns += dur_ns;
	if (!k->kind->class)
		c->unclassified_ns += dur_ns;
	named = config->name_class ? summary_of(m->texts[config->name_class]) : NULL;
	if (named && !strcmp(named, ws_op_class_name(WS_CLASS_COMPILED)))
		named = NULL;
	if (!named && !by_operation)
		c->unknown_ns += dur_ns;
	if (!named || !by_operation)
		return;
	c->both++;
	operation = summary_of(m->texts[by_operation]);
	if (operation && (!strcmp(operation, named) || is_reviewed(operation, named, name)))
		return;
	c->disagree++;
	printf("launched as %.*s, named as %s: %.*s\n", (int)m->texts[by_operation].len,
	       (const char *)m->texts[by_operation].ptr, named, (int)name.len,
	       (const char *)name.ptr);
}

int main(int argc, char **argv)
{
	uint64_t both = 0;
	int wrong = 0;

	if (argc < 3)
		return 2;
	if (access(argv[1], R_OK) != 0) {
		printf("SKIP: no folder %s\n", argv[1]);
		return 77;
	}
	for (int i = 2; i < argc; i++) {
		struct counts c = {0};
		char path[4096];
		struct joined *j;
		struct ws_err err;
		double unknown, unclassified;

		snprintf(path, sizeof(path), "%s/%s", argv[1], argv[i]);
		if (joined_open(&j, path, &err) != WS_OK) {
			printf("%s: %s\n", argv[i], err.text);
			return 1;
		}
		for (size_t k = 0; k < j->rows.nkernels; k++)
			look_at(j->m, ws_joined_rows_kernel(&j->rows, k), &c);
		unknown = c.gpu_ns ? 100 * (double)c.unknown_ns / (double)c.gpu_ns : 0;
		unclassified = c.gpu_ns ? 100 * (double)c.unclassified_ns / (double)c.gpu_ns : 0;
		printf("%s: %llu kernels known by both, %llu disagree, %.3f %% unknown, %.3f %% "
		       "unclassified\n",
		       argv[i], (unsigned long long)c.both, (unsigned long long)c.disagree, unknown,
		       unclassified);
		wrong |= c.disagree || unknown > UNKNOWN_PERCENT_MAX ||
		         unclassified > UNCLASSIFIED_PERCENT_MAX;
		both += c.both;
		joined_free(j);
	}
	if (!both)
		printf("no kernel is known by both: nothing was tested\n");
	return wrong || !both;
}
