/*
 * Any bytes as a command line, words apart by NUL: a table with an option of every kind, the words
 * one at a time, and the command line of warpsheet-record.
 */
#include <stdlib.h>

#include "formats/base/options.h"
#include "recorder/launch/launch.h"
#include "tests/fuzz/mutate.h"

#define MAX_WORDS 24
#define MAX_BYTES 512

static void parse_table(int argc, char **argv)
{
	bool flag = false, given = false;
	const char *text = NULL;
	int64_t number = 0, range[2] = {-1, -1}, size = 0, seconds = 0;
	struct ws_opt_texts texts = {.n = 0};
	double real = 0;
	int choice = 0, n = 0;
	const struct ws_opt opts[] = {
	        WS_OPT("flag", 'f', FLAG, NULL, &flag, "a flag"),
	        WS_OPT("text", 't', TEXT, "WORD", &text, "a word", .given = &given),
	        WS_OPT("texts", 0, TEXTS, "WORD", &texts, "some words"),
	        WS_OPT("number", 'n', INT, "N", &number, "a number", .min = 1, .max = 1000),
	        WS_OPT("real", 'r', REAL, "X", &real, "a fraction"),
	        WS_OPT("choice", 'c', CHOICE, "one|two|three", &choice, "one of three"),
	        WS_OPT("range", 0, RANGE, "A..B", range, "a range"),
	        WS_OPT("size", 's', SIZE, "BYTES", &size, "bytes", .max = INT64_MAX),
	        WS_OPT("seconds", 0, SECONDS, "S", &seconds, "seconds"),
	};
	const size_t nopts = sizeof(opts) / sizeof(*opts);
	struct ws_opt_parser p = {opts, nopts, argv, argc, 0};
	const struct ws_opt *taken;
	struct ws_err err;

	while (p.pos < argc) {
		if (ws_opt_take(&p, &taken, &err) != WS_OK)
			break;
		p.pos += !taken;
	}
	ws_opt_asks_help(argc, argv);
	number = choice = 0; /* a wrong value may have been left there */
	if (ws_opt_parse(opts, nopts, argc, argv, &n, &err) == WS_OK &&
	    (n > argc || choice < 0 || choice > 2 || (number && (number < 1 || number > 1000))))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char bytes[MAX_BYTES + 1], *words[MAX_WORDS + 1], *again[MAX_WORDS + 1];
	struct ws_record_command cmd;
	struct ws_err err;
	int n = 0;

	size = size < MAX_BYTES ? size : MAX_BYTES;
	if (size)
		memcpy(bytes, data, size);
	bytes[size] = 0;
	for (size_t at = 0; at < size && n < MAX_WORDS; at += strlen(bytes + at) + 1)
		words[n++] = bytes + at;
	words[n] = NULL;
	memcpy(again, words, sizeof(again));
	parse_table(n, words);
	/* argv[0] is the program */
	if (n) {
		ws_record_command_parse(&cmd, n, again, &err);
		ws_record_command_release(&cmd);
	}
	return 0;
}
