/*
 * With --pytorch the library is there from the start of a program (LD_PRELOAD), and looks at what
 * is loaded later: Python opens PyTorch by dlopen. No other call of dlopen is touched: it goes to
 * the C library's with its caller's return address, as that decides where libraries are looked for.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/collect/collector.h"
#include "recorder/inject/attach.h"
#include "recorder/pytorch/pytorch.h"
#include "recorder/shared/control.h"

typedef void *(*open_fn)(const char *path, int flags);

static bool is_wanted;
static _Atomic(open_fn) next_open;

static void look(void *handle)
{
	if (ws_pytorch_is_in(handle) && ws_attach_once())
		ws_pytorch_attach(handle);
}

/* Of a program that is linked to PyTorch. */
__attribute__((constructor)) static void look_at_program(void)
{
	const char *value = getenv(WS_PYTORCH_ENV);

	is_wanted = value && *value && strcmp(value, "off") != 0;
	if (is_wanted)
		look(RTLD_DEFAULT);
}

static open_fn find_next(void)
{
	open_fn found = atomic_load_explicit(&next_open, memory_order_relaxed);
	void *symbol;

	if (!found) {
		symbol = dlsym(RTLD_NEXT, "dlopen");
		memcpy(&found, &symbol, sizeof(found));
		atomic_store_explicit(&next_open, found, memory_order_relaxed);
	}
	return found;
}

static void *open_and_look(const char *path, int flags)
{
	void *handle = find_next()(path, flags);

	if (handle)
		look(handle);
	return handle;
}

static void *open_nothing(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}

/* Which function a dlopen of this path is to be: by an absolute path nothing is looked for. */
__attribute__((used)) static open_fn choose(const char *path) __asm__("ws_preload_choose");
static open_fn choose(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	if (!find_next())
		return open_nothing;
	if (!is_wanted || !name || strchr(path, '$') ||
	    (strncmp(name, "/_C.", 4) != 0 && strncmp(name, "/libtorch", 9) != 0))
		return find_next();
	return open_and_look;
}

/* dlopen: ask which it is to be, then go there as if it had been called. */
__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, %function\n"
        "dlopen:\n"
#if defined(__x86_64__)
        "	endbr64\n"
        "	push %rdi\n"
        "	push %rsi\n"
        "	sub $8, %rsp\n"
        "	call ws_preload_choose\n"
        "	add $8, %rsp\n"
        "	pop %rsi\n"
        "	pop %rdi\n"
        "	jmp *%rax\n"
#elif defined(__aarch64__)
        "	hint 34\n"
        "	stp x0, x1, [sp, -32]!\n"
        "	str x30, [sp, 16]\n"
        "	bl ws_preload_choose\n"
        "	mov x16, x0\n"
        "	ldr x30, [sp, 16]\n"
        "	ldp x0, x1, [sp], 32\n"
        "	br x16\n"
#else
#error "what does a tail call look like here?"
#endif
        ".size dlopen, . - dlopen\n");
