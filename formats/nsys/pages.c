#include "formats/nsys/pages.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/bytes.h"

#define HEADER_BYTES 100u
#define MAX_LEVELS   12u         /* of a tree; a page of it names at least 2 */
#define WINDOW_BYTES (64u << 10) /* read at once; of one page at least */
#define SLACK_BYTES  8u          /* an integer is loaded with what stands behind it */
#define LEAF         13
#define INTERIOR     5
#define LEAF_HEAD    8u
#define HEAD         12u

/* An interior page on the way to the leaf, and the child that is being read. */
struct level {
	uint8_t *page;
	unsigned at, cells;
};

struct ws_nsys_pages {
	int fd;
	uint32_t page_bytes, used_bytes, npages;
	uint32_t left;   /* pages that may still be visited: each stands in one place */
	uint8_t *window; /* so many pages of the file, from the first on */
	uint32_t first, in_window;
	struct level level[MAX_LEVELS];
	unsigned depth;
	const uint8_t *leaf;
	unsigned at, cells;
	bool is_sound, has_last;
	int64_t last;
	uint8_t memory[];
};

static uint32_t load_be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t load_be32(const uint8_t *p)
{
	return __builtin_bswap32(ws_load_u32(p));
}

/* The highest 7 bits first; a ninth byte has 8. NULL: it does not end before the end. */
static inline const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 8 && p < end; i++) {
		sum = sum << 7 | (*p & 0x7f);
		if (!(*p++ & 0x80)) {
			*v = sum;
			return p;
		}
	}
	if (p >= end)
		return NULL;
	*v = sum << 8 | *p;
	return p + 1;
}

/* --- the file --- */

enum ws_status ws_nsys_pages_open(struct ws_nsys_pages **out, int fd, struct ws_err *err)
{
	uint8_t head[HEADER_BYTES];
	uint32_t page_bytes, window;
	struct ws_nsys_pages *p;
	struct stat st;

	*out = NULL;
	if (fstat(fd, &st) != 0 || pread(fd, head, sizeof(head), 0) != sizeof(head))
		return WS_OK;
	page_bytes = load_be16(head + 16) == 1 ? 65536 : load_be16(head + 16);
	/* a page has at least 480 bytes for itself; 1: UTF-8 */
	if (page_bytes < 512 || page_bytes & (page_bytes - 1) || page_bytes - head[20] < 480 ||
	    load_be32(head + 56) != 1)
		return WS_OK;
	window = page_bytes > WINDOW_BYTES ? page_bytes : WINDOW_BYTES;
	p = malloc(sizeof(*p) + (size_t)MAX_LEVELS * page_bytes + window + SLACK_BYTES);
	WS_FAIL_IF(!p, err, NO_MEMORY, "out of memory for pages of the database");
	*p = (struct ws_nsys_pages){.fd = fd,
	                            .page_bytes = page_bytes,
	                            .used_bytes = page_bytes - head[20],
	                            .npages = st.st_size / page_bytes > UINT32_MAX
	                                              ? UINT32_MAX
	                                              : (uint32_t)(st.st_size / page_bytes)};
	for (unsigned i = 0; i < MAX_LEVELS; i++)
		p->level[i].page = p->memory + (size_t)i * page_bytes;
	p->window = p->memory + (size_t)MAX_LEVELS * page_bytes;
	memset(p->window + window, 0, SLACK_BYTES);
	*out = p;
	return WS_OK;
}

void ws_nsys_pages_free(struct ws_nsys_pages *p)
{
	free(p);
}

/* A page by its number, counted from 1; borrowed until the next is fetched. NULL: there is none. */
static const uint8_t *fetch(struct ws_nsys_pages *p, uint32_t number)
{
	const size_t size = p->page_bytes > WINDOW_BYTES ? p->page_bytes : WINDOW_BYTES;
	ssize_t got;

	if (number < 2 || number > p->npages || !p->left)
		return NULL;
	p->left--;
	if (number < p->first || number - p->first >= p->in_window) {
		got = pread(p->fd, p->window, size, (off_t)(number - 1) * p->page_bytes);
		p->first = number;
		p->in_window = got < 0 ? 0 : (uint32_t)((size_t)got / p->page_bytes);
		if (!p->in_window)
			return NULL;
	}
	return p->window + (size_t)(number - p->first) * p->page_bytes;
}

/* --- the tree --- */

/* The page of a child; 0: no page has that number. */
static uint32_t child(const struct ws_nsys_pages *p, const struct level *l)
{
	uint32_t cell;

	if (l->at == l->cells)
		return load_be32(l->page + 8);
	cell = load_be16(l->page + HEAD + 2 * (size_t)l->at);
	return cell + 4 <= p->used_bytes ? load_be32(l->page + cell) : 0;
}

