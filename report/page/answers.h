/*
 * What the first screen of a comparison, or of many ranks, says, whatever it is shown on. Plain
 * data, made with the tables; writers choose places and never numbers. docs/dev/pages.md
 *
 * Times are ns a step, or of the whole run where there are no steps.
 */
#pragma once

#include "report/page/page.h"

#define WS_ANSWERS 4
#define WS_CHANGES 10

/* A bar of the way from A's step to B's: the first and the last stand on 0. */
struct ws_change_bar {
	const char *name;
	double from_ns, to_ns;
	bool is_whole;
};

/* An operation that both sides ran. */
struct ws_change {
	const char *name, *class, *grade; /* "" = none */
	const char *shape;                /* behind the phase, where another row has the name */
	enum ws_page_colour colour;
	double calls[2], ns[2], ratio, low, high; /* NaN = not known */
};

struct ws_answers {
	const char *title;  /* "fp32 (A) → bf16 (B)", "8 ranks" */
	const char *source; /* the grey line */
	struct ws_answer {
		struct ws_page_line line;
		const char *grade; /* "LIKELY FASTER"; "" = none */
	} answer[WS_ANSWERS];
	size_t n;
	const char *note; /* what they rest on; NULL */
	struct ws_change_bar *bar;
	size_t nbars;                        /* 0: nothing is compared */
	struct ws_change change[WS_CHANGES]; /* largest first */
	size_t nchanges;
	/* of a comparison what is shown of each side: its tree, and in HTML its timeline; NULL */
	struct ws_page *side[2];
	const char *side_name[2], *side_title[2]; /* "fp32", "fp32 (A)" */
	struct ws_arena arena;
};

struct ws_answers *ws_answers_new(void);
void ws_answers_free(struct ws_answers *answers); /* NULL is legal */
/* The next answer, which is empty; the last one again when there are enough. */
struct ws_answer *ws_answers_next(struct ws_answers *answers);
/* Nodes of both trees that are the same part: ws_page_node.other. */
void ws_pages_match(struct ws_page *a, struct ws_page *b);
/* How B's time of a node of either tree is to A's; NaN: one side alone has it. */
double ws_pages_ratio(const struct ws_page *of, const struct ws_page *other, size_t node,
                      bool is_b);
/* What its colour says of a change: nothing under 3 %. */
enum ws_change_colour { WS_CHANGE_NONE, WS_CHANGE_SAVES, WS_CHANGE_COSTS, WS_CHANGE_ALONE };
enum ws_change_colour ws_change_colour(double ratio);
