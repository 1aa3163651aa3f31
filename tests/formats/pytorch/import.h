/* What the tests of the import of PyTorch share. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/imported.h"
#include "tests/support/paths.h"

static inline struct ws_imported *import(const char *json)
{
	return ws_imported_bytes(json, strlen(json));
}

/* An import that must work and make a sound trace. */
static inline struct ws_imported *imported(const char *json)
{
	struct ws_imported *i = import(json);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	return i;
}

static inline uint64_t rows(const struct ws_imported *i, enum ws_kind kind)
{
	return i->table[kind].rows;
}

/* The file of a generation, to be freed: import/scenarios/generation_YEAR.json. */
static inline char *generation(int year)
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

#define CALL(name, ts)                                            \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
	"\",\"pid\":1,\"tid\":2,\"ts\":" #ts ",\"dur\":1,\"args\":{\"correlation\":" #ts "}}"
