"""HTML pages in Chromium: what is shown is what the tables say, a reader can use it by pointer and
keyboard, hostile names stay text, and nothing is requested from anywhere.

pages.py WARPSHEET FOLDER ROOT; the folder has ranks.html and long.wtrace. 77 without Chromium.
"""
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time

import page_data
from browser import Browser, find

PROGRAM, FOLDER, ROOT = sys.argv[1:4]


def trace(name):
    return os.path.join(ROOT, "fixtures", "traces", name + ".wtrace")


def report(source, name, *options):
    subprocess.run([PROGRAM, "report", source, "-o", os.path.join(FOLDER, name), *options], check=True, capture_output=True)


def equal(what, got, want):
    if got != want:
        sys.exit(f"FAIL: {what} is {got!r}, not {want!r}")


def truth(what, fact, more=""):
    if not fact:
        sys.exit(f"FAIL: {what} {more}")


def quiet(b, name):
    """No script failed, nothing was asked for but the page itself, no element would ask."""
    equal(f"{name}: messages", b.messages, [])
    others = [u for u in b.requests if not u.startswith(("file://", "about:", "data:,"))]
    equal(f"{name}: requests", others, [])
    equal(f"{name}: elements that ask", b.run("""[...document.querySelectorAll("[src],link,iframe,object,embed,img")]
        .map(e => e.outerHTML).filter(s => s !== '<link rel="icon" href="data:,">')"""), [])


def column(b, table, number):
    return b.run(f"""[...document.querySelectorAll("#{table} tbody tr:not(.total)")].map(r => r.cells[{number}].textContent)""")


def check_tables(b):
    """Numbers are read back; a click on a head sorts, the field filters, hidden columns come."""
    rows = page_data.rows(PROGRAM, trace("step-fp32"), "kernel-summary")
    equal("tables that are open", b.run("document.querySelectorAll('details.table[open]').length"), 0)
    b.run("(() => { location.hash = '#kernel-summary'; })()")
    frame(b)
    truth("a link opens a table", b.run("document.querySelector('#kernel-summary > details').open && document.querySelectorAll('details.table[open]').length === 1"))
    equal("sections without a row", b.run("[...document.querySelectorAll('section:has(details.table)')].filter(s => !s.querySelector('tbody tr, .card')).map(s => s.id)"), [])
    heads = b.run("""[...document.querySelectorAll("#kernel-summary th")].map(t => t.textContent)""")
    at = heads.index("Instances")
    equal("instances", sorted(column(b, "kernel-summary", at), key=int), sorted((str(r["instances"]) for r in rows), key=int))
    truth("the name stands first", heads[0].startswith(("Short Name", "Name")), heads)
    b.run(f"""document.querySelectorAll("#kernel-summary th")[{at}].click()""")
    want = sorted((r["instances"] for r in rows), reverse=True)
    equal("sorted instances", [int(n) for n in column(b, "kernel-summary", at)], want)
    b.run(f"""document.querySelectorAll("#kernel-summary th")[{at}].focus()""")
    b.key("Enter")
    equal("sorted by keyboard", [int(n) for n in column(b, "kernel-summary", at)], want[::-1])
    b.run("""(() => { const f = document.querySelector("#kernel-summary input"); f.value = "bwd"; f.dispatchEvent(new Event("input")); })()""")
    equal("filtered rows", len(column(b, "kernel-summary", at)),
          sum(any("bwd" in str(v).lower() for v in r.values()) for r in rows))
    b.run("""[...document.querySelectorAll("#kernel-summary button")].find(e => e.textContent === "more columns").click()""")
    more = b.run("""document.querySelectorAll("#kernel-summary th").length""")
    truth("more columns", more > len(heads), f"{more} of {len(heads)}")


def check_first_screen(b, page):
    equal("figures", b.run("""[...document.querySelectorAll(".figures dd")].map(e => e.textContent)"""),
          [value for value, _ in page["figures"]])
    shares = b.run("""[...document.querySelectorAll(".bar div")].map(e => e.getBoundingClientRect().width)""")
    equal("segments of the bar", len(shares), len(page["bar"]["segments"]))
    for width, s in zip(shares, page["bar"]["segments"]):
        truth("a segment is as wide as its share", abs(width / sum(shares) * 100 - s["percent"]) < 1, (s, width))


def check_roofline():
    """Names of a roofline stand on no other name and no roof's."""
    for name in ("bert-small-h100", "alexnet-a100"):
        report(os.path.join(ROOT, "fixtures", "imports", name + ".json.gz"), "roof.html")
        with Browser(FOLDER) as b:
            b.open("roof.html")
            over = b.run("""(() => { const of = c => [...document.querySelectorAll("#where-roof svg text" + c)].map(e => ({ text: e.textContent, r: e.getBBox() }));
                const names = of(".halo"), all = [...names, ...of(".soft").filter(t => /FLOP.s ./.test(t.text))];
                return names.flatMap((a, i) => all.filter((c, k) => k > i && a.r.x < c.r.x + c.r.width && c.r.x < a.r.x + a.r.width && a.r.y + 3 < c.r.y + c.r.height - 3 && c.r.y + 3 < a.r.y + a.r.height - 3)
                  .map(c => a.text + " on " + c.text)); })()""")
            equal(f"{name}: names on each other", over, [])
            names = b.run("document.querySelectorAll('#where-roof .halo').length")
            truth(f"{name}: circles have names", names > 0 or not b.run("document.querySelectorAll('#where-roof .point').length"))


def check_gains():
    """Gains are explained where some advice has one."""
    for name, has_gain in (("traces/step-fp32", True), ("recorded/aa/mlp-r1", False)):
        report(os.path.join(ROOT, "fixtures", name + ".wtrace"), "gains.html")
        with Browser(FOLDER) as b:
            b.open("gains.html")
            words = b.run("document.querySelector('#what-to-do').parentElement.textContent")
            truth("the page has findings", "rules checked" in words, words)
            equal(f"{name}: gains are explained", bool(re.search("A gain is|Gains are", words)), has_gain)


def check_icicle(b, page):
    """Click and keyboard zoom, hover tells."""
    drawn = set(b.run("[...document.querySelectorAll('.node')].map(e => e.dataset.path)"))
    node = next(n for n in page["tree"]["nodes"] if n["path"] in drawn and n["parent"] >= 0 and n["inclusive"] < 0.9 * page["tree"]["total"]
                and n["inclusive"] > 0.1 * page["tree"]["total"])
    width = f"""[...document.querySelectorAll(".node")].find(e => e.dataset.path === {node["path"]!r}).getBoundingClientRect().width"""
    before = b.run(width)
    x, y = b.run(f"""(() => {{ const e = [...document.querySelectorAll(".node")].find(e => e.dataset.path === {node["path"]!r});
        e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + 5]; }})()""")
    b.mouse("mouseMoved", x, y)
    truth("hover tells the path", b.run("document.querySelector('.told').textContent").startswith(node["path"]))
    b.click(x=x, y=y)
    truth("a click zooms", b.run(width) > 1.05 * before)
    b.run("document.querySelector('.node').focus()")
    b.key("Enter")
    truth("Enter zooms out", b.run("document.querySelectorAll('.node').length") > 1)


