#include "report/analysis/digest.h"

#include "report/base/names.h"
#include "report/model/load.h"

#define MAX_RANK 999999999

/* -1: not a number. */
static int64_t number_of(struct ws_bytes text)
{
	const char *p = text.ptr;
	int64_t number = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (p[i] < '0' || p[i] > '9' || number > MAX_RANK / 10)
			return -1;
		number = number * 10 + (p[i] - '0');
	}
	return text.len ? number : -1;
}

/* The only number in meta rows with one of the two keys; -1. */
static int64_t number_of_meta(const struct ws_model *m, const char *ours, const char *pytorchs)
{
	int64_t found = -1;

	for (uint64_t i = 0; i < m->meta.rows; i++) {
		struct ws_bytes key = ws_blob(&m->meta, WS_COL_meta_key, i);
		int64_t number = number_of(ws_blob(&m->meta, WS_COL_meta_value, i));

		if (!ws_name_is(key, ours) && !ws_name_is(key, pytorchs))
			continue;
		if (number < 0 || (found >= 0 && found != number))
			return -1;
		found = number;
	}
	return found;
}

int64_t ws_model_rank(const struct ws_model *m)
{
	return number_of_meta(m, "process.rank", "distributed.rank");
}

int64_t ws_model_world_size(const struct ws_model *m)
{
	int64_t size = number_of_meta(m, "process.world_size", "distributed.world_size");

	return size < 0 ? 0 : size;
}

bool ws_model_lacks_comm(const struct ws_model *m)
{
	return ws_model_world_size(m) > 1 && !m->has_comm && ws_model_has_kernels(m);
}
