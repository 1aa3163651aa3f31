/* Names for display: short names of kernels, names without template arguments, and the shortest
 * distinguishing forms. */
#include "report/names/names.h"
#include <ctype.h>
#include "report/base/names.h"
#include "report/base/order.h"
#include "report/table/table.h"

/* The longest short name of one kernel by itself; a plain name may be longer. */
#define WS_SHORT_NAME_MAX 160u

/* --- cutting in the middle ---------------------------------------------------------- */

#define ROUNDS  8 /* rounds of searching a difference; each shows a later part of names */
#define NOWHERE SIZE_MAX
#define DOTS    "…"

struct cut {
	struct ws_bytes name, shown;
};

struct cutter {
	struct ws_arena *arena;
	size_t width, head;
	struct cut *cuts;         /* each name once */
	struct ws_row_key *order; /* names in an order in which equal cut names are adjacent */
	size_t n;
	unsigned numbered;
};

/* End of the `width` columns from `at` on. */
static size_t end_of(struct ws_bytes name, size_t at, size_t width)
{
	const char *text = name.ptr;
	struct ws_glyph glyph;
	size_t used = 0;

	while (at < name.len) {
		size_t n = ws_display_glyph(text + at, name.len - at, &glyph);

		used += glyph.width;
		if (used > width)
			break;
		at += n;
	}
	return at;
}

/* Begin of the last `width` columns. */
static size_t begin_of_end(struct ws_bytes name, size_t width)
{
	const char *text = name.ptr;
	size_t rest = ws_display_width(text, name.len), at = 0;
	struct ws_glyph glyph;

	while (at < name.len && rest > width) {
		at += ws_display_glyph(text + at, name.len - at, &glyph);
		rest -= glyph.width;
	}
	return at;
}

static size_t put(char *out, size_t len, const char *text, size_t n)
{
	memcpy(out + len, text, n);
	return len + n;
}

/* Cuts the name so that the position `at` is visible, with a mark at its end. */
static void cut(const struct cutter *c, struct cut *name, size_t at, const char *mark)
{
	const struct ws_bytes whole = name->name;
	const char *text = whole.ptr;
	size_t room = c->width > strlen(mark) + 2 ? c->width - strlen(mark) : 2;
	size_t head = end_of(whole, 0, c->head < room ? c->head : room - 1);
	size_t rest = room - 1 - ws_display_width(text, head);
	size_t begin = head, end = head, tail = begin_of_end(whole, rest), len = 0;

	if (ws_display_width(text, whole.len) <= c->width)
		return;
	/* ends are equal in this case, so most of the width is for the difference */
	if (at != NOWHERE && at >= head && at < tail && rest > 4) {
		/* begin of the word or number that contains it, if near */
		for (begin = at; begin && at - begin < rest / 6; begin--) {
			const unsigned char last = (unsigned char)text[begin - 1];

			if (last < 0x80 && !(last >= '0' && last <= '9') &&
			    !(last >= 'a' && last <= 'z') && !(last >= 'A' && last <= 'Z'))
				break;
		}
		while (begin < at && (unsigned char)text[begin] >> 6 == 2)
			begin++;

		begin = begin > head ? begin : head;
		end = end_of(whole, begin, (rest - 1) * 3 / 4);
		tail = begin_of_end(whole, rest - 1 - (rest - 1) * 3 / 4);
	}
	if (tail < end) { /* a single piece */
		end = begin;
		tail = begin_of_end(whole, rest);
	}
	char *out = ws_arena_alloc(c->arena, whole.len + 2 * strlen(DOTS) + strlen(mark));
	len = put(out, len, text, head);
	if (begin > head && end > begin)
		len = put(out, len, DOTS, strlen(DOTS));
	len = put(out, len, text + begin, end - begin);
	len = put(out, len, DOTS, strlen(DOTS));
	len = put(out, len, text + tail, whole.len - tail);
	len = put(out, len, mark, strlen(mark));
	name->shown = (struct ws_bytes){out, len};
}

