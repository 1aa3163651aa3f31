#include "report/analysis/digest.h"

#include "report/model/load.h"

#define MAX_RANK 999999999

/* The only number in meta rows with one of the two keys; -1. */
static int64_t number_of_meta(const struct ws_model *m, const char *ours, const char *pytorchs)
{
	int64_t found = -1;

	for (uint64_t i = 0; i < m->meta.rows; i++) {
		struct ws_bytes key = ws_blob(&m->meta, WS_COL_meta_key, i);
		struct ws_bytes text = ws_blob(&m->meta, WS_COL_meta_value, i);
		int64_t number = text.len ? 0 : -1; /* -1: not a number */

		if (!ws_name_is(key, ours) && !ws_name_is(key, pytorchs))
			continue;
		for (size_t k = 0; k < text.len && number >= 0; k++) {
			const char c = ((const char *)text.ptr)[k];

			number = c < '0' || c > '9' || number > MAX_RANK / 10
			                 ? -1
			                 : number * 10 + (c - '0');
		}

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
