#!/usr/bin/env python3
"""The Parquet writer: files that parquet_write made, read back with a reader written from the specification.

writer.py PARQUET_WRITE FOLDER_OF_THE_READER
"""
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[2])
from parquet_reading import DELTA, DICTIONARY, PLAIN, File  # pylint: disable=wrong-import-position

U64 = 1 << 64
LEAST, MOST, MAX_DICT, MAX_STAT_BYTES = -(1 << 63), (1 << 63) - 1, 4096, 1024


def as_word(cell):
    if cell is None:
        return "-"
    if isinstance(cell, tuple):  # bytes, and how often
        return f"{cell[0].hex()}*{cell[1]}"
    if isinstance(cell, float):
        cell, = struct.unpack("<Q", struct.pack("<d", cell))
    return cell.hex() if isinstance(cell, bytes) else str(cell % U64)


class Tables:
    """Files of one process: all are written, then read."""

    def __init__(self):
        self.lines, self.paths = [], []

    def add(self, columns, rows, group=0, meta=(), path=None):
        self.paths.append(path or os.path.join(folder, f"{len(self.paths)}.parquet"))
        self.lines.append("\t".join(["file", self.paths[-1], str(group), *columns]))
        self.lines += ["\t".join(("meta", *pair)) for pair in meta]
        self.lines += ["\t".join(("row", *map(as_word, row))) for row in rows]
        self.lines.append("end")

    def write(self):
        made = subprocess.run([sys.argv[1]], input="\n".join(self.lines) + "\n", text=True, capture_output=True, check=True)
        return made.stdout.split("\n")[:-1]

    def read(self):
        said = self.write()
        assert not any(said) and len(said) == len(self.paths), said
        return [File(path) for path in self.paths]


def written(columns, rows, group=0, meta=()):
    tables = Tables()
    tables.add(columns, rows, group, meta)
    return tables.read()[0]


def round_trip(kind, *lists, group=0):
    """Lists of one column read back the same; their encodings."""
    tables = Tables()
    for values in lists:
        tables.add([f"v:{kind}"], ((value,) for value in values), group)
    encodings = []
    for values, read in zip(lists, tables.read()):
        cells = read.columns["v"].cells
        assert [as_word(cell) for cell in cells] == [as_word(value) for value in values], values
        encodings.append(read.columns["v"].chunks[0].encoding if values else None)
    return encodings


def test_a_file_of_all_types():
    rows = [(-1, U64 - 1, 0.1, b"gemm"), (7, 0, None, None), (7, 1, -2.0, b"")]
    meta = {"warpsheet.trace_hash": "0123456789abcdef", "unit.i": "ns"}
    read = written(["i:i", "u:u", "f:f?", "t:t?"], rows, meta=meta.items())
    assert read.groups == 1 and read.meta == meta and read.created_by.startswith("warpsheet version ")
    assert read.about()[2:] == ["i integer", "u unsigned", "f real, null", "t text, null"]
    assert list(zip(*(column.cells for column in read.columns.values()))) == rows


def test_the_bytes_are_those_of_the_specification():
    # Encodings.md, DELTA_BINARY_PACKED: 7 5 3 1 2 3 4 5 has deltas -2 -2 -2 1 1 1 1, least -2, stored 0 0 0 3 3 3 3 in 2 bits;
    # its header is block size 128, 4 miniblocks, 8 values, first 7. Before it are the levels: a run of 8 times 1.
    integers = bytes([16, 1, 0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 2, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0])
    # bit packing: 0 to 7 in 3 bits is 88 c6 fa; before it the width, and one group of packed numbers
    places = bytes([3, 3, 0x88, 0xc6, 0xfa])
    tables = Tables()
    tables.add(["i:i?", "t:t"], zip((7, 5, 3, 1, 2, 3, 4, 5), (b"%c" % c for c in b"abcdefgh")))
    tables.write()
    with open(tables.paths[0], "rb") as f:
        data = f.read()
    assert integers in data and places in data


def test_integers():
    extremes = [LEAST, MOST, LEAST, 0, -1, MOST, 1]
    assert round_trip("i", extremes) == [DELTA] and round_trip("u", [v % U64 for v in extremes]) == [DELTA]
    # every count around the borders of blocks; row groups smaller, equal and larger than the file
    values = [i * i * 1000003 - i % 7 * 5000 for i in range(700)]
    round_trip("i", *(values[:n] for n in range(300)))
    for group in (*range(1, 700, 59), 350, 700):
        round_trip("i", values, group=group)


def test_integers_get_the_smaller_encoding():
    state, far, wide = 1, [], []
    for i in range(2000):
        state = (state * 6364136223846793005 + 1442695040888963407) % U64
        far.append((state >> 60) % 5 * 1000000007)
        wide.append(((i if i % 3 else ~i) << i % 64) % U64)
    assert round_trip("i", [1000000 + i * 32 for i in range(2000)]) == [DELTA]
    assert round_trip("u", far, wide) == [DICTIONARY, DELTA]
    # a dictionary has the most values, and no more
    most = [i * 2654435761 % U64 % MAX_DICT << 44 for i in range(4 * (MAX_DICT + 1))]
    assert round_trip("u", most, [*most[:5], 1, *most[6:]]) == [DICTIONARY, DELTA]


