/*
 * Short names of kernels for people: what tells a kernel from others first,
 * never two kernels of a trace under one name.
 */
#pragma once

#include "formats/base/bytes.h"
#include "report/base/names.h"

/* The longest short name of one kernel by itself; a plain name may be longer. */
#define WS_SHORT_NAME_MAX 160u

/*
 * The short name of a demangled kernel name by itself:
 * - a frame that runs any function (elementwise_kernel, reduce_kernel …) with
 *   that function and its type: "reduce_kernel<MeanOps<float>>";
 * - a wrapper that says nothing (cutlass::Kernel2, device_kernel) as what it
 *   wraps, with the tile and the element type of a CUTLASS template:
 *   "cutlass::gemm::kernel::GemmUniversal<64x128x64, bfloat16_t>";
 * - Tensile's names up to the tile and the matrix instruction;
 * - every other name as ws_name_short gives it.
 * Appended to out.
 */
enum ws_status ws_short_name(struct ws_bytes name, struct ws_buf *out, struct ws_err *err);

/*
 * The same for n different names at once: those that would be equal get what
 * tells them apart, "f [4, float]" (the template arguments that differ), and
 * where that is too long a hash of the whole name, "f #1a2b3c4d". out[i] points
 * into text, which is freed by the caller once out is no longer used.
 */
enum ws_status ws_short_names(const struct ws_bytes *names, size_t n, struct ws_buf *text,
                              struct ws_bytes *out, struct ws_err *err);