def view(b):
    return [float(v) for v in b.run("document.querySelector('.time canvas').dataset.view").split()]


def frame(b):
    b.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


def check_timeline(b, lanes):
    """The longest kernel is where it belongs; zoom, drag, hover, click and keys work on it."""
    lane = next(k for k, (lane, _) in enumerate(lanes) if lane["kind"] == "stream")
    first = sum(lane["n"] for lane, _ in lanes[:lane])
    boxes = lanes[lane][1]
    i = max(range(len(boxes)), key=lambda i: boxes[i]["dur"])
    x0, y0, wide, high = b.box(".time canvas")
    frame(b)
    whole = view(b)
    place = b.run(f"""(() => {{ const i = {first + i}, r = document.querySelector(".time canvas").getBoundingClientRect(), l = timelineOf.laneOf(i);
        return [r.left + timelineOf.px(timelineOf.boxes.start[i] + timelineOf.boxes.dur[i] / 2), r.top + l.y + 8]; }})()""")
    b.mouse("mouseMoved", *place)
    name = boxes[i]["name"]
    truth("hover tells the kernel", name in b.run("document.querySelector('.told').textContent"), name)
    b.click(x=place[0], y=place[1])
    told = b.run("document.querySelector('.time .detail').textContent")
    for part in (name, boxes[i]["path"], boxes[i]["call"]):
        truth("a click tells", part in told, (part, told))
    pixel = b.run(f"""(() => {{ const c = document.querySelector(".time canvas"), k = devicePixelRatio, r = c.getBoundingClientRect();
        return [...c.getContext("2d").getImageData(Math.round(({place[0]} - r.left) * k), Math.round(({place[1]} - r.top - 5) * k), 1, 1).data]; }})()""")
    light = b.run(f"colours[{boxes[i]['colour']}][0]")
    truth("the kernel has the colour of its class", all(abs(p - (light >> s & 255)) < 24 for p, s in zip(pixel, (16, 8, 0))), (pixel, hex(light)))
    b.mouse("mouseWheel", *place, deltaX=0, deltaY=-240)
    frame(b)
    zoomed = view(b)
    truth("the wheel zooms in", zoomed[1] - zoomed[0] < 0.9 * (whole[1] - whole[0]), zoomed)
    middle = boxes[i]["start"] + boxes[i]["dur"] / 2
    b.mouse("mousePressed", place[0], place[1], button="left", clickCount=1)
    b.mouse("mouseMoved", place[0] - 60, place[1], button="left", buttons=1)
    b.mouse("mouseReleased", place[0] - 60, place[1], button="left", clickCount=1)
    frame(b)
    truth("a drag moves", view(b)[0] > zoomed[0], (view(b), zoomed))
    b.run("document.querySelector('.time canvas').focus()")
    for key, fact in (("w", lambda a, c: c[1] - c[0] < a[1] - a[0]), ("s", lambda a, c: c[1] - c[0] > a[1] - a[0]),
                      ("a", lambda a, c: c[0] < a[0]), ("d", lambda a, c: c[0] > a[0])):
        before = view(b)
        b.key(key)
        frame(b)
        truth(f"key {key}", fact(before, view(b)), (before, view(b)))
    chosen = b.run("timelineOf.state.chosen")
    b.key("ArrowRight" if i + 1 < len(boxes) else "ArrowLeft")
    truth("an arrow goes to the next box", abs(b.run("timelineOf.state.chosen") - chosen) == 1)
    b.key("ArrowUp")
    truth("an arrow goes to another lane", b.run("timelineOf.laneOf(timelineOf.state.chosen).name") != "" and middle > 0)
    b.key("Escape")
    equal("Escape forgets", b.run("timelineOf.state.chosen"), -1)
    b.key("Escape")
    frame(b)
    equal("Escape shows all", view(b), whole)


def click_at(b, script):
    """A click in the middle of the element that the script gives, scrolled into view."""
    x, y = b.run(f"""(() => {{ const e = {script}; e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect(); return [r.left + Math.min(r.width / 2, 40), r.top + r.height / 2]; }})()""")
    b.click(x=x, y=y)


FOUND = "timelineOf.state.found && ({ n: timelineOf.state.found.count, ns: timelineOf.state.found.time })"


def check_finding(b, lanes, summary):
    """What is clicked, in a table, the bar, the icicle or a sentence, is found in the timeline; search finds it, too."""
    kernels = [x for lane, boxes in lanes if lane["kind"] == "stream" for x in boxes]
    per_name = {r["short_name"]: r for r in summary}
    name = max(per_name, key=lambda n: per_name[n]["total_ns"])
    want = {"n": sum(x["name"] == name for x in kernels), "ns": sum(x["dur"] for x in kernels if x["name"] == name)}
    truth("the kernel is in the step", want["n"] > 0)
    for place in (f"""[...document.querySelectorAll("#kernel-summary tbody tr")].find(r => r.cells[0].title === {name!r} || r.cells[0].textContent === {name!r})""",
                  f"""[...document.querySelectorAll("#top-kernels tbody tr")].find(r => r.cells[0].textContent === {name!r})"""):
        b.run("timelines[0].find('')")
        b.run("getSelection().empty()")
        b.run("document.querySelector('#kernel-summary > details').open = true")
        click_at(b, place)
        equal(f"what a click on a row finds: {place}", b.run(FOUND), want)
        truth("the first one is chosen", name in b.run("document.querySelector('.time .detail').textContent"))
        truth("the timeline is seen", b.run("(() => { const r = document.querySelector('.time canvas').getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0; })()"))
    cls = max({x["class"] for x in kernels}, key=lambda c: sum(x["dur"] for x in kernels if x["class"] == c))
    want = {"n": sum(x["class"] == cls for x in kernels), "ns": sum(x["dur"] for x in kernels if x["class"] == cls)}
    click_at(b, "document.querySelector('.bar div')")
    equal("what a click on the bar finds", b.run(FOUND), want)
    click_at(b, f"[...document.querySelectorAll('.say .object')].find(e => e.textContent === {cls!r})")
    equal("what a click on a sentence finds", b.run(FOUND), want)
    node = b.run("""[...document.querySelectorAll(".node")].find(e => /forward/.test(e.dataset.path)).dataset.path""")
    click_at(b, f"[...document.querySelectorAll('.node')].find(e => e.dataset.path === {node!r})")
    part = re.compile(".*".join(map(re.escape, node.split("*"))) + "(/|$)")
    inside = [x for lane, boxes in lanes if lane["kind"] in ("stream", "thread") for x in boxes if part.match(re.sub(r"#\\d+", "", x["path"]))]
    truth("a part has kernels", len(inside) > 2, node)
    equal(f"what a click on the part {node} finds", b.run(FOUND)["n"], len(inside))
    b.run("document.querySelector('.icicle').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))")
    # search
    b.run(f"(() => {{ const f = document.querySelector('.time input'); f.focus(); f.value = {name!r}.toUpperCase(); f.dispatchEvent(new Event('input')); }})()")
    want = [i for i, x in enumerate(x for lane, boxes in lanes for x in [dict(y, kind=lane["kind"]) for y in boxes])
            if x["kind"] != "path" and any(name.lower() in x[k].lower() for k in ("name", "class", "operation", "path"))]
    equal("boxes that a search finds", sorted(b.run("timelineOf.state.found.list")), want)
    first = []
    for _ in range(len(want) + 1):
        b.key("Enter")
        first.append(b.run("timelineOf.state.chosen"))
    equal("Enter goes through all and begins again", (sorted(first[:-1]), first[-1]), (want, first[0]))
    truth("how many there are is told", f"1 of {len(want)}" in b.run("document.querySelector('.time .tools').textContent"))
    b.run("(() => { const f = document.querySelector('.time input'); f.value = 'no such kernel'; f.dispatchEvent(new Event('input')); })()")
    truth("nothing is found, and that is said", "is not in" in b.run("document.querySelector('.time .tools').textContent"))
    b.key("Escape")


