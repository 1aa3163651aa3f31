/*
 * Attributes of a kernel derived from its name: op class, Tensor Cores, direction, dtype, tile. The
 * rules are data (class_rules.txt, explained in docs/reference/classification.md); rules of a
 * user's file come first.
 */
#pragma once

#include "formats/base/bytes.h"

/* Lines and words of a small text file in memory. These functions do not allocate. */

/* Borrowed characters from pos to before end. */
struct ws_text {
	const char *pos, *end;
};

/*
 * Removes the next line from the front of text, and returns it without line end and surrounding
 * blanks. text is empty after the last line.
 */
struct ws_text ws_text_line(struct ws_text *text);

/* Removes the next word and the blanks after it from the front of a line. Empty if there is
 * none. */
struct ws_text ws_text_word(struct ws_text *line);

/* Is the line empty, or a comment that begins with '#'? */
bool ws_text_says_nothing(struct ws_text line);

bool ws_text_is(struct ws_text word, const char *name);

/* Arguments for "%.*s" of printf: the word, cut to a length suitable for messages. */
#define WS_TEXT_SHOWN(word) ws_text_shown(word), (word).pos
int ws_text_shown(struct ws_text word);

/*
 * Readable C++ signatures for mangled kernel names (Itanium C++ ABI, which nvcc uses on Linux), by
 * libiberty.
 */

/*
 * Longer names are not demangled. The library recurses: the worst known inputs take 200 bytes of
 * stack per byte of name, so names of this length take 3.2 MiB.
 */
#define WS_DEMANGLE_MAX_BYTES (16u << 10)
/*
 * Neither are names whose signature would be longer than this: with back references, a name of 400
 * bytes can have a signature that fills the memory.
 */
#define WS_DEMANGLED_MAX_BYTES (64u << 10)

/*
 * Appends the signature of a mangled name to out: "_Z3addiPfS_" becomes "add(int, float*, float*)".
 * A name that is not mangled, invalid or over one of the limits above is appended unchanged.
 */
void ws_demangle(const char *name, size_t len, struct ws_buf *out);

/* NAME, name, NAME of its class in short summaries, meaning */
#define WS_OP_CLASS_LIST(X)                                                             \
	X(OTHER, other, OTHER, "no rule matches")                                       \
	X(GEMM, gemm, GEMM, "matrix products, matrix-vector and dot products")          \
	X(GEMM_AUX, gemm_aux, GEMM, "split-K sums and epilogues of matrix products")    \
	X(CONV, conv, CONV, "convolutions in any direction")                            \
	X(CONV_AUX, conv_aux, CONV, "transforms, offsets and sums around convolutions") \
	X(LAYOUT, layout, CONV, "NCHW and NHWC converted into each other")              \
	X(ATTENTION, attention, ATTENTION, "fused attention")                           \
	X(SOFTMAX, softmax, SOFTMAX, "softmax and log-softmax")                         \
	X(NORM, norm, NORM, "layer, RMS, batch and group normalisation")                \
	X(RECURRENCE, recurrence, RECURRENCE, "state-space scans, recurrent networks")  \
	X(ELEMENTWISE, elementwise, ELEMENTWISE, "one result an element")               \
	X(ACTIVATION, activation, ELEMENTWISE, "activations, gated or not")             \
	X(ROPE, rope, ELEMENTWISE, "rotary position embedding")                         \
	X(SCALE, scale, ELEMENTWISE, "scaling of attention scores")                     \
	X(MASK, mask, ELEMENTWISE, "masking of attention scores")                       \
	X(REDUCE, reduce, REDUCE, "sums, means, extrema, prefix sums")                  \
	X(COPY, copy, COPY, "copies and permutations")                                  \
	X(CAST, cast, COPY, "one type into another, quantisation")                      \
	X(FILL, fill, COPY, "constants and sequences written")                          \
	X(EMBEDDING, embedding, EMBEDDING, "embeddings and their gradients")            \
	X(GATHER, gather, COPY, "rows picked or written by indices")                    \
	X(LOSS, loss, LOSS, "loss functions")                                           \
	X(OPTIMIZER, optimizer, OPTIMIZER, "parameter updates, loss scaling")           \
	X(POOL, pool, POOL, "pooling")                                                  \
	X(RNG, rng, RNG, "random numbers, dropout")                                     \
	X(SORT, sort, SORT, "sorts, top-k, routing to experts")                         \
	X(COMM, comm, COMM, "communication between devices")                            \
	X(COMPILED, compiled, COMPILED, "generated kernels whose name holds no operation")

