/*
 * What a device can do at most: arithmetic and memory, by product name. The
 * table is data (device_peaks.txt, shown in docs/reference/devices.md); a file of the
 * user's stands before it, measured values before both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

/* NAME, name in files, factor to base units, base unit, meaning */
#define WS_PEAK_LIST(X)                                                       \
	X(FP32, fp32, 1e12, "FLOP/s", "fp32 without Tensor Cores")            \
	X(TF32, tf32, 1e12, "FLOP/s", "TF32 on Tensor Cores")                 \
	X(FP16, fp16, 1e12, "FLOP/s", "fp16 on Tensor Cores, summed in fp32") \
	X(BF16, bf16, 1e12, "FLOP/s", "bf16 on Tensor Cores, summed in fp32") \
	X(FP8, fp8, 1e12, "FLOP/s", "fp8 on Tensor Cores, summed in fp32")    \
	X(MEMORY, memory, 1e9, "bytes/s", "device memory")

enum ws_peak {
#define X(NAME, name, factor, unit, meaning) WS_PEAK_##NAME,
	WS_PEAK_LIST(X)
#undef X
	        WS_PEAK_COUNT
};

struct ws_device_peaks {
	double value[WS_PEAK_COUNT]; /* FLOP/s dense, bytes/s; 0 = not known */
	unsigned measured;           /* bit 1 << WS_PEAK_…: measured, not from a data sheet */
	const char *pattern;         /* the row; these belong to the table */
	const char *source;
	int from_user;
};

struct ws_peaks;

#define WS_PEAKS_MAX_BYTES (1u << 20) /* of a user's file */
#define WS_PEAKS_MAX_ROWS  4096u

/*
 * The built-in table, and before it the rows of user_rows (len bytes, NULL =
 * none). USAGE names the line and what is wrong with it. Free with
 * ws_peaks_free.
 */
enum ws_status ws_peaks_new(const char *user_rows, size_t len, struct ws_peaks **out,
                            struct ws_err *err);
void ws_peaks_free(struct ws_peaks *peaks); /* NULL is legal */

/* The first row that matches a product name, any bytes. 0 when none does: then nothing is known. */
bool ws_peaks_find(const struct ws_peaks *peaks, const char *name, size_t len,
                   struct ws_device_peaks *out);

/* Rows in order, for pages that list them. 0 when there is no such row. */
bool ws_peaks_row(const struct ws_peaks *peaks, size_t row, struct ws_device_peaks *out);

/*
 * Put a measured value in place of a data sheet's; base unit. One that is not
 * finite and positive changes nothing.
 */
void ws_device_peaks_measured(struct ws_device_peaks *peaks, enum ws_peak which, double value);

/* Of a row's source what a reader is told: without the sum that its numbers are checked by. */
static inline int ws_peaks_source_len(const struct ws_device_peaks *peaks)
{
	const char *check = strstr(peaks->source, "; check ");

	return check ? (int)(check - peaks->source) : (int)strlen(peaks->source);
}

/* Does the table say that nobody held the row against its source? Measured ones are known. */
static inline bool ws_peaks_unconfirmed(const struct ws_device_peaks *peaks)
{
	return peaks->source && !peaks->from_user && !peaks->measured &&
	       strstr(peaks->source, "not compared");
}

const char *ws_peak_name(enum ws_peak which); /* "tf32" */

/* Does the product name say that AMD made the device? 0 for an empty name. */
bool ws_device_name_is_amd(const char *name, size_t len);
