"""Scenarios: files that hold the rows of small traces and what reports must say of them. README.md
beside this has the form."""
import atexit
import base64
import csv
import json
import math
import os
import re
import subprocess
import tempfile
import unicodedata
import zlib


class Wrong(Exception):
    """What a scenario says is not so, or says nothing."""


def quiet_rules(notes):
    """Rules that were judged and did not fire: a note has their titles."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../report/advice/advice.def"), encoding="utf-8") as f:
        ids = {title.lower(): rule for rule, title in re.findall(r'R\(\w+, "(A\d+)", \d, "([^"]+)"', f.read())}
    return {ids[title.lower()] for n in notes if "not found: " in n for title in n.partition("not found: ")[2].rstrip(".").split(", ")}


# --- the file ----------------------------------------------------------------------------------

class Part:
    """A paragraph: its first line says what it is, the others are its body."""
    def __init__(self, number, lines):
        self.number = number
        self.what, _, rest = lines[0].partition(" ")
        self.rest = rest.strip()
        self.lines = lines[1:]


def parts(path):
    lines = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate([*f, "\n"], 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                continue
            if line:
                lines.append(line)
            elif lines:
                yield Part(number - len(lines), lines)
                lines = []


def expand(lines, names, defined):
    """`for NAME A B` … `next` stands for its lines with NAME from A to B - 1, what is defined for its
    lines; {…} is worked out."""
    at = 0
    while at < len(lines):
        words = lines[at].split()
        at += 1
        if words and words[0] in defined:
            parameters, body = defined[words[0]]
            values = [number_or_text(v) for v in split(next(expand([lines[at - 1]], names, {})))[1:]]
            if len(values) != len(parameters):
                raise Wrong(f"{words[0]} takes {' '.join(parameters) or 'nothing'}")
            yield from expand(body, dict(zip(parameters, values)), defined)
            continue
        if words and words[0] == "for":
            depth, first = 1, at
            while depth:
                if at == len(lines):
                    raise Wrong("`for` without `next`")
                begins = lines[at].split()[:1]
                depth += (begins == ["for"]) - (begins == ["next"])
                at += 1
            for value in range(value_of(words[2], names), value_of(words[3], names)):
                yield from expand(lines[first:at - 1], {**names, words[1]: value}, defined)
        else:
            yield re.sub(r"\{([^}]*)\}", lambda m: str(value_of(m[1], names)), lines[at - 1])


def number_or_text(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def value_of(text, names=None):
    return eval(text, {"__builtins__": {}, "sqrt": math.sqrt, **(names or {})})  # pylint: disable=eval-used


# --- the trace ---------------------------------------------------------------------------------

def quoted(text):
    """A word of scenario_trace's."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Program:
    """A process of scenario_trace, which writes traces and runs commands of warpsheet on them."""
    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory()
        self.said = tempfile.TemporaryFile("w+")
        self.texts = {}  # of the traces, by their paths
        # without COLUMNS no line is cut; the limit of time counts all commands of the process
        atexit.register(self.end)
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True,
                                        env={**{name: value for name, value in os.environ.items() if name != "COLUMNS"},
                                             "WARPSHEET_MAX_SECONDS": "600"})

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        return self.process.wait()

    def ask(self, lines):
        try:
            self.process.stdin.write(lines)
            self.process.stdin.flush()
            return int(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            status = self.end()
            self.said.seek(0)
            raise Wrong(f"status {status} of {lines.splitlines()[-1]}: {self.said.read().strip()}") from None

    def tell(self, line):
        """A line that has no answer."""
        self.process.stdin.write(line)

    def write_traces(self, texts):
        """texts: by path."""
        self.texts.update(texts)
        self.ask("".join(f"trace {path}\n{lines}" for path, lines in texts.items()) + "done\n")

    def write_trace(self, text, path):
        self.write_traces({path: text})

    def run(self, *arguments):
        """What `warpsheet ARGUMENT…` says, as subprocess.run has it."""
        out, err = (os.path.join(self.folder.name, name) for name in ("out", "err"))
        status = self.ask(f"run {out} {err} {' '.join(map(quoted, arguments))}\n")
        with open(out, encoding="utf-8") as stdout, open(err, encoding="utf-8") as stderr:
            return subprocess.CompletedProcess(arguments, status, stdout.read(), stderr.read())


class Trace:
    """The traces of a test by their letters, of which the first is `a`, and what a command says of them: `report a`."""
    def __init__(self, program, paths):
        self.program = program
        self.paths = paths
        self.path = paths["a"]
        self.command = ["report", self.path]
        self.known = {}

    def run(self, arguments, form):
        scope = ["--scope", "all"] if self.command[0] == "report" and "--scope" not in arguments else []
        return self.program.run(*self.command, *scope, *arguments, "--format", form)

    def must_run(self, arguments, form):
        made = self.run(arguments, form)
        # a verdict of the referee or of a gate is a status, too
        if made.returncode and (self.command[0] not in ("referee", "gate") or made.returncode not in (1, 6)):
            raise Wrong(made.stderr.strip())
        return made

    def table(self, arguments):
        """Of `NAME OPTION…`: the table as docs/reference/json.md has it."""
        if arguments not in self.known:
            name, *options = split(arguments)
            made = self.must_run(["--table", name, *options], "json")
            self.known[arguments] = json.loads(made.stdout)
        return self.known[arguments]

    def one_of_all(self, name, options):
        """The table NAME of a report with all tables; kernel-trace is in none."""
        if name == "kernel-trace":
            return self.table(f"{name} {options}".strip())
        if ("all", options) not in self.known:
            made = self.must_run(split(options), "json")
            self.known["all", options] = json.loads(made.stdout)["tables"]
        return self.known["all", options][name]


def split(arguments):
    """Words; a blank may stand in quotes."""
    return next(csv.reader([arguments], delimiter=" "), [])


# --- what it must say ----------------------------------------------------------------------------

def is_same(expected, actual):
    """`=…` is worked out, `~…` is a part; numbers with a fraction may differ in the tenth digit."""
    if expected.startswith("~"):
        return expected[1:] in str(actual)
    if expected.startswith("="):
        expected = repr(value_of(expected[1:]))
    if actual is None or isinstance(actual, str):
        return expected == (actual or "")
    try:
        if isinstance(actual, int):
            return int(expected) == actual
        return math.isclose(float(expected), actual, rel_tol=1e-9)
    except ValueError:
        return False


def cut(table, columns):
    """The rows of a table, and its totals, in some of its columns."""
    index = {c["id"]: i for i, c in enumerate(table["columns"])}
    unknown = [c for c in columns if c not in index]
    if unknown:
        raise Wrong(f"no column {', '.join(unknown)} in {', '.join(index)}")
    totals = table["totals"]
    return ([[row[index[c]] for c in columns] for row in table["rows"]],
            [totals[index[c]] for c in columns] if totals else [])


def as_csv(rows):
    return "".join("\n  " + ",".join("" if c is None else str(c) for c in row) for row in rows)


def check_rows(part, trace):
    """`table`: all rows in their order; `rows`: these among others; `lacks`: none of these; `totals`: the last row."""
    columns, *expected = csv.reader(part.lines)
    rows, totals = cut(trace.table(part.rest), columns)
    if part.what == "totals":
        rows = [totals]

    def matches(want, row):
        return len(want) == len(row) and all(map(is_same, want, row))

    if part.what in ("rows", "lacks"):
        right = all(any(matches(want, row) for row in rows) == (part.what == "rows") for want in expected)
    else:
        right = len(rows) == len(expected) and all(map(matches, expected, rows))
    if not right:
        raise Wrong(f"{part.what} {part.rest} has{as_csv([columns, *rows])}")


def check_query(part, trace):
    """`query SELECT …`: all rows of the query about the first trace."""
    made = trace.program.run("query", trace.path, part.rest, "--format", "json", "--scope", "all")
    if made.returncode:
        raise Wrong(made.stderr.strip())
    columns, *expected = csv.reader(part.lines)
    rows, _ = cut(json.loads(made.stdout), columns)
    if len(rows) != len(expected) or not all(len(want) == len(row) and all(map(is_same, want, row)) for want, row in zip(expected, rows)):
        raise Wrong(f"query {part.rest} has{as_csv([columns, *rows])}")


def check_notes(part, trace):
    """Each line is a part of the title or a note, or with `!` in front of none."""
    table = trace.table(part.rest)
    notes = [table["title"], *table["notes"], table["not_recorded"] or ""]
    for line in part.lines:
        unwanted = line.startswith("! ")
        if any(line.removeprefix("! ") in note for note in notes) == unwanted:
            raise Wrong(f"notes {part.rest} are" + "".join("\n  " + n for n in notes))


def check_kept(part, trace):
    """LETTERS OPTION…: how the kernels that the filter keeps begin, in the order of their start."""
    for line in part.lines:
        letters, _, options = line.partition(" ")
        rows, _ = cut(trace.table("kernel-trace " + options), ["name"])
        kept = "".join(name[0] for name, in rows)
        if kept != letters:
            raise Wrong(f"{options} keeps {kept}, not {letters}")


def one_rule_each(lines):
    for line in lines:
        rules = re.match(r"(?:A\d+ )*", line)[0]
        for rule in rules.split():
            yield rule + " " + line[len(rules):]


def rules_of_advice():
    path = os.path.join(os.path.dirname(__file__), "..", "..", "..", "report", "advice", "advice.def")
    with open(path, encoding="utf-8") as f:
        return list(dict.fromkeys(re.findall(r'"(A\d+)"', f.read())))


def check_advice(part, trace):
    """RULE… quiet, RULE… not judged, or RULE COLUMN=VALUE… of a row in the table."""
    table = trace.table(f"advice {part.rest}".strip())
    notes = table["notes"]
    quiet = quiet_rules(notes)
    for rule in rules_of_advice():
        said = (any(row[0] == rule for row in table["rows"]) or any(f"({rule}): " in n and "alternatives" in n for n in notes),
                rule in quiet,
                any(re.match(rf"Not judged: .*\({rule}\): ", n) for n in notes))
        if notes and sum(said) != 1:
            raise Wrong(f"{rule} fired, is quiet, is not judged: {said}")
    for line in one_rule_each(part.lines):
        rule, *wanted = split(line)
        found = [dict(zip((c["id"] for c in table["columns"]), row)) for row in table["rows"]
                 if row[0] == rule]
        if wanted == ["quiet"]:
            right = not found and rule in quiet
        elif wanted == ["not", "judged"]:
            right = not found and any(re.match(rf"Not judged: .*\({rule}\): ", n) for n in notes)
        else:
            pairs = [w.partition("=")[::2] for w in wanted]
            right = any(all(has(row, column, value, found) for column, value in pairs) for row in found)
        if not right:
            raise Wrong(f"{line}: {rule} is {found or ('quiet' if rule in quiet else 'not judged')}")


def has(row, column, value, found):
    """COLUMN=VALUE, of a text COLUMN~=PART or COLUMN!=PART; count=N findings."""
    if column == "count":
        return len(found) == int(value)
    if column[-1] in "~!":
        return (value in (row[column[:-1]] or "")) == (column[-1] == "~")
    return is_same(value, row[column])


def check_command(part, trace):
    """`command sweep a b OPTION…`: what the tables are of from here on. `gate a b`: a becomes the baseline that b is compared with."""
    trace.command = [trace.paths.get(word, word) for word in split(part.rest)]
    if trace.command[0] == "gate":
        _, first, *others = trace.command
        trace.command = ["gate", "--baseline", first + ".baseline", "--workload", "made", *others]
        made = trace.program.run(*trace.command[:5], "--update", first)
        if made.returncode:
            raise Wrong(made.stderr.strip())
    trace.known = {}


def check_pairs(part, trace):
    """`pairs N`: the next tables are those of `referee`."""
    trace.command = ["referee", trace.paths[f"pairs {part.number}"]]
    trace.known = {}


def check_failed(part, trace):
    """`failed LETTER`: why the run of that trace failed, as `record --repeat` leaves it beside."""
    with open(trace.paths[part.rest].removesuffix(".wtrace") + ".status", "w", encoding="utf-8") as f:
        f.write(f"result={part.lines[0]}\n")


def width_of(text):
    """Places on a terminal: wide letters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_screen(part, trace):
    """`screen [WIDTH] OPTION…`: each line is part of what a terminal shows that is so wide, or without an end; or with
    `!` in front of nothing. No line is wider, and none ends in a blank."""
    options = split(part.rest)
    width = int(options.pop(0)) if options and options[0].isdigit() else 0
    trace.program.tell(f"width {width}\n")
    made = trace.must_run(options, "text")
    trace.program.tell("width 0\n")
    for line in made.stdout.splitlines():
        if width and width_of(line) > width or line.endswith(" "):
            raise Wrong(f"too wide, or a blank at its end: {line!r}")
    for line in part.lines:
        if (line.removeprefix("! ") in made.stdout) == line.startswith("! "):
            raise Wrong("the screen is\n" + made.stdout)


def check_page(part, trace):
    """Each line is part of what the scripts of an HTML page read of its first screen."""
    path = trace.path + ".html"
    made = trace.program.run(*trace.command, "-o", path, *split(part.rest))
    if made.returncode:
        raise Wrong(made.stderr.strip())
    with open(path, encoding="utf-8") as f:
        data = re.search(r'id="data">([^<]*)<', f.read())[1]
    page = json.dumps(json.loads(zlib.decompress(base64.b64decode(data)))["page"], ensure_ascii=False)
    for line in part.lines:
        if (line.removeprefix("! ") in page) == line.startswith("! "):
            raise Wrong("the page is\n" + page)


def check_refusal(part, trace):
    """`refused STATUS OPTION…`: the exit status; each line is a part of the message."""
    status, *options = split(part.rest)
    made = trace.run(options, "json")
    if made.returncode != int(status) or not all(line in made.stderr for line in part.lines):
        raise Wrong(f"status {made.returncode}: {made.stderr.strip()}")


def check_damaged(part, trace):
    """Lines of changes, several in one with `; ` between them, or `unchanged`; below each, indented, what `check` prints first. @loss.0 is
    where a block was, #loss.0 its size; `*` is anything."""
    text = trace.program.texts[trace.path]

    def run(changes):
        path = trace.path + ".changed"
        trace.program.write_trace(text + "places\n" + changes.replace("; ", "\n").replace("unchanged", "") + "\n", path)
        with open(path + ".places", encoding="utf-8") as f:
            places = {name: sizes for name, *sizes in map(str.split, f)}
        made = trace.program.run("check", path)
        return places, (made.stdout + made.stderr.replace("warpsheet: ", "")).replace(path + ": ", "").splitlines()

    tries = []
    for line in part.lines:
        if line.startswith("  "):
            tries[-1][1].append(line.strip())
        else:
            tries.append((line, []))
    for changes, wanted in tries:
        places, said = run(changes)
        wanted = [re.sub(r"[@#][a-z]+(?:\w*\.\d+)?", lambda m: places[m[0][1:]][m[0][0] == "#"], line) for line in wanted]
        wanted = list(expand(wanted, {}, {}))
        if not wanted or len(said) < len(wanted) or not all(
                re.fullmatch(re.escape(want).replace(r"\*", ".*"), line) for want, line in zip(wanted, said)):
            raise Wrong("\n  ".join([changes + ": check says", *said, "and not", *wanted]))


CHECKS = {"table": check_rows, "rows": check_rows, "lacks": check_rows, "totals": check_rows, "query": check_query, "notes": check_notes,
          "kept": check_kept, "advice": check_advice, "refused": check_refusal, "command": check_command, "failed": check_failed,
          "pairs": check_pairs,
          "screen": check_screen, "page": check_page, "damaged": check_damaged}


def make_traces(program, folder, path):
    """The traces of each test, by its name and their letters."""
    texts, paths, defined, test = {}, {}, {}, None
    for part in parts(path):
        try:
            if part.what == "define":
                name, *parameters = part.rest.split()
                defined[name] = parameters, part.lines
            elif part.what in ("test", "and"):
                letter = "a" if part.what == "test" else part.rest
                if letter == "a" and part.rest in paths:
                    raise Wrong("a name that stands here already")
                test = part.rest if letter == "a" else test
                paths.setdefault(test, {})[letter] = os.path.join(folder, f"{part.number}.wtrace")
                texts[paths[test][letter]] = "".join(line + "\n" for line in expand(part.lines, {}, defined))
            elif part.what == "pairs":
                runs = os.path.join(folder, f"{part.number}.pairs")
                os.mkdir(runs)
                paths[test][f"pairs {part.number}"] = runs
                for side, line in zip("ab", part.lines):
                    for run in range(1, int(part.rest) + 1):
                        texts[os.path.join(runs, f"{side}-r{run}.wtrace")] = "".join(
                            row + "\n" for row in expand([line], {"RUN": run}, defined))
        except Wrong as wrong:
            raise Wrong(f"{path}:{part.number}: {part.rest}: {wrong}") from None
    program.write_traces(texts)
    return paths


# a paragraph of so many lines at least says something
LEAST = {"query": 1, "rows": 2, "lacks": 2, "totals": 2, "table": 1, "refused": 0, "sql": 0, "events": 0, "top": 0, "command": None, "failed": None, "pairs": None}


def says(part):
    """Does a paragraph say what must be so? One that may not and does not is wrong."""
    least = LEAST.get(part.what, 1)
    if least is not None and len(part.lines) < least:
        raise Wrong(f"{part.what} {part.rest} says nothing")
    return least is not None


def run_file(program, path, more_checks):
    """Returns the number of its tests; Wrong says where it is not so, or which test says nothing. more_checks: beside
    CHECKS."""
    checks = {**CHECKS, **more_checks}
    tests, trace, said = [], None, True
    with tempfile.TemporaryDirectory() as folder:
        paths = make_traces(program, folder, path)
        for part in [*parts(path), Part(0, ["test"])]:
            try:
                if part.what == "test":
                    if not said:
                        raise Wrong("a test that says nothing")
                    said = False
                    if not part.number:
                        break
                    tests.append(part.rest)
                    trace = Trace(program, paths[part.rest])
                elif part.what in ("define", "and"):
                    pass
                elif part.what in checks and trace:
                    said |= says(part)
                    checks[part.what](part, trace)
                else:
                    raise Wrong("nothing that can stand here: " + part.what)
            except Wrong as wrong:
                raise Wrong(f"{path}:{part.number}: {tests[-1] if tests else ''}: {wrong}") from None
    return len(tests)
