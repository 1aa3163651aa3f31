/*
 * A part of a page of docs/ that is made from the program's own lists. It lies between
 * "begin NAME -->" and "<!-- end NAME -->".
 */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/paths.h"

/*
 * Fails the test where the part of docs/PAGE is not what print makes. With UPDATE_DOCS in the
 * environment it is written instead: run/update docs.
 */
static inline void doc_section_check(const char *page, const char *name, void (*print)(FILE *f))
{
	char path[512], begin[64], end[64], *made = NULL, *text = NULL, *part, *behind;
	size_t len = 0, made_len = 0, line = 1, at = 0;
	FILE *f = open_memstream(&made, &made_len);

	print(f);
	fclose(f);
	snprintf(path, sizeof(path), "%s/docs/%s", WS_SOURCE_DIR, page);
	snprintf(begin, sizeof(begin), "begin %s -->\n", name);
	snprintf(end, sizeof(end), "<!-- end %s -->", name);
	f = fopen(path, "rb");
	cr_assert_not_null(f, "cannot open %s", path);
	cr_assert(getdelim(&text, &len, '\0', f) > 0, "cannot read %s", path);
	fclose(f);
	part = strstr(text, begin);
	cr_assert_not_null(part, "%s has no mark '%s'", path, begin);
	part += strlen(begin);
	behind = strstr(part, end);
	cr_assert_not_null(behind, "%s has no mark '%s'", path, end);
	if (getenv("UPDATE_DOCS")) {
		f = fopen(path, "wb");
		cr_assert_not_null(f, "cannot write %s", path);
		fprintf(f, "%.*s%s%s", (int)(part - text), text, made, behind);
		cr_assert(eq(int, fclose(f), 0));
	} else {
		*behind = '\0';
		for (size_t i = 0; i < made_len && made[i] == part[i]; i++)
			if (made[i] == '\n') {
				line++;
				at = i + 1;
			}
		cr_assert(strcmp(part, made) == 0,
		          "%s is not what the program says, from line %zu behind '%s'; "
		          "`run/update docs` makes it:\n%.*s",
		          path, line, begin, (int)strcspn(made + at, "\n"), made + at);
	}
	free(made);
	free(text);
}