def test_runs_and_groups_mix_in_every_alignment():
    round_trip("u", *([n % 3 << 40 for n in range(lead)] + [7 << 50] * run + [i % 2 << 40 for i in range(9)]
                      for lead in range(20) for run in range(1, 40)))


def test_reals_keep_all_their_bits():
    inf = float("inf")
    assert round_trip("f", [0.0, -0.0, float("nan"), inf, -inf, 0.1, 1e-310, 1.7976931348623157e308], group=3) == [PLAIN]


def test_nulls():
    empty = written(["a:i", "b:t?"], [])
    assert (empty.rows, empty.groups, len(empty.columns), empty.meta) == (0, 0, 2, {})
    columns = ["i:i?", "f:f?", "t:t?"]
    for column in written(columns, [(None, None, None)] * 100, 64).columns.values():
        assert column.cells == [None] * 100
        assert [(chunk.nulls, chunk.extremes) for chunk in column.chunks] == [(64, None), (36, None)]
    rows = [(None, None) if i % 3 == 0 or 300 < i < 400 else (i, b"odd" if i % 2 else b"even") for i in range(1000)]
    read = written(["i:i?", "t:t?"], rows, 100)
    assert list(zip(read.columns["i"].cells, read.columns["t"].cells)) == rows


def test_hostile_texts_become_utf8_and_nothing_else_changes():
    bad = "\ufffd".encode()
    texts = {b"=cmd|' /C calc'!A0": None, b"a\0b": None, b"\r\n\t\x1b[31m": None, b"\xff": bad, b"x\xc3": b"x" + bad,
             b"\xed\xa0\x80": 3 * bad, b"\xe2\x80\xae gpu": None, b"\xf0\x9f\x98\x80": None, b"": None}
    read = written(["t:t"], [(text,) for text in texts])
    assert read.columns["t"].cells == [text if wanted is None else wanted for text, wanted in texts.items()]


def test_statistics_are_the_extremes_in_the_order_of_the_type():
    columns = written(["i:i", "u:u", "f:f", "t:t"], [
        (-5, -5, 0.0, b"b"), (3, 3, 2.5, b"\xc3\xa9"), (LEAST, LEAST, -0.0, b"ba"), (9, 9, 1.0, b"")]).columns
    i, u, f, t = (columns[name].chunks[0].extremes for name in "iuft")
    assert i == [LEAST, 9] and u == [3, U64 - 5] and as_word(f[0]) == as_word(-0.0) and t == [b"", b"\xc3\xa9"]
    # a NaN or a very long text leaves none
    columns = written(["f:f", "t:t"], [(float("nan"), (b"x", MAX_STAT_BYTES + 1)), (1.0, (b"x", MAX_STAT_BYTES))], 1).columns
    for column in columns.values():
        assert column.chunks[0].extremes is None and column.chunks[1].extremes and column.chunks[0].nulls == 0


def test_much_text_ends_a_row_group_before_its_rows_do():
    size = 8 << 20
    read = written(["t:t"], [((b"abcdefghij"[i:i + 1], size),) for i in range(10)])
    assert read.groups == 2 and read.columns["t"].chunks[0].rows == 8
    assert read.columns["t"].cells == [b"abcdefghij"[i:i + 1] * size for i in range(10)]


def test_random_tables():
    rng = random.Random(88172645463325252)

    def value(habit, row):
        """Like its neighbours in one of several ways."""
        r = rng.getrandbits(64)
        return (row * 32 + r % 3, (r % 5) << (r % 7 * 8), row // 50 * 0x123456789abcdef, r >> r % 64, -(r % 2))[habit] % U64

    tables, wanted = Tables(), []
    for number in range(100):
        columns = [(rng.choice("iuft"), rng.random() < 0.5) for _ in range(3)]
        rows = []
        for row in range(rng.randrange(1000)):
            cells = []
            for c, (kind, optional) in enumerate(columns):
                v = value((number + c) % 5, row)
                cells.append(None if optional and rng.random() < 0.25 else b"%d" % v if kind == "t" else
                             struct.unpack("<d", struct.pack("<Q", v))[0] if kind == "f" else v)
            rows.append(cells)
        tables.add([f"{'abc'[c]}:{kind}{'?' * optional}" for c, (kind, optional) in enumerate(columns)], rows, rng.randint(1, 1000))
        wanted.append(rows)
    for rows, read in zip(wanted, tables.read()):
        assert read.rows == len(rows)
        for c, name in enumerate("abc"):
            assert [as_word(cell) for cell in read.columns[name].cells] == [as_word(row[c]) for row in rows]


def test_the_same_calls_make_the_same_bytes():
    tables = Tables()
    for _ in range(2):
        tables.add(["i:i", "t:t?"], [(i * i % 977, b"kernel" if i % 5 else b"other") for i in range(1234)], 100)
    tables.write()
    first, second = (open(path, "rb").read() for path in tables.paths)  # pylint: disable=consider-using-with
    assert first == second


def test_a_full_disk_is_told():
    tables = Tables()
    tables.add(["i:i"], [(1,)], path="/dev/full")
    assert "No space left" in tables.write()[0]


with tempfile.TemporaryDirectory() as folder:
    for test, function in list(globals().items()):
        if test.startswith("test_"):
            print(test, flush=True)
            function()
