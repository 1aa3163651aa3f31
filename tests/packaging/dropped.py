"""The page that opens traces (packaging/page), used in Chromium as a person uses it: files are dropped, buttons pressed.
What it makes is compared, byte by byte, with what the program makes of the same files.
dropped.py PAGE BIN SOURCE [PICTURES]: BIN has warpsheet, and ../tests/bench_trace beside it; PICTURES is a folder for some.
With it the page's costs are printed, too."""
import base64
import csv
import glob
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time

page, programs, source = map(os.path.abspath, sys.argv[1:4])
pictures = sys.argv[4] if len(sys.argv) > 4 else None
sys.path.insert(0, os.path.join(source, "tests", "e2e"))
import browser  # noqa: E402

LIMIT = 300
LAUNCHES = 2000000
if not browser.find():
    print("SKIP: no Chromium here: the page was built, but not opened")
    sys.exit(77)
work = tempfile.mkdtemp()
fixtures = os.path.join(source, "fixtures")
FROM = {
    "step-fp32.wtrace": "traces/step-fp32.wtrace", "step-bf16.wtrace": "traces/step-bf16.wtrace", "bert.json.gz": "imports/bert-small-h100.json.gz",
    **{f"mlp-r{i}.wtrace": f"recorded/aa/mlp-r{i}.wtrace" for i in (1, 2, 3)},
    "cpu.xplane.pb": "recorded/jax/cpu.xplane.pb",
}


def native(*arguments):
    return subprocess.run([os.path.join(programs, "warpsheet"), *arguments], cwd=work, capture_output=True, timeout=LIMIT)


def made(name, *arguments):
    """The bytes that the program writes to this file."""
    result = native(*arguments, "-o", os.path.join("native", name))
    path = os.path.join(work, "native", name)
    assert os.path.exists(path), result.stderr
    with open(path, "rb") as f:
        return f.read()


def rank(path, number, compute_us):
    """A rank of three steps, each with an all-reduce, as PyTorch's profiler writes it."""
    import json
    events = []
    for step in range(3):
        at = 1000 * (step + 1)
        own = {"device": 0, "stream": 7, "correlation": 2 * step + 1}
        sent = {"device": 0, "stream": 20, "correlation": 2 * step + 2, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
                "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": step}
        for category, name, thread, begin, us, args in (
                ("user_annotation", f"ProfilerStep#{step}", 1, at, 999, {}),
                ("cuda_runtime", "cudaLaunchKernel", 1, at + 10, 5, {"correlation": 2 * step + 1}),
                ("cuda_runtime", "cudaLaunchKernel", 1, at + 20, 5, {"correlation": 2 * step + 2}),
                ("kernel", "gemm", 7, at + 50, compute_us, own),
                ("kernel", "ncclDevKernel_AllReduce", 20, at + 51 + compute_us, 499 - compute_us, sent)):
            events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": begin, "dur": us, "args": args})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"baseTimeNanoseconds": 1700000000000000000, "distributedInfo": {"rank": number, "world_size": 2}, "traceEvents": events}, f)