/* Returns whether cut names were equal. */
static bool cut_round(struct cutter *c, bool number)
{
	bool found = false;

	for (uint32_t i = 0; i < c->n; i++)
		c->order[i] =
		        (struct ws_row_key){.text = {c->cuts[i].shown, c->cuts[i].name}, .row = i};
	ws_row_keys_sort(c->order, c->n);
	for (size_t first = 0, end; first < c->n; first = end) {
		char mark[16] = "";
		size_t at = 0;

		for (end = first + 1; end < c->n; end++)
			if (ws_name_compare(c->order[first].text[0], c->order[end].text[0]))
				break;
		if (end == first + 1)
			continue;
		/* names whose cut forms are equal: the first and the last differ most */
		struct ws_bytes a = c->order[first].text[1];
		struct ws_bytes b = c->order[end - 1].text[1];
		while (at < a.len && at < b.len &&
		       ((const char *)a.ptr)[at] == ((const char *)b.ptr)[at])
			at++;
		for (size_t i = first; i < end; i++) {
			if (number)
				snprintf(mark, sizeof(mark), "~%u", ++c->numbered);
			cut(c, &c->cuts[c->order[i].row], at, mark);
		}
		found = true;
	}
	return found;
}

void ws_names_elide(struct ws_arena *arena, struct ws_bytes *names, size_t n, size_t width,
                    size_t head)
{
	struct cutter c = {.arena = arena, .width = width, .head = head};
	bool alike = true;

	WS_NEW(arena, c.cuts, n);
	uint32_t *number = ws_arena_array(arena, n, sizeof(*number));
	/* Fills c->cuts; number[i]: index of names[i] in it, from 1. */
	struct ws_strtab known = {0};

	for (size_t i = 0; i < n; i++) {
		const uint64_t id = ws_strtab_add(&known, names[i].ptr, names[i].len);

		number[i] = (uint32_t)id;
		if (id > c.n)
			c.cuts[c.n++] = (struct cut){names[i], names[i]};
	}
	ws_strtab_free(&known);
	WS_NEW(c.arena, c.order, c.n);
	for (size_t i = 0; i < c.n; i++)
		cut(&c, &c.cuts[i], NOWHERE, "");
	for (int round = 0; alike && round < ROUNDS; round++)
		alike = cut_round(&c, false);
	if (alike)
		cut_round(&c, true);
	for (size_t i = 0; i < n; i++)
		names[i] = c.cuts[number[i] - 1].shown;
}

/* --- plain names ----------------------------------------------------------------------------- */

