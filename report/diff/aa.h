/*
 * An A/A test: recordings of one and the same thing compared with each other.
 * How often would the comparer have cried wolf, and what could it have found?
 */
#pragma once

#include "report/diff/diff.h"

/*
 * The tables of WS_AA_TABLES, of the recordings of side 0; USAGE with under two.
 * Once only. opts NULL: the defaults. *verdict: the answer in a sentence.
 */
enum ws_status ws_aa_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                          struct ws_report **out, char verdict[512], struct ws_err *err);
