/*
 * Each field of each fixed structure of a trace file set to a wrong value,
 * once as a fault of storage (checksums are wrong, then) and once as a fault
 * of a writer (checksums are right), and what the check says of it.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>

#include "formats/codec/block.h"
#include "tests/support/trace_sample.h"

enum place {
	FILE_HEADER,
	BLOCK,   /* the header of the second kernel block */
	ENTRY,   /* the directory entry of its column dur_ns */
	PADDING, /* the last byte of the block */
	TRAILER,
};

enum sealed {
	STORAGE, /* checksums stay as they were */
	WRITER,  /* checksums are made right again */
};

struct corruption {
	const char *field;
	enum place place;
	unsigned offset, width;
	uint64_t value;
	enum sealed sealed;
	/*
	 * The first finding, or the error for a file header that is refused:
	 * @ is the offset of the block, # its size, S the
	 * sequence number before it, L the bytes from it to the trailer, T the offset
	 * of the trailer, F the size of the file.
	 */
	const char *expected;
};

#define BLOCK_LOST "; # bytes are lost"

static const struct corruption table[] = {
        /* --- 1.1 file header --- */
        {"magic", FILE_HEADER, 0, 1, 0x09, WRITER,
         "DAMAGE 0: the file was changed by a transfer as text; copy it again as binary; when the "
         "trace was recorded is lost"},
        {"magic", FILE_HEADER, 1, 1, 'x', WRITER,
         "DAMAGE 0: not a Warpsheet trace: unrecognised file header; when the trace was recorded "
         "is lost"},
        {"version_major", FILE_HEADER, 8, 2, 3, WRITER,
         "error: the file has format 3.0, this program reads 2.x"},
        {"version_major", FILE_HEADER, 8, 2, 0, WRITER,
         "error: the file has format 0.0 of before the first release, this program reads 2.x; "
         "record or import it again"},
        {"version_major", FILE_HEADER, 8, 2, 3, STORAGE,
         "DAMAGE 0: the file header is damaged: its checksum is wrong; when the trace was recorded "
         "is lost"},
        {"version_minor", FILE_HEADER, 10, 2, 7, WRITER, ""},
        {"version_minor", FILE_HEADER, 10, 2, 7, STORAGE,
         "DAMAGE 0: the file header is damaged: its checksum is wrong; when the trace was recorded "
         "is lost"},
        {"header_size", FILE_HEADER, 12, 4, 128, WRITER,
         "error: the file header has 128 bytes, this program knows one of 64"},
        {"required_features", FILE_HEADER, 16, 8, 2, WRITER,
         "error: the file needs features 0x2 that this program lacks"},
        {"required_features", FILE_HEADER, 16, 8, 0, WRITER, ""},
        {"optional_features", FILE_HEADER, 24, 8, 1, WRITER, ""},
        {"base_ns", FILE_HEADER, 32, 8, 0, WRITER, ""},
        {"base_ns", FILE_HEADER, 32, 8, 0, STORAGE,
         "DAMAGE 0: the file header is damaged: its checksum is wrong; when the trace was recorded "
         "is lost"},
        {"reserved", FILE_HEADER, 40, 8, 1, WRITER,
         "error: the file header uses reserved bytes that this program does not know"},
        {"reserved", FILE_HEADER, 48, 8, 1, WRITER,
         "error: the file header uses reserved bytes that this program does not know"},
        {"checksum", FILE_HEADER, 56, 8, 0, STORAGE,
         "DAMAGE 0: the file header is damaged: its checksum is wrong; when the trace was recorded "
         "is lost"},

        /* --- 1.2 block header --- */
        {"magic", BLOCK, 0, 1, 'x', STORAGE, "DAMAGE @: offset @: no block begins here" BLOCK_LOST},
        {"kind", BLOCK, 4, 2, 16, STORAGE,
         "DAMAGE @: offset @: the checksum of a block header is wrong" BLOCK_LOST},
        {"columns", BLOCK, 6, 2, 0, WRITER,
         "DAMAGE @: kernel block at offset @: it has 0 columns, not 1 to 256" BLOCK_LOST},
        {"columns", BLOCK, 6, 2, 257, WRITER,
         "DAMAGE @: kernel block at offset @: it has 257 columns, not 1 to 256" BLOCK_LOST},
        {"columns", BLOCK, 6, 2, 200, WRITER,
         "DAMAGE @: kernel block at offset @: its body of 192 bytes cannot hold the directory of "
         "200 columns" BLOCK_LOST},
        {"columns", BLOCK, 6, 2, 5, WRITER,
         "DAMAGE @: kernel block at offset @: 53 bytes after its last column belong to no column"},
        {"rows", BLOCK, 8, 4, 0, WRITER,
         "DAMAGE @: kernel block at offset @: it has 0 rows, not 1 to 65536" BLOCK_LOST},
        {"rows", BLOCK, 8, 4, 65537, WRITER,
         "DAMAGE @: kernel block at offset @: it has 65537 rows, not 1 to 65536" BLOCK_LOST},
        {"rows", BLOCK, 8, 4, 9, WRITER,
         "DAMAGE @: kernel block at offset @, column 1 (start_ns): 3 bytes are left after the "
         "last row"},
        {"reserved", BLOCK, 12, 4, 1, WRITER,
         "DAMAGE @: kernel block at offset @: reserved bytes of its header are not 0" BLOCK_LOST},
        {"body_size", BLOCK, 16, 8, 244, WRITER,
         "DAMAGE @: kernel block at offset @: its body size 244 is not a multiple of 8" BLOCK_LOST},
        {"body_size", BLOCK, 16, 8, (1 << 30) + 8, WRITER,
         "DAMAGE @: kernel block at offset @: its body size 1073741832 is over the limit of "
         "1073741824" BLOCK_LOST},
        {"body_size", BLOCK, 16, 8, UINT64_MAX - 7, WRITER,
         "DAMAGE @: kernel block at offset @: its body size 18446744073709551608 is over the limit "
         "of 1073741824" BLOCK_LOST},
        {"body_size", BLOCK, 16, 8, 1 << 20, WRITER,
         "DAMAGE @: kernel block at offset @: cut off, L of its 1048640 bytes are "
         "there" BLOCK_LOST},
        {"body_size", BLOCK, 16, 8, 240, STORAGE,
         "DAMAGE @: offset @: the checksum of a block header is wrong" BLOCK_LOST},
        {"time_min", BLOCK, 24, 8, 1, WRITER,
         "DAMAGE @: kernel block at offset @: its header says times 1 to 207809 ns, its rows have "
         "116960 to 207809"},
        {"time_min", BLOCK, 24, 8, 207810, WRITER,
         "DAMAGE @: kernel block at offset @: its time range ends before it begins" BLOCK_LOST},
        {"time_max", BLOCK, 32, 8, 999999, WRITER,
         "DAMAGE @: kernel block at offset @: its header says times 116960 to 999999 ns, its rows "
         "have 116960 to 207809"},
        {"sequence", BLOCK, 40, 8, 0, WRITER,
         "DAMAGE @: kernel block at offset @: it has number 0, the block before it S; blocks were "
         "moved or copied"},
        {"body_checksum", BLOCK, 48, 8, 1, STORAGE,
         "DAMAGE @: offset @: the checksum of a block header is wrong" BLOCK_LOST},
        {"header_checksum", BLOCK, 56, 8, 1, STORAGE,
         "DAMAGE @: offset @: the checksum of a block header is wrong" BLOCK_LOST},

        /* --- 1.3 directory entry --- */
        {"column", ENTRY, 0, 2, 1, WRITER,
         "DAMAGE @: kernel block at offset @, column 1 (start_ns): the block has it twice"},
        {"column", ENTRY, 0, 2, 999, WRITER,
         "NOTE @: kernel block at offset @: unknown column 999 that a newer program can read"},
        {"column", ENTRY, 0, 2, 1, STORAGE,
         "DAMAGE @: kernel block at offset @: the checksum of its body is wrong" BLOCK_LOST},
        {"type", ENTRY, 2, 1, WS_TYPE_U64, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its type is 1 instead of DUR"},
        {"type", ENTRY, 2, 1, 0, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its type is 0 instead of DUR"},
        {"encoding", ENTRY, 3, 1, 4, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its encoding bytes does not fit "
         "its type DUR"},
        {"encoding", ENTRY, 3, 1, 5, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): 11 bytes cannot be 10 rows of "
         "encoding raw"},
        {"encoding", ENTRY, 3, 1, 1, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): 11 bytes cannot be 10 rows of "
         "encoding constant"},
        {"encoding", ENTRY, 3, 1, 9, WRITER,
         "NOTE @: kernel block at offset @, column 2 (dur_ns): its encoding 9 needs a newer "
         "program"},
        {"compression", ENTRY, 3, 1, 1 << 6 | WS_ENCODING_DELTA, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): not a zstd frame"},
        {"compression", ENTRY, 3, 1, 2 << 6 | WS_ENCODING_DELTA, WRITER,
         "NOTE @: kernel block at offset @, column 2 (dur_ns): its compression 2 needs a newer "
         "program"},
        {"encoded_size", ENTRY, 4, 4, 0, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its encoded size 0 is not 1 to "
         "268435456"},
        {"encoded_size", ENTRY, 4, 4, (1 << 28) + 1, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its encoded size 268435457 is not "
         "1 to 268435456"},
        {"encoded_size", ENTRY, 4, 4, UINT32_MAX, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its encoded size "
         "4294967295 is not 1 to 268435456"},
        {"encoded_size", ENTRY, 4, 4, 21, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): it is not compressed, but its "
         "sizes differ: 11 and 21"},
        {"stored_size", ENTRY, 8, 4, 100, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its 100 stored bytes run past the "
         "block's end, 37 are left"},
        {"stored_size", ENTRY, 8, 4, UINT32_MAX, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its 4294967295 stored "
         "bytes run past the block's end, 37 are left"},
        {"stored_size", ENTRY, 8, 4, 2, WRITER,
         "DAMAGE @: kernel block at offset @: 11 bytes after its last column belong to no column"},
        {"stored_size", ENTRY, 8, 4, 12, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): it is not compressed, but its "
         "sizes differ: 12 and 11"},
        {"parameter", ENTRY, 12, 4, 1, WRITER,
         "DAMAGE @: kernel block at offset @, column 2 (dur_ns): its parameter is 1, which its "
         "encoding delta does not have"},

        {"padding", PADDING, 0, 1, 1, WRITER,
         "DAMAGE @: kernel block at offset @: its padding is not 0"},

        /* --- 1.4 trailer --- */
        {"index_offset", TRAILER, 0, 8, 64, WRITER,
         "DAMAGE T: the trailer points to offset 64, where no whole index block is"},
        {"index_offset", TRAILER, 0, 8, UINT64_MAX, WRITER,
         "DAMAGE T: the trailer points to offset 18446744073709551615, where no whole index block "
         "is"},
        {"file_size", TRAILER, 8, 8, 5, WRITER,
         "DAMAGE T: the trailer says that the file has 5 bytes, but it has F"},
        {"file_size", TRAILER, 8, 8, 5, STORAGE,
         "DAMAGE T: offset T: 32 bytes are too few for a block header; 32 bytes are lost"},
        {"checksum", TRAILER, 16, 8, 5, STORAGE,
         "DAMAGE T: offset T: 32 bytes are too few for a block header; 32 bytes are lost"},
        {"magic", TRAILER, 24, 1, 5, STORAGE,
         "DAMAGE T: offset T: 32 bytes are too few for a block header; 32 bytes are lost"},
};

