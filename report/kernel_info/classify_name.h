/*
 * The part of classification that needs no rules: bringing a name into the
 * form that patterns see, and reading numbers out of it. Used by classify.c.
 */
#pragma once

#include "report/kernel_info/classify.h"

/* Fill tile_m, tile_n, align and arch from a normalised gemm or conv name. */
void ws_name_parse(const char *name, struct ws_kernel_traits *out);