def check_sum(b, lanes):
    """Dragged over all of the step, the sum has the kernels and the time of the table; half of it has its part."""
    b.run("document.querySelector('.time canvas').scrollIntoView({ block: 'center' })")
    x0, y0, wide, high = b.run("(() => { const r = document.querySelector('.time canvas').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
    kernels = [x for lane, boxes in lanes if lane["kind"] == "stream" for x in boxes]
    y = y0 + b.run("timelineOf.t.lanes.find(l => l.kind === 'stream').y") + 4
    b.run("[...document.querySelectorAll('.time button')].find(e => e.textContent === 'sum up').click()")
    for kind, x in (("mousePressed", x0 + 129), ("mouseMoved", x0 + wide / 2), ("mouseMoved", x0 + wide - 1), ("mouseReleased", x0 + wide - 1)):
        b.mouse(kind, x, y, button="left", buttons=1, clickCount=1)
    told = b.run("document.querySelector('.time .detail').textContent")
    truth("kernels of the sum", f"{len(kernels)} kernels, {b.run('shownTime(%d)' % sum(k['dur'] for k in kernels))}" in told, told)
    by_class = b.run("Object.fromEntries(timelineOf.sumOf({ from: 0, to: timelineOf.t.length, y0: 0, y1: 1 }).by.map(([name, s]) => [name, s.ns]))")
    equal("time by class", by_class, {c: sum(k["dur"] for k in kernels if k["class"] == c) for c in {k["class"] for k in kernels}})
    middle, begin = b.run("[timelineOf.t.length / 2, timelineOf.t.begin]")
    want = sum(max(0, min(k["start"] - begin + k["dur"], middle) - k["start"] + begin) for k in kernels)
    truth("half of the step", abs(b.run(f"timelineOf.sumOf({{ from: 0, to: {middle}, y0: 0, y1: 1 }}).all.ns") - want) < 1)
    b.run("[...document.querySelectorAll('.time button')].find(e => e.textContent === 'sum up').click()")
    b.run("document.querySelector('.time canvas').focus()")
    b.key("Escape")


def check_ticks(b):
    """Ticks differ however far from the beginning they are: 1 ms at 24 s."""
    for span in (1.4e6, 1000, 5e9):
        ticks = b.run(f"""(() => {{ const c = document.querySelector('.time canvas'), s = timelineOf.state, old = [s.from, s.to];
            [s.from, s.to] = [24.8e9, 24.8e9 + {span}]; timelineOf.paint(); const words = c.dataset.ticks; [s.from, s.to] = old; timelineOf.paint(); return words.split(" | "); }})()""")
        truth("ticks differ", len(set(ticks)) == len(ticks) > 2, ticks)
        truth("and say where they are", ticks[0].startswith("24.8" if span < 1e9 else "25 s"), ticks)


def check_equal(b, page, lanes, summary, classes):
    """All numbers of the page for one thing are equal: time of the step, of a class, of a kernel, all of the median step."""
    kernels = [x for lane, boxes in lanes if lane["kind"] == "stream" for x in boxes]
    equal("kernels of the timeline", [(k["name"], k["ns"]) for k in page["kernels"]["list"]],
          [(k["name"], sum(x["dur"] for x in kernels if x["name"] == k["name"])) for k in page["kernels"]["list"]])
    words = lambda selector: b.run(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")
    step = b.run(f"shownTime({page['bar']['step']})")
    truth("the step in headline, figures, bar", step in words(".say")[0] and step == words(".figures dd")[0] and step in words("#where-time h2 .what")[0])
    cls = page["bar"]["segments"][0]
    truth("a class in sentence and bar", any(f"{cls['name']} takes {b.run('shownTime(%r)' % (cls['ns'] / page['bar']['whole'] * page['bar']['step']))}" in w for w in words(".say")), words(".say"))
    for r in classes:
        of_summary = sum(k["total_ns"] for k in summary if k["op_class"] == r["class"])
        equal(f"class {r['class']}", of_summary, r["gpu_ns"])
    equal("the icicle", sum(n["inclusive"] for n in page["tree"]["nodes"] if n["parent"] < 0), sum(k["total_ns"] for k in summary))
    equal("the histogram", [sum(d[2] for d in page["durations"]), sum(d[3] for d in page["durations"])], [sum(k["instances"] for k in summary), sum(k["total_ns"] for k in summary)])
    equal("names of kernels", [k["name"] for k in page["kernels"]["list"]], [k["short_name"] for k in summary][:10])


def check_deep_lanes(b):
    """A lane of many levels says how many are deeper; the key e shows them, and folds them again."""
    high = lambda: b.run("parseFloat(document.querySelector('.time canvas').style.height)")
    b.run("(() => { timelineOf.t.lanes[0].depths = 40; document.querySelector('.time canvas').focus(); })()")
    b.key("e")
    frame(b)
    tall = high()
    b.key("e")
    frame(b)
    equal("levels that e unfolds", tall - high(), (40 - 12) * 18)


def check_access(b):
    """Scroll boxes and pictures are reached by keyboard and have names; heads sort by keyboard."""
    equal("boxes without a name or not reached", b.run("""[...document.querySelectorAll(".scroll, canvas")]
        .filter(e => e.tabIndex < 0 || !e.getAttribute("aria-label")).length"""), 0)
    equal("pictures without a name", b.run("""[...document.querySelectorAll("svg, .bar, .icicle")]
        .filter(e => !e.closest(".chart") && !e.getAttribute("aria-label")).length"""), 0)
    equal("heads that no key reaches", b.run("""[...document.querySelectorAll(".rows th")].filter(e => e.tabIndex !== 0).length"""), 0)


def check_contrast(b, name):
    """Text of 4.5 to 1 at least on what it stands on."""
    bad = b.run("""(() => {
        const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
        const lum = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
        const back = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.5) return c; } return [255, 255, 255]; };
        const bad = [];
        for (const e of document.querySelectorAll("main *, header *, nav *")) {
          if (e.closest("svg, noscript, canvas") || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.offsetParent) continue;
          const a = lum(parse(getComputedStyle(e).color)), c = lum(back(e)), k = (Math.max(a, c) + 0.05) / (Math.min(a, c) + 0.05);
          if (k < 4.5) bad.push([e.className, e.textContent.slice(0, 30), k.toFixed(2)]);
        }
        return bad.slice(0, 5); })()""")
    equal(f"{name}: text without contrast", bad, [])


def check_step():
    report(trace("step-fp32"), "step.html")
    data, lanes = page_data.read_page(os.path.join(FOLDER, "step.html"))
    for dark in (False, True):
        with Browser(FOLDER, dark=dark) as b:
            b.open("step.html")
            quiet(b, "step.html")
            check_contrast(b, "dark" if dark else "light")
            if dark:
                continue
            check_columns(b, "step.html", data)
            check_first_screen(b, data["page"])
            check_icicle(b, data["page"])
            check_timeline(b, lanes)
            check_tables(b)
            summary = page_data.rows(PROGRAM, trace("step-fp32"), "kernel-summary")
            b.open("step.html")
            check_finding(b, lanes, summary)
            check_sum(b, lanes)
            check_ticks(b)
            median = re.match(r"step (\d+), the median of", data["page"]["timeline"]["what"])[1]
            check_equal(b, data["page"], lanes, *(page_data.rows(PROGRAM, trace("step-fp32"), table, "--steps", median) for table in ("kernel-summary", "classes")))
            check_access(b)
            check_deep_lanes(b)
            # labels of a chart that would look alike show where their names differ
            alike = [f"sm80_xmma_gemm_tilesize{tile}x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4" for tile in ("64x256", "128x128", "64x256")]
            cut = ["k" * 50 + "a", "k" * 50 + "b", "c" * 60]
            equal("names that a cell cuts", b.run(f"unlike({cut})"), ["k" * 9 + "…" + "k" * 35 + end for end in "ab"] + cut[2:])
            equal("numbers beside each other", b.run("[34e6, 34.04e6, 36.7e6, 5, 0, 990.4].map(shownTime)"), ["34 ms", "34.0 ms", "36.7 ms", "5 ns", "0 ns", "990 ns"])
            equal("a share that is not known", b.run("shownPercent(null)"), "")
            equal("steps in the chart of measured ones", b.run("""[["no", null], ["no", "evaluation"], ["yes", null]]
                .map(r => isMeasured({ columns: [{ id: "warm_up" }, { id: "contains" }] }, r))"""), [True, False, False])
            equal("labels", [s[:20] for s in b.run(f"clips({alike}, 32)")], ["sm80_xmm…size64x256x", "sm80_xmm…size128x128", "sm80_xmm…size64x256x"])
            quiet(b, "step.html, used")


def profile(path, kernels, threads=()):
    """A PyTorch profile of a step of 1 ms: (name, start, duration, stream, device) in us."""
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 0, "dur": 1000},
              *({"ph": "M", "name": "thread_name", "pid": 9, "tid": tid, "args": {"name": name}} for tid, name in threads)]
    for i, (name, start, dur, stream, device) in enumerate(kernels):
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1 + i, "dur": 0.5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": start, "dur": dur, "args": {"device": device, "context": 1, "stream": stream, "correlation": i + 1}}]
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": d, "name": "NVIDIA A100-SXM4-80GB"} for d in {k[4] for k in kernels}], "traceEvents": events}, f)