class Page(browser.Browser):
    def drop(self, *paths, x=200, y=450):
        """As a file manager does it."""
        data = {"items": [], "files": [os.path.join(work, path) for path in paths], "dragOperationsMask": 1}
        def send(kind):
            self.tell("Input.dispatchDragEvent", {"type": kind, "x": x, "y": y, "data": data})
        self.tell("Page.bringToFront")  # what lies where is known of pages that are drawn
        self.run("window.over = ''; addEventListener('dragover', e => { over = e.target.id; }, true)")
        end = time.monotonic() + LIMIT
        while self.run("over") != "cover":  # which the page puts over the report, too
            send("dragEnter")
            send("dragOver")
            assert time.monotonic() < end, "there is no cover"
            time.sleep(0.02)
        send("drop")

    def wait(self, condition, what):
        end = time.monotonic() + LIMIT
        while True:
            value = self.run(condition)
            if value:
                return value
            assert time.monotonic() < end, f"{what} did not come: {self.said()} {self.messages}"
            time.sleep(0.02)

    def opened(self, job, *paths):
        """Drops files and waits until what is made of them is shown."""
        self.run("delete document.body.dataset.done")
        self.drop(*paths)
        self.shown(job)

    def shown(self, job):
        self.wait(f"document.body.dataset.done === '{job}' || document.querySelector('#message.wrong') && 'wrong'", job)
        assert not self.run("!!document.querySelector('#message.wrong')"), self.said()
        # Chromium sometimes lays out nothing in a frame that was hidden before, so each report has one of its own
        assert self.run("(() => { const last = window.shownLast; window.shownLast = document.querySelector('#report'); return last !== window.shownLast; })()")
        assert self.run_in_report("document.body.getBoundingClientRect().height") > 100, f"the {job} is blank"

    def run_in_report(self, script):
        """The report is a page of its own for DevTools."""
        frame, = (one for one in self.program.ask("Target.getTargets")["targetInfos"] if one["type"] == "iframe" and one.get("parentId") == self.target)
        session = self.program.ask("Target.attachToTarget", {"targetId": frame["targetId"], "flatten": True})["sessionId"]
        result = self.program.ask("Runtime.evaluate", {"expression": script, "returnByValue": True}, session)
        self.program.ask("Target.detachFromTarget", {"sessionId": session})
        return result["result"]["value"]

    def choose(self, job):
        """Another report of the same files."""
        self.run(f"delete document.body.dataset.done; document.querySelector('#job').value = '{job}'; document.querySelector('#job').onchange()")
        self.shown(job)

    def said(self):
        return self.run("document.querySelector('#message').hidden ? '' : document.querySelector('#message p').textContent")

    def press(self, button):
        self.run(f"document.querySelector({button!r}).click()")

    def bytes_of(self, link):
        """What a link that saves a file has; one that is made later is pressed, and waited for."""
        return base64.b64decode(self.run(f"""(async () => {{
            const of = () => [...document.querySelectorAll("#links > *")].find(one => one.textContent === {link!r});
            HTMLAnchorElement.prototype.click = () => {{}};
            if (of().tagName === "BUTTON") {{
                const later = of();
                later.click();
                while (later.isConnected && document.querySelector("#message").className !== "wrong") await new Promise(done => setTimeout(done, 20));
            }}
            const blob = blobs.get(of().href);
            return new Promise(done => {{ const reader = new FileReader(); reader.onload = () => done(reader.result.split(",")[1]); reader.readAsDataURL(blob); }});
        }})()"""))

    def table(self, name):
        """The CSV that choosing a table and pressing its button saves."""
        return base64.b64decode(self.run(f"""(async () => {{
            document.querySelector("#table").value = {name!r};
            const saved = new Promise(done => {{ HTMLAnchorElement.prototype.click = function () {{ done(blobs.get(this.href)); }}; }});
            document.querySelector("#getcsv").click();
            const blob = await saved;
            return new Promise(done => {{ const reader = new FileReader(); reader.onload = () => done(reader.result.split(",")[1]); reader.readAsDataURL(blob); }});
        }})()"""))

    def shot(self, name):
        if pictures:
            time.sleep(1)
            self.picture(os.path.join(pictures, name + ".png"))


# the policy forbids the page to fetch its own blobs, so the test keeps them
KEEP = """const blobs = new Map(), urlOf = URL.createObjectURL;
URL.createObjectURL = blob => { const url = urlOf(blob); blobs.set(url, blob); return url; };"""


def one_trace(b):
    b.drop("step-fp32.wtrace")
    b.shown("report")
    assert b.run("!document.querySelector('#report').hidden && document.querySelector('#report').src.startsWith('blob:')")
    assert b.bytes_of("report.html") == made("report.html", "report", "step-fp32.wtrace")
    assert b.bytes_of("report.xlsx") == made("report.xlsx", "report", "step-fp32.wtrace")
    listed = b.run("[...document.querySelector('#table').options].map(one => one.value)")
    assert len(listed) == len(set(listed)) > 20, listed
    for name in ("kernel-summary", "idle", "steps", listed[-1]):
        assert b.table(name) == made(name + ".csv", "report", "step-fp32.wtrace", "--table", name), name
    b.shot("report")


