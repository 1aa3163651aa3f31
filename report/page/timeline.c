/* The timeline of a page: boxes on lanes, at levels of detail. */
#include "report/page/private.h"
#include "report/replay/replay.h"
#include "report/table/table.h"

static inline bool boxes_is_short(const struct ws_boxes *b, int64_t dur_ns)
{
	return dur_ns < b->shortest_ns;
}

/* --- boxes ----------------------------------------------------------------------------------- */

/* Maximum length of a merged box, as a multiple of the shortest single box. */
#define MOST_TIMES 4

/* The number of a lane; *is_new: it has no name yet. */
static size_t lane_of(struct ws_boxes *b, const struct ws_lane_key *key, bool *is_new)
{
	struct ws_known_lane *known =
	        &b->known[(key->kind + 5 * key->device + 3 * (key->number >> 1)) % 16];
	struct ws_timeline *out = b->out;

	*is_new = false;
	if (known->lane && !memcmp(&known->key, key, sizeof(*key)))
		return known->lane - 1;
	uint64_t id = ws_strtab_add(&b->keys, key, sizeof(*key));
	*known = (struct ws_known_lane){*key, id};
	*is_new = id > out->nlanes;
	if (*is_new) {
		WS_GROW(out->lane, id, out->lanes_capacity);
		WS_GROW(b->lane, id, b->lanes_capacity);
		out->lane[out->nlanes] =
		        (struct ws_timeline_lane){.kind = (enum ws_timeline_kind)key->kind,
		                                  .device = ""};
		/* threads first, each with its operations; then device by device its streams,
		 * copies and idle time */
		if (key->kind == WS_TIMELINE_THREAD || key->kind == WS_TIMELINE_OPS)
			b->lane[out->nlanes] = (struct ws_boxes_lane){
			        .order = {-1, (int64_t)(key->number >> 1), key->kind}};
		else if (key->kind == WS_TIMELINE_PATH)
			b->lane[out->nlanes] = (struct ws_boxes_lane){.order = {INT64_MAX}};
		else
			b->lane[out->nlanes] = (struct ws_boxes_lane){
			        .order = {key->device, key->kind, (int64_t)(key->number >> 1)}};
		out->nlanes++;
	}
	return (size_t)id - 1;
}

static void push(struct ws_boxes *b, size_t lane, const struct ws_timeline_box *box)
{
	struct ws_timeline_lane *l = &b->out->lane[lane];

	WS_GROW(l->box, l->n + 1, l->capacity);
	l->box[l->n++] = *box;
	b->nboxes++;
	if (box->depth >= l->depths)
		l->depths = (uint16_t)(box->depth + 1);
}

static void close_box(struct ws_boxes *b, size_t lane, struct ws_open_box *open)
{
	size_t most = 0;

	if (!open->box.count)
		return;
	for (size_t c = 1; c < sizeof(open->colour_ns) / sizeof(*open->colour_ns); c++)
		if (open->colour_ns[c] > open->colour_ns[most])
			most = c;
	open->box.colour = (uint8_t)most;
	push(b, lane, &open->box);
	*open = (struct ws_open_box){0};
}

/* Adds an item, in order of start at each depth. Short items are merged. */
static void boxes_add(struct ws_boxes *b, size_t lane, const struct ws_timeline_box *box)
{
	const int64_t end_ns = box->start_ns + box->dur_ns;

	if (!b->shortest_ns) {
		push(b, lane, box);
		return;
	}
	struct ws_boxes_lane *l = &b->lane[lane];

	if (box->depth >= l->ndepths) {
		l->open = ws_xreallocarray(l->open, box->depth + 1, sizeof(*l->open));
		memset(&l->open[l->ndepths], 0, (box->depth + 1 - l->ndepths) * sizeof(*l->open));
		l->ndepths = box->depth + 1;
	}
	struct ws_open_box *open = &l->open[box->depth];
	int64_t open_end_ns = open->box.start_ns + open->box.dur_ns;
	if (open->box.count &&
	    (!boxes_is_short(b, box->dur_ns) || box->start_ns - open_end_ns >= b->shortest_ns ||
	     (double)(end_ns - open->box.start_ns) > MOST_TIMES * (double)b->shortest_ns))
		close_box(b, lane, open);
	if (!boxes_is_short(b, box->dur_ns)) {
		push(b, lane, box);
		return;
	}
	if (!open->box.count)
		open->box = *box;
	else {
		/* it is merged: attributes of a single item are removed */
		open->box = (struct ws_timeline_box){.start_ns = open->box.start_ns,
		                                     .dur_ns = open->box.dur_ns,
		                                     .busy_ns = open->box.busy_ns + box->busy_ns,
		                                     .count = open->box.count + 1,
		                                     .call_ns = -1,
		                                     .call_dur_ns = -1,
		                                     .depth = box->depth};
		if (end_ns > open_end_ns)
			open->box.dur_ns = end_ns - open->box.start_ns;
	}
	open->colour_ns[box->colour] += box->busy_ns + 1;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct ws_timeline_box *x = a, *y = b;

	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(x->depth, y->depth);
	WS_ORDER_BY(y->dur_ns, x->dur_ns);
	return 0;
}

