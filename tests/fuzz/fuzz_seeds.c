/* fuzz_trace_seeds FOLDER: write the traces that the corpus begins with. */
#include <stdio.h>

#include "tests/support/trace_sample.h"

static int write_seed(const char *folder, const char *name, const struct ws_sample *s, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(s->data, 1, size, f) != size || fclose(f) != 0) {
		fprintf(stderr, "cannot write %s\n", path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct ws_sample closed = ws_sample_make(), unclosed = ws_sample_make_unclosed();
	struct ws_sample modelled = ws_sample_make_modelled();
	int bad;

	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_trace_seeds FOLDER\n");
		return 2;
	}
	bad = write_seed(argv[1], "closed.wtrace", &closed, closed.size);
	bad |= write_seed(argv[1], "cut.wtrace", &unclosed, unclosed.size - 100);
	bad |= write_seed(argv[1], "empty.wtrace", &unclosed, 0);
	bad |= write_seed(argv[1], "schema.wtrace", &unclosed,
	                  ws_sample_block(&unclosed, WS_KIND_STRING, 0));
	bad |= write_seed(argv[1], "modelled.wtrace", &modelled, modelled.size);
	ws_sample_free(&modelled);
	ws_sample_free(&closed);
	ws_sample_free(&unclosed);
	return bad;
}
