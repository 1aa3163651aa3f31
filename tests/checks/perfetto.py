#!/usr/bin/env python3
"""Decodes exports in Perfetto's protobuf and compares them, event by event, with the JSON.

    perfetto.py WARPSHEET FILE...

A decoder of its own, from the numbers of the published .proto files: packets of one sequence,
texts told before they are used, slices that nest when they are taken in order of time as Perfetto
does. Slices with track, times and arguments, arrows, marks and counters are those of the JSON,
which timeline.py holds against its readers' rules.
"""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def message(data):
    """Field number -> values, in order; of bytes, 8 bytes and varints alike."""
    out = collections.defaultdict(list)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is cut off"
        else:
            raise AssertionError(f"wire type {kind}")
        out[key >> 3].append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def one(fields, number, default=None):
    values = fields.get(number, [])
    assert len(values) <= 1, f"field {number} {len(values)} times"
    return values[0] if values else default


def annotation_value(a):
    if 12 in a:
        return [annotation_value(message(item)) for item in a[12]]
    for number, of in ((2, bool), (3, int), (4, signed), (6, lambda b: b.decode())):
        if number in a:
            return of(one(a, number))
    return struct.unpack("<d", one(a, 5))[0]


class Timeline:
    """What both forms tell."""

    def __init__(self):
        self.slices = collections.Counter()
        self.marks = collections.Counter()
        self.counters = collections.Counter()
        self.arrows = collections.Counter()


