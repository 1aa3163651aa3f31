/*
 * Shortening names for display. The steps, in the order in which they apply:
 *
 *   ws_name_steady    without parts that vary between calls: ranges and operations
 *   ws_name_roll_up   with * for the numbers of layers: paths of ranges
 *   ws_short_name     the distinguishing part of a kernel's name
 *   ws_short_names    the same for all kernels of a trace, never equal for two of them
 *   ws_names_elide    cut to the width of a column, where different names stay different
 *
 * The first two write at most as many bytes as the name has, and return how many.
 */
#pragma once

#include "formats/base/memory.h"
#include "formats/schema/schema.h"

/*
 * A name without the parts that vary between calls: without the numbers that PyTorch's emit_nvtx
 * appends (", op_id = 7", ", seq = 7", ", sizes = [[2, 3]]", ", input_op_ids = [(7, 0)]"), and with
 * the number of "#7" and of an address 0x7f12ab as *.
 */
size_t ws_name_steady(struct ws_bytes name, char *out);

/*
 * A path of ranges with * for the numbers of its layers: "layer *" for "layer 3". A number counts
 * if it follows a blank or punctuation: not that of "conv2d", nor one at the beginning.
 */
size_t ws_name_roll_up(struct ws_bytes text, char *out);

/*
 * The short name of a demangled kernel name by itself:
 * - a frame that runs any function (elementwise_kernel, reduce_kernel …) with
 *   that function and its type: "reduce_kernel<MeanOps<float>>";
 * - a wrapper without a meaning of its own (cutlass::Kernel2, device_kernel) as the wrapped kernel,
 * with the tile and the element type of a CUTLASS template:
 *   "cutlass::gemm::kernel::GemmUniversal<64x128x64, bfloat16_t>";
 * - Tensile's names up to the tile and the matrix instruction;
 * - every other name as ws_name_function gives it.
 * Appended to out.
 */
void ws_short_name(struct ws_bytes name, struct ws_buf *out);

/*
 * The same for n different names at once, without namespaces, except the nearest ones if needed to
 * distinguish names, "fp8::GemmKernel". Names that would be equal get the template arguments that
 * differ, "f [4, float]", or, if these are too long, a hash of the whole name, "f #1a2b3c4d".
 * out[i] points into text, which the caller frees after the last use of out.
 */
void ws_short_names(const struct ws_bytes *names, size_t n, struct ws_buf *text,
                    struct ws_bytes *out);

/* Part of the width for the beginning of a name, which shows the kind of kernel; the end is more
 * specific and gets the rest. */
#define WS_ELIDE_HEAD(width) ((width) / 4)

/*
 * Cuts the n names of one column, which may repeat, to at most `width` columns of a terminal:
 * `head` columns of the beginning stay (0 for paths), "…" stands for what goes, and the end stays.
 * Different names stay different: if they would be cut to equal texts, the place where the names
 * differ is shown, too, and if that is not enough, they end in "~1", "~2" in the order of their
 * bytes; only if the width has no room for that they may become equal. Cut names are texts in the
 * arena.
 */
void ws_names_elide(struct ws_arena *arena, struct ws_bytes *names, size_t n, size_t width,
                    size_t head);
