"""A small Parquet reader for tests, written from the format's specification and not from our writer: flat columns, V2 pages,
zstd, the encodings PLAIN, RLE_DICTIONARY and DELTA_BINARY_PACKED. Everything that it finds wrong is an AssertionError.
"""
import ctypes
import ctypes.util
import struct

DOUBLE, BYTE_ARRAY = 5, 6
PLAIN, DELTA, DICTIONARY = 0, 5, 8
zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2


class Input:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, n):
        assert self.at + n <= len(self.data)
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            assert shift < 64
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    # --- Thrift's compact protocol ---

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head = self.byte()
            return [self.value(head & 15) for _ in range(self.varint() if head >> 4 == 15 else head >> 4)]
        assert kind == 12, f"Thrift type {kind} is not expected"
        return self.struct()

    def struct(self):
        """The fields by their numbers."""
        fields, number = {}, 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields[number] = True if head & 15 == 1 else False if head & 15 == 2 else self.value(head & 15)
        return fields


def bits(data, width, n):
    """n numbers, packed."""
    number, mask = int.from_bytes(data, "little"), (1 << width) - 1
    return [number >> i * width & mask for i in range(n)]


def read_rle(data, width, n):
    """n numbers of the RLE / bit-packed hybrid."""
    out = []
    while len(out) < n:
        head = data.varint()
        assert head >> 1
        if head & 1:
            for _ in range(head >> 1):
                out += bits(data.take(width), width, 8)
        else:
            assert head >> 1 <= n - len(out)
            out += [int.from_bytes(data.take((width + 7) // 8), "little")] * (head >> 1)
    assert data.at == len(data.data)
    return out[:n]


def read_delta(data, n):
    block, minis, total, value = data.varint(), data.varint(), data.varint(), data.zigzag()
    each = block // minis
    assert total == n and block % 128 == 0 and each % 32 == 0
    out = [value] * min(n, 1)
    while len(out) < n:
        least, widths = data.zigzag(), data.take(minis)
        for width in widths:
            if len(out) < n:
                for delta in bits(data.take(each * width // 8), width, each):
                    value += least + delta
                    out.append(value)
    assert data.at == len(data.data)
    return out[:n]


def number_of(value, column):
    """A number of 64 bits as the type says."""
    value &= (1 << 64) - 1
    return value if column.is_unsigned or value < 1 << 63 else value - (1 << 64)


def read_plain(data, column, n):
    if column.physical == BYTE_ARRAY:
        out = [data.take(*struct.unpack("<I", data.take(4))) for _ in range(n)]
    else:
        out = list(struct.unpack(f"<{n}{'d' if column.physical == DOUBLE else 'Q' if column.is_unsigned else 'q'}", data.take(8 * n)))
    assert data.at == len(data.data)
    return out


def read_page(data, codec):
    """The header, levels and values."""
    assert codec == 6
    header = data.struct()
    raw, body, levels_len, packed = header[2], data.take(header[3]), 0, True
    if 8 in header:
        levels_len, packed = header[8][5], header[8].get(7, True)
        assert header[8][6] == 0 and levels_len <= min(raw, len(body))
    levels, body, size = body[:levels_len], body[levels_len:], raw - levels_len
    if packed:
        out = ctypes.create_string_buffer(size)
        assert zstd.ZSTD_decompress(ctypes.cast(out, ctypes.c_char_p), size, body, len(body)) == size
        body = out.raw[:size]
    assert len(body) == size
    return header, levels, body


class Column:
    def __init__(self, element):
        logical = element.get(10, {})
        self.name, self.physical, self.optional = element[4].decode(), element[1], bool(element[3])
        self.is_text, self.is_unsigned = 1 in logical, 10 in logical and not logical[10][2]
        assert 10 not in logical or logical[10][1] == 64
        assert self.is_text == (element.get(6) == 0) and self.is_unsigned == (element.get(6) == 14)
        self.cells = []  # of the file's rows: None, an integer, a real, or bytes
        self.chunks = []  # of the row groups


class Chunk:
    """Of a row group: its rows, the encoding, the number of nulls, and the extremes if it has them."""

    def __init__(self, data, meta, rows, column):
        assert meta[1] == column.physical and meta[5] == rows
        first, values = meta.get(11, meta[9]), None
        if 11 in meta:
            page = Input(data, first)
            header, _, body = read_page(page, meta[4])
            # the data page follows at once
            assert header[1] == 2 and header[7][2] == 0 and page.at == meta[9]
            values = read_plain(Input(body), column, header[7][1])
        page = Input(data, meta[9])
        header, levels, body = read_page(page, meta[4])
        head, statistics = header[8], meta[12]
        assert page.at == first + meta[7] and header[1] == 3 and head[1] == head[3] == rows
        self.rows, self.encoding, self.nulls = rows, head[4], statistics[3]
        assert self.nulls == head[2] and (5 in statistics) == (6 in statistics)
        self.extremes = [read_plain(Input(struct.pack("<I", len(s)) + s if column.is_text else s), column, 1)[0]
                         for s in (statistics[6], statistics[5])] if 5 in statistics else None
        assert column.optional or not levels
        present = read_rle(Input(levels), 1, rows) if column.optional else [1] * rows
        assert sum(present) == rows - self.nulls
        cells, n = Input(body), sum(present)
        if self.encoding == PLAIN:
            cells = read_plain(cells, column, n)
        elif self.encoding == DELTA:
            assert column.physical == 2
            cells = [number_of(value, column) for value in read_delta(cells, n)]
        else:
            assert self.encoding == DICTIONARY
            cells = [values[i] for i in read_rle(cells, cells.byte(), n)]
        cells = iter(cells)
        column.cells += [next(cells) if is_there else None for is_there in present]


class File:
    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        assert len(data) >= 12 and data[:4] == data[-4:] == b"PAR1"
        size = int.from_bytes(data[-8:-4], "little")
        footer = Input(data[len(data) - 8 - size:-8])
        about = footer.struct()
        assert footer.at == size and about[1] == 2
        self.rows, self.created_by = about[3], about[6].decode()
        self.meta = {pair[1].decode(): pair[2].decode() for pair in about.get(5, [])}
        head, *elements = about[2]
        assert len(elements) == head[5] == len(about[7])
        self.columns = {element[4].decode(): Column(element) for element in elements}
        for group in about[4]:
            assert len(group[1]) == len(elements) and group[3] > 0
            assert group[6] == sum(chunk[3][7] for chunk in group[1])
            for column, chunk in zip(self.columns.values(), group[1]):
                assert chunk[3][3] == [column.name.encode()]
                column.chunks.append(Chunk(data, chunk[3], group[3], column))
        self.groups = len(about[4])
        assert all(len(column.cells) == self.rows for column in self.columns.values())

    def texts(self, *names):
        """The cells of these columns as text, row by row; NULL is empty."""
        def text(cell):
            return "" if cell is None else cell.decode(errors="replace") if isinstance(cell, bytes) else (
                f"{cell:.17g}" if isinstance(cell, float) else str(cell))

        return [[text(cell) for cell in row] for row in zip(*(self.columns[name].cells for name in names))]

    def about(self):
        """A line each about the file and its columns: `KEY=VALUE`, `NAME TYPE`."""
        return [f"{key}={value}" for key, value in self.meta.items()] + [
            f"{c.name} " + ("text" if c.is_text else "unsigned" if c.is_unsigned else "real" if c.physical == DOUBLE else "integer") +
            (", null" if c.optional else "") for c in self.columns.values()]
