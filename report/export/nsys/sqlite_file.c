#include "report/export/nsys/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/base/own_file.h"

#define PAGE_BYTES    4096u
#define LOCK_PAGE     (((uint32_t)1 << 30) / PAGE_BYTES + 1) /* holds nothing, ever */
#define MAX_PAGES     UINT32_C(0xfffffffe)
#define MAX_LEVELS    8u /* a page of the tree names more than 200 */
#define MAX_LOCAL     (PAGE_BYTES - 35)
#define MIN_LOCAL     ((PAGE_BYTES - 12) * 32 / 255 - 23)
#define LEAF          13
#define INTERIOR      5
#define BUFFER_BYTES  (256u * PAGE_BYTES)
#define FORMAT_NUMBER 3040001u /* the release whose format this is */

/* A page in the making: cells from its end, their places from its begin. */
struct node {
	uint8_t page[PAGE_BYTES];
	unsigned head, cells, content;
};

/* Pages of one depth. The last child so far stands behind the cells. */
struct level {
	struct node node;
	int64_t cell_key, right_key; /* greatest id below the last cell, below the last child */
	uint32_t right;
};

struct ws_sqlite_table {
	struct ws_sqlite_table *next;
	char *name, *sql;
	struct node *leaf;
	struct level *level[MAX_LEVELS]; /* from the leaves upwards */
	unsigned levels;
	int64_t last_id;
	uint32_t root;
};

struct ws_sqlite_file {
	FILE *out;
	uint32_t pages; /* so far */
	struct ws_sqlite_table *first, *last;
	struct ws_buf record;
};

static void store_be(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

static unsigned varint_size(uint64_t v)
{
	unsigned n = 1;

	while (v >>= 7)
		n++;
	return n < 9 ? n : 9;
}

/* The highest 7 bits first; a ninth byte has 8. */
static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	const unsigned n = varint_size(v);

	if (n == 9) {
		p[8] = (uint8_t)v;
		v >>= 8;
	}
	for (unsigned i = n < 9 ? n : 8; i-- > 0; v >>= 7)
		p[i] = (uint8_t)(v & 0x7f) | 0x80;
	if (n < 9)
		p[n - 1] &= 0x7f;
	return p + n;
}

/* --- pages --- */

static uint32_t page_after(uint32_t page)
{
	return page + 1 == LOCK_PAGE ? page + 2 : page + 1;
}

static enum ws_status write_page(struct ws_sqlite_file *f, const void *page, struct ws_err *err)
{
	errno = 0;
	WS_FAIL_IF(fwrite(page, PAGE_BYTES, 1, f->out) != 1, err, IO_WRITE, "the database: %s",
	           strerror(errno ? errno : EIO));
	f->pages++;
	return WS_OK;
}

/* Its number is page_after(f->pages) before. */
static enum ws_status append(struct ws_sqlite_file *f, const void *page, struct ws_err *err)
{
	static const uint8_t nothing[PAGE_BYTES];

	WS_FAIL_IF(f->pages >= MAX_PAGES, err, IO_WRITE, "the database would be too large");
	if (page_after(f->pages) != f->pages + 1)
		WS_FORWARD(write_page(f, nothing, err));
	return write_page(f, page, err);
}

static void begin(struct node *node, unsigned head)
{
	*node = (struct node){.head = head, .content = PAGE_BYTES};
}

static bool has_room(const struct node *node, unsigned bytes)
{
	return node->head + 2 * (node->cells + 1) + bytes <= node->content;
}

static uint8_t *add_cell(struct node *node, unsigned bytes)
{
	node->content -= bytes;
	store_be(node->page + node->head + 2 * (size_t)node->cells++, node->content, 2);
	return node->page + node->content;
}

/* Writes a page of a tree; *number is its. right: of an interior one. */
static enum ws_status end(struct ws_sqlite_file *f, struct node *node, uint32_t right,
                          uint32_t *number, struct ws_err *err)
{
	node->page[0] = node->head == 8 ? LEAF : INTERIOR;
	store_be(node->page + 3, node->cells, 2);
	store_be(node->page + 5, node->content, 2);
	if (node->head != 8)
		store_be(node->page + 8, right, 4);
	WS_FORWARD(append(f, node->page, err));
	*number = f->pages;
	begin(node, node->head);
	return WS_OK;
}

/* --- the tree --- */

