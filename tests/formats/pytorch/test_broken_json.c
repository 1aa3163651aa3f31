/* Invalid JSON that no text can hold, or much of it; all else: import/scenarios/pytorch.scenario.
 */
#include <ctype.h>
#include <unistd.h>

#include "tests/formats/pytorch/import.h"
#include "tests/support/trace_sample.h"

Test(broken_json, control_characters_and_bad_escapes_in_names_cost_nothing)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" CALL("a\x01"
	                                           "b",
	                                           1) "," CALL("C:\\Users\\x\\new",
	                                                       2) "," CALL("tab\there", 3) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 3));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0),
	             (char *)"a\x01"
	                     "b"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 1), (char *)"C:\\Users\\x\new"));
	cr_assert(ws_imported_warned(i, "raw control characters, kept as they are: 2"));
	cr_assert(ws_imported_warned(i, "JSON does not know, kept as they are: 1"));
	ws_imported_free(i);
}

Test(broken_json, what_follows_the_document_is_counted_over_many_windows)
{
	static const char document[] = "{\"traceEvents\":[" CALL("a", 1) "]}";
	static const char event[] = "{\"ph\":\"i\"},\n";
	const size_t copies = 100000, begin = strlen(document);
	char *text = malloc(begin + copies * strlen(event) + 1), *at = text;
	char words[60];
	struct ws_imported *i;

	at = stpcpy(at, document);
	for (size_t k = 0; k < copies; k++)
		at = stpcpy(at, event);
	i = imported(text);
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), copies));
	snprintf(words, sizeof(words), "the document ends at byte %zu", begin);
	cr_assert(ws_imported_warned(i, words));
	ws_imported_free(i);
	free(text);
}

Test(broken_json, space_behind_the_document_is_nothing)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" CALL("a", 1) "]} \r\n\t\n");

	cr_assert(eq(u64, i->stats.nwarnings, 0));
	cr_assert(eq(u64, rows(i, WS_KIND_LOSS), 0));
	ws_imported_free(i);
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
	ws_imported_free(i);
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
		ws_imported_free(i);
	}
	cr_assert(eq(u64, damage, 0));
	free(text);
	free(right);
}