def other_formats(b):
    native("export", "step-fp32.wtrace", "-o", "step.sqlite")
    for name in ("bert.json.gz", "step.sqlite", "bert.json", "cpu.xplane.pb"):
        b.opened("report", name)
        assert b.bytes_of("report.html") == made("report.html", "report", name), name
        assert b.said() == "", b.said()


def two_traces(b):
    b.opened("diff", "mlp-r1.wtrace", "mlp-r2.wtrace")
    assert b.run("document.querySelector('#names').textContent") == "A: mlp-r1.wtrace · B: mlp-r2.wtrace"
    assert b.bytes_of("diff.html") == made("diff.html", "diff", "mlp-r1.wtrace", "mlp-r2.wtrace")
    assert b.bytes_of("diff.xlsx") == made("diff.xlsx", "diff", "mlp-r1.wtrace", "mlp-r2.wtrace")
    assert b.table("diff-classes") == made("c.csv", "diff", "mlp-r1.wtrace", "mlp-r2.wtrace", "--table", "diff-classes")
    b.shot("diff")
    b.run("delete document.body.dataset.done")
    b.press("#swap")
    b.shown("diff")
    assert b.bytes_of("diff.html") == made("diff.html", "diff", "mlp-r2.wtrace", "mlp-r1.wtrace")
    b.opened("diff", "step-fp32.wtrace", "step-bf16.wtrace")
    assert b.bytes_of("diff.html") == made("diff.html", "diff", "step-fp32.wtrace", "step-bf16.wtrace")
    # two folders' traces of the same name, which a drop of DevTools would rename
    given = [base64.b64encode(open(os.path.join(work, folder, "run.wtrace"), "rb").read()).decode() for folder in "12"]
    b.run(f"""delete document.body.dataset.done;
        const two = new DataTransfer();
        for (const text of {given}) two.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], "run.wtrace"));
        document.dispatchEvent(new DragEvent("drop", {{dataTransfer: two, bubbles: true, cancelable: true}}))""")
    b.shown("diff")
    assert b.bytes_of("diff.html") == made("diff.html", "diff", "1/run.wtrace", "2/run.wtrace")


def compared_later(b):
    b.opened("report", "mlp-r1.wtrace")
    b.run("delete document.body.dataset.done")
    # the report that is shown takes a drop, too
    b.opened("report", "mlp-r3.wtrace")
    assert b.run("document.querySelector('#names').textContent") == "mlp-r3.wtrace"
    b.run("""delete document.body.dataset.done; document.querySelector('#pick').click = () => {};
        document.querySelector('#compare').click()""")
    document = b.tell("DOM.getDocument")["root"]["nodeId"]
    pick = b.tell("DOM.querySelector", {"nodeId": document, "selector": "#pick"})["nodeId"]
    b.tell("DOM.setFileInputFiles", {"files": [os.path.join(work, "mlp-r1.wtrace")], "nodeId": pick})
    b.shown("diff")
    assert b.bytes_of("diff.html") == made("diff.html", "diff", "mlp-r3.wtrace", "mlp-r1.wtrace")


def several(b):
    runs = ["mlp-r1.wtrace", "mlp-r2.wtrace", "mlp-r3.wtrace"]
    b.opened("aa", *runs)
    assert b.bytes_of("aa.html") == made("aa.html", "aa", *runs)
    b.choose("sweep")
    assert b.bytes_of("sweep.html") == made("sweep.html", "sweep", *runs)
    assert b.bytes_of("sweep.xlsx") == made("sweep.xlsx", "sweep", *runs)
    assert b.table("sweep") == made("s.csv", "sweep", *runs, "--table", "sweep")
    ranks = ["rank0.json", "rank1.json"]
    b.opened("diff", *ranks)
    b.choose("ranks")
    assert b.bytes_of("ranks.html") == made("ranks.html", "report", *ranks)
    b.shot("ranks")
    # a folder, on the report that is shown: the traces in it, and nothing else
    b.opened("diff", "ranks")
    assert b.run("document.querySelector('#names').textContent") == "A: rank0.json · B: rank1.json"
    b.drop("none")
    assert "no traces" in b.wait("document.querySelector('#message.wrong p') && document.querySelector('#message.wrong p').textContent", "a message")