struct placed {
	struct ws_timeline_lane lane;
	int64_t order[3];
	size_t input;
};

static int by_order(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	for (int i = 0; i < 3; i++)
		WS_ORDER_BY(x->order[i], y->order[i]);
	WS_ORDER_BY(x->input, y->input);
	return 0;
}

/* --- lanes ----------------------------------------------------------------------------------- */

struct filling {
	struct ws_page_making *p;
	const struct ws_model *m;
	struct ws_timeline *out;
	const struct ws_time_window *window;
	struct ws_strtab known;
	size_t text_capacity;
	/* the model's number -> text, 0: not yet */
	uint32_t *of_text, *of_class, *of_short, *of_path, *of_shapes, *of_config;
	uint8_t *class_colour; /* text of a class -> its colour */
	struct ws_boxes boxes;
};

/* --- texts ------------------------------------------------------------------------------------ */

static uint32_t text_of(struct filling *f, const char *text, size_t len)
{
	const uint64_t id = len ? ws_strtab_add(&f->known, text, len) : 0;

	if (id < f->out->ntexts)
		return (uint32_t)id;
	WS_GROW(f->out->text, id + 1, f->text_capacity);
	f->out->text[f->out->ntexts++] = ws_page_copy(&f->out->arena, text, len);
	return (uint32_t)id;
}

static uint32_t model_text(struct filling *f, uint32_t text)
{
	const struct ws_bytes t = f->m->texts[text];

	if (text && !f->of_text[text])
		f->of_text[text] = text_of(f, t.ptr, t.len);
	return f->of_text[text];
}

static uint32_t class_text(struct filling *f, uint32_t class)
{
	const struct ws_bytes name = ws_display_class(f->m->texts[class]);

	if (class && !f->of_class[class])
		f->of_class[class] = text_of(f, name.ptr, name.len);
	return f->of_class[class];
}

static uint32_t path_text(struct filling *f, uint32_t path)
{
	char *text;
	size_t len;

	if (path == WS_NONE)
		return 0;
	if (!f->of_path[path]) {
		ws_path_text(&f->m->ranges, path, f->m->texts, &text, &len);
		f->of_path[path] = text_of(f, text, len);
		free(text);
	}
	return f->of_path[path];
}

/* "b 8, m 1024, n 768, k 768": the known sizes of the operation. */
static uint32_t shapes_text(struct filling *f, uint32_t op)
{
	const uint32_t config = f->m->cpu_ops.config[op];
	const struct ws_op_config *c = &f->m->cpu_ops.configs[config];
	const uint64_t sizes[] = {c->batch, c->m, c->n, c->k};
	char text[128] = "";
	size_t len = 0;

	if (f->of_shapes[config])
		return f->of_shapes[config];
	for (int i = 0; i < 4; i++)
		if (sizes[i] > (i == 0))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%c %" PRIu64,
			                        len ? ", " : "", "bmnk"[i], sizes[i]);
	return f->of_shapes[config] = text_of(f, text, len);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static const char *of_device(struct filling *f, uint32_t device)
{
	if (f->p->idle->nworked < 2)
		return "";
	return ws_arena_format(&f->out->arena, "GPU %" PRIu64 " ", f->m->devices[device].id);
}

