#!/usr/bin/env python3
"""What came of the tests, for people: run/summary.py JUNIT_FILE LOG COMMAND

Of ctest's results: each failure with the end of its output, the skipped tests by their reason, the
failures with what repeats each. COMMAND takes the options of ctest: run/test. The last line is
`N passed, N failed, N skipped`.
Exit status: 0 nothing failed, 1 something did or there are no results.
"""
import re
import sys
import xml.etree.ElementTree

OUTPUT_LINES = 40  # the end of a failure's output


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
    def __init__(self, suite, log):
        self.passed = 0
        self.failed = []  # name, how, output
        self.skipped = {}  # names by reason
        self.in_part = {}  # the same, of tests that passed
        self.nskipped = 0
        for case in suite.iter("testcase"):
            self.add(case, output_of(case), log)

    def add(self, case, output, log):
        name, status = case.get("name"), case.get("status")
        skipped = case.find("skipped")
        if status == "run":
            self.passed += 1
            for reason in reasons(output):
                self.in_part.setdefault(reason, []).append(name)
        elif status == "disabled" or skipped is not None and skipped.get("message").startswith("SKIP_"):
            self.nskipped += 1
            last = output.strip().rpartition("\n")[2] or "no reason is given"
            reason = (reasons(output) or [last.removeprefix("skipped: ")])[0]
            self.skipped.setdefault(reason, []).append(name)
        else:  # one whose program is not there is `skipped`, too
            self.failed.append((name, how_it_failed(name, log), output))


def show_failures(failed):
    for name, how, output in failed:
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


def main():
    junit, log_path, command = sys.argv[1:]
    try:
        suite = xml.etree.ElementTree.parse(junit).getroot()
        with open(log_path, errors="replace") as log:
            results = Results(suite, log.read())
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"summary: ctest left no results ({error}); what it said: {log_path}")
        return 1
    show_failures(results.failed)
    show_skipped("skipped", results.skipped)
    show_skipped("passed, but left out a part", results.in_part)
    if results.failed:
        print(f"\n== failed; all that tests printed: {log_path}")
    for name, how, _ in results.failed:
        print(f"   {name} ({how}): {command} -R '^{re.escape(name)}$'")
    counts = f"{results.passed} passed, {len(results.failed)} failed, {results.nskipped} skipped"
    again = f"; again: {command} --rerun-failed" if results.failed else ""
    print(f"\nTests: {counts} in {suite.get('time')} s{again}\n{counts}")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