def check_hidden():
    """Communication in two tones: under compute, and not; sentence, legend and strip have both times."""
    path = os.path.join(FOLDER, "hidden.json")
    profile(path, [("ampere_sgemm_128x64_tn", 100, 400, 7, 0), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 300, 9, 0)], [(9, "thread 9 (trainer)")])
    report(path, "hidden.html")
    page = page_data.read_page(os.path.join(FOLDER, "hidden.html"))[0]["page"]
    segment = next(s for s in page["bar"]["segments"] if s["name"] == "communication")
    equal("exposed and hidden", [segment["ns"], segment["hidden"]], [100000, 200000])
    with Browser(FOLDER) as b:
        b.open("hidden.html")
        quiet(b, "hidden.html")
        said = b.run("[...document.querySelectorAll('.say')].map(e => e.textContent)")
        truth("the sentence has both", "Communication runs 300 µs; 67 % is hidden behind compute, 100 µs is not." in said, said)
        truth("and no share of it by another denominator", not any("comm takes" in line for line in said), said)
        wide = b.run("[...document.querySelectorAll('.strip div')].map(e => e.getBoundingClientRect().width)")
        truth("two tones, as wide as their times", len(wide) == 2 and abs(wide[0] / wide[1] - 2) < 0.02, wide)
        truth("the legend has both", "200 µs more, hidden" in b.run("document.querySelector('#where-time .legend').textContent"))
        b.run("document.querySelectorAll('details.table').forEach(d => { d.open = true; })")
        read = {t: set(b.run(f"[...document.querySelectorAll('#{t} td')].map(e => e.textContent)")) for t in ("top-kernels", "kernel-summary", "classes")}
        equal("tables in which the class has one name", [t for t in read if "communication" in read[t] and "comm" not in read[t]], list(read))
        equal("its name in the data", {r["op_class"] for r in page_data.rows(PROGRAM, path, "kernel-summary")} & {"comm", "communication"}, {"comm"})
        b.run("document.querySelector('.strip div').click()")
        equal("a click on it finds the kernel", b.run(FOUND), {"n": 1, "ns": 300000})
        truth("the thread has its name", "trainer 9" in b.run("timelineOf.t.lanes.map(l => l.name)"))