static const char *skip_digits(const char *p, const char *end, int hexadecimal)
{
	while (p < end && ((*p >= '0' && *p <= '9') ||
	                   (hexadecimal && (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')))
		p++;
	return p;
}

/* Position after a suffix of emit_nvtx at p; p if there is none. */
static const char *skip_appended(const char *p, const char *end)
{
	static const char *const numbers[] = {", op_id = ", ", seq = "};
	static const char *const lists[] = {", sizes = [", ", input_op_ids = ["};
	unsigned depth = 1;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const char *digits = p + strlen(numbers[i]);

		if (ws_name_begins(p, end, numbers[i]) && skip_digits(digits, end, 0) > digits)
			return skip_digits(digits, end, 0);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (!ws_name_begins(p, end, lists[i]))
			continue;
		for (p += strlen(lists[i]); p < end && depth; p++)
			depth += (*p == '[') - (*p == ']');
		break;
	}
	return p;
}

size_t ws_name_steady(struct ws_bytes name, char *out)
{
	const char *p = name.ptr, *end = p + name.len;
	size_t n = 0;

	/* the sizes of a batch vary; but which sizes are zero determines its kind, and is kept */
	if (ws_name_is_batch(name)) {
		while (p < end) {
			const char *rest = skip_digits(p, end, 0);

			if (rest > p)
				out[n++] = rest == p + 1 && *p == '0' ? '0' : 'N';
			else
				out[n++] = *rest++;
			p = rest;
		}
		return n;
	}
	while (p < end) {
		const char *rest = *p == ',' ? skip_appended(p, end) : p;
		int address = ws_name_begins(p, end, "0x"), digits_at = address ? 2 : 1;

		if (rest > p) {
			p = rest;
			continue;
		}
		rest = address || *p == '#' ? skip_digits(p + digits_at, end, address) : p;
		if (rest > p + digits_at) {
			memcpy(out + n, p, (size_t)digits_at);
			n += (size_t)digits_at;
			out[n++] = '*';
			p = rest;
		} else {
			out[n++] = *p++;
		}
	}
	if (!n && name.len) {
		memcpy(out, name.ptr, name.len);
		n = name.len;
	}
	return n;
}

static bool ends_number(char c)
{
	return strchr(" ._#/-[]()", c) != NULL;
}

size_t ws_name_roll_up(struct ws_bytes text, char *out)
{
	const char *p = text.ptr, *end = p + text.len;
	size_t n = 0;

	while (p < end) {
		const char *digits = skip_digits(p, end, 0);

		if (digits > p && n && ends_number(out[n - 1]) &&
		    (digits == end || ends_number(*digits))) {
			out[n++] = '*';
			p = digits;
		} else if (digits > p) {
			memcpy(out + n, p, (size_t)(digits - p));
			n += (size_t)(digits - p);
			p = digits;
		} else {
			out[n++] = *p++;
		}
	}
	return n;
}

/* --- words of a name ----------------------------------------------------------- */

/* The next word at or after *at, including '::' between identifiers; len 0 at the end. */
static struct ws_bytes next_word(const char **at, const char *end)
{
	const char *p = *at, *begin;

	while (p < end && !ws_name_is_word(*p))
		p++;
	begin = p;
	while (p < end && (ws_name_is_word(*p) || (end - p > 2 && p > begin && p[0] == ':' &&
	                                           p[1] == ':' && ws_name_is_word(p[2]))))
		p += *p == ':' ? 2 : 1;
	*at = p;
	return (struct ws_bytes){begin, (size_t)(p - begin)};
}

/* Words without a meaning of their own: wrappers, types, additions of demanglers; each between
 * blanks. */
static const char empty_words[] =
        " gpu_kernel_impl gpu_kernel_impl_nocast gpu_index_kernel "
        "opmath_symmetric_gpu_kernel_with_scalars BinaryFunctor AUnaryFunctor BUnaryFunctor "
        "ReduceOp func_wrapper_t TensorListMetadata TensorListScalarListMetadata "
        "FusedOptimizerTensorListMetadata UnaryOpFunctor BinaryOpScalarFunctor "
        "BinaryOpScalarListFunctor BinaryOpListAlphaFunctor BinaryOpScalarTensorFunctor "
        "PointwiseOpScalarFunctor PointwiseOpScalarListFunctor PointwiseOpListFunctor "
        "TernaryOpListFunctor TernaryOpScalarFunctor TensorIteratorBase TensorIterator Array array "
        "OpaqueType TrivialOffsetCalculator OffsetCalculator LoadWithoutCast StoreWithoutCast "
        "LoadWithCast StoreWithCast enable_sm90 enable_sm90_or_later enable_sm80_to_sm89 void int "
        "unsigned long bool float double char short half __half Half BFloat16 __nv_bfloat16 const "
        "anonymous namespace unnamed lambda operator instance std true false at native c10 cuda "
        "decltype nullptr internal detail default_config ReduceOpType ";

static bool is_filler(struct ws_bytes word)
{
	const char *p = empty_words + 1, *end = empty_words + sizeof(empty_words);

	if (ws_name_is_digit(*(const char *)word.ptr))
		return true;
	if (!word.len)
		return false;
	while ((p = memmem(p, (size_t)(end - p), word.ptr, word.len)) &&
	       (p[-1] != ' ' || p[word.len] != ' '))
		p++;
	return p;
}

/* The type argument of the function at `at`: f<float, …> or f(…)::{lambda(float)#1}. */
static struct ws_bytes type_of(const char *at, const char *end)
{
	static const char lambda[] = "lambda(";
	struct ws_bytes type = {at, 0};
	const char *p = at, *from = at < end && *at == '<' ? at + 1 : NULL;

	while (!from && (p = memmem(p, (size_t)(end - p), lambda, sizeof(lambda) - 1))) {
		p += sizeof(lambda) - 1;
		if (p < end && *p != ')')
			from = p;
	}
	if (!from)
		return type;
	p = from;
	type = ws_name_last_part(next_word(&p, end));
	/* only a plain type: T<…> or a number is not useful */
	if (p == end || !strchr(",>)", *p) ||
	    (type.len && ws_name_is_digit(*(const char *)type.ptr)) || type.len > 16)
		type.len = 0;
	return type;
}

/* --- kinds of names ------------------------------------------------------------- */

static void put_bytes(struct ws_buf *out, struct ws_bytes text)
{
	ws_buf_put(out, text.ptr, text.len);
}

static void put_str(struct ws_buf *out, const char *text)
{
	ws_buf_put(out, text, strlen(text));
}

/* The template arguments: from after the first '<' to its '>'. */
static struct ws_bytes arguments_of(struct ws_bytes name)
{
	const char *p = name.ptr, *end = p + name.len, *begin;
	unsigned depth = 1;

	p = name.len ? memchr(p, '<', name.len) : NULL;
	/* an anonymous namespace as some tools print it */
	while (p && end - p > 9 && !memcmp(p, "<unnamed>", 9))
		p = memchr(p + 9, '<', (size_t)(end - p - 9));
	if (!p)
		return (struct ws_bytes){"", 0};
	for (begin = ++p; p < end && depth; p++)
		depth += (unsigned)(*p == '<') - (unsigned)(*p == '>' && p[-1] != '-');
	return (struct ws_bytes){begin, (size_t)(p - begin) - (depth == 0)};
}

/* The numbers of "GemmShape<128, 128, 32>" or "tuple<C<64>, C<128>, C<64> >" after `at`. */
static bool shape_at(const char *at, const char *end, unsigned long shape[3])
{
	for (int i = 0; i < 3; i++) {
		while (at < end && !ws_name_is_digit(*at) && strchr("cute:C<, (int)>", *at))
			at++;
		if (at == end || !ws_name_is_digit(*at))
			return false;
		shape[i] = strtoul(at, NULL, 10);
		while (at < end && ws_name_is_digit(*at))
			at++;
	}
	return shape[0] < 10000 && shape[1] < 10000 && shape[2] < 10000;
}

/* CUTLASS: the tile is the first shape larger than a cluster shape. */
static bool tile_of(struct ws_bytes arguments, unsigned long tile[3])
{
	static const char *const words[] = {"GemmShape<", "tuple<"};
	const char *begin = arguments.ptr, *end = begin + arguments.len;

	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
		size_t n = strlen(words[w]);

		for (const char *p = begin; (p = memmem(p, (size_t)(end - p), words[w], n));) {
			p += n;
			if (shape_at(p, end, tile) && tile[0] * tile[1] * tile[2] >= 512)
				return true;
		}
	}
	return false;
}

/* Bytes of a Tensile name up to its tile and matrix instruction; 0 = not a Tensile name. */
static size_t tensile_length(struct ws_bytes name)
{
	static const char *const words[] = {"_MI", "_MT"};
	const char *p = name.ptr, *end = p + name.len;

	if (!memmem(p, name.len, "Cijk_", 5))
		return 0;
	for (size_t w = 0; w < 2; w++) {
		const char *at = memmem(p, name.len, words[w], 3);

		if (!at || end - at < 4 || !ws_name_is_digit(at[3]))
			continue;
		for (at += 3; at < end && (ws_name_is_digit(*at) || *at == 'x');)
			at++;
		return (size_t)(at - p);
	}
	return 0;
}

/* "…_xmma_…_execute_segment_k_off_kernel__5x_cublas": the common parts are left out. */
static bool put_xmma(struct ws_bytes name, struct ws_buf *out)
{
	static const char begin[] = "_execute_", end[] = "kernel__5x_cu";
	const char *p = name.ptr, *at, *tail;

	if (!memmem(p, name.len, "_xmma_", 6) || !(at = memmem(p, name.len, begin, 9)) ||
	    !(tail = memmem(at, name.len - (size_t)(at - p), end, sizeof(end) - 1)))
		return false;
	size_t middle = (size_t)(tail - at) - 9;
	ws_buf_put(out, p, (size_t)(at - p));
	if (middle)
		ws_buf_put(out, at + 8, middle);
	return true;
}

/* The function of a mangled name that no demangler reads, "_ZN3sgl3actI…", without template
 * arguments: "act"; else empty. */
static struct ws_bytes mangled_function(struct ws_bytes name)
{
	const char *at = name.ptr, *end = at + name.len;
	struct ws_bytes last = {0};

	if (name.len < 3 || memcmp(at, "_Z", 2) != 0)
		return last;
	at += at[2] == 'N' ? 3 : 2;
	while (at < end && *at >= '1' && *at <= '9') {
		size_t len = 0;

		for (; at < end && isdigit((unsigned char)*at) && len < name.len; at++)
			len = 10 * len + (size_t)(*at - '0');
		if (len > (size_t)(end - at))
			return (struct ws_bytes){0};
		last = (struct ws_bytes){at, len};
		at += len;
	}
	return last;
}

void ws_short_name(struct ws_bytes name, struct ws_buf *out)
{
	size_t tensile = tensile_length(name);
	struct ws_bytes function = mangled_function(name);

	if (tensile) {
		ws_buf_put(out, name.ptr, tensile);
		return;
	}
	if (function.len) {
		put_bytes(out, function);
		return;
	}
	if (put_xmma(name, out))
		return;
	char *room = ws_xmalloc(name.len + 1);
	function = (struct ws_bytes){room, ws_name_function(name, room)};
	struct ws_bytes arguments = arguments_of(name);
	struct ws_bytes telling; /* the first meaningful word of the arguments */
	const char *behind = arguments.ptr;
	do
		telling = next_word(&behind, (const char *)arguments.ptr + arguments.len);
	while (telling.len && is_filler(ws_name_last_part(telling)));

	if (!telling.len || function.len + telling.len > WS_SHORT_NAME_MAX) {
		put_bytes(out, function);
	} else if (ws_name_frame(function) == WS_NAME_WRAPPER) {
		static const char *const types[] = {"bfloat16_t",   "half_t",       "tfloat32_t",
		                                    "float_e4m3_t", "float_e5m2_t", "float_e2m1_t",
		                                    "int8_t"};
		struct ws_bytes element; /* of a CUTLASS template */
		const char *at = arguments.ptr, *end = at + arguments.len;
		unsigned long tile[3];
		char text[64];

		do
			element = ws_name_last_part(next_word(&at, end));
		while (element.len && !WS_NAME_IS_ONE_OF(element, types));
		put_bytes(out, telling);

		if (tile_of(arguments, tile)) {
			snprintf(text, sizeof(text), "<%lux%lux%lu", tile[0], tile[1], tile[2]);
			put_str(out, text);
			if (element.len) {
				put_str(out, ", ");
				put_bytes(out, element);
			}
			put_str(out, ">");
		}
	} else if (ws_name_frame(function) == WS_NAME_FRAME) {
		/* frame<function<type>> */
		struct ws_bytes type = type_of(behind, (const char *)arguments.ptr + arguments.len);
		put_bytes(out, ws_name_last_part(function));
		put_str(out, "<");
		put_bytes(out, ws_name_last_part(telling));
		if (type.len) {
			put_str(out, "<");
			put_bytes(out, type);
			put_str(out, ">");
		}
		put_str(out, ">");
	} else {
		put_bytes(out, function);
	}
	free(room);
}

/* --- names that differ ----------------------------------------------------------------------- */

#define PARTS_MAX 64u /* maximum bytes of differing parts; beyond that a hash is shorter */
#define ARGUMENTS 64u /* maximum number of arguments compared */

struct namer {
	const struct ws_bytes *names;
	size_t n;
	struct ws_buf *text;
	struct {
		size_t offset, len;
	} * label;
	struct ws_row_key *order; /* of the names, equal labels beside each other */
};

static struct ws_bytes label_of(const struct namer *s, uint32_t i)
{
	return (struct ws_bytes){s->text->data + s->label[i].offset, s->label[i].len};
}

/* --- differing parts ---------------------------------------------------------------- */

static const char *chars(struct ws_bytes text)
{
	return text.ptr;
}

/* Removes the common prefix and suffix of all texts, never inside a word. */
static void strip_common(struct ws_bytes *texts, size_t n)
{
	size_t before = texts[0].len, behind, least = texts[0].len;

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		least = texts[i].len < least ? texts[i].len : least;
		while (k < before && k < texts[i].len && chars(texts[0])[k] == chars(texts[i])[k])
			k++;
		before = k;
	}
	while (before && ws_name_is_word(chars(texts[0])[before - 1]))
		before--;
	behind = least - before;
	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		while (k < behind && chars(texts[0])[texts[0].len - 1 - k] ==
		                             chars(texts[i])[texts[i].len - 1 - k])
			k++;
		behind = k;
	}
	while (behind && ws_name_is_word(chars(texts[0])[texts[0].len - behind]))
		behind--;
	for (size_t i = 0; i < n; i++)
		texts[i] =
		        (struct ws_bytes){chars(texts[i]) + before, texts[i].len - before - behind};
}

