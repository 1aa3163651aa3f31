/* The tables of tables.def as data, and functions shared by their builders. */
#include "report/tables/tables.h"

WS_ALL_TABLES(WS_TABLE_MADE)

#define T(id, ...) &ws_def_##id,
/* tables of every report, then those on request */
static const struct ws_table_def *const report_defs[] = {WS_REPORT_TABLES(T) WS_REQUEST_TABLES(T)};

/* ws_diff_defs: the tables of a comparison, and the method. */
#define LIST(name, TABLES)                                                                    \
	const struct ws_table_def *const *ws_##name##_defs(size_t *count)                     \
	{                                                                                     \
		static const struct ws_table_def *const defs[] = {TABLES(T) & ws_def_method}; \
                                                                                              \
		*count = sizeof(defs) / sizeof(*defs);                                        \
		return defs;                                                                  \
	}
LIST(diff, WS_DIFF_TABLES)
LIST(aa, WS_AA_TABLES)
LIST(gate, WS_GATE_TABLES)
LIST(referee, WS_REFEREE_TABLES)
LIST(sweep, WS_SWEEP_TABLES)
LIST(ranks, WS_RANKS_TABLES)
#undef LIST
#undef T

#define T(id, ...) +1
enum { NREPORT = 0 WS_REPORT_TABLES(T), NKNOWN = NREPORT WS_REQUEST_TABLES(T) };
#undef T

const struct ws_table_def *const *ws_table_defs(size_t *count)
{
	*count = NREPORT;
	return report_defs;
}

const struct ws_table_query *ws_table_query_of(const struct ws_table_def *def)
{
	static const struct ws_table_query *const queries[] = {
#define T(id, ...) &ws_sql_##id,
	        WS_ALL_TABLES(T)
#undef T
	};
	size_t i = 0;

	while (queries[i]->def != def)
		i++;
	return queries[i];
}

const struct ws_table_def *const *ws_table_defs_all(size_t *count)
{
	*count = NKNOWN;
	return report_defs;
}

static const struct {
	const char *alias, *name;
} aliases[] = {
#define A(alias, name) {alias, name},
        WS_TABLE_ALIASES(A)
#undef A
};

const struct ws_table_def *ws_table_def_by_name(const char *name)
{
	const struct ws_table_def *begins = NULL;
	size_t nbegin = 0;

	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcasecmp(aliases[i].alias, name))
			name = aliases[i].name;
	for (size_t i = 0; i < NKNOWN; i++) {
		if (!strcmp(report_defs[i]->name, name))
			return report_defs[i];
		if (*name && !strncmp(report_defs[i]->name, name, strlen(name))) {
			begins = report_defs[i];
			nbegin++;
		}
	}
	return nbegin == 1 ? begins : NULL;
}

/* --- cells ------------------------------------------------------------------------------- */

void ws_cell_set_model_text(struct ws_table *t, struct ws_cell *cell, const struct ws_model *m,
                            uint32_t text)
{
	if (m->texts[text].len)
		ws_cell_set_text(t, cell, m->texts[text].ptr, m->texts[text].len);
}

void ws_cell_set_mean(struct ws_cell *cell, int64_t sum, uint64_t n)
{
	if (!n)
		return;
	if (n <= INT64_MAX && sum % (int64_t)n == 0)
		ws_cell_set_int(cell, sum / (int64_t)n);
	else
		ws_cell_set_real(cell, (double)sum / (double)n);
}

void ws_cell_set_share(struct ws_cell *cell, int64_t part, int64_t whole)
{
	ws_cell_set_real(cell, ws_stat_percent((double)part, (double)whole));
}
