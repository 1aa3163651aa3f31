/*
 * CUPTI has two interfaces for activities. That of 13.0 and before is one for the whole
 * process: whoever registers buffers last gets all records. From 13.3 on each subscriber can
 * have its own ("subscriber scope"). Here the newer one is used where the library has all of
 * it, and nothing else need know which it is.
 * Every function returns a CUptiResult.
 */
#pragma once

#include "recorder/shared/cupti_abi.h"

/* Where CUPTI gets buffers and gives them back; _v2: where each subscriber has its own. */
struct ws_cupti_buffers {
	ws_cupti_request request;
	ws_cupti_complete complete;
	ws_cupti_scoped_request request_v2;
	ws_cupti_scoped_complete complete_v2;
};
/* Subscribe, beside others where that can be, and register our buffers. */
struct ws_cupti_subscription {
	ws_cupti_callback callback;
	const struct ws_cupti_buffers *buffers;
	void (*set_attributes)(void); /* before buffers are registered, as the header asks for */
	char *other_tool;             /* room for the name of another tool, if the result is
	                                 MULTIPLE_SUBSCRIBERS */
	size_t other_size;
	const char *function; /* what failed */
};
int ws_cupti_subscribe(struct ws_cupti_subscription *s);
int ws_cupti_set(int attribute); /* to 1 */
int ws_cupti_enable(int kind);
/* One call of the API; WS_CUPTI_NO_FUNCTION where only all of them can be enabled. */
int ws_cupti_enable_call(uint32_t domain, uint32_t cbid);
int ws_cupti_enable_callback(uint32_t domain, uint32_t cbid);
int ws_cupti_next(uint8_t *buffer, size_t valid_size, uint8_t **record);
int ws_cupti_time(uint64_t *now);
/*
 * Tell the launcher, which opens no library of the program's, how long records are: by these it
 * steps from one to the next. CUPTI of 13.2 and later knows that only with a driver, maybe not
 * while that initializes: so before each buffer is handed over, until it was told.
 */
void ws_cupti_tell_sizes(void);

#define WS_CUPTI_NO_FUNCTION (-1)