/* Splits the template arguments of the function, at most ARGUMENTS; returns their number. */
static size_t split_arguments(struct ws_bytes name, struct ws_bytes out[ARGUMENTS])
{
	const char *p = name.ptr, *end = p + name.len, *from = NULL;
	unsigned depth = 0;
	size_t n = 0;

	for (; p < end && n < ARGUMENTS; p++) {
		int opens = *p == '<' || *p == '(' || *p == '[' || *p == '{';
		int closes = (*p == '>' && p[-1] != '-') || *p == ')' || *p == ']' || *p == '}';

		if (opens && !depth && *p == '(' && p > chars(name))
			break; /* the parameters */
		depth += (unsigned)opens;
		if (opens && depth == 1)
			from = p + 1;
		if (from && ((*p == ',' && depth == 1) || (closes && depth == 1))) {
			while (from < p && *from == ' ')
				from++;
			out[n++] = (struct ws_bytes){from, (size_t)(p - from)};
			from = p + 1;
		}
		if (closes && depth && !--depth)
			from = NULL;
	}
	return n;
}

/*
 * Joins the template arguments in which the names of a group differ into parts[i]; "" if the
 * numbers of arguments differ, or no argument differs.
 */
static void differing_arguments(struct ws_arena *temp, const struct ws_bytes *names, size_t n,
                                struct ws_buf *parts)
{
	static const char *const usual[] = {"at::", "native::", "(anonymous namespace)::",
	                                    "<unnamed>::", "c10::"};
	struct ws_bytes(*arguments)[ARGUMENTS], *column;
	size_t count = 0;

