#!/usr/bin/env python3
"""Exports traces as timelines and holds them against the rules of those who read them.

    timeline.py WARPSHEET FILE...

The rules are those that Perfetto's JSON importer and chrome://tracing follow:
strict JSON; what an event of each phase must have; slices of a track nest;
arrows begin and end inside a slice; counters are numbers. Each file is also
exported twice, and compressed: the same text. The times of all kernels must
add up to what the report says.
"""
import collections
import csv
import decimal
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

failures = 0


def fail(name, text):
    global failures
    failures += 1
    if failures < 50:
        print(f"{name}: {text}")


def no_constant(text):
    raise ValueError(f"{text} is no JSON")


def no_double_key(pairs):
    keys = [k for k, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key twice: {keys}")
    return dict(pairs)


def parse(data):
    # ASCII control characters in strings are an error in strict mode, and so is broken UTF-8
    return json.loads(data.decode("utf-8"), strict=True, parse_float=decimal.Decimal,
                      parse_constant=no_constant, object_pairs_hook=no_double_key)


def ns(name, event, key):
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
        fail(name, f"{key} is no number: {event}")
        return 0
    value = decimal.Decimal(value) * 1000
    if value != value.to_integral_value():
        fail(name, f"{key} is finer than a nanosecond: {event}")
    if value < 0:
        fail(name, f"{key} is negative: {event}")
    return int(value)


def check_slices(name, slices):
    """Stack discipline, in the order of the file as both readers keep it for equal times."""
    for track, events in slices.items():
        if [e[0] for e in events] != sorted(e[0] for e in events):
            fail(name, f"track {track} is not in the order of time")
        stack = []
        for start, end, event in events:
            while stack and stack[-1] <= start:
                stack.pop()
            if stack and end > stack[-1]:
                fail(name, f"a slice of track {track} crosses another: {event}")
            stack.append(end)


def check_arrows(name, arrows, slices):
    import bisect
    starts = {t: [e[0] for e in events] for t, events in slices.items()}

    def inside(track, time):
        events = slices.get(track, [])
        i = bisect.bisect_right(starts.get(track, []), time)
        return any(s <= time <= e for s, e, _ in events[max(0, i - 300):i])

    for (category, number), ends in arrows.items():
        phases = [e["ph"] for e in ends]
        if phases != ["s", "f"]:
            fail(name, f"arrow {category} {number} has the ends {phases}")
            continue
        for end in ends:
            if end["ph"] == "f" and end.get("bp") != "e":
                fail(name, f"arrow {number} ends at the next slice, not at this one")
            if not inside((end["pid"], end["tid"]), ns(name, end, "ts")):
                fail(name, f"arrow {number} is at no slice: {end}")


def check_events(name, events):
    slices = collections.defaultdict(list)
    arrows = collections.defaultdict(list)
    processes, tracks, kernel_ns = {}, {}, 0
    for e in events:
        phase = e.get("ph")
        for key in ("pid", "tid"):
            if not isinstance(e.get(key), int) or not 0 <= e[key] < 2**32:
                fail(name, f"{key} is no 32-bit number: {e}")
        if not isinstance(e.get("name"), str) or not e["name"]:
            fail(name, f"no name: {e}")
        time = ns(name, e, "ts")
        if phase == "M":
            if e["name"] == "process_name":
                processes[e["pid"]] = e["args"]["name"]
            elif e["name"] == "thread_name":
                tracks[e["pid"], e["tid"]] = e["args"]["name"]
            elif e["name"] in ("process_sort_index", "thread_sort_index"):
                if not isinstance(e["args"]["sort_index"], int):
                    fail(name, f"sort_index is no number: {e}")
            else:
                fail(name, f"unknown metadata: {e}")
        elif phase == "X":
            duration = ns(name, e, "dur")
            slices[e["pid"], e["tid"]].append((time, time + duration, e))
            if not isinstance(e.get("args"), dict) or not isinstance(e.get("cat"), str):
                fail(name, f"no arguments or category: {e}")
            if e["cat"] == "kernel":
                kernel_ns += duration
                for key in ("grid", "block"):
                    if len(e["args"][key]) != 3:
                        fail(name, f"{key} has not three sizes: {e}")
        elif phase in "sf":
            arrows[e["cat"], e["id"]].append(e)
        elif phase == "i":
            if e.get("s") != "t":
                fail(name, f"an instant without a scope: {e}")
        elif phase == "C":
            if not e["args"] or any(not isinstance(v, (int, decimal.Decimal))
                                    for v in e["args"].values()):
                fail(name, f"a counter that is no number: {e}")
        else:
            fail(name, f"unknown phase: {e}")
    for pid, tid in slices:
        if pid not in processes:
            fail(name, f"process {pid} has no name")
        if (pid, tid) not in tracks:
            fail(name, f"track {pid} {tid} has no name")
    labels = collections.Counter((pid, text) for (pid, _), text in tracks.items())
    for label, count in labels.items():
        if count > 1 and not label[1].startswith("thread"):
            fail(name, f"{count} tracks are called {label}")
    check_slices(name, slices)
    check_arrows(name, arrows, slices)
    return kernel_ns, len(arrows)


def check_file(warpsheet, path, folder):
    name = os.path.basename(path)
    plain, packed = os.path.join(folder, "t.json"), os.path.join(folder, "t.json.gz")
    for out in (plain, packed):
        subprocess.run([warpsheet, "export", path, "-o", out], check=True,
                       stderr=subprocess.DEVNULL)
    with open(plain, "rb") as f:
        data = f.read()
    with gzip.open(packed, "rb") as f:
        if f.read() != data:
            fail(name, "the compressed export is another text")
    try:
        timeline = parse(data)
    except (ValueError, UnicodeDecodeError) as e:
        fail(name, f"no strict JSON: {e}")
        return
    kernel_ns, arrows = check_events(name, timeline["traceEvents"])
    report = subprocess.run([warpsheet, "report", path, "--table", "kernel-summary", "--scope",
                             "all", "--format", "csv"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    rows = csv.DictReader(io.StringIO(report.stdout.decode()))
    reported_ns = sum(int(row["Total Time (ns)"] or 0) for row in rows)
    if kernel_ns != reported_ns:
        fail(name, f"kernels of {kernel_ns} ns, the report says {reported_ns}")
    print(f"{name}: {len(timeline['traceEvents'])} events, {arrows} arrows, "
          f"{kernel_ns} ns of kernels")


def main():
    warpsheet, files = sys.argv[1], sys.argv[2:]
    if not files:
        sys.exit("no files to check")
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            check_file(warpsheet, path, folder)
    sys.exit(1 if failures else 0)


main()
