#!/usr/bin/env python3
"""Names in Markdown notify nobody, link nowhere and draw nothing: markdown_names.py SCENARIO_TRACE

What GitHub reads: the cells of a row end at pipes without a backslash in front, which else goes; code stands between runs
of backticks of one length."""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenarios"))
import scenario  # pylint: disable=wrong-import-position

NAMES = r"""
@octocat
@org/team
see #1
void f<lambda()#1>(a*, b&)
user/repo#1
GH-12
a5c3785ed8d6a35868bc169f07e40e889087fd2e
deadbeef
$x$
$\color{red}{faster}$ and $x$
https://evil.example/x
www.evil.example
WWW.evil.example
mail@evil.example
a::heart::b
:x:
x</summary></details><h1>y
<!-- -->@octocat
`@octocat
`` @octocat ` x
@octocat`
` `
`
``` @octocat
a|b
a\|@octocat|b
a\\|b\
\
[x](https://evil.example)
![x](https://evil.example)
&#64;octocat
~~x~~ **y** __z__ _z_
`a` @octocat `b`
(`@octocat`). `x`y
""".split("\n")[1:-1]
PLAIN = ["ws_gemm_f32", "a 1.6× faster (95 % CI 1.5 to 2)", "fixtures/traces/step-fp32.wtrace", "-12.5 %", "B / A"]
SENTENCE = "kernels like {} were lost: see above."
MARKS = re.compile(r"[@#$<>\[\]{}~&\\`|]|:(?=[^\s])|www\.|GH-1|[0-9a-f]{7}", re.I)


def random_names():
    """Of letters that mean something to Markdown, the same each time."""
    chosen = random.Random(7)
    while True:
        name = "".join(chosen.choices("``||\\\\@#$:./w<>a1-_*(~& ", k=chosen.randint(1, 19)))
        if name == name.strip():
            yield name


def cells(row):
    return [c.replace(r"\|", "|") for c in re.findall(r"((?:[^|\\]|\\\||\\)*)\|", row[1:])]


def split_code(text):
    """The code in a text, and the text without it."""
    code, rest = "", ""
    while text:
        fence = len(text) - len(text.lstrip("`"))
        end = re.search(f"(?<!`)`{{{fence}}}(?!`)", text[fence:]) if fence else None
        if not end:
            rest, text = rest + text[:1], text[1:]
            continue
        inner = text[fence:fence + end.start()]
        if len(inner) > 1 and inner[0] == inner[-1] == " " and inner.strip():
            inner = inner[1:-1]
        code, text = code + inner, text[fence + end.end():]
    return code, rest


def wrongs(shown, cell, statement):
    """Of a name, with its escapes, in a cell of names, and in a sentence."""
    code, rest = split_code(cell)
    if MARKS.search(rest) or (code or rest) != shown:
        yield f"{shown!r} is {cell!r}"
    _, rest = split_code(statement)
    if MARKS.search(rest) or "kernels like " not in rest or " were lost: see above." not in rest:
        yield f"{shown!r} is in {statement!r}"


def main(program):
    chosen = random_names()
    names = [*NAMES, *dict.fromkeys(next(chosen) for _ in range(3000))]
    shown = {"a\n@octocat": r"a\n@octocat", **{name: name for name in names + PLAIN}}
    trace = os.path.join(program.folder.name, "names.wtrace")
    program.write_trace("".join(f"kernel {scenario.quoted(name)} {2 * i} 1\n" for i, name in enumerate(shown)), trace)
    query = """SELECT l.name AS name, 'kernels like ' || l.name || ' were lost: see above.' AS statement, start_ns / 2 AS number
      FROM kernel_record k JOIN launch_config_record l ON l.id = k.config ORDER BY start_ns"""
    made = program.run("query", trace, query, "--format", "md", "--rows", "0")
    rows = [[cell.strip(" ") for cell in cells(row)] for row in re.findall(r"^\|.*", made.stdout, re.M)][2:]
    found = [wrong for name, row in zip(shown, rows) for wrong in wrongs(shown[name], *row[:2])]
    if [row[2:] for row in rows] != [[str(i)] for i in range(len(shown))]:
        found.append(f"not a row of three cells for each of {len(shown)} names")
    found += [f"{name!r} is not plain" for name in PLAIN if f"| {name} | {SENTENCE.format(name)} | " not in made.stdout]
    # beside a table, where a pipe is no end of a cell
    path = os.path.join(program.folder.name, "names.sql")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(f"-- Names {i}\n-- {SENTENCE.format(name)}\nSELECT 1;\n" for i, name in enumerate(NAMES))
    beside = re.findall(r"^kernels like .*", program.run("query", trace, "--sql", path, "--format", "md").stdout, re.M)
    found += [f"{line!r}" for line in beside if MARKS.search(split_code(line)[1])]
    if len(beside) != len(NAMES) or SENTENCE.format(r"`a\|@octocat|b`") not in beside:
        found.append(f"{len(beside)} sentences beside a table: {beside}")
    print("\n".join(found) or f"{len(shown)} names")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(scenario.Program(sys.argv[1])))