/* The expected text with its places filled in. */
static void expand(const struct corruption *c, const struct ws_sample *s, size_t block,
                   size_t block_size, unsigned sequence_before, char *out, size_t size)
{
	FILE *f = fmemopen(out, size, "w");

	for (const char *p = c->expected; *p; p++) {
		int alone = p[1] == ' ' || p[1] == ':' || p[1] == ';' || !p[1];

		if (*p == '@')
			fprintf(f, "%zu", block);
		else if (*p == '#')
			fprintf(f, "%zu", block_size);
		else if (*p == 'T' && alone)
			fprintf(f, "%zu", s->size - WS_TRAILER_BYTES);
		else if (*p == 'F' && alone)
			fprintf(f, "%zu", s->size);
		else if (*p == 'L' && alone)
			fprintf(f, "%zu", s->size - WS_TRAILER_BYTES - block);
		else if (*p == 'S' && alone)
			fprintf(f, "%u", sequence_before);
		else
			fputc(*p, f);
	}
	fclose(f);
}

static size_t place_of(const struct corruption *c, const struct ws_sample *s, size_t block)
{
	switch (c->place) {
	case FILE_HEADER:
		return c->offset;
	case BLOCK:
		return block + c->offset;
	case ENTRY:
		return block + WS_BLOCK_HEADER_BYTES + WS_DIR_ENTRY_BYTES + c->offset;
	case PADDING:
		return block + ws_sample_block_size(s, block) - 1;
	case TRAILER:
		break;
	}
	return s->size - WS_TRAILER_BYTES + c->offset;
}