enum ws_op_class {
#define X(NAME, name, SUMMARY, meaning) WS_CLASS_##NAME,
	WS_OP_CLASS_LIST(X)
#undef X
	        WS_CLASS_COUNT
};

/* NAME, name in rules, text in tables */
#define WS_TENSOR_LIST(X)                                                          \
	X(NOT_APPLICABLE, none, "") /* the class is not gemm, conv or attention */ \
	X(NO, no, "no")                                                            \
	X(YES, yes, "yes")                                                         \
	X(UNKNOWN, unknown, "?")

enum ws_tensor {
#define X(NAME, name, shown) WS_TENSOR_##NAME,
	WS_TENSOR_LIST(X)
#undef X
	        WS_TENSOR_COUNT
};

/* fprop, dgrad and wgrad are a convolution's; everything else is fwd or bwd. NAME, name */
#define WS_NAME_DIRECTION_LIST(X) \
	X(UNKNOWN, unknown)       \
	X(FWD, fwd)               \
	X(BWD, bwd)               \
	X(FPROP, fprop)           \
	X(DGRAD, dgrad)           \
	X(WGRAD, wgrad)

enum ws_name_direction {
#define X(NAME, name) WS_NAME_DIRECTION_##NAME,
	WS_NAME_DIRECTION_LIST(X)
#undef X
	        WS_NAME_DIRECTION_COUNT
};

/* Type that the arithmetic reads; NONE: unknown from the name. NAME, name */
#define WS_NAME_DTYPE_LIST(X) \
	X(NONE, none)         \
	X(FP32, fp32)         \
	X(TF32, tf32)         \
	X(FP16, fp16)         \
	X(BF16, bf16)         \
	X(FP64, fp64)         \
	X(FP8, fp8)           \
	X(FP4, fp4)           \
	X(FP8_FP4, fp8xfp4)   \
	X(INT8, int8)

enum ws_name_dtype {
#define X(NAME, name) WS_NAME_DTYPE_##NAME,
	WS_NAME_DTYPE_LIST(X)
#undef X
	        WS_NAME_DTYPE_COUNT
};

/* For fused attention: is the kernel a call of its own, or a part of another call? A sum over
 * splits of keys belongs to the call before it, a schedule to the call after it. NAME, name */
#define WS_NAME_CALL_LIST(X) \
	X(OWN, own)          \
	X(BEFORE, before)    \
	X(BEHIND, behind)

enum ws_name_call {
#define X(NAME, name) WS_NAME_CALL_##NAME,
	WS_NAME_CALL_LIST(X)
#undef X
	        WS_NAME_CALL_COUNT
};

struct ws_kernel_traits {
	enum ws_op_class op_class;
	enum ws_tensor tensor;
	enum ws_name_direction direction;
	enum ws_name_dtype dtype;
	enum ws_name_call call;
	/* gemm and conv only; 0 = unknown from the name */
	unsigned tile_m, tile_n; /* output tile of a block */
	unsigned align;          /* least alignment of an operand in elements: 1 and 2 are slow */
	unsigned arch;           /* that the code was built for, 80 = sm_80; not the GPU's */
};

struct ws_classifier;

/* Rule files are at most this large and have at most this many rules. */
#define WS_RULES_MAX_BYTES (1u << 20)
#define WS_RULES_MAX       4096u

/*
 * A classifier with the rules of user_rules (len bytes, NULL = none) followed by the built-in
 * rules. Returns USAGE, with the line and the error, for invalid rules. Free with
 * ws_classifier_free.
 */
enum ws_status ws_classifier_new(const char *user_rules, size_t len, struct ws_classifier **out,
                                 struct ws_err *err);
void ws_classifier_free(struct ws_classifier *c); /* NULL is legal */
void ws_classify(struct ws_classifier *c, const char *name, size_t len,
                 struct ws_kernel_traits *out);
const char *ws_op_class_name(enum ws_op_class op_class);

/* "yes", "no", "?", or "" if not applicable. */
const char *ws_tensor_shown(enum ws_tensor tensor);
const char *ws_name_dtype_name(enum ws_name_dtype dtype);

/*
 * Normalises a demangled name for matching patterns: lower case, without "void ", without the
 * literal casts "(int)" that some tools print, anonymous namespaces as "anon", fbgemm_gpu as fb_gpu
 * (it is not a gemm), NUL as space. Writes at most size - 1 bytes and a NUL; returns their number.
 */
size_t ws_name_normalise(const char *name, size_t len, char *out, size_t size);
