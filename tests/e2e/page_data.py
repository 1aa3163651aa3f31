"""The data of HTML pages, decoded without a browser and held against the tables of the same trace.

page_data.py WARPSHEET FOLDER TRACE...: 77 where traces are missing.
page_data.py WARPSHEET FOLDER KERNELS: of a long trace without steps.
"""
import base64
import collections
import json
import os
import re
import subprocess
import sys
import zlib

COLUMNS = ("start", "dur", "busy", "count", "name", "class", "path", "operation", "shapes", "launch", "call", "lead",
           "call_dur", "depth", "colour")


CLASSES = {"comm": "communication"}  # what people read for a class of the data


def element(page, name):
    found = re.search(r'<script type="text/plain" id="%s">([A-Za-z0-9+/=]*)</script>' % name, page)
    return zlib.decompress(base64.b64decode(found.group(1))) if found else None


def numbers(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def read_page(path, side=None):
    """The page's JSON, and a list of the boxes of each lane; side: of a comparison."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    data = json.loads(element(page, "data"))
    boxes = element(page, "boxes" if side is None else ("boxes-a", "boxes-b")[side])
    if boxes is None:
        return data, []
    timeline = (data["page"] or data["first"])["timeline"] if side is None else data["first"]["sides"][side]["timeline"]
    lanes, stream = timeline["lanes"], numbers(boxes)
    n = sum(lane["n"] for lane in lanes)
    columns = {name: [next(stream) for _ in range(n)] for name in COLUMNS}
    assert next(stream, None) is None, "bytes behind the boxes"
    out, at, text, begin = [], 0, timeline["text"], timeline["begin"]
    for lane in lanes:
        list_, before = [], begin
        for i in range(at, at + lane["n"]):
            box = {name: values[i] for name, values in columns.items()}
            before = box["start"] = before + unzigzag(box["start"])
            box["busy"] = box["dur"] - unzigzag(box["busy"])
            box["call_start"] = box["start"] - unzigzag(box["lead"] - 1) if box["lead"] else None
            box["call_dur"] -= 1
            for name in ("name", "class", "path", "operation", "shapes", "launch", "call"):
                box[name] = text[box[name]]
            list_.append(box)
        out.append((lane, list_))
        at += lane["n"]
    return data, out


def report(program, trace, *options):
    return subprocess.run([program, "report", trace, *options], check=True, capture_output=True).stdout.decode()


def rows(program, trace, table, *options):
    """As a dictionary by column id; None where a cell is empty."""
    data = json.loads(report(program, trace, "--table", table, "--format", "json", *options))
    ids = [c["id"] for c in data["columns"]]
    # a page has NUL as CSV does
    return [dict(zip(ids, [v.replace("\0", "\ufffd") if isinstance(v, str) else v for v in row])) for row in data["rows"]]


def overlaps(start, dur, begin, end):
    return start < end and start + dur > begin


def check_kernels(timeline, lanes, trace_rows):
    """Each row of kernel-trace in the window is a box with the same facts, and there is no other."""
    begin, end = timeline["begin"], timeline["begin"] + timeline["length"]
    want = collections.Counter(
        (r["start_ns"], r["dur_ns"], r["short_name"], CLASSES.get(r["op_class"], r["op_class"] or ""), "" if r["path"].startswith("(") else r["path"],
         r["api_name"] or "", r["api_start_ns"], r["api_ns"])
        for r in trace_rows if r["start_ns"] is not None and overlaps(r["start_ns"], r["dur_ns"], begin, end))
    kernels = [b for lane, boxes in lanes if lane["kind"] == "stream" for b in boxes if b["name"] != "CUDA graph"]
    assert sum(b["count"] for b in kernels) == timeline["kernels"] == sum(want.values()), "kernels are missing"
    assert sum(b["busy"] for b in kernels) == sum(k[1] * n for k, n in want.items()), "their time differs"
    if timeline["shortest"]:
        assert any(b["count"] > 1 for b in kernels)
        return
    got = collections.Counter((b["start"], b["dur"], b["name"], b["class"], b["path"], b["call"], b["call_start"],
                               b["call_dur"] if b["call_dur"] >= 0 else None) for b in kernels)
    assert got == want, f"kernels differ: {list((got - want).items())[:2]} {list((want - got).items())[:2]}"
    operations = collections.defaultdict(set)
    for r in trace_rows:
        if r["operation"]:
            operations[r["start_ns"], r["short_name"]].add(r["operation"])
    for b in kernels:
        assert b["operation"] in operations.get((b["start"], b["name"]), {b["operation"]}), b


def check_lanes(timeline, lanes):
    for lane, boxes in lanes:
        assert boxes == sorted(boxes, key=lambda b: b["start"]), lane
        for a, b in zip(boxes, boxes[1:]):
            if lane["kind"] == "idle":  # one cause at a time
                assert a["start"] + a["dur"] <= b["start"], (lane, a, b)


def check_operations(timeline, lanes):
    """An operation of a framework lies in the one above it, and around the calls of its kernels."""
    ops = [(lane, boxes) for lane, boxes in lanes if lane["kind"] == "ops"]
    assert sum(b["count"] for _, boxes in ops for b in boxes) == timeline["ops"], "operations are missing"
    if timeline["shortest"]:
        return
    around = collections.defaultdict(list)
    for lane, boxes in ops:
        above = {}
        for b in sorted(boxes, key=lambda b: (b["start"], b["depth"])):
            around[b["name"]].append((b["start"], b["start"] + b["dur"]))
            above[b["depth"]] = b
            if b["depth"] and above.get(b["depth"] - 1):  # else it began before the window
                up = above[b["depth"] - 1]
                assert up["start"] <= b["start"] and b["start"] + b["dur"] <= up["start"] + up["dur"], (up, b)
    begin = timeline["begin"]
    for lane, boxes in lanes:
        for b in boxes if lane["kind"] == "stream" and ops else []:
            at = b["call_start"]
            if b["operation"] in around and at is not None and at >= begin:
                assert any(s <= at <= e for s, e in around[b["operation"]]), b


def check_idle(page, lanes, samples):
    """Of the only step, the idle time of the timeline is that of the bar, cause by cause."""
    if samples != 1 or not any(lane["kind"] == "idle" for lane, _ in lanes):
        return
    of_bar = {s["name"]: s["ns"] for s in page["bar"]["segments"] if s["idle"]}
    of_lanes = collections.Counter()
    for lane, boxes in lanes:
        for b in boxes if lane["kind"] == "idle" else []:
            if b["count"] > 1:
                return
            of_lanes[b["name"]] += b["dur"]
    assert of_bar == dict(of_lanes), (of_bar, of_lanes)


def check_first_screen(page, summary):
    bar, tree = page["bar"], page["tree"]
    assert sum(s["ns"] for s in bar["segments"]) == bar["whole"], "the bar does not add up"
    total = sum(r["total_ns"] or 0 for r in summary)
    graphs = sum(n["inclusive"] for n in tree["nodes"] if n["path"] == "CUDA graphs")
    assert tree["total"] == total + graphs == sum(n["inclusive"] for n in tree["nodes"] if n["parent"] < 0), "the icicle does not"
    assert bool(graphs) == any(s["name"] == "CUDA graphs" for s in bar["segments"]), "graphs that were traced as a whole are in the bar or the icicle alone"
    inside = collections.Counter()
    for n in tree["nodes"]:
        inside[n["parent"]] += n["inclusive"]
    for i, n in enumerate(tree["nodes"]):
        assert n["parent"] < i and n["exclusive"] + inside[i] == n["inclusive"], n
    for line in page["headline"]:
        words = "".join(text for text, _ in line).split()
        assert 2 < len(words) <= 15, " ".join(words)
    for k, r in zip(page["kernels"]["list"], summary):
        assert k["full"] == r["name"] and k["ns"] == (r["total_ns"] or 0), (k, r)


TIME = r"[\d.]+ (?:ns|µs|ms|s)"


def say(ns):
    """A time as sentences have it."""
    by, unit = next((by, unit) for by, unit in ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")) if ns / by < 999.5 or unit == "s")
    text = f"{ns / by:.{0 if ns / by >= 99.95 else 1 if ns / by >= 9.995 else 2}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " " + unit


def check_one_number(page, text):
    """All numbers of the page for one thing are equal: sentences, figures, bar, findings, ladder; and those of the terminal."""
    bar, sentences = page["bar"], ["".join(part for part, _ in line) for line in page["headline"] + [page["first"]] if line]
    said, findings, one_line = " ".join(sentences), page["findings"], " ".join(text.split())
    absent = [s for s in sentences if " ".join(s.split()) not in one_line]
    assert not absent, f"sentences that the terminal lacks: {absent}"
    if not bar["segments"]:
        return
    step, per = say(bar["step"]), bar["step"] / bar["whole"]
    steps = re.findall(rf"(?:A step takes|The run spans) ({TIME})", said)
    steps += [value for value, label in page["figures"] if re.match("(step|run)\\b", label)]
    steps += [whole for f in findings["list"] for whole in re.findall(rf"[\d.]+(?: (?:ns|µs|ms|s))? of ({TIME})", f["evidence"])]
    steps += [f["saves"].split(" →")[0] for f in findings["list"] if " → " in (f["saves"] or "") and "start-up left out" not in f["saves"]]
    steps += [say(r["ns"]) for r in findings["rungs"][:1]]
    assert set(steps) == {step}, f"the step takes {step} and {sorted(set(steps))}"
    times = {s["name"]: say(s["ns"] * per) for s in bar["segments"] if s["ns"] * per >= 100}
    for name, time in times.items():
        for other in re.findall(rf"(?<![\w.]){re.escape(name)}(?: takes)? \(?({TIME})", said):
            assert other == time, f"{name} takes {time} and {other}"
    computing = sum(s["ns"] for s in bar["segments"] if s["of_class"]) * per
    for time, share in re.findall(rf"computes for ({TIME}) \(([^)]*)\)", said):
        assert time == say(computing), (time, computing)
        assert share == next(value for value, label in page["figures"] if "computing" in label), said
    first = [f for f in findings["list"] if f["saves"] and f["saves"] in said]
    assert not re.search("→.*per step", said) or first, f"what to do first is in no finding: {said}"
    for f in findings["list"][:4]:
        assert not f["saves"] or f["saves"] in one_line, f["saves"]


def check_collapsed(program, folder, trace, trace_rows):
    """Folded stacks hold the GPU time of all kernels, by range, operation and kernel."""
    out = os.path.join(folder, "page.collapsed")
    subprocess.run([program, "export", trace, "-o", out], check=True, capture_output=True)
    clean = lambda name: "".join(":" if c == ";" else " " if c < " " else c for c in name)
    want, got = collections.Counter(), collections.Counter()
    for r in trace_rows:
        if r["dur_ns"] is None:
            continue
        path = [] if r["path"].startswith("(") else [p.replace("\\/", "/") for p in re.split(r"(?<!\\)/", r["path"])]
        want[";".join(clean(f) for f in path + [r["operation"] or None, r["short_name"]] if f)] += r["dur_ns"]
    with open(out, encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")[:-1]
    assert lines == sorted(lines, key=str.encode), "lines in another order"
    for line in lines:
        stack, ns = line.rsplit(" ", 1)
        got[stack] += int(ns)
    assert got == want, f"stacks differ: {list((got - want).items())[:2]} {list((want - got).items())[:2]}"


def check(program, folder, trace):
    out = os.path.join(folder, "page.html")
    report(program, trace, "-o", out)
    data, lanes = read_page(out)
    page = data["page"]
    trace_rows = rows(program, trace, "kernel-trace", "--scope", "all")
    check_collapsed(program, folder, trace, trace_rows)
    if not page["bar"]["segments"]:
        assert page["timeline"] is None
        return "nothing ran"
    median = re.match(r"step (\d+), the median of", page["timeline"]["what"])
    check_first_screen(page, rows(program, trace, "kernel-summary", *(("--steps", median[1]) if median else ())))
    check_one_number(page, subprocess.run([program, "report", trace], check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "400"}).stdout)
    check_kernels(page["timeline"], lanes, trace_rows)
    check_operations(page["timeline"], lanes)
    check_lanes(page["timeline"], lanes)
    check_idle(page, lanes, page["tree"]["per"])
    size = os.path.getsize(out)
    if page["timeline"]["kernels"] <= 5000:
        assert size <= 1000000, f"{size} bytes of page for {page['timeline']['kernels']} kernels"
    return f"{page['timeline']['kernels']} kernels, {sum(lane['n'] for lane, _ in lanes)} boxes, {size} bytes"


def long_trace(path, kernels):
    """A profile of so many kernels without steps, on two streams, in bursts."""
    event = ('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":%.3f,"dur":2,"args":{"correlation":%d}},'
             '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"device":0,"context":1,'
             '"stream":%d,"correlation":%d,"grid":[64,1,1],"block":[256,1,1]}}')
    names = ("ampere_sgemm_128x64_tn", "cunn_SoftMaxForward", "vectorized_elementwise_kernel")
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-80GB"}],"traceEvents":[')
        for i in range(kernels):
            stream, at = 7 + i % 2, 1000000 + i // 2 * 9 + i // 5000 * 400
            f.write((",\n" if i else "") + event % (at - 5, i + 1, names[i * i % 3], stream, at, 1 + i * 7919 % 7, stream, i + 1))
        f.write("]}")


def check_long(program, folder, kernels):
    """Of many launches and no steps: all are counted in few bytes, and their time is all there."""
    path = os.path.join(folder, "long.json")
    long_trace(path, kernels)
    out = os.path.join(folder, "page.html")
    report(program, path, "-o", out)
    data, lanes = read_page(out)
    timeline = data["page"]["timeline"]
    boxes = [b for lane, list_ in lanes if lane["kind"] == "stream" for b in list_]
    assert timeline["shortest"] > 0 and timeline["kernels"] == kernels == sum(b["count"] for b in boxes)
    assert sum(b["busy"] for b in boxes) == sum(1000 * (1 + i * 7919 % 7) for i in range(kernels))
    assert all(b["dur"] >= 0 and not b["name"] for b in boxes if b["count"] > 1)
    assert sum(lane["n"] for lane, _ in lanes) <= 150000, "too many boxes"
    check_lanes(timeline, lanes)
    size = os.path.getsize(out)
    assert size <= 10000000, f"{size} bytes of page"
    return f"{kernels} kernels, {sum(lane['n'] for lane, _ in lanes)} boxes, {size} bytes"


def main():
    program, folder, *traces = sys.argv[1:]
    if traces and traces[0].isdigit():
        print("long: " + check_long(program, folder, int(traces[0])))
        return
    missing = [t for t in traces if not os.path.exists(t)]
    for trace in traces:
        if trace not in missing:
            print(f"{os.path.basename(trace)}: {check(program, folder, trace)}", flush=True)
    if missing:
        print("SKIP: not here: " + " ".join(missing))
        sys.exit(77 if len(missing) == len(traces) else 0)


if __name__ == "__main__":
    main()