def frozen(value):
    if isinstance(value, dict):
        return tuple(sorted((k, frozen(v)) for k, v in value.items()))
    if isinstance(value, list):
        return tuple(frozen(v) for v in value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


class Reader:
    def __init__(self, data):
        self.texts = collections.defaultdict(dict)  # field of InternedData -> iid -> text
        self.tracks = {0: ("", "")}
        self.units = {}
        self.events = []
        for n, packet in enumerate(message(data)[1]):
            self.packet(message(packet), n)

    def packet(self, p, n):
        assert one(p, 10) == 1 and one(p, 13) == (2 if n else 1), "not one sequence from its begin"
        for field, entries in message(one(p, 12, b"")).items():
            for entry in map(message, entries):
                assert one(entry, 1) not in self.texts[field], "an iid told twice"
                self.texts[field][one(entry, 1)] = one(entry, 2).decode()
        if 60 in p:
            self.track(message(one(p, 60)))
        if 11 in p:
            self.events.append((one(p, 8), n, message(one(p, 11))))

    def track(self, t):
        name = one(t, 2, b"").decode()
        uuid = one(t, 1)
        assert uuid not in self.tracks, "a track told twice"
        if 8 in t:
            self.units[uuid] = one(message(one(t, 8)), 6, b"bytes").decode()
        if 3 in t:
            process = message(one(t, 3))
            assert 0 <= one(process, 1) < 1 << 31
            name = one(process, 6).decode()
        if 4 in t:
            thread = message(one(t, 4))
            assert one(thread, 5).decode() == name and one(thread, 2) < 1 << 31
        parent = self.tracks.get(one(t, 5), ("", ""))[0] if 5 in t else None
        self.tracks[uuid] = (name, "") if parent is None else (parent, name)

    def described(self, e):
        args = {}
        for a in map(message, e[4]):
            key = self.texts[3][one(a, 1)]
            assert key not in args
            args[key] = annotation_value(a)
        return self.texts[2][one(e, 10)], self.texts[1][one(e, 3)], args

    def timeline(self):
        out, open_slices = Timeline(), collections.defaultdict(list)
        flows = {}
        for time, _, e in sorted(self.events, key=lambda event: event[:2]):
            track, kind = one(e, 11), one(e, 9)
            for flow in e[47]:
                assert flow not in flows, "an arrow begins twice"
                flows[flow] = (self.tracks[track], time)
            for flow in e[48]:
                out.arrows[(flows.pop(flow), (self.tracks[track], time))] += 1
            if kind == 1:
                open_slices[track].append((time, self.described(e)))
            elif kind == 2:
                start, (name, cat, args) = open_slices[track].pop()
                out.slices[(self.tracks[track], name, cat, start, time - start, frozen(args))] += 1
            elif kind == 3:
                name, cat, args = self.described(e)
                if cat not in ("meta", "fwdbwd"):
                    out.marks[(name, time, frozen(args))] += 1
            else:
                value = signed(one(e, 30)) if 30 in e else struct.unpack("<d", one(e, 44))[0]
                out.counters[(self.tracks[track], time, self.units[track], float(value))] += 1
        assert not any(open_slices.values()), "a slice does not end"
        assert not flows, "an arrow does not end"
        return out


def ns(value):
    return round(value * 1000)


def of_json(text):
    text = text.replace(b"\\u0000", "\ufffd".encode())  # NUL is no text to many readers
    names, out, arrows, counters = {}, Timeline(), {}, []
    for e in json.loads(text)["traceEvents"]:
        args = e.get("args", {})
        at = (e["pid"], e["tid"])
        if e["ph"] == "M" and e["name"] == "process_name":
            names[e["pid"]] = args["name"]
        elif e["ph"] == "M" and e["name"] == "thread_name":
            names[at] = args["name"]
    for e in json.loads(text)["traceEvents"]:
        args = e.get("args", {})
        track = names.get(e["pid"], ""), names.get((e["pid"], e["tid"]), "")
        if e["ph"] == "X":
            out.slices[(track, e["name"], e["cat"], ns(e["ts"]), ns(e["dur"]), frozen(args))] += 1
        elif e["ph"] == "i":
            out.marks[(e["name"], ns(e["ts"]), frozen(args))] += 1
        elif e["ph"] == "C":
            (unit, value), = args.items()
            out.counters[((track[0], e["name"]), ns(e["ts"]), unit, float(value))] += 1
        elif e["ph"] == "s":
            arrows[(e["cat"], e["id"])] = (track, ns(e["ts"]))
        elif e["ph"] == "f":
            out.arrows[(arrows[(e["cat"], e["id"])], (track, ns(e["ts"])))] += 1
    return out


def arrays_as_texts(timeline):
    """PyTorch's arrays are texts in the protobuf: read them as the JSON has them."""
    out = collections.Counter()
    for (track, name, cat, start, dur, args), n in timeline.slices.items():
        read = []
        for key, value in args:
            if key in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"):
                try:
                    value = frozen(json.loads(value))
                except ValueError:
                    pass
            read.append((key, value))
        out[(track, name, cat, start, dur, tuple(read))] += n
    timeline.slices = out


def compare(path, ours, json_form):
    wrong = 0
    for what in ("slices", "marks", "counters", "arrows"):
        a, b = getattr(ours, what), getattr(json_form, what)
        for there, event in [("protobuf", e) for e in (a - b)] + [("JSON", e) for e in (b - a)]:
            wrong += 1
            if wrong < 20:
                print(f"{path}: only in the {there}: {what} {event}")
    return wrong


def main():
    warpsheet, paths = sys.argv[1], sys.argv[2:]
    wrong = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, n) for n in ("t.json", "t.pftrace", "again.perfetto-trace")]
            for name in files:
                subprocess.run([warpsheet, "export", path, "-o", name], check=True,
                               stderr=subprocess.DEVNULL)
            text, data, again = (open(name, "rb").read() for name in files)
            if data != again:
                wrong += 1
                print(f"{path}: not the same bytes twice")
            ours, json_form = Reader(data).timeline(), of_json(text)
            arrays_as_texts(ours)
            wrong += compare(path, ours, json_form)
            print(f"{os.path.basename(path)}: {sum(ours.slices.values())} slices, "
                  f"{sum(ours.arrows.values())} arrows, {sum(ours.counters.values())} counters")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
