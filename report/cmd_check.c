#include <inttypes.h>

#include "formats/trace_check.h"
#include "report/command.h"

static void print_finding(void *ctx, const struct ws_finding *finding)
{
	(void)ctx;
	printf("%s at offset %" PRIu64 ": %s\n",
	       finding->level == WS_FINDING_DAMAGE ? "damage" : "note", finding->offset,
	       finding->text);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_result(const char *path, const struct ws_check_result *r)
{
	printf("%s: %" PRIu64 " block%s with %" PRIu64 " row%s, %s; ", path, r->blocks,
	       plural(r->blocks), r->rows, plural(r->rows), r->closed ? "closed" : "not closed");
	if (r->damage)
		printf("damaged, %" PRIu64 " finding%s\n", r->damage, plural(r->damage));
	else
		puts("whole");
}

static enum ws_status repair(const char *from, const char *to, struct ws_err *err)
{
	struct ws_check_result kept;

	WS_FORWARD(ws_output_spares(to, from, err));
	WS_FORWARD(ws_trace_repair(from, to, &kept, err));
	printf("%s: %" PRIu64 " block%s with %" PRIu64 " row%s rescued\n", to, kept.blocks,
	       plural(kept.blocks), kept.rows, plural(kept.rows));
	return WS_OK;
}

enum ws_status ws_cmd_check(int argc, char **argv, struct ws_err *err)
{
	struct ws_check_result result;
	const char *to = NULL;
	int help = 0, n, done;
	const struct ws_opt opts[] = {
	        {"repair", 0, WS_OPT_TEXT, "OUT.wtrace", &to,
	         "write a new trace with every whole block, and a note of\n"
	         "what was left out"},
	        WS_OPT_HELP(&help),
	};
	const struct ws_arguments a = {
	        "check",
	        "Exit status: 0 when nothing is damaged (a trace that was not closed but is whole "
	        "is a\n"
	        "note), 1 when something is, 3 when the file is no readable trace at all.",
	        opts,
	        sizeof(opts) / sizeof(*opts),
	        1,
	        1,
	};

	WS_FORWARD(ws_command_parse(&a, argc, argv, &n, &done, err));
	if (done)
		return WS_OK;
	WS_FORWARD(ws_trace_check_file(argv[0], print_finding, NULL, &result, err));
	print_result(argv[0], &result);
	if (to)
		WS_FORWARD(repair(argv[0], to, err));
	return result.damage ? WS_FINDING : WS_OK;
}