def check_many_lanes():
    """Many streams of a GPU are one lane until it is opened; no two lanes have one name; each GPU has its bar."""
    path = os.path.join(FOLDER, "lanes.json")
    profile(path, [(f"ampere_sgemm_{s}", 100 + 10 * s, 200, s, d) for d in range(8) for s in range(1, 17)])
    report(path, "lanes.html")
    with Browser(FOLDER) as b:
        b.open("lanes.html")
        quiet(b, "lanes.html")
        names = b.run("timelineOf.t.lanes.map(l => l.name)")
        equal("lanes of one name", len(set(names)), len(names))
        high = lambda: b.run("parseFloat(document.querySelector('.time canvas').style.height)")
        frame(b)
        folded = high()
        truth("8 × 16 streams are low", folded < 900, folded)
        b.run("document.querySelector('.time canvas').scrollIntoView()")
        x, y = b.run("(() => { const r = document.querySelector('.time canvas').getBoundingClientRect(), l = timelineOf.t.lanes.find(l => l.group); return [r.left + 20, r.top + l.y + 8]; })()")
        b.click(x=x, y=y)
        frame(b)
        equal("a click opens one", high() - folded, 15 * (18 + 7))
        equal("bars of the GPUs", b.run("[...document.querySelectorAll('.device > span')].map(e => e.textContent)"), [f"GPU {d}" for d in range(8)])


def check_depth():
    """200 nested ranges are one box of the icicle, and no lane has over 12 levels before it is opened."""
    path = os.path.join(FOLDER, "deep.json")
    profile(path, [("ampere_sgemm_128x64_tn", 500, 400, 7, 0)])
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    data["traceEvents"] += [{"ph": "X", "cat": "user_annotation", "name": f"part {chr(97 + i % 26)}{i}", "pid": 9, "tid": 9, "ts": 0.1 + i * 0.001, "dur": 900 - i * 0.01} for i in range(60)]
    # of another thread 30 levels, each of which has something of its own
    data["traceEvents"] += [{"ph": "X", "cat": "user_annotation", "name": f"level {i}", "pid": 9, "tid": 10, "ts": 0.1 + i, "dur": 900 - i * 30} for i in range(30)]
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f)
    report(path, "deep.html")
    with Browser(FOLDER) as b:
        b.open("deep.html")
        quiet(b, "deep.html")
        truth("the chain is one box", b.run("document.querySelectorAll('.node').length") < 6 and " › … › " in b.run("document.querySelector('.icicle').textContent"), b.run("document.querySelector('.icicle').textContent"))
        lanes = b.run("timelineOf.t.lanes.filter(l => l.kind === 'thread').map(l => [l.name, l.n, l.rows, l.depths])")
        chain, deep = (next(l for l in lanes if l[0].endswith(tid)) for tid in (" 9", " 10"))
        equal("60 ranges that hold nothing but the next one, in a step: boxes, rows, levels", chain[1:], [61, 2, 2])
        equal("30 ranges with time of their own", deep[1:], [30, 12, 30])
        b.run("(() => { const f = document.querySelector('.time input'); f.focus(); f.value = 'part h59'; f.dispatchEvent(new Event('input')); })()")
        b.key("Enter")
        told = b.run("document.querySelector('.time .detail').textContent")
        truth("a box in the chain is told with what is around it", "part h59" in told and " › … › " in told, told)


def check_print():
    """Printed pages have their colours, whatever the browser leaves out by default."""
    with Browser(FOLDER) as b:
        b.open("step.html")
        b.tell("Emulation.setEmulatedMedia", {"media": "print"})
        equal("colours on paper", set(b.run("[...document.querySelectorAll('.bar div, .node, .chip')].map(e => getComputedStyle(e).printColorAdjust)")), {"exact"})


def check_links_of_operations():
    """Without a kernel the page lists operations, and its link says so."""
    report(os.path.join(ROOT, "fixtures", "recorded", "jax", "cpu.trace.json.gz"), "operations.html")
    with Browser(FOLDER) as b:
        for page, noun in (("operations.html", "Operation"), ("step.html", "Kernel")):
            b.open(page)
            equal("the link of " + page, b.run("document.querySelector('nav a[href=\"#top-kernels\"]').textContent"), noun + "s")
            equal("its title", b.run("document.querySelector('#top-kernels h2').textContent.startsWith(%r)" % (noun + "s that cost most")), True)


def check_full_stops():
    """A full stop behind a button stays on the button's line, whatever the width, and each advice ends with one."""
    report(os.path.join(ROOT, "fixtures", "recorded", "h100", "transformer-small.wtrace"), "stops.html")
    with Browser(FOLDER, width=390, phone=True) as b:
        b.open("stops.html")
        alone = set()
        for width in range(320, 430, 5):
            b.tell("Emulation.setDeviceMetricsOverride", {**b.metrics, "width": width})
            alone.update(b.run("""[...document.querySelectorAll("button.object")].filter(e => { const next = e.nextSibling, range = document.createRange();
                if (!next || next.nodeType !== Node.TEXT_NODE || !/^[.,;:)]/.test(next.data)) return false;
                range.setStart(next, 0); range.setEnd(next, 1);
                return range.getBoundingClientRect().top >= e.getBoundingClientRect().bottom - 2; }).map(e => e.textContent)"""))
        equal("buttons whose full stop begins a line", alone, set())
        truth("buttons with a full stop", b.run("""[...document.querySelectorAll("button.object")].some(e => e.nextSibling && e.nextSibling.data === ".")"""))
        equal("advice without a full stop", b.run("""[...document.querySelectorAll(".todo .do")].map(e => e.textContent.trim()).filter(text => !/[.!?]$/.test(text))"""), [])