def queries(b):
    sql = "SELECT op_class, sum(instances) AS n, 'a \"b\", c' AS text FROM kernel_summary GROUP BY op_class ORDER BY 1"
    b.opened("report", "step-fp32.wtrace")
    b.press("#ask")
    for query, arguments in ((sql, [sql]), ("", None)):
        b.run("document.querySelector('#answer').textContent = ''; document.querySelector('#sql').value = " + repr(query))
        if arguments:
            b.press("#query .main")
        else:
            b.press("#help")
            arguments = []
        got = b.wait("document.querySelector('#answer table') && [...document.querySelectorAll('#answer tr')].map(row => [...row.cells].map(cell => cell.textContent))", "rows")
        assert got == list(csv.reader(io.StringIO(native("query", "step-fp32.wtrace", *arguments, "--format", "csv").stdout.decode()))), got
    b.shot("query")
    b.run("document.querySelector('#sql').value = 'SELECT 1 FROM nowhere'")
    b.press("#query .main")
    said = b.wait("document.querySelector('#answer p.wrong') && document.querySelector('#answer p.wrong').textContent", "a message")
    assert "nowhere" in said and not said.startswith("warpsheet"), said


def stopped(b):
    """Progress is shown, Stop ends it, and the page goes on."""
    b.run("""window.seen = []; new MutationObserver(() => seen.push(document.querySelector('#what').textContent + ' ' + document.querySelector('#bar').value))
        .observe(document.querySelector('#work'), {subtree: true, childList: true, attributes: true})""")
    b.drop("large.wtrace")
    b.wait("document.body.dataset.state === 'working'", "work")
    if pictures:
        b.wait("document.querySelector('#bar').value > 20", "progress")
        b.picture(os.path.join(pictures, "progress.png"))
    b.press("#stop")
    b.wait("document.body.dataset.state === 'empty' && document.querySelector('#work').hidden", "the end")
    assert b.said() == "Stopped.", b.said()
    b.opened("report", "large.wtrace")
    assert b.bytes_of("report.html") == made("report.html", "report", "large.wtrace")
    seen = b.run("seen")
    # the program says how far it is ten times a second: which of the two takes so long depends on the machine
    assert seen[0].startswith("Reading large.wtrace") and any(float(one.rsplit(" ", 1)[1]) > 0 for one in seen), seen
    # other files while one is read
    b.drop("large.wtrace")
    b.wait("document.body.dataset.state === 'working'", "work")
    b.opened("report", "step-fp32.wtrace")
    assert b.bytes_of("report.html") == made("report.html", "report", "step-fp32.wtrace")


def refused(b):
    b.drop("notes.txt")
    said = b.wait("document.querySelector('#message.wrong p') && document.querySelector('#message.wrong p').textContent", "a message")
    assert said == native("report", "notes.txt").stderr.decode().strip().removeprefix("warpsheet: "), said
    b.shot("error")
    b.opened("report", "step-fp32.wtrace")
    assert b.said() == ""


def no_network(b):
    refused = b.run("""new Promise(done => {
        addEventListener("securitypolicyviolation", e => done(e.violatedDirective));
        fetch("http://localhost/").then(() => done("fetched"), () => {});
    })""")
    assert refused == "connect-src", refused
    b.messages.clear()  # the browser's word on it


def out_of_memory(b):
    """On a page whose memory is used but for 6 MB."""
    b.drop("bert.json.gz")
    said = b.wait("document.querySelector('#message.wrong p') && document.querySelector('#message.wrong p').textContent", "a message")
    assert said.startswith("The browser has too little memory for this trace") and said.endswith("warpsheet report."), said
    b.shot("memory")