	WS_NEW(temp, arguments, n);
	WS_NEW(temp, column, n);
	for (size_t i = 0; i < n; i++) {
		size_t mine = split_arguments(names[i], arguments[i]);

		count = i && mine != count ? 0 : mine;
		if (!count)
			break;
	}
	for (size_t a = 0; a < count; a++) {
		bool differ = false;

		for (size_t i = 0; i < n; i++)
			column[i] = arguments[i][a];
		for (size_t i = 1; i < n && !differ; i++)
			differ = ws_name_compare(column[0], column[i]) != 0;
		if (!differ)
			continue;

		strip_common(column, n);
		for (size_t i = 0; i < n; i++) {
			if (parts[i].len)
				ws_buf_put(&parts[i], ", ", 2);

			/* the part without common namespaces, and with closed brackets */
			const char *p = column[i].ptr, *end = p + column[i].len;
			size_t open = 0;

			while (p < end) {
				size_t skip = 0;

				for (size_t k = 0; k < sizeof(usual) / sizeof(*usual); k++)
					if (!skip && ws_name_begins(p, end, usual[k]))
						skip = strlen(usual[k]);
				p += skip;
				if (skip)
					continue;
				open += *p == '<';
				open -= *p == '>' && open;
				ws_buf_put(&parts[i], p++, 1);
			}
			while (open--)
				ws_buf_put(&parts[i], ">", 1);
		}
	}
}