def check_phone():
    """One column, readable without zoom: nothing of the first screen is wider than the screen."""
    report(os.path.join(ROOT, "fixtures", "imports", "bert-small-h100.json.gz"), "gains.html")
    with Browser(FOLDER, width=390, phone=True) as b:
        b.open("gains.html")
        equal("width of a page with long gains", b.run("document.documentElement.scrollWidth"), 390)
        equal("times that are broken, of what bounds the step", b.run("""[...document.querySelectorAll(".ladder td.n")].filter(e => {
            const text = document.createRange(); text.selectNodeContents(e); return text.getClientRects().length > 1; }).map(e => e.textContent)"""), [])
        equal("a name clipped to ten letters", b.run("clip('warpsheet-step 4624', 10)"), "warps…4624")
        equal("a name clipped to twenty letters", b.run("clip('a_name_of_more_than_twenty_letters', 20)"), "a_name_of…ty_letters")
        equal("names of two boxes, as far as they fit", b.run("""(() => { const pen = document.createElement("canvas").getContext("2d");
            return ["layer 11", "layer 10", "layer 1"].map(name => fitted(pen, name, pen.measureText("layer 1").width)); })()"""), ["la…11", "la…10", "layer 1"])
    check_full_stops()
    with Browser(FOLDER, width=390, phone=True) as b:
        b.open("step.html")
        equal("width of the page", b.run("document.documentElement.scrollWidth"), 390)
        truth("headline is 15 pixels high at least", b.run("parseFloat(getComputedStyle(document.querySelector('.say')).fontSize)") >= 15)
        # a word that is wider than the screen is broken
        b.run("document.querySelectorAll('p, h2, h3, .what, .soft, td').forEach((e, i) => { if (i % 3 === 0) e.append('x'.repeat(200)); })")
        equal("width of the page with long words", b.run("document.documentElement.scrollWidth"), 390)
        b.open("step.html")
        b.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        over = b.run("""[...document.querySelectorAll(".scroll.rows")].filter(e => { const key = e.querySelector("td.key"), r = e.getBoundingClientRect();
            return key && r.width && key.getBoundingClientRect().width > 0.45 * r.width + 1; }).map(e => e.getAttribute("aria-label"))""")
        equal("tables whose frozen column hides the numbers", over, [])
        seen = b.run("""["#top-kernels tbody tr", "#kernel-summary tbody tr"].map(rows => [...document.querySelector(rows).querySelectorAll("td.n")].filter(e => e.getBoundingClientRect().right <= 390).length)""")
        truth("calls and time of a kernel, and a number of the table, are seen without scrolling", seen[0] >= 2 and seen[1] >= 1, seen)
        small = b.run("""[...document.querySelectorAll("main svg text")].filter(e => e.getBoundingClientRect().height && e.getBoundingClientRect().height < 9).map(e => e.textContent)""")
        equal("letters of pictures that are too small", small, [])
        equal("evidence that is cut", b.run("[...document.querySelectorAll('.todo .soft')].filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== 'visible').length"), 0)
        equal("columns", b.run("getComputedStyle(document.querySelector('.pair')).gridTemplateColumns.split(' ').length"), 1)


def check_without_scripts(data):
    """Under a policy of the server that blocks the page's script the answer is there, and names stay text."""
    class Strict(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            self.send_header("Content-Security-Policy", "script-src 'self'")
            super().end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Strict, directory=FOLDER))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = data["page"]
    sentences = ["".join(part for part, _ in line) for line in page["headline"]]
    for name, want in ("step.html", sentences), ("hostile.html", None), ("diff.html", None):
        with Browser(FOLDER) as b:
            b.tell("Page.navigate", {"url": f"http://127.0.0.1:{server.server_port}/{name}"})
            while not b.run("location.protocol === 'http:' && document.readyState === 'complete'"):
                time.sleep(0.02)
            equal(f"{name}: the script ran", b.run("document.body.dataset.ready || ''"), "")
            said = b.run("[...document.querySelectorAll('.say')].map(e => e.textContent)")
            truth(f"{name}: has a headline", said and all(said), said)
            truth(f"{name}: has tables", b.run("document.querySelectorAll('main tr').length") > 10)
            equal(f"{name}: elements that names made", b.run("""document.querySelectorAll("main img, main script, main iframe, main a").length"""), 0)
            if not want:
                continue
            equal("sentences", said, want)
            words = b.run("document.querySelector('main').textContent")
            for text in [f["advice"] for f in page["findings"]["list"][:5]] + [k["name"] for k in page["kernels"]["list"][:10]]:
                truth(f"{text!r} is there", text in words)
            widths = b.run("[...document.querySelectorAll('h2 + svg rect')].map(e => e.getBoundingClientRect().width)")
            for width, part in zip(widths, page["bar"]["segments"], strict=True):
                truth("a part of the bar is as wide as its share", abs(100 * width / sum(widths) - part["percent"]) < 1, (width, part))
    server.shutdown()


def check_hostile():
    report(trace("hostile"), "hostile.html")
    with Browser(FOLDER) as b:
        b.open("hostile.html")
        # every box is told, every table is shown whole
        b.run("""(() => { for (const e of document.querySelectorAll("button")) if (/all rows|more columns/.test(e.textContent)) e.click();
            const c = document.querySelector(".time canvas"); c.focus(); })()""")
        for _ in range(40):
            b.key("ArrowRight")
        quiet(b, "hostile.html")
        equal("elements that names made", b.run("""document.querySelectorAll("main b:not(.gain):not(.say b):not(.first b), main img, main script, main iframe, main a").length"""), 0)
        truth("the hostile names are there", b.run("document.body.textContent.includes('<script>alert(1)</script>')"))
        b.run("(() => { const s = document.createElement('script'); s.textContent = 'window.injected = 1'; document.body.append(s); })()")
        equal("a script that is not the page's", b.run("typeof window.injected"), "undefined")


def check_columns(b, name, data):
    """Every table, once it is open, has all its keys and answers, in their order; the name stays where it is when the reader scrolls to the last one."""
    b.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    seen = 0
    for table, view in data["views"].items():
        heads = b.run(f"[...document.querySelectorAll({json.dumps(f'#{table} .rows th')})].filter(e => e.getBoundingClientRect().width > 4).map(e => e.textContent)")
        if not heads or not data["report"]["tables"][table]["rows"]:
            continue
        equal(f"{name}: keys and answers of {table}", heads[:view["answers"]], [c["title"] for c in view["columns"][:view["answers"]]])
        moved = b.run(f"""(() => {{ const box = document.querySelector({json.dumps(f'#{table} .rows')}), key = box.querySelector("td.key"), place = () => key.getBoundingClientRect().left - box.getBoundingClientRect().left;
            const before = place(); box.scrollLeft = 1e6; const last = [...box.querySelectorAll("th")].pop().getBoundingClientRect(), inside = last.right <= box.getBoundingClientRect().right + 2, by = place() - before;
            box.scrollLeft = 0; return [Math.abs(by) < 2, inside]; }})()""")
        equal(f"{name}: the name of {table} stays, and the last column is reached", moved, [True, True])
        seen += 1
    truth(f"{name}: tables with columns", seen > 0)
    b.run("document.querySelectorAll('details').forEach(d => { d.open = false; })")


def check_gpus():
    """Each GPU has a line in the pictures over time, as far as the colours go; the rest is named."""
    with Browser(FOLDER) as b:
        b.open("gpus.html")
        for picture, of in (("power_w", [0, 2, 3, 4, 5, 6, 7, 8]), ("sm_mhz", list(range(8)))):
            lines = b.run(f"[...document.querySelectorAll('#{picture}-picture path')].map(e => [e.style.stroke, e.textContent])")
            equal(f"{picture}: GPUs with a line", [int(re.search(r"device (\d)", words)[1]) for _, words in lines], of)
            equal(f"{picture}: colours", len({stroke for stroke, _ in lines}), 8)
            words = b.run(f"document.querySelector('#{picture}-picture .legend').textContent")
            truth(f"{picture}: the rest", f"8 of {9 if picture == 'power_w' else 10}; the table has all" in words, words)