static size_t device_lane(struct filling *f, enum ws_timeline_kind kind, uint32_t device,
                          uint32_t process, uint64_t stream)
{
	const struct ws_lane_key key = {kind, device, process, 0, stream};
	bool is_new;
	const size_t lane = lane_of(&f->boxes, &key, &is_new);
	const char **name = &f->out->lane[lane].name;

	if (!is_new)
		return lane;
	f->out->lane[lane].device =
	        ws_arena_format(&f->out->arena, "GPU %" PRIu64, f->m->devices[device].id);
	if (kind == WS_TIMELINE_STREAM)
		*name = ws_arena_format(&f->out->arena, "%sstream %" PRIu64, of_device(f, device),
		                        stream);
	else
		*name = ws_arena_format(&f->out->arena, "%s%s", of_device(f, device),
		                        kind == WS_TIMELINE_COPIES ? "memcpy" : "idle");
	return lane;
}

static size_t thread_lane(struct filling *f, enum ws_timeline_kind kind, uint32_t thread)
{
	const struct ws_thread *t = &f->m->threads[thread];
	const struct ws_lane_key key = {kind, 0, t->process, 0, 2 * (uint64_t)thread};
	bool is_new;
	const size_t lane = lane_of(&f->boxes, &key, &is_new);

	if (is_new && kind == WS_TIMELINE_OPS) {
		f->out->lane[lane].name =
		        ws_arena_format(&f->out->arena, "operations %" PRIu64, t->tid);
	} else if (is_new) {
		/* "pt_autograd_0 1262", "thread 1262": of "thread 1262 (pt_autograd_0)", as PyTorch
		 * names it, what is in brackets. */
		struct ws_bytes own = f->m->texts[t->name];
		const char *name = own.ptr, *open = memchr(name, '(', own.len);

		if (open && name[own.len - 1] == ')' && ws_bytes_begin(own, "thread "))
			own = (struct ws_bytes){open + 1,
			                        (size_t)(name + own.len - 1 - (open + 1))};
		if (!own.len)
			own = ws_bytes_of("thread");
		f->out->lane[lane].name =
		        ws_arena_format(&f->out->arena, "%s %" PRIu64,
		                        ws_page_copy(&f->out->arena, own.ptr, own.len), t->tid);
	}
	return lane;
}

/* --- boxes in the window ------------------------------------------------------------------ */

/* Makes a box for one interval, cut at the window's ends. False: it is outside the window. */
static bool box_of(const struct filling *f, int64_t start_ns, int64_t dur_ns,
                   struct ws_timeline_box *out)
{
	*out = (struct ws_timeline_box){.start_ns = start_ns,
	                                .dur_ns = dur_ns,
	                                .busy_ns = dur_ns,
	                                .count = 1,
	                                .call_ns = -1,
	                                .call_dur_ns = -1};
	return start_ns < f->out->end_ns && start_ns + dur_ns > f->out->start_ns;
}

static void set_call(struct filling *f, struct ws_timeline_box *box, uint32_t number)
{
	const struct ws_joined_call *call = ws_joined_rows_call(f->p->sel->rows, number);

	if (!call)
		return;
	box->call = model_text(f, call->kind->name);
	box->call_ns = call->start_ns;
	box->call_dur_ns = call->dur_ns;
}

static void add_idle(void *ctx, const struct ws_idle_span *span)
{
	struct filling *f = ctx;
	struct ws_timeline_box box;

	if (span->use <= WS_USE_COPY ||
	    !box_of(f, span->start_ns, span->end_ns - span->start_ns, &box))
		return;
	box.name = text_of(f, ws_use_defs[span->use].name, strlen(ws_use_defs[span->use].name));
	box.colour = (uint8_t)ws_page_use_colour(span->use);
	boxes_add(&f->boxes, device_lane(f, WS_TIMELINE_IDLE, span->device, 0, 0), &box);
}

/* Adds the critical path of the step if it is the replayed step: from the step's begin on the host,
 * without gaps. */