/* To the first leaf below a page. */
static bool descend(struct ws_nsys_pages *p, uint32_t number)
{
	for (;;) {
		const uint8_t *page = fetch(p, number);
		unsigned cells = page ? load_be16(page + 3) : 0;
		struct level *l = &p->level[p->depth];

		if (page && page[0] == LEAF && LEAF_HEAD + 2 * cells <= p->used_bytes) {
			p->leaf = page;
			p->at = 0;
			p->cells = cells;
			return 1;
		}
		if (!page || page[0] != INTERIOR || HEAD + 2 * cells > p->used_bytes ||
		    p->depth == MAX_LEVELS)
			return 0;
		memcpy(l->page, page, p->page_bytes);
		l->at = 0;
		l->cells = cells;
		p->depth++;
		number = child(p, l);
	}
}

void ws_nsys_pages_begin(struct ws_nsys_pages *p, uint32_t root)
{
	p->left = p->npages;
	p->depth = 0;
	p->has_last = 0;
	p->is_sound = descend(p, root);
}

/* A row of the leaf: its id and its record, which is all in this page. */
static bool read_cell(struct ws_nsys_pages *p, int64_t *id, struct ws_bytes *record)
{
	const uint8_t *end = p->leaf + p->used_bytes;
	const uint8_t *pos = p->leaf + load_be16(p->leaf + LEAF_HEAD + 2 * (size_t)p->at);
	uint64_t size, key;

	pos = get_varint(pos, end, &size);
	pos = pos ? get_varint(pos, end, &key) : NULL;
	/* a longer one goes on in other pages */
	if (!pos || size > p->used_bytes - 35 || size > (size_t)(end - pos) ||
	    (p->has_last && (int64_t)key <= p->last))
		return 0;
	*id = p->last = (int64_t)key;
	p->has_last = 1;
	*record = (struct ws_bytes){pos, size};
	return 1;
}

enum ws_nsys_pages_next ws_nsys_pages_next(struct ws_nsys_pages *p, int64_t *id,
                                           struct ws_bytes *record)
{
	while (p->is_sound && p->at == p->cells) {
		while (p->depth && p->level[p->depth - 1].at == p->level[p->depth - 1].cells)
			p->depth--;
		if (!p->depth)
			return WS_NSYS_PAGES_END;
		p->level[p->depth - 1].at++;
		p->is_sound = descend(p, child(p, &p->level[p->depth - 1]));
	}
	p->is_sound = p->is_sound && read_cell(p, id, record);
	p->at++;
	return p->is_sound ? WS_NSYS_PAGES_ROW : WS_NSYS_PAGES_UNREAD;
}

/* --- the record --- */

/* Of a value that ends before the page's end or the slack behind it. */
static inline int64_t load_integer(const uint8_t *p, unsigned bytes)
{
	return (int64_t)__builtin_bswap64(ws_load_u64(p)) >> (64 - 8 * bytes);
}

double ws_nsys_pages_real(struct ws_bytes value)
{
	uint64_t bits = __builtin_bswap64(ws_load_u64(value.ptr));
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

/* One value, by its serial type. */
static inline void take(struct ws_nsys_values *v, int slot, uint64_t serial, const uint8_t *body,
                        size_t size)
{
	v->integer[slot] = 0;
	v->bytes[slot] = (struct ws_bytes){body, size};
	if (serial >= 12) {
		v->type[slot] = serial & 1 ? SQLITE_TEXT : SQLITE_BLOB;
	} else if (serial == 7) {
		/* as SQLite has it */
		v->type[slot] =
		        isnan(ws_nsys_pages_real(v->bytes[slot])) ? SQLITE_NULL : SQLITE_FLOAT;
	} else if (serial) {
		v->type[slot] = SQLITE_INTEGER;
		v->integer[slot] = size ? load_integer(body, (unsigned)size) : (int64_t)serial - 8;
	} else {
		v->type[slot] = SQLITE_NULL;
	}
}

bool ws_nsys_pages_record(struct ws_bytes record, const int8_t *slot, unsigned n,
                          struct ws_nsys_values *v)
{
	static const uint8_t sizes[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
	const uint8_t *at = record.ptr, *end = at + record.len, *body;
	uint64_t head, serial, size;

	at = get_varint(at, end, &head);
	if (!at || head > record.len || at > (const uint8_t *)record.ptr + head)
		return 0;
	body = (const uint8_t *)record.ptr + head;
	for (unsigned c = 0; c < n; c++) {
		/* columns that were added to the table later are not there */
		serial = 0;
		if (at < (const uint8_t *)record.ptr + head)
			at = get_varint(at, (const uint8_t *)record.ptr + head, &serial);
		size = serial < 12 ? sizes[serial] : (serial - 12) / 2;
		if (!at || serial == 10 || serial == 11 || size > (size_t)(end - body))
			return 0;
		if (slot[c] >= 0)
			take(v, slot[c], serial, body, size);
		body += size;
	}
	return 1;
}