/* --- labels ----------------------------------------------------------------------- */

static void relabel(struct namer *s, uint32_t i, const char *open, struct ws_bytes part,
                    const char *close)
{
	struct ws_bytes label = label_of(s, i);
	size_t at = s->text->len;

	/* the label is in the buffer, which may move */
	ws_buf_reserve(s->text, label.len + strlen(open) + part.len + strlen(close));
	label = label_of(s, i);
	ws_buf_put(s->text, label.ptr, label.len);
	ws_buf_put(s->text, open, strlen(open));
	ws_buf_put(s->text, part.ptr, part.len);
	ws_buf_put(s->text, close, strlen(close));
	s->label[i].offset = at;
	s->label[i].len = s->text->len - at;
}

static void add_hash(struct namer *s, uint32_t i)
{
	char hash[24];
	int n = snprintf(hash, sizeof(hash), "%08x",
	                 (unsigned)ws_checksum(s->names[i].ptr, s->names[i].len));

	relabel(s, i, " #", (struct ws_bytes){hash, (size_t)n}, "");
}

/* One round over all groups of equal labels; with `hashes` names get a hash, else the differing
 * parts. */
static void one_round(struct namer *s, bool hashes)
{
	for (uint32_t i = 0; i < s->n; i++)
		/* also by name, to be independent of the input order */
		s->order[i] = (struct ws_row_key){.text = {label_of(s, i), s->names[i]}, .row = i};
	ws_row_keys_sort(s->order, s->n);
	for (size_t first = 0, end; first < s->n; first = end) {
		for (end = first + 1; end < s->n; end++)
			if (ws_name_compare(label_of(s, s->order[first].row),
			                    label_of(s, s->order[end].row)))
				break;
		if (end == first + 1)
			continue;
		if (!hashes) {
			const size_t n = end - first;
			struct ws_arena temp = {0};

			/* make these n labels, which are equal, different */
			struct ws_bytes *names = ws_arena_array(&temp, n, sizeof(*names));
			struct ws_buf *parts = ws_arena_array(&temp, n, sizeof(*parts));
			for (size_t i = 0; i < n; i++)
				names[i] = s->names[s->order[first + i].row];
			differing_arguments(&temp, names, n, parts);
			if (!parts[0].len) {
				strip_common(names, n);
				for (size_t i = 0; i < n; i++)
					ws_buf_put(&parts[i], names[i].ptr, names[i].len);
			}
			for (size_t i = 0; i < n; i++) {
				struct ws_bytes part = {parts[i].data, parts[i].len};

				if (part.len && part.len <= PARTS_MAX)
					relabel(s, s->order[first + i].row, " [", part, "]");
				else if (part.len)
					add_hash(s, s->order[first + i].row);
			}
			for (size_t i = 0; i < n; i++)
				ws_buf_free(&parts[i]);
			ws_arena_free(&temp);
		}
		for (size_t i = first; hashes && i < end; i++)
			add_hash(s, s->order[i].row);
	}
}