def used(b):
    """Seconds of the processor that Chromium's processes have used, and the most memory of one of them in MB."""
    seconds, most_mb = 0, 0
    for path in glob.glob("/proc/[0-9]*"):
        try:
            text = {name: open(os.path.join(path, name), encoding="utf-8", errors="replace").read() for name in ("cmdline", "stat", "status")}
        except OSError:  # it has ended
            continue
        if b.program.folder in text["cmdline"]:
            seconds += sum(map(int, text["stat"].rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
            most_mb = max([most_mb] + [int(line.split()[1]) / 1024 for line in text["status"].splitlines() if line.startswith("VmHWM")])
    return seconds, most_mb


def costs():
    """Of the reports of large traces, each in a page of its own."""
    bench = os.path.join(programs, "..", "tests", "bench_trace")
    for name, launches, limit_mb in (("large.wtrace", LAUNCHES, 800), ("larger.wtrace", 5 * LAUNCHES, 4096), ("large.json", 60000, 800)):
        subprocess.run([bench, str(launches), "made.wtrace"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        if name.endswith(".json"):
            native("export", "made.wtrace", "-o", name)
        else:
            os.replace(os.path.join(work, "made.wtrace"), os.path.join(work, name))
        with Page(work) as b:
            b.open("warpsheet.html")
            began, before = time.monotonic(), used(b)[0]
            b.opened("report", name)
            seconds, most_mb = used(b)
            size = os.path.getsize(os.path.join(work, name)) / 1e6
            print(f"{name}, {size:.1f} MB: {seconds - before:.1f} s of the processor, {time.monotonic() - began:.1f} s, {most_mb:.0f} MB", flush=True)
            assert 100 < most_mb < limit_mb, name


try:
    os.makedirs(os.path.join(work, "native"))
    for name, path in FROM.items():
        shutil.copy(os.path.join(fixtures, path), os.path.join(work, name))
    for number in (0, 1):
        rank(os.path.join(work, f"rank{number}.json"), number, 300 + 20 * number)
        os.makedirs(os.path.join(work, "ranks"), exist_ok=True)
        shutil.copy(os.path.join(work, f"rank{number}.json"), os.path.join(work, "ranks"))
        os.makedirs(os.path.join(work, str(number + 1)))
        shutil.copy(os.path.join(work, f"mlp-r{number + 1}.wtrace"), os.path.join(work, str(number + 1), "run.wtrace"))
    subprocess.run(f"gzip -dc bert.json.gz >bert.json; mkdir none; echo this is no trace | tee notes.txt ranks/notes.txt >none/notes.txt", shell=True, cwd=work, check=True)
    subprocess.run([os.path.join(programs, "..", "tests", "bench_trace"), str(LAUNCHES), "large.wtrace"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(page, os.path.join(work, "warpsheet.html"))
    with open(page, encoding="utf-8") as f:
        text = f.read()
    assert len(text) <= 2000000, f"the page has {len(text)} bytes"
    for name, was, instead in (
            ("small.html", "memory = instance.exports.memory;", "memory = instance.exports.memory; memory.grow(65536 - memory.buffer.byteLength / 65536 - 100);"),
            ("blobs.html", "const BLOCK = 1 << 20, MOST_HELD = 64;", "const BLOCK = 1 << 12, MOST_HELD = 1;")):
        assert text.count(was) == 1, was
        with open(os.path.join(work, name), "w", encoding="utf-8") as f:
            f.write(text.replace(was, instead))
    for tests, name in (((one_trace, other_formats, two_traces, compared_later, several, queries, stopped, refused, no_network), "warpsheet.html"), ((out_of_memory,), "small.html"),
                        ((one_trace, other_formats), "blobs.html")):
        for test in tests:
            with Page(work) as b:
                b.open(name)
                b.run(KEEP)
                test(b)
                assert not b.messages, b.messages
                asked = [url for url in b.requests if not url.startswith(("blob:", "data:"))]
                assert len(asked) == 1 and asked[0].startswith("file://"), asked
                print(f"{test.__name__}: passed", flush=True)
    if pictures:
        costs()
        for name, width, height, dark, phone in (("light", 1230, 900, False, False), ("dark", 1230, 900, True, False), ("phone", 390, 800, False, True)):
            with Page(work, width=width, height=height, dark=dark, phone=phone) as b:
                b.open("warpsheet.html")
                b.shot("empty-" + name)
                b.opened("report", "bert.json.gz")
                b.shot("report-" + name)
                b.opened("diff", "step-fp32.wtrace", "step-bf16.wtrace")
                b.shot("comparison-" + name)
finally:
    shutil.rmtree(work)
