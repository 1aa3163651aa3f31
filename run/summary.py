#!/usr/bin/env python3
"""What came of the tests, for people: run/summary.py JUNIT_FILE LOG COMMAND

Of ctest's results: each failure with the end of its output, the skipped tests by their reason, the
failures with what repeats each, the processor time. COMMAND takes the options of ctest: run/test.
  run/summary.py --all FOLDER    of several runs, whose results are the files of this folder: the
                                 tests that no run has passed, each once
The last line is `N passed, N failed, N skipped`.
Exit status: 0 nothing failed, 1 something did, there are no results or there was no test.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree

OUTPUT_LINES = 40  # the end of a failure's output
LONGEST = 5  # tests whose processor time is told
PROCESSOR_TIME = re.compile(r"^processor time: ([\d.]+) s\n?", re.MULTILINE)  # tests/environment/keeper.c


def reasons(output):
    """The reasons in lines such as `SKIP: no zsh` or Criterion's `[SKIP] suite::test: no headers`."""
    found = re.findall(r"^.*?(?:\bSKIP:|\[SKIP\])\s*(?:\w+::\w+:\s*)?(.+?)\s*$", output, re.MULTILINE)
    return list(dict.fromkeys(found))


def output_of(case):
    """Without colours, for which XML has no character."""
    return re.sub(r"\[NON-XML-CHAR-0x1B\]\[[0-9;]*m", "", case.findtext("system-out") or "")


def how_it_failed(name, log):
    """`Timeout`, `Exception: SegFault`: of these the results say no more than of an exit status."""
    line = re.search(r"Test +#\d+: %s \.*\*\*\*(.+?) +[\d.]+ sec" % re.escape(name), log)
    return line.group(1).strip().lower() if line else "failed"


class Results:
    """Of one run of tests or of several: a test that failed in one has failed, one that passed in one is not skipped."""

    def __init__(self):
        self.passed = set()
        self.failed = {}  # how and output, by name
        self.skipped = {}  # the reason, by name
        self.in_part = {}  # names of tests that passed, by reason
        self.seconds = {}  # of a processor, by name

    def add_run(self, suite, log):
        for case in suite.iter("testcase"):
            self.add(case, output_of(case), log)
        self.passed -= self.failed.keys()
        for name in self.passed | self.failed.keys():
            self.skipped.pop(name, None)

    def add(self, case, output, log):
        name, status = case.get("name"), case.get("status")
        skipped = case.find("skipped")
        self.seconds[name] = sum(map(float, PROCESSOR_TIME.findall(output)))
        output = PROCESSOR_TIME.sub("", output)
        if status == "run":
            self.passed.add(name)
            for reason in reasons(output):
                self.in_part.setdefault(reason, []).append(name)
        elif status == "disabled" or skipped is not None and skipped.get("message").startswith("SKIP_"):
            last = output.strip().rpartition("\n")[2] or "no reason is given"
            self.skipped[name] = (reasons(output) or [last.removeprefix("skipped: ")])[0]
        else:  # one whose program is not there is `skipped`, too
            self.failed[name] = how_it_failed(name, log), output

    def counts(self):
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"

    def names_of_reasons(self):
        names = {}
        for name, reason in self.skipped.items():
            names.setdefault(reason, []).append(name)
        return names


def show_failures(failed):
    for name, (how, output) in failed.items():
        lines = output.rstrip().splitlines()
        print(f"\n== {name}: {how}")
        if len(lines) > OUTPUT_LINES:
            print(f"   ({len(lines) - OUTPUT_LINES} lines before these)")
        print("\n".join("   " + line for line in lines[-OUTPUT_LINES:]))


def show_skipped(title, names_of):
    if names_of:
        print(f"\n== {title}")
    for reason, names in sorted(names_of.items(), key=lambda item: -len(item[1])):
        print(f"   {reason}: {', '.join(names)}")


def show_processor_time(seconds):
    longest = sorted(seconds, key=seconds.get, reverse=True)[:LONGEST]
    print(f"\n== processor time: {sum(seconds.values()):.0f} s")
    print("   " + ", ".join(f"{name} {seconds[name]:.0f}" for name in longest))


def show_all(folder):
    results = Results()
    for path in glob.glob(os.path.join(folder, "*.xml")):
        results.add_run(xml.etree.ElementTree.parse(path).getroot(), "")
    show_skipped("skipped in all of it", results.names_of_reasons())
    show_skipped("passed, but left out a part", results.in_part)
    print(f"\n{results.counts()}")
    return 1 if results.failed or not results.passed else 0


def main():
    if sys.argv[1:2] == ["--all"]:
        return show_all(sys.argv[2])
    junit, log_path, command = sys.argv[1:]
    results = Results()
    try:
        suite = xml.etree.ElementTree.parse(junit).getroot()
        with open(log_path, errors="replace") as log:
            results.add_run(suite, log.read())
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"summary: ctest left no results ({error}); what it said: {log_path}")
        return 1
    if not (results.passed or results.failed or results.skipped):
        print(f"summary: no test is called so; what ctest said: {log_path}")
        return 1
    show_failures(results.failed)
    show_skipped("skipped", results.names_of_reasons())
    show_skipped("passed, but left out a part", results.in_part)
    show_processor_time(results.seconds)
    if results.failed:
        print(f"\n== failed; all that tests printed: {log_path}")
    for name, (how, _) in results.failed.items():
        print(f"   {name} ({how}): {command} -R '^{re.escape(name)}$'")
    again = f"; again: {command} --rerun-failed" if results.failed else ""
    print(f"\nTests: {results.counts()} in {suite.get('time')} s{again}\n{results.counts()}")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
