/* Databases in whatever order; all else of them: import/scenarios/nsys.scenario. */
#include "tests/formats/nsys/import.h"

static void event_is(const struct ws_imported *i, uint64_t row, int type, int64_t time,
                     const char *domain, const char *name)
{
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, row), type), "row %d", (int)row);
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, row), time), "row %d", (int)row);
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, domain, row), (char *)domain));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, row), (char *)name));
}

/* Events may stand in the database as they are pushed, so that they need no sorting, or not. */
Test(import_nsys, ranges_are_the_same_in_whatever_order_they_stand)
{
	static const char *const events[] = {
	        "10, NULL, 59, 'a', " TID(100, 101) ", 0, 1",
	        "10, 100, 59, 'b', " TID(100, 101) ", 0, 2",
	        "10, 50, 59, 'c', " TID(100, 101) ", 0, 3",
	        "10, 50, 59, 'd', " TID(100, 101) ", 0, 4",
	        "20, 30, 59, 'e', " TID(100, 101) ", 0, 5",
	        "5, 6, 59, 'f', " TID(100, 101) ", 1, 6",
	        "1, 9, 59, 'g', " TID(100, 102) ", 0, 7",
	        "2, 3, 59, 'h', " TID(100, 102) ", 0, 8",
	};
	const int n = sizeof(events) / sizeof(*events);
	struct ws_imported *ordered = NULL;

	for (int swapped = -1; swapped < n - 1; swapped++) {
		char sql[4096] = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
		                 "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, "
		                 "text TEXT, globalTid INT, domainId INT, eventId INT);";
		struct ws_imported *i;

		for (int k = 0; k < n; k++) {
			const int at = swapped < 0        ? k
			               : k == swapped     ? k + 1
			               : k == swapped + 1 ? k - 1
			                                  : k;

			snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql),
			         "INSERT INTO NVTX_EVENTS VALUES (%s);", events[at]);
		}
		i = imported(sql);
		cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 15));
		if (!ordered) {
			ordered = i;
			continue;
		}
		for (uint64_t row = 0; row < 15; row++) {
			event_is(i, row, (int)WS_CELL(ordered, NVTX, nvtx, type, row),
			         WS_CELL(ordered, NVTX, nvtx, time_ns, row),
			         WS_CELL_TEXT(ordered, NVTX, nvtx, domain, row),
			         WS_CELL_TEXT(ordered, NVTX, nvtx, name, row));
			cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, thread, row),
			             WS_CELL(ordered, NVTX, nvtx, thread, row)));
		}
		ws_imported_free(i);
	}
	ws_imported_free(ordered);
}