static void add_critical_path(struct filling *f)
{
	struct ws_replay *replay = ws_replay_of(f->m, f->p->sel);
	const struct ws_replay_facts *facts = ws_replay_facts(replay);
	size_t n;
	const struct ws_replay_stretch *path = ws_replay_critical_path(replay, &n);

	if (facts->step != f->window->step)
		return;
	double at_ns = (double)facts->start_ns;
	for (size_t i = 0; i < n; i++) {
		const struct ws_replay_piece *piece =
		        path[i].piece == WS_NONE ? NULL : &facts->pieces[path[i].piece];
		const char *use = ws_use_defs[path[i].use].name;
		const int64_t start_ns = llround(at_ns);
		const struct ws_lane_key key = {.kind = WS_TIMELINE_PATH};
		struct ws_timeline_box box;
		bool is_new, is_inside;

		at_ns += path[i].ns;
		is_inside = box_of(f, start_ns, llround(at_ns) - start_ns, &box);
		if (!is_inside || !box.dur_ns)
			continue;
		if (piece && piece->is_kernel) {
			const struct ws_joined_kernel k =
			        *ws_joined_rows_kernel(f->p->sel->rows, piece->row);
			const uint32_t name = f->m->configs[k.kind->config].name;
			const struct ws_bytes text = ws_model_short_name(f->m, name);

			box.name = text_of(f, text.ptr, text.len);
			box.class = class_text(f, k.kind->class);
			box.colour = f->class_colour[k.kind->class];
		} else {
			const bool is_graph = piece && path[i].use == WS_USE_COMPUTE;
			const char *name = is_graph ? "CUDA graph" : use;

			box.name = text_of(f, name, strlen(name));
			box.colour = is_graph ? WS_PAGE_GREY
			             : piece  ? WS_PAGE_VIOLET
			                      : (uint8_t)ws_page_use_colour(path[i].use);
		}
		const size_t lane = lane_of(&f->boxes, &key, &is_new);

		if (is_new)
			f->out->lane[lane].name = "critical path";
		boxes_add(&f->boxes, lane, &box);
	}
}

/* --- the window ------------------------------------------------------------------------------- */

/* Makes the timeline, with longer and longer merged boxes until their number is within the
 * limit. */
static enum ws_status make(struct filling *f, int64_t step, struct ws_err *err)
{
	const size_t most = f->p->most_boxes;
	const struct ws_selection *sel = f->p->sel;
	struct ws_joined_rows *rows = sel->rows;
	const struct ws_op_tree *tree = &f->m->cpu_ops.tree;

	const struct ws_windows *w = f->p->windows;
	const struct ws_model_step *steps = f->m->steps;

	f->window = step < 0 ? ws_windows_median(f->p->windows) : NULL;
	for (size_t i = 0; i < w->n && !f->window; i++)
		if (w->window[i].step != WS_NONE && steps[w->window[i].step].number == step)
			f->window = &w->window[i];
	WS_FAIL_IF(!f->window && w->window[0].step == WS_NONE, err, USAGE,
	           "there is no step %" PRId64 ": the report has no measured steps", step);
	WS_FAIL_IF(!f->window, err, USAGE,
	           "there is no measured step %" PRId64 ": the report has %" PRIu32 " to %" PRIu32,
	           step, steps[w->window[0].step].number, steps[w->window[w->n - 1].step].number);
	if (f->window->step == WS_NONE)
		f->out->title = "the whole trace, which has no steps";
	else if (w->n == 1)
		f->out->title = ws_arena_format(&f->out->arena, "step %" PRIu32,
		                                steps[f->window->step].number);
	else
		f->out->title =
		        ws_arena_format(&f->out->arena, "step %" PRIu32 ", %s %zu measured steps",
		                        steps[f->window->step].number,
		                        step < 0 ? "the median of" : "of", w->n);
	f->out->start_ns = f->window->start_ns;
	f->out->end_ns = f->window->end_ns;
	const struct ws_model *m = f->m;
	struct ws_arena *temp = f->p->tab->temp;

