/* Files that are cut off or wrong at any byte, and what no text can hold; all else:
 * import/scenarios/. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <ctype.h>
#include <unistd.h>

#include "tests/support/imported.h"
#include "tests/support/paths.h"
#include "tests/support/peak_memory.h"
#include "tests/support/trace_sample.h"

/* The file of a generation, to be freed: import/scenarios/generation_YEAR.json. */
static char *generation(int year)
{
	char path[4096], *text = calloc(1, 8192);
	FILE *f;

	snprintf(path, sizeof(path),
	         WS_SOURCE_DIR "/tests/formats/import/scenarios/generation_%d.json", year);
	f = fopen(path, "r");
	cr_assert(f && text && fread(text, 1, 8191, f) > 100 && feof(f));
	fclose(f);
	text[strlen(text) - 1] = '\0'; /* the end of the last line */
	return text;
}

/* The byte from which to try next: within a word or a number one is as good as another. */
static size_t after(const char *text, size_t at)
{
	at += WS_SAMPLE_STRIDE;
	while (at > 1 && isalnum(text[at - 2]) && isalnum(text[at - 1]) && isalnum(text[at]) &&
	       isalnum(text[at + 1]))
		at++;
	return at;
}

/* What is wrong with an import of the first `cut` bytes; NULL: nothing. One assertion a file, for
 * the test program is told of each. */
static const char *cut_fault(const char *text, size_t cut, uint64_t *kept)
{
	struct ws_imported *i = ws_imported_bytes(text, cut);
	const char *fault = NULL;

	if (i->damage)
		fault = "the trace is damaged";
	else if (i->status == WS_OK && i->stats.kept < *kept)
		fault = "fewer records than from less of the file";
	else if (i->status == WS_OK && !i->stats.nwarnings)
		fault = "nobody said that the file is cut off";
	else if (i->status != WS_OK && (*kept || i->status == WS_BUG))
		fault = "refused, after less of it was read";
	if (i->status == WS_OK)
		*kept = i->stats.kept;
	free(i);
	return fault;
}

Test(broken_json, a_file_cut_off_at_any_byte_is_read_up_to_there)
{
	char *const files[] = {generation(2021), generation(2022), generation(2024)};

	for (size_t f = 0; f < 3; f++) {
		const size_t len = strlen(files[f]);
		uint64_t kept = 0;

		for (size_t cut = 0; cut < len; cut = after(files[f], cut)) {
			const char *fault = cut_fault(files[f], cut, &kept);

			if (fault)
				cr_fail("file %zu, first %zu bytes: %s", f, cut, fault);
		}
		cr_assert(gt(u64, kept, 3));
		free(files[f]);
	}
}

Test(broken_json, any_byte_may_be_wrong)
{
	char *const right = generation(2022);
	const size_t len = strlen(right);
	char *text = malloc(len);
	uint64_t damage = 0;

	for (size_t at = 0; at < len && !damage; at = after(right, at)) {
		static const char wrong[] = {0, '"', '{', '}', '\\', (char)0xff};
		struct ws_imported *i;

		memcpy(text, right, len);
		text[at] = wrong[at % sizeof(wrong)];
		i = ws_imported_bytes(text, len);
		damage = i->damage;
		free(i);
	}
	cr_assert(eq(u64, damage, 0));
	free(text);
	free(right);
}

Test(broken_json, what_waits_for_the_end_costs_its_text_and_100_bytes)
{
	static const char half[] =
	        "{\"ph\":\"B\",\"cat\":\"x\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},";
	const size_t copies = 200000, size = copies * (sizeof(half) - 1) + 100;
	char *text = malloc(size), *at = stpcpy(text, "{\"traceEvents\":[");
	struct ws_imported *i;
	long before;

	for (size_t k = 0; k < copies; k++)
		at = stpcpy(at, half);
	(void)stpcpy(at, "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":2}]}");
	begin_peak_memory();
	before = peak_memory_kib();
	i = ws_imported_bytes(text, strlen(text));
	cr_assert(
	        le(i64, peak_memory_kib() - before, (int64_t)(size + 100 * copies) / 1024 + 4096));
	cr_assert(eq(u64, i->stats.losses[WS_LOST_import_begin_without_end].count, copies - 1));
	cr_assert(eq(u64, i->stats.events, i->stats.kept + ws_import_left_out(&i->stats)));
	free(i);
	free(text);
}

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	cr_assert(ge(u64, done, last[0]), "it never goes back");
	cr_assert(le(u64, done, total), "%llu of %llu", (unsigned long long)done,
	          (unsigned long long)total);
	last[0] = done;
	last[1] = total;
}

Test(broken_json, an_unnamed_trace_can_be_read_and_leaves_nothing)
{
	static const char path[] = WS_FIXTURES "/imports/event-sync-a100.json.gz",
	                  absent[] = "/nowhere/at/all.json";
	char name[32], folder[] = "/tmp/ws-unnamed-XXXXXX";
	struct ws_import_stats *stats = calloc(1, sizeof(*stats));
	uint64_t last[2] = {0};
	const struct ws_import_opts opts = {.progress = note_progress, .progress_ctx = last};
	struct ws_trace_reader *reader;
	const struct ws_importer *importer;
	const char *cure;
	int fd;

	cr_assert(mkdtemp(folder) != NULL);
	setenv("TMPDIR", folder, 1);
	cr_assert(eq(int, ws_import_find(path, &importer, &cure, NULL), WS_OK));
	cr_assert(importer == &ws_importer_pytorch);
	cr_assert(eq(int, ws_import_unnamed(path, &opts, &fd, stats, NULL), WS_OK));
	cr_assert(eq(u64, stats->events, 149));
	cr_assert(gt(u64, last[1], 0), "progress was told");
	cr_assert(eq(u64, last[0], last[1]), "up to the end");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	cr_assert(eq(int, ws_import_find(name, &importer, &cure, NULL), WS_OK));
	cr_assert(importer == NULL, "a trace needs no import");
	cr_assert(eq(int, ws_trace_reader_open(&reader, name, NULL), WS_OK));
	cr_assert(ne(i64, ws_trace_reader_summary(reader)->base_ns, 0));
	ws_trace_reader_free(reader);
	close(fd);
	cr_assert(eq(int, ws_import_unnamed(absent, NULL, &fd, stats, NULL), WS_IO_READ));
	cr_assert(eq(int, rmdir(folder), 0), "nothing is in it");
	setenv("TMPDIR", "/nowhere/at/all", 1);
	cr_assert(eq(int, ws_import_unnamed(path, NULL, &fd, stats, NULL), WS_IO_WRITE));
	free(stats);
}
