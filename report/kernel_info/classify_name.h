/*
 * The part of classification that needs no rules: bringing a name into the
 * form that patterns see, and reading numbers out of it. Used by classify.c.
 */
#ifndef WS_REPORT_KERNEL_INFO_CLASSIFY_NAME_H
#define WS_REPORT_KERNEL_INFO_CLASSIFY_NAME_H

#include "report/kernel_info/classify.h"

/* Fill tile_m, tile_n, align and arch from a normalised gemm or conv name. */
void ws_name_parse(const char *name, struct ws_kernel_traits *out);

#endif
