#include "report/commands/command.h"

/* WS_HAVE_…: 1 or 0, from the build. */
#define FEATURES(X)                                                               \
	X("cpu", 1, "the CPU reference backend of warpsheet-step")                \
	X("openblas", WS_HAVE_OPENBLAS, "its matrix multiplications by OpenBLAS") \
	X("cuda", WS_HAVE_CUDA, "the CUDA backend of warpsheet-step")             \
	X("cupti", 1, "recording of CUDA programs through CUPTI")                 \
	X("nvtx", 1, "recording of NVTX ranges")                                  \
	X("zstd", 1, "compression of traces")                                     \
	X("xlsx", 1, "reports as workbooks")                                      \
	X("csv", 1, "reports as CSV")                                             \
	X("json", 1, "reports as JSON")                                           \
	X("md", 1, "reports as Markdown")                                         \
	X("import", 1, "reading of other tools' traces")                          \
	X("export", 1, "writing of other tools' formats")                         \
	X("parquet", 1, "writing of Parquet, one of them")                        \
	X("sweep", 0, "many traces in one table")

static const struct feature {
	const char *name;
	int present;
	const char *meaning;
} features[] = {
#define X(name, present, meaning) {name, present, meaning},
        FEATURES(X)
#undef X
};
#define NFEATURES (sizeof(features) / sizeof(*features))

enum ws_status ws_cmd_check_feature(int argc, char **argv, struct ws_err *err)
{
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("check-feature", opts, 0, 1, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	if (!n) {
		for (size_t i = 0; i < NFEATURES; i++)
			printf("%-10s %-4s %s\n", features[i].name,
			       features[i].present ? "yes" : "no", features[i].meaning);
		return WS_OK;
	}
	for (size_t i = 0; i < NFEATURES; i++) {
		if (!strcmp(features[i].name, argv[0])) {
			printf("%s: %s\n", argv[0], features[i].present ? "yes" : "no");
			return features[i].present ? WS_OK : WS_FINDING;
		}
	}
	return WS_FAIL(err, FINDING, "this version has no feature called '%s'", argv[0]);
}
