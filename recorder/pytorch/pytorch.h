/* PyTorch in this process: its operations are recorded from ws_pytorch_attach() on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the library with this handle (of dlopen, or RTLD_DEFAULT) is PyTorch. */
bool ws_pytorch_is_in(void *handle);
/* Begins to record operations. Called when the process is recorded with --pytorch; a second call
 * does nothing. */
void ws_pytorch_attach(void *handle);
/* Called in a forked child: resets the locks, which no thread holds. */
void ws_pytorch_forked(void);

/* --- for files of this folder --- */

/*
 * Functions of the PyTorch in this process, found by name, and offsets in its objects, tested on
 * objects with known contents. docs/dev/pytorch.md explains how.
 */

/* at::RecordFunctionCallback, which is passed by value. */
struct ws_torch_callback {
	void *start, *end;
	double sampling;
	uint8_t scopes[10];
	uint8_t needs_inputs, needs_outputs, needs_ids;
};

/* Of at::RecordScope. */
enum ws_torch_scope {
	WS_SCOPE_FUNCTION = 0,
	WS_SCOPE_USER = 7,
};

/* Tags of c10::IValue. */
struct ws_torch_tags {
	uint32_t tensor, integer, boolean, list;
	uint32_t real,
	        complex; /* after tensors and before integers in every PyTorch release so far */
};

/* Offsets of c10::TensorImpl. */
struct ws_torch_tensor {
	uint32_t ndim, sizes, strides, numel, type;
	uint32_t keys; /* dispatch keys, a bit each */
	/* those of Python classes, which may report other sizes, and of the device `meta`, on which
	 * nothing is computed */
	uint64_t unlike;
};

#define WS_TORCH_INLINE_DIMS 5 /* more dimensions are in separate memory */

struct ws_torch {
	/* functions */
	uint64_t (*add_callback)(struct ws_torch_callback callback);
	void (*remove_callback)(uint64_t handle);
	void (*enable_callback)(uint64_t handle);
	void (*disable_callback)(uint64_t handle);
	const char *(*name)(const void *fn);
	size_t (*num_inputs)(const void *fn);
	int64_t (*peek_sequence)(void); /* NULL: no links */
	const void *undefined;          /* the TensorImpl of an undefined tensor; NULL: unknown */
	const char *(*key_name)(uint16_t key);
	bool (*is_tensor_list)(const void *value);
	struct {
		int32_t (*empty_strided)(int64_t ndim, const int64_t *sizes, const int64_t *strides,
		                         int32_t type, int32_t device, int32_t index, void **out);
		int32_t (*copy)(void *self, void *from, int32_t non_blocking);
		int32_t (*sizes)(void *tensor, int64_t **out);
		int32_t (*strides)(void *tensor, int64_t **out);
		int32_t (*delete)(void *tensor);
	} shim;

	/* found by tests */
	bool has_inputs; /* the fields below are proved */
	uint32_t inputs; /* offset in RecordFunction: pointer and count */
	uint32_t items;  /* offset in a list: begin and end of its IValues */
	struct ws_torch_tags tags;
	struct ws_torch_tensor tensor;
};
extern struct ws_torch ws_torch;

#define WS_TORCH_IVALUE 16 /* bytes: 8 of the value, 4 of the tag */

/* --- inputs.c --- */

/* Finds the functions. False: this PyTorch cannot be recorded. */
bool ws_torch_find(void *handle);
/* Copies memory that may be unmapped. Returns the number of bytes copied. */
size_t ws_torch_peek(const void *from, void *to, size_t size);
/* Runs PyTorch operations with known inputs, and sets the offsets that they prove. */
void ws_torch_prove(void);

/* Maximum bytes of the definition of an operation and its inputs. */
#define WS_TORCH_BODY 65536