static void add_child(struct level *l, uint32_t child, int64_t key)
{
	const unsigned bytes = 4 + varint_size((uint64_t)l->right_key);
	uint8_t *cell = add_cell(&l->node, bytes);

	store_be(cell, l->right, 4);
	put_varint(cell + 4, (uint64_t)l->right_key);
	l->cell_key = l->right_key;
	l->right = child;
	l->right_key = key;
}

/* The last cell's child ends the page, so that the next page, too, has a cell. */
static enum ws_status end_level(struct ws_sqlite_file *f, struct level *l, uint32_t *page,
                                int64_t *key, struct ws_err *err)
{
	const uint8_t *cell = l->node.page + l->node.content;

	*key = l->cell_key;
	*page = (uint32_t)cell[0] << 24 | (uint32_t)cell[1] << 16 | (uint32_t)cell[2] << 8 |
	        cell[3];
	l->node.content += 4 + varint_size((uint64_t)l->cell_key);
	l->node.cells--;
	return end(f, &l->node, *page, page, err);
}

/* A page of the depth below is written: key is the greatest id in it. */
static enum ws_status add_page(struct ws_sqlite_file *f, struct ws_sqlite_table *t, unsigned depth,
                               uint32_t page, int64_t key, struct ws_err *err)
{
	for (;; depth++) {
		struct level *l;
		uint32_t ended;
		int64_t ended_key;

		WS_FAIL_IF(depth == MAX_LEVELS, err, BUG, "a table's tree is too deep");
		if (depth == t->levels) {
			l = t->level[t->levels] = malloc(sizeof(*l));
			WS_FAIL_IF(!l, err, NO_MEMORY, "out of memory for the database");
			t->levels++;
			begin(&l->node, 12);
			l->right = page;
			l->right_key = key;
			return WS_OK;
		}
		l = t->level[depth];
		if (has_room(&l->node, 4 + varint_size((uint64_t)l->right_key))) {
			add_child(l, page, key);
			return WS_OK;
		}
		WS_FORWARD(end_level(f, l, &ended, &ended_key, err));
		add_child(l, page, key);
		page = ended;
		key = ended_key;
	}
}

static void free_pages(struct ws_sqlite_table *t)
{
	free(t->leaf);
	t->leaf = NULL;
	for (unsigned k = 0; k < t->levels; k++)
		free(t->level[k]);
	t->levels = 0;
}

static enum ws_status end_table(struct ws_sqlite_file *f, struct ws_sqlite_table *t,
                                struct ws_err *err)
{
	int64_t key = t->last_id;

	WS_FORWARD(end(f, t->leaf, 0, &t->root, err));
	for (unsigned depth = 0; depth < t->levels; depth++) {
		struct level *l = t->level[depth];

		WS_FORWARD(add_page(f, t, depth, t->root, key, err));
		key = l->right_key;
		WS_FORWARD(end(f, &l->node, l->right, &t->root, err));
	}
	free_pages(t);
	return WS_OK;
}

/* --- rows --- */

/* Bytes of a number that is neither 0 nor 1: 1, 2, 3, 4, 6 or 8. */
static unsigned integer_bytes(int64_t v)
{
	const uint64_t magnitude = (uint64_t)(v < 0 ? ~v : v);
	const unsigned bytes = (64 - (unsigned)__builtin_clzll(magnitude | 1)) / 8 + 1;

	return bytes <= 4 ? bytes : bytes <= 6 ? 6 : 8;
}

/* The number that tells type and size; *bytes the size. */
static uint64_t serial_type(const struct ws_sqlite_value *v, size_t *bytes)
{
	*bytes = 0;
	switch (v->type) {
	case WS_SQLITE_INTEGER:
		if (v->integer == 0 || v->integer == 1)
			return 8 + (uint64_t)v->integer;
		*bytes = integer_bytes(v->integer);
		return *bytes <= 4 ? *bytes : *bytes / 2 + 2;
	case WS_SQLITE_REAL:
		*bytes = isnan(v->real) ? 0 : 8;
		return *bytes ? 7 : 0;
	case WS_SQLITE_TEXT:
	case WS_SQLITE_BLOB:
		*bytes = v->bytes.len;
		return 12 + 2 * (uint64_t)*bytes + (v->type == WS_SQLITE_TEXT);
	case WS_SQLITE_NULL:
		break;
	}
	return 0;
}