/* --- namespaces ------------------------------------------------------------------------------- */

/* The end of "a::b::f<x::y>" with this number of namespaces: "f<x::y>" with 0. */
static struct ws_bytes with_namespaces(struct ws_bytes label, unsigned keep)
{
	const char *begin = label.ptr, *end = begin + label.len;
	unsigned depth = 0, parts = 0;

	for (int round = 0; round < 2; round++) {
		const char *part = begin;

		/* the first round counts namespaces, the second finds the first one to keep */
		for (const char *p = begin; p < end; p++) {
			if (round && parts <= keep)
				return (struct ws_bytes){part, (size_t)(end - part)};
			if (*p == '<' && !depth && p > begin && ws_name_is_word(p[-1]))
				break; /* template arguments */
			depth += *p == '(' || *p == '<' || *p == '{';
			depth -= depth && (*p == ')' || *p == '>' || *p == '}');
			if (depth || *p != ':' || p + 2 >= end || p[1] != ':')
				continue;
			part = ++p + 1;
			parts = round ? parts - 1 : parts + 1;
		}
		depth = 0;
		if (round)
			return (struct ws_bytes){part, (size_t)(end - part)};
	}
	return label;
}

#define NAMESPACES_MAX 16u

void ws_short_names(const struct ws_bytes *names, size_t n, struct ws_buf *text,
                    struct ws_bytes *out)
{
	struct namer s = {.names = names, .n = n, .text = text};
	struct ws_arena temp = {0};
	struct ws_bytes *whole, *shown;
	bool is_done = false;