/* Writes struct ws_def_op and the name only. Returns the number of bytes. */
uint32_t ws_torch_name(const char *name, uint8_t body[WS_TORCH_BODY]);
/*
 * Writes struct ws_def_op, the name and the inputs, with or without the values of numbers. Returns
 * the number of bytes. *whole 0: the inputs are left out because they are unknown or too many.
 */
uint32_t ws_torch_body(const void *fn, const char *name, bool with_numbers,
                       uint8_t body[WS_TORCH_BODY], bool *whole);

/* Adds a word to a hash. */
static inline uint64_t ws_hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ hash >> 29;
}

/* A hash of a definition, without values of numbers. */
uint32_t ws_torch_alike(const uint8_t *body, uint32_t size);

/* --- periods.c: which steps record their operations --- */

enum ws_period_mark {
	WS_PERIOD_PASSES, /* it goes on */
	WS_PERIOD_STEPS,  /* an optimizer's step ends */
	WS_PERIOD_CALLS,  /* a root module is called, which ends it if no optimizer steps */
};
/* Of this thread; what: a hash of it. */
void ws_period_take(uint64_t what, enum ws_period_mark mark);
/* Without digits. */
uint64_t ws_period_text(const char *text);
/* Hashes of a period's operations, and of those that make it the step that it is: in modules,
 * backward and optimizers. The others, such as those of a loss that is printed now and then, come
 * and go. */
struct ws_period_ops {
	uint64_t all, of_step;
	uint32_t n, nothers;
};
/* Registers callbacks. From now on periods have rows, and the callback of operations is switched
 * off where they repeat (if `sample`) and in steps that are not recorded, and so are hooks of
 * modules below the root. hash_ops: of those of the period that lasts, on all threads. */
void ws_periods_start(void (*add)(uint64_t *operations, uint64_t *annotations),
                      struct ws_period_ops (*hash_ops)(void), bool sample);
/* Of the one that lasts, from 1. */
extern _Atomic uint32_t ws_period_number;

/* --- source.c: the line of the program that called --- */

#define WS_SOURCE_CALLS_LOG 14

/* What a thread has called, by its place among the calls before it. */
struct ws_source {
	uint64_t context; /* the last eight calls, a byte each */
	uint32_t module;  /* definition of the innermost open module */
	struct ws_source_call {
		uint64_t key; /* hash of the call, its module and context; 0: unused */
		uint32_t source;
		uint16_t uses;
		bool varies; /* calls of this key have different lines: each is read */
	} calls[1u << WS_SOURCE_CALLS_LOG];
};

/* Finds the interpreter's functions. */
void ws_source_find(void);
uint64_t ws_source_hash(const char *text);
/* The line that makes this call, as id of a string; 0: unknown. what: a hash of the call. */
uint32_t ws_source_of(struct ws_source *s, uint64_t what);
/* Something else happens, whose line is not needed. */
void ws_source_pass(struct ws_source *s, uint64_t what);

/* --- the start callback, as PyTorch calls it --- */

/*
 * The start callback returns a std::unique_ptr. C++'s calling convention stores it at an address
 * from the caller: the first argument on x86-64, register x8 on AArch64. Ours is always empty.
 */
#if defined(__x86_64__)
#define WS_TORCH_START(name, what)                        \
	static void **name(void **result, const void *fn) \
	{                                                 \
		*result = NULL;                           \
		what;                                     \
		return result;                            \
	}
#elif defined(__aarch64__)
#define WS_TORCH_START(name, what)                                                                \
	__attribute__((used)) static void name##_called(const void *fn) __asm__(#name "_called"); \
	static void name##_called(const void *fn)                                                 \
	{                                                                                         \
		what;                                                                             \
	}                                                                                         \
	void name(void);                                                                          \
	__asm__(".text\n.hidden " #name "\n.global " #name "\n.type " #name ", %function\n" #name \
	        ":\n\tstr xzr, [x8]\n\tb " #name "_called\n");
#else
#error "how is a std::unique_ptr returned here?"
#endif