/* The row as f->record. */
static enum ws_status make_record(struct ws_sqlite_file *f, const struct ws_sqlite_value *values,
                                  unsigned n, struct ws_err *err)
{
	uint64_t types[WS_SQLITE_MAX_COLUMNS];
	size_t bytes[WS_SQLITE_MAX_COLUMNS], head = 0, room = 8; /* numbers are stored as 8 bytes */
	uint8_t *p;

	WS_FAIL_IF(n > WS_SQLITE_MAX_COLUMNS, err, BUG, "%u columns are too many for a row", n);
	for (unsigned i = 0; i < n; i++) {
		types[i] = serial_type(&values[i], &bytes[i]);
		head += varint_size(types[i]);
		room += bytes[i];
	}
	head += varint_size(head + 2);
	f->record.len = 0;
	WS_FORWARD(ws_buf_reserve(&f->record, head + room, err));
	p = put_varint(f->record.data, head);
	for (unsigned i = 0; i < n; i++)
		p = put_varint(p, types[i]);
	for (unsigned i = 0; i < n; i++) {
		uint64_t v = (uint64_t)values[i].integer;

		if (types[i] >= 12 && bytes[i])
			memcpy(p, values[i].bytes.ptr, bytes[i]);
		else if (types[i] < 12 && bytes[i])
			ws_store_u64(p, __builtin_bswap64(v << (64 - 8 * bytes[i])));
		p += bytes[i];
	}
	f->record.len = (size_t)(p - f->record.data);
	return WS_OK;
}

/* What a page has no room for, as a list of pages behind the last one. */
static enum ws_status write_overflow(struct ws_sqlite_file *f, size_t from, struct ws_err *err)
{
	uint8_t page[PAGE_BYTES];

	while (from < f->record.len) {
		const size_t left = f->record.len - from;
		const size_t bytes = left < PAGE_BYTES - 4 ? left : PAGE_BYTES - 4;

		memset(page, 0, sizeof(page));
		if (left > bytes)
			store_be(page, page_after(page_after(f->pages)), 4);
		memcpy(page + 4, f->record.data + from, bytes);
		WS_FORWARD(append(f, page, err));
		from += bytes;
	}
	return WS_OK;
}

enum ws_status ws_sqlite_put(struct ws_sqlite_file *f, struct ws_sqlite_table *t, int64_t id,
                             const struct ws_sqlite_value *values, unsigned n, struct ws_err *err)
{
	const uint32_t overflow = page_after(f->pages);
	size_t local, bytes;
	uint32_t page;
	uint8_t *p;

	WS_FAIL_IF(id <= t->last_id, err, BUG, "rows of %s are not in order", t->name);
	WS_FORWARD(make_record(f, values, n, err));
	local = f->record.len;
	if (local > MAX_LOCAL) {
		local = MIN_LOCAL + (local - MIN_LOCAL) % (PAGE_BYTES - 4);
		local = local <= MAX_LOCAL ? local : MIN_LOCAL;
		WS_FORWARD(write_overflow(f, local, err));
	}
	bytes = varint_size(f->record.len) + varint_size((uint64_t)id) + local +
	        (local < f->record.len ? 4 : 0);
	if (!has_room(t->leaf, (unsigned)bytes)) {
		WS_FORWARD(end(f, t->leaf, 0, &page, err));
		WS_FORWARD(add_page(f, t, 0, page, t->last_id, err));
	}
	t->last_id = id;
	p = put_varint(add_cell(t->leaf, (unsigned)bytes), f->record.len);
	p = put_varint(p, (uint64_t)id);
	memcpy(p, f->record.data, local);
	if (local < f->record.len)
		store_be(p + local, overflow, 4);
	return WS_OK;
}

/* --- tables and the file --- */

enum ws_status ws_sqlite_table(struct ws_sqlite_file *f, const char *name, const char *columns,
                               struct ws_sqlite_table **t, struct ws_err *err)
{
	struct ws_sqlite_table *new = calloc(1, sizeof(*new));

	*t = new;
	WS_FAIL_IF(!new, err, NO_MEMORY, "out of memory for the database");
	if (f->last)
		f->last->next = new;
	else
		f->first = new;
	f->last = new;
	new->last_id = INT64_MIN;
	new->name = strdup(name);
	if (asprintf(&new->sql, "CREATE TABLE %s (%s)", name, columns) < 0)
		new->sql = NULL;
	new->leaf = malloc(sizeof(*new->leaf));
	WS_FAIL_IF(!new->name || !new->sql || !new->leaf, err, NO_MEMORY,
	           "out of memory for the database");
	begin(new->leaf, 8);
	return WS_OK;
}