static void seal(const struct corruption *c, struct ws_sample *s, size_t block)
{
	if (c->sealed == STORAGE)
		return;
	if (c->place == FILE_HEADER)
		ws_sample_seal_header(s);
	else if (c->place == TRAILER)
		ws_sample_seal_trailer(s);
	else
		ws_sample_seal_block(s, block);
}

static void try_one(const struct corruption *c)
{
	static struct ws_sample_findings found;
	struct ws_sample s = ws_sample_make();
	size_t block = ws_sample_block(&s, WS_KIND_KERNEL, 1);
	size_t block_size = ws_sample_block_size(&s, block);
	unsigned sequence = s.data[block + 40];
	char expected[512] = "", said[1024];

	expand(c, &s, block, block_size, sequence - 1, expected, sizeof(expected));
	ws_sample_poke(&s, place_of(c, &s, block), c->width, c->value);
	seal(c, &s, block);
	ws_sample_check(&s, &found);
	if (found.status != WS_OK)
		snprintf(said, sizeof(said), "error: %s", found.err.text);
	else
		snprintf(said, sizeof(said), "%.*s", (int)strcspn(found.text, "\n"), found.text);
	cr_expect_str_eq(said, expected, "%s = %#llx, checksums %s:\n  says '%s'\n  not  '%s'",
	                 c->field, (unsigned long long)c->value,
	                 c->sealed == WRITER ? "right" : "wrong", said, expected);
	ws_sample_free(&s);
}

Test(corrupt_fields, every_wrong_field_has_its_message)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		try_one(&table[i]);
}

Test(corrupt_fields, columns_that_together_would_take_more_than_a_gibibyte_are_refused)
{
	static struct ws_sample_findings found;
	struct ws_sample s = ws_sample_make();
	size_t block = ws_sample_block(&s, WS_KIND_KERNEL, 1);
	char expected[256];

	/* five of them as large as one may be */
	for (unsigned i = 0; i < 5; i++)
		ws_sample_poke(&s, block + WS_BLOCK_HEADER_BYTES + i * WS_DIR_ENTRY_BYTES + 4, 4,
		               WS_MAX_ENCODED_BYTES);
	ws_sample_seal_block(&s, block);
	ws_sample_check(&s, &found);
	snprintf(expected, sizeof(expected),
	         "DAMAGE %zu: kernel block at offset %zu, column 5 (flags): the block's columns "
	         "have "
	         "more than 1073741824 bytes when decompressed\n",
	         block, block);
	cr_assert_str_eq(found.text, expected);
	ws_sample_free(&s);
}