def check_each(b, name, count):
    """A bar for each configuration, run or rank: as long as its parts together; names, times and tables are there; all tables are closed."""
    data, _ = page_data.read_page(os.path.join(FOLDER, name))
    rows = data["first"]["rows"]["list"]
    equal(f"{name}: rows of the picture", len(rows), count)
    for row in rows:
        truth(f"{name}: parts add up", row["ns"] is None or abs(sum(p["ns"] for p in row["parts"]) - row["ns"]) < 1e-6 * row["ns"], row)
    wide = b.run("[...document.querySelectorAll('#each rect')].map(e => +e.getAttribute('width'))")
    equal(f"{name}: parts that are drawn", len(wide), sum(len(r["parts"]) for r in rows))
    words = b.run("document.querySelector('#each').textContent")
    equal(f"{name}: words that are not drawn", [r["words"] for r in rows if r["words"] not in words], [])
    equal(f"{name}: tables that are open", b.run("[...document.querySelectorAll('section:has(> .scroll.rows), details.table[open]')].length"), 0)
    check_columns(b, name, data)
    return data


def check_ranks_timeline(b, data):
    """A lane for each rank: what it computes, waits, communicates and idles in one step is what the table of steps has."""
    timeline = data["first"]["timeline"]
    step = int(re.match(r"step (\d+) of 8 ranks", timeline["what"])[1])
    table = data["report"]["tables"]["rank-steps"]
    ids = [c["id"] for c in table["columns"]]
    _, lanes = page_data.read_page(os.path.join(FOLDER, "ranks.html"))
    equal("lanes", [lane["name"] for lane, _ in lanes], [f"rank {i}" for i in range(8)])
    for rank, (lane, boxes) in enumerate(lanes):
        row = next(dict(zip(ids, r)) for r in table["rows"] if r[ids.index("rank")] == rank and r[ids.index("step")] == step)
        sums = {}
        for x in boxes:
            sums[x["class"]] = sums.get(x["class"], 0) + x["busy"]
        equal(f"rank {rank}: computing and idle", [sums.get("computing", 0), sums.get("idle", 0)],
              [row["compute_ns"], row["step_ns"] - row["compute_ns"] - row["exposed_ns"]])
        truth(f"rank {rank}: waiting", abs(sums.get("waiting for the last rank", 0) - (row["waiting_ns"] or 0)) <= len(boxes), (sums, row))
        equal(f"rank {rank}: communication", sums.get("waiting for the last rank", 0) + sums.get("communication", 0), row["comm_ns"])
    b.run("timelines[0].find('waiting')")
    truth("waiting is found", b.run("timelineOf.state.found.count") > 0)
    truth("and drawn", b.run("(() => { const c = document.querySelector('.time canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v); })()"))


def check_sides(b, data):
    """Both models, as wide as their times, in the colour of what changed; both timelines, which move together."""
    sides = data["first"]["sides"]
    wide = b.run("""[...document.querySelectorAll(".side .icicle")].map(e => e.getBoundingClientRect().width)""")
    times = [s["tree"]["total"] / s["tree"]["per"] for s in sides]
    rows = [r for r in data["report"]["tables"]["diff-verdict"]["rows"] if r[0] == "GPU time of a step"]
    truth("the models are of the measured steps", all(abs(t / 1e6 / v - 1) < 0.02 for t, v in zip(times, rows[0][2:4])), (times, rows))
    truth("the models are on one scale", abs(wide[1] / wide[0] - times[1] / times[0]) < 0.01, (wide, times))
    for side, (s, other) in enumerate(zip(sides, sides[::-1])):
        for n in s["tree"]["nodes"]:
            if "other" in n:
                equal("a part and its counterpart", other["tree"]["nodes"][n["other"]]["path"], n["path"])
        paths = {n["path"] for n in other["tree"]["nodes"] if "(" not in n["path"]}
        equal("parts without a counterpart", [n["path"] for n in s["tree"]["nodes"] if n["path"] in paths and "other" not in n], [])
        _, lanes = page_data.read_page(os.path.join(FOLDER, "diff.html"), side)
        rows = page_data.rows(PROGRAM, trace(("step-fp32", "step-bf16")[side]), "kernel-trace", "--scope", "all")
        page_data.check_kernels(s["timeline"], lanes, rows)
    nodes = b.run("""[...document.querySelectorAll(".side")].map(s => [...s.querySelectorAll(".node")].map(e => getComputedStyle(e).backgroundColor))""")
    part = next(n for n in sides[0]["tree"]["nodes"] if n["path"].endswith("backward"))
    b.run("[...document.querySelectorAll('.side .node')].find(e => /backward/.test(e.dataset.path)).click()")
    told = b.run("[...document.querySelectorAll('.time .tools')].map(e => e.textContent)")
    truth("a click on a part finds it in both timelines", all(part["path"] in t and " is not in" not in t for t in told) and len(told) == 2, told)
    b.run("[...document.querySelectorAll('.side .icicle')].forEach(e => e.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })))")
    truth("what got faster is green on both sides", all("rgb(34, 116, 74)" in side for side in nodes), nodes)
    truth("both timelines are drawn", b.run("""[...document.querySelectorAll(".time canvas")].map(c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v))""") == [True, True])
    b.run("document.querySelectorAll('.time canvas')[1].focus()")
    b.key("w")
    frame(b)
    views = b.run("[...document.querySelectorAll('.time canvas')].map(c => c.dataset.view)")
    truth("one moves with the other", views[0] == views[1] and views[0].split()[0] != "0", views)


