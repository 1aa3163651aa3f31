"""Pages for people who cannot see or point: axe-core finds nothing serious, light and dark, and the Tab key
reaches whatever a pointer can use.

accessibility.py BIN ROOT. The variable WARPSHEET_AXE names axe.min.js (npm pack axe-core); without it the keyboard
alone is tried. 77 without Chromium.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from browser import Browser, find  # noqa: E402

BIN, ROOT = map(os.path.abspath, sys.argv[1:3])
AXE = os.environ.get("WARPSHEET_AXE")
TRACES = os.path.join(ROOT, "fixtures", "traces", "")
IMPORTS = os.path.join(ROOT, "fixtures", "imports", "")
GRID = os.path.join(ROOT, "fixtures", "recorded", "grid")
PAGES = {
    "step": ["report", TRACES + "step-fp32.wtrace"],
    "profile": ["report", IMPORTS + "bert-small-h100.json.gz"],
    "killed": ["report", TRACES + "killed.wtrace"],
    "empty": ["report", TRACES + "empty.wtrace"],
    "hostile": ["report", TRACES + "hostile.wtrace"],
    "diff": ["diff", TRACES + "step-fp32.wtrace", TRACES + "step-bf16.wtrace"],
    "sweep": ["sweep", GRID],
    "ranks": ["report", "ranks"],
}
SERIOUS = """axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
    .filter(v => v.impact === "serious" || v.impact === "critical")
    .map(v => v.impact + " " + v.id + ": " + v.help + "; " + v.nodes.length + " elements, the first: " +
        v.nodes[0].html.slice(0, 160) + " " + (v.nodes[0].any[0] || v.nodes[0].all[0] || {message: ""}).message))"""
# what a pointer can use, and the Tab key does not reach
UNREACHED = """[...document.querySelectorAll("button,a[href],input,select,summary,[onclick],th[aria-sort],[role=treeitem],canvas")]
    .filter(e => e.checkVisibility() && e.tabIndex < 0 && !e.closest("[role=tree]")).map(e => e.outerHTML.slice(0, 120))"""
CLICKED = """[...document.querySelectorAll("*")].filter(e => e.onclick && e.tabIndex < 0 && e.checkVisibility())
    .map(e => e.outerHTML.slice(0, 120))"""


def problems(b, page):
    b.open(page)
    found = [f"not reached by keyboard: {e}" for e in b.run(UNREACHED) + b.run(CLICKED)]
    if AXE:
        with open(AXE, encoding="utf-8") as f:
            b.run(f.read() + "\n;0")
        found += b.run(SERIOUS)
    return found


def main():
    if not find():
        print("SKIP: no Chromium")
        return 77
    if not AXE:
        print("note: no axe-core (WARPSHEET_AXE): keyboard alone")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(BIN, "..", "tests", "make_fleet"), "ranks", "4", "2"], check=True, cwd=folder)
        for name, command in PAGES.items():
            subprocess.run([os.path.join(BIN, "warpsheet"), *command, "-o", name + ".html"], check=True, capture_output=True,
                           cwd=folder)
        for dark in (False, True):
            with Browser(folder, dark=dark) as b:
                found += [f"{name} {'dark' if dark else 'light'}: {p}" for name in PAGES for p in problems(b, name + ".html")]
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
