/*
 * Steps of a program that says none: an optimizer's step ends one, and the next begins. The first
 * iteration, which pays for what is set up, so is none. Where an iteration has several optimizers,
 * or one within another, the first that ended goes by its name: others of another class end none.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "recorder/collect/event.h"
#include "recorder/pytorch/pytorch.h"
#include "recorder/pytorch/torch.h"

#define DOMAIN "pytorch.step"

static _Atomic bool has_own; /* the program says its steps itself */
static uint32_t domain = WS_DEF_NONE;
static _Atomic uint32_t thread; /* whose optimizer ends steps: trace id; 0: none so far */
static char optimizer[128];     /* its name; of that thread alone */
static __thread bool is_open;

static void push_or_pop(bool push)
{
	struct ws_event ev;

	ws_event_init(&ev, domain, push ? "step" : NULL, WS_TEXT_BYTES);
	if (push)
		ws_event_push(&ev);
	else
		ws_event_pop(&ev);
	is_open = push;
}

void ws_torch_steps_begin(void)
{
	domain = ws_define_domain((struct ws_event_text){.ptr = DOMAIN});
}

void ws_torch_optimizer_ended(const char *name)
{
	const struct ws_thread_buffer *buffer = ws_thread_buffer_self();
	uint32_t first = 0;

	if (!buffer || domain == WS_DEF_NONE)
		return;
	if (atomic_compare_exchange_strong(&thread, &first, buffer->thread))
		snprintf(optimizer, sizeof(optimizer), "%s", name);
	else if (first != buffer->thread || strncmp(optimizer, name, sizeof(optimizer) - 1) != 0)
		return;
	if (is_open)
		push_or_pop(0);
	if (!atomic_load(&has_own))
		push_or_pop(1);
}

/* Ours ends before the program's first begins, or it would lie in it. */
void ws_pytorch_saw_range(const char *name)
{
	if (domain == WS_DEF_NONE || atomic_load_explicit(&has_own, memory_order_relaxed) ||
	    !name || (strcmp(name, "step") != 0 && strncmp(name, "ProfilerStep#", 13) != 0))
		return;
	atomic_store(&has_own, 1);
	if (is_open)
		push_or_pop(0);
}