	WS_NEW(&temp, s.label, n);
	WS_NEW(&temp, s.order, n);
	for (size_t i = 0; i < n; i++) {
		s.label[i].offset = text->len;
		ws_short_name(names[i], text);
		s.label[i].len = text->len - s.label[i].offset;
	}

	/* Remove namespaces, except the nearest ones that are needed to keep different labels
	 * different. */
	WS_NEW(&temp, whole, s.n);
	WS_NEW(&temp, shown, s.n);
	unsigned *kept = ws_arena_array(&temp, s.n, sizeof(*kept));
	for (uint32_t i = 0; i < s.n; i++)
		whole[i] = label_of(&s, i);
	while (!is_done) {
		for (uint32_t i = 0; i < s.n; i++) {
			shown[i] = with_namespaces(whole[i], kept[i]);
			s.order[i] = (struct ws_row_key){.text = {shown[i], whole[i]}, .row = i};
		}
		ws_row_keys_sort(s.order, s.n);
		is_done = true;
		for (size_t first = 0, end; first < s.n; first = end) {
			const size_t a = s.order[first].row;

			for (end = first + 1;
			     end < s.n && !ws_name_compare(shown[a], shown[s.order[end].row]);)
				end++;
			/* then by whole label: the first and the last differ if any do */
			if (!ws_name_compare(whole[a], whole[s.order[end - 1].row]))
				continue;
			for (size_t i = first; i < end; i++) {
				kept[s.order[i].row]++;
				is_done &= kept[s.order[i].row] > NAMESPACES_MAX;
			}
		}
	}
	for (uint32_t i = 0; i < s.n; i++) {
		s.label[i].offset += whole[i].len - shown[i].len;
		s.label[i].len = shown[i].len;
	}
	one_round(&s, false);
	one_round(&s, true);
	for (size_t i = 0; i < n; i++)
		out[i] = label_of(&s, (uint32_t)i);
	ws_arena_free(&temp);
}