def check_diff():
    subprocess.run([PROGRAM, "diff", trace("step-fp32"), trace("step-bf16"), "-o", os.path.join(FOLDER, "diff.html")], check=True, capture_output=True)
    with Browser(FOLDER) as b:
        b.open("diff.html")
        data, _ = page_data.read_page(os.path.join(FOLDER, "diff.html"))
        quiet(b, "diff.html")
        check_contrast(b, "diff.html")
        rows = json.loads(subprocess.run([PROGRAM, "diff", trace("step-fp32"), trace("step-bf16"), "--table", "diff-waterfall", "--format", "json"],
                                         check=True, capture_output=True).stdout)
        total = dict(zip([c["id"] for c in rows["columns"]], rows["rows"][-1]))
        bars = data["first"]["bars"]
        equal("the waterfall adds up", bars[0]["to"] + sum(x["to"] - x["from"] for x in bars[1:-1]), bars[-1]["to"])
        equal("from step to step", [bars[0]["to"], bars[-1]["to"]], [total["a_ns"], total["b_ns"]])
        said = "".join(part for part, _ in data["first"]["answers"][0]["line"])
        truth("the sentence has the same steps", all(page_data.say(x["to"]).split()[0] in said for x in (bars[0], bars[-1])), (said, bars[0], bars[-1]))
        check_columns(b, "diff.html", data)
        equal("bars of the waterfall", b.run("document.querySelectorAll('#why rect').length"), len(bars))
        check_sides(b, data)
        truth("ratios stand left or right of 1", b.run("""[...document.querySelectorAll("#changes .ratio")].every(s => {
            const x = +s.querySelector("circle").getAttribute("cx"), one = +s.querySelector("line").getAttribute("x1"), less = s.getAttribute("aria-label").startsWith("−");
            return less ? x < one : x >= one; }) && document.querySelectorAll("#changes .ratio").length > 0"""))
        changes = b.run("[...document.querySelectorAll('#changes tbody tr')].map(r => r.cells[0].textContent)")
        truth("no two changes read alike", len(changes) == len(set(changes)) and any("backward" in c for c in changes), changes)
        equal("the answer's grade", b.run("document.querySelector('#overview .grade').textContent"), "LIKELY FASTER")
        truth("the answer's cause", "gemm kernels" in b.run("document.querySelector('#overview').textContent"))
        truth("intervals of the ratios", b.run("document.querySelectorAll('#changes .ratio rect').length") == b.run("document.querySelectorAll('#changes .ratio').length"))
        equal("tables of a diff that are open", b.run("[...document.querySelectorAll('section:has(> .scroll.rows)')].map(s => s.id)"), ["diff-verdict"])
        truth("grades", b.run("document.querySelectorAll('td.FASTER').length") > 0)
        heads = b.run("[...document.querySelectorAll('th, h2, h3')].map(e => e.textContent)")
        truth("the sides are named", any("fp32" in h for h in heads) and any("bf16" in h for h in heads))
        letters = [h for h in heads if set(h.replace(":", " ").replace(",", " ").split()) & {"A", "B"}]
        equal("sides called by their letter", letters, [])
        truth("the verdict stands before its charts", b.run("""(() => { const s = document.querySelector("#diff-verdict"), t = s.querySelector("table"), c = s.querySelector("svg");
            return t && c && (t.compareDocumentPosition(c) & 4) > 0; })()"""))
    grid = os.path.join(ROOT, "fixtures", "recorded", "grid")
    unlike = [os.path.join(grid, f"transformer-small-context{n}-fp32-r1.wtrace") for n in (8, 16)]
    subprocess.run([PROGRAM, "diff", *unlike, "-o", os.path.join(FOLDER, "unlike.html")], check=True, capture_output=True)
    subprocess.run([PROGRAM, "sweep", grid, "--run-noise", "5", "-o", os.path.join(FOLDER, "sweep.html")], check=True, capture_output=True)
    with Browser(FOLDER) as b:
        b.open("unlike.html")
        quiet(b, "unlike.html")
        words = b.run("document.querySelector('#overview').textContent")
        truth("other work is told, and no ratio", "Different work: context 8 and 16" in words and "UNLIKE" in words and "×" not in words, words)
        equal("ratios of other work", b.run("document.querySelectorAll('#changes .ratio').length"), 0)
    with Browser(FOLDER) as b:
        b.open("sweep.html")
        quiet(b, "sweep.html")
        texts = b.run("[...document.querySelectorAll('svg text')].map(t => t.textContent)")
        words = b.run("document.querySelector('#overview').textContent")
        truth("who looks fastest", "amp-bf16 looks 1." in words and "slower than fp32 (mean of 4 configurations), but only 2 of 4 " in words, words)
        truth("no rate is compared over different models", "Highest throughput" not in words, words)
        truth("means have their deviations", b.run("[...document.querySelectorAll('#sweep-pivot td.n')].some(e => / ± /.test(e.textContent))"))
        equal("units of the pivot", len(set(b.run("""[...document.querySelectorAll("#sweep-pivot th")].map(e => (e.textContent.match(/\\((ns|µs|ms|s)\\)/) || [])[1]).filter(Boolean)"""))), 1)
        data = check_each(b, "sweep.html", 8)
        table = data["report"]["tables"]["sweep"]
        ids = [c["id"] for c in table["columns"]]
        equal("bars are as long as the times of the table", [r["ns"] for r in data["first"]["rows"]["list"]], [r[ids.index("total_ns")] for r in table["rows"]])
        equal("models with an axis of their own", b.run("document.querySelectorAll('#each svg').length"), 2)
        equal("labels without a name", [t for t in texts if t in ("null", "undefined", "NaN", "")], [])
    subprocess.run([PROGRAM, "aa", os.path.join(ROOT, "fixtures", "recorded", "aa"), "-o", os.path.join(FOLDER, "aa.html")], check=True, capture_output=True)
    with Browser(FOLDER) as b:
        b.open("aa.html")
        quiet(b, "aa.html")
        check_each(b, "aa.html", 6)
    with Browser(FOLDER, width=390, phone=True) as b:
        for name in ("sweep", "aa", "ranks"):
            b.open(name + ".html")
            equal(f"{name}: width on a phone", b.run("document.documentElement.scrollWidth"), 390)
            equal(f"{name}: letters that are too small", b.run("[...document.querySelectorAll('#each text')].filter(e => e.getBoundingClientRect().height < 9).map(e => e.textContent)"), [])
    with Browser(FOLDER) as b:
        b.open("ranks.html")
        quiet(b, "ranks.html")
        words = b.run("document.querySelector('#overview').textContent")
        truth("who waits for whom", "Rank 5 makes 3 others wait 1.7" in words and "per step each" in words, words)
        check_ranks_timeline(b, check_each(b, "ranks.html", 8))


def check_long():
    """Many launches: few bytes, everything counted."""
    long = os.path.join(FOLDER, "long.wtrace")
    report(long, "long.html", "--scope", "all")
    data, lanes = page_data.read_page(os.path.join(FOLDER, "long.html"))
    with Browser(FOLDER) as b:
        seconds = b.open("long.html")
        quiet(b, "long.html")
        frame(b)
        truth("something is drawn", b.run("""(() => { const c = document.querySelector(".time canvas");
            return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v); })()"""))
        b.run("findIn('gemm', { kinds: ['stream'], class: 'gemm', colour: classColours.gemm })")
        told = b.run("document.querySelector('.time .tools').textContent")
        truth("boxes of many are not said to be of one class", "boxes, each mostly" in told or "is not in" in told, told)
    print(f"long trace: {data['page']['timeline']['kernels']} kernels, {sum(lane['n'] for lane, _ in lanes)} boxes, "
          f"{os.path.getsize(os.path.join(FOLDER, 'long.html'))} bytes, open in {seconds:.2f} s")


def main():
    if not find():
        print("SKIP: no Chromium here")
        sys.exit(77)
    check_step()
    check_roofline()
    check_gains()
    check_phone()
    check_links_of_operations()
    check_print()
    check_hidden()
    check_gpus()
    check_many_lanes()
    check_depth()
    check_hostile()
    check_diff()
    check_without_scripts(page_data.read_page(os.path.join(FOLDER, "step.html"))[0])
    check_long()


main()