enum ws_status ws_sqlite_create(struct ws_sqlite_file **f, const char *path, struct ws_err *err)
{
	static const uint8_t first[PAGE_BYTES];
	struct ws_sqlite_file *new = *f = calloc(1, sizeof(*new));
	int fd;

	WS_FAIL_IF(!new, err, NO_MEMORY, "out of memory for the database");
	WS_FORWARD(ws_own_file_create(path, &fd, err));
	fcntl(fd, F_SETFL, 0); /* the first page is written last, and in its place */
	new->out = fdopen(fd, "wb");
	if (!new->out) {
		close(fd);
		return WS_FAIL_MEMORY(err, "the database");
	}
	setvbuf(new->out, NULL, _IOFBF, BUFFER_BYTES);
	return write_page(new, first, err);
}

static enum ws_status write_schema(struct ws_sqlite_file *f, uint32_t *root, struct ws_err *err)
{
	struct ws_sqlite_table *schema;
	int64_t id = 0;

	WS_FORWARD(ws_sqlite_table(f, "", "", &schema, err));
	for (struct ws_sqlite_table *t = f->first; t != schema; t = t->next) {
		const struct ws_bytes name = {t->name, strlen(t->name)};
		const struct ws_sqlite_value row[] = {
		        {WS_SQLITE_TEXT, .bytes = {"table", 5}},
		        {WS_SQLITE_TEXT, .bytes = name},
		        {WS_SQLITE_TEXT, .bytes = name},
		        {WS_SQLITE_INTEGER, .integer = t->root},
		        {WS_SQLITE_TEXT, .bytes = {t->sql, strlen(t->sql)}},
		};

		WS_FORWARD(ws_sqlite_put(f, schema, ++id, row, 5, err));
	}
	WS_FORWARD(end_table(f, schema, err));
	*root = schema->root;
	return WS_OK;
}

/* The header, and the root of the schema: a page without cells, whose only child is its tree. */
static enum ws_status write_first_page(struct ws_sqlite_file *f, uint32_t schema,
                                       struct ws_err *err)
{
	static const struct {
		uint8_t at, bytes;
		uint32_t value;
	} fields[] = {
	        {16, 2, PAGE_BYTES},
	        {18, 1, 1}, /* the journal that writers use, and that readers expect */
	        {19, 1, 1},
	        {21, 1, 64}, /* shares of a page, fixed */
	        {22, 1, 32},
	        {23, 1, 32},
	        {24, 4, 1}, /* number of changes; at 92 again: the number of pages is right */
	        {40, 4, 1}, /* number of changes of the schema */
	        {44, 4, 4}, /* format of the schema */
	        {56, 4, 1}, /* UTF-8 */
	        {92, 4, 1},
	        {96, 4, FORMAT_NUMBER},
	        {100, 1, INTERIOR},
	        {105, 2, PAGE_BYTES},
	};
	uint8_t page[PAGE_BYTES] = "SQLite format 3";
	const uint32_t pages = f->pages;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		store_be(page + fields[i].at, fields[i].value, fields[i].bytes);
	store_be(page + 28, pages, 4);
	store_be(page + 108, schema, 4);
	errno = 0;
	WS_FAIL_IF(fseeko(f->out, 0, SEEK_SET) != 0, err, IO_WRITE, "the database: %s",
	           strerror(errno));
	return write_page(f, page, err);
}

enum ws_status ws_sqlite_finish(struct ws_sqlite_file *f, struct ws_err *err)
{
	uint32_t schema;
	int code;

	for (struct ws_sqlite_table *t = f->first; t; t = t->next)
		WS_FORWARD(end_table(f, t, err));
	WS_FORWARD(write_schema(f, &schema, err));
	WS_FORWARD(write_first_page(f, schema, err));
	errno = 0;
	code = fclose(f->out);
	f->out = NULL;
	WS_FAIL_IF(code != 0, err, IO_WRITE, "the database: %s", strerror(errno));
	return WS_OK;
}

void ws_sqlite_free(struct ws_sqlite_file *f)
{
	struct ws_sqlite_table *t = f ? f->first : NULL;

	while (t) {
		struct ws_sqlite_table *next = t->next;

		free_pages(t);
		free(t->name);
		free(t->sql);
		free(t);
		t = next;
	}
	if (f && f->out)
		fclose(f->out);
	if (f)
		ws_buf_free(&f->record);
	free(f);
}