	WS_NEW(temp, f->of_text, m->ntexts);
	WS_NEW(temp, f->of_class, m->ntexts);
	WS_NEW(temp, f->of_short, m->ntexts);
	WS_NEW(temp, f->of_path, m->ranges.npaths);
	WS_NEW(temp, f->of_shapes, m->cpu_ops.nconfigs);
	WS_NEW(temp, f->of_config, m->nconfigs);
	WS_NEW(temp, f->class_colour, m->ntexts);
	for (uint32_t i = 0; i < m->ntexts; i++)
		f->class_colour[i] = (uint8_t)ws_page_colour_of_class(f->p, i);
	text_of(f, "", 0);
	f->out->shift_ns = m->begin_ns;
	int64_t least = (f->out->end_ns - f->out->start_ns) / (int64_t)most + 1;
	if (f->p->sel->rows->nkernels + f->p->sel->rows->nranges + f->m->cpu_ops.tree.n >
	            8 * most &&
	    f->window->step == WS_NONE)
		f->boxes.shortest_ns = least;
	for (;;) {
		struct ws_timeline_box box;

		f->out->kernels = f->out->copies = f->out->ranges = f->out->ops = 0;
		for (uint32_t i = 0; i < rows->nranges; i++) {
			const struct ws_joined_range r = *ws_joined_rows_range(rows, i);

			if (!box_of(f, r.start_ns, r.end_ns - r.start_ns, &box))
				continue;
			box.name = model_text(f, r.is_step ? r.recorded : r.context->name);
			box.path = path_text(f, r.context->path);
			box.depth = (uint16_t)r.context->depth;
			f->out->ranges++;
			boxes_add(&f->boxes, thread_lane(f, WS_TIMELINE_THREAD, r.context->thread),
			          &box);
		}

		/* Adds a framework's operations, each below its caller. */
		for (uint32_t i = 0; i < tree->n; i++) {
			if (!box_of(f, tree->start_ns[i], tree->end_ns[i] - tree->start_ns[i],
			            &box))
				continue;
			box.name = model_text(f, tree->name[i]);
			box.shapes = shapes_text(f, i);
			for (uint32_t up = tree->parent[i]; up != WS_NONE; up = tree->parent[up])
				box.depth++;
			f->out->ops++;
			boxes_add(&f->boxes, thread_lane(f, WS_TIMELINE_OPS, tree->thread[i]),
			          &box);
		}
		for (size_t i = 0; i < sel->rows->nkernels; i++) {
			const struct ws_joined_kernel k = *ws_joined_rows_kernel(sel->rows, i);

			if (!ws_kernel_ran(sel, &k, i) || !box_of(f, k.start_ns, k.dur_ns, &box))
				continue;
			const struct ws_config *config = &m->configs[k.kind->config];
			const uint32_t op = ws_joined_rows_op_range(rows, k.range);

			const struct ws_bytes t = ws_model_short_name(m, config->name);

			if (!f->of_short[config->name])
				f->of_short[config->name] = text_of(f, t.ptr, t.len);
			box.name = f->of_short[config->name];
			box.class = class_text(f, k.kind->class);
			box.colour = f->class_colour[k.kind->class];
			box.path = path_text(f, k.range == WS_NONE ? WS_NONE : k.kind->path);
			/* "grid 96 × 1 × 1, block 256 × 1 × 1" */
			const struct ws_launch_shape *s = &m->configs[k.kind->config].shape;
			char text[192];

			if (s->grid_x && !f->of_config[k.kind->config])
				f->of_config[k.kind->config] = text_of(
				        f, text,
				        (size_t)snprintf(text, sizeof(text),
				                         "grid %" PRIu64 " × %" PRIu64 " × %" PRIu64
				                         ", block %" PRIu64 " × %" PRIu64
				                         " × %" PRIu64,
				                         (uint64_t)s->grid_x, (uint64_t)s->grid_y,
				                         (uint64_t)s->grid_z, (uint64_t)s->block_x,
				                         (uint64_t)s->block_y,
				                         (uint64_t)s->block_z));
			box.launch = f->of_config[k.kind->config];
			if (k.cpu_op != WS_NONE) {
				box.operation = model_text(f, ws_cpu_op_config(m, k.cpu_op)->name);
				box.shapes = shapes_text(f, k.cpu_op);
			} else if (op != WS_NONE) {
				box.operation =
				        model_text(f,
				                   ws_joined_rows_range(rows, op)->context->name);
			}
			set_call(f, &box, k.call);
			f->out->kernels++;
			boxes_add(&f->boxes,
			          device_lane(f, WS_TIMELINE_STREAM, config->device,
			                      config->process, config->stream),
			          &box);
		}
		/* copies, fills, and graphs that were traced as a whole */
		for (size_t i = 0; i < m->nwork; i++) {
			const struct ws_work *work = &m->work[i];
			const bool is_graph = work->kind == WS_WORK_GRAPH;

			if (!ws_work_ran(sel, m, i) ||
			    !box_of(f, work->start_ns, work->dur_ns, &box))
				continue;
			/* "memcpy Host-to-Device" of "[CUDA memcpy Host-to-Device]" */
			const char *name =
			        is_graph ? "CUDA graph"
			                 : ws_copy_name(ws_copy_name_of(work)) + strlen("[CUDA ");
			box.name = text_of(f, name, strlen(name) - !is_graph);
			box.colour = is_graph ? WS_PAGE_GREY : WS_PAGE_VIOLET;
			box.path = path_text(f, work->path);
			set_call(f, &box, work->call);
			f->out->copies++;
			boxes_add(&f->boxes,
			          device_lane(f, is_graph ? WS_TIMELINE_STREAM : WS_TIMELINE_COPIES,
			                      work->device, work->process,
			                      is_graph ? work->stream : 0),
			          &box);
		}
		if (ws_model_on_cpu(f->m) != 1)
			ws_idle_spans(f->m, f->p->sel, f->window, add_idle, f);
		add_critical_path(f);
		if (f->boxes.nboxes <= most)
			break;
		/* Removes all boxes and lanes. */
		for (size_t i = 0; i < f->boxes.out->nlanes; i++) {
			free(f->boxes.out->lane[i].box);
			free(f->boxes.lane[i].open);
		}
		ws_strtab_free(&f->boxes.keys);
		memset(f->boxes.known, 0, sizeof(f->boxes.known));
		f->boxes.out->nlanes = 0;
		f->boxes.nboxes = 0;
		f->boxes.shortest_ns = f->boxes.shortest_ns ? f->boxes.shortest_ns * 2 : least;
	}
	/* All boxes are added: sorts the lanes, and the boxes by start. */
	for (size_t i = 0; i < f->boxes.out->nlanes; i++) {
		struct ws_timeline_lane *l = &f->boxes.out->lane[i];

		for (size_t depth = 0; depth < f->boxes.lane[i].ndepths; depth++)
			close_box(&f->boxes, i, &f->boxes.lane[i].open[depth]);
		if (l->n)
			ws_sort(l->box, l->n, sizeof(*l->box), by_start);
	}
	if (f->boxes.out->nlanes) {
		struct ws_timeline *out = f->boxes.out;
		struct placed *placed = ws_xarray(out->nlanes, sizeof(*placed));

		for (size_t i = 0; i < out->nlanes; i++) {
			placed[i] = (struct placed){.lane = out->lane[i], .input = i};
			memcpy(placed[i].order, f->boxes.lane[i].order, sizeof(placed[i].order));
		}
		ws_sort(placed, out->nlanes, sizeof(*placed), by_order);
		for (size_t i = 0; i < out->nlanes; i++)
			out->lane[i] = placed[i].lane;
		free(placed);

		/* Lanes of one name, of several processes, get a number. */
		struct ws_strtab names = {0};
		uint64_t *times = ws_xarray(out->nlanes + 1, sizeof(*times));

		for (size_t i = 0; i < out->nlanes; i++) {
			const char *name = out->lane[i].name;
			const uint64_t id = ws_strtab_add(&names, name, strlen(name));

			if (++times[id] > 1)
				out->lane[i].name = ws_arena_format(&out->arena, "%s (%" PRIu64 ")",
				                                    name, times[id]);
		}
		free(times);
		ws_strtab_free(&names);
	}
	f->out->shortest_ns = f->boxes.shortest_ns;
	return WS_OK;
}

enum ws_status ws_page_add_timeline(struct ws_page_making *p, int64_t step, struct ws_err *err)
{
	struct filling f = {.p = p, .m = p->m, .out = ws_xarray(1, sizeof(*f.out))};

	f.boxes.out = f.out;
	enum ws_status status = make(&f, step, err);
	for (size_t i = 0; i < f.boxes.out->nlanes; i++)
		free(f.boxes.lane[i].open);
	free(f.boxes.lane);
	ws_strtab_free(&f.boxes.keys);
	ws_strtab_free(&f.known);
	if (status == WS_OK)
		p->page->timeline = f.out;
	else
		ws_timeline_free(f.out);
	return status;
}
