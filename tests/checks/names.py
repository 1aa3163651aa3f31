#!/usr/bin/env python3
"""Names of functions, structs and their members that are made of function words alone, such as `is`, `told_of` or `at`.
names.py ROOT     prints each; exit 1 when there is one
A name says what a thing is (a noun) or does (a verb). Names of a few lines, those of locals and parameters, are not read.
"""
import glob
import os
import re
import sys

ROOMS = ("formats", "kernels", "recorder", "report")
FUNCTION_WORDS = set("""
    a an the this that these those it its they them who whom whose what which where when why how
    is are was were be been has have had do does did tell tells told say says said
    at to from of on in by for with without as than into onto upon per via about against along among around away back before
    after behind below beneath beside between beyond down during except inside like near off out outside over past since through
    till toward under until up
    then there here not no nor none nothing only also else so such some any each every other others another same more most less
    least few many much own left again once yet and or but if because while though once""".split())
# pairs that the field has: copies, directions, what an answer is written to
ALLOWED = {"a", "in", "out", "to", "from", "before", "after", "above", "below"}

COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|^[ \t]*#(?:[^\n\\]|\\.)*', re.S | re.M)
FUNCTION = re.compile(r"^[a-z][\w \t]*[ *]\**(\w+)\((?!\*)", re.M)
BODY = re.compile(r"\b(?:struct|union)(?:[ \t]+(\w+))?\s*\{")
CALLBACK = re.compile(r"\(\*(\w+)\)\s*\(")


def without_text(source):
    return COMMENT_OR_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), source)


def closing(code, start):
    """Behind the brace that closes the one before start."""
    depth, i = 1, start
    while depth and i < len(code):
        depth += {"{": 1, "}": -1}.get(code[i], 0)
        i += 1
    return i


def members(code, start, end):
    """(position, name) of those declared in a body; bodies in it are left to themselves."""
    flat, inner = code[start:end], 1
    while inner:
        flat, inner = re.subn(r"\{[^{}]*\}", lambda m: " " * len(m.group(0)), flat)
    for declaration in re.finditer(r"[^;{}]+;", flat):
        text = declaration.group(0)
        for callback in CALLBACK.finditer(text):
            yield start + declaration.start() + callback.start(1), callback.group(1)
        if "(" in text:
            continue
        for name in re.finditer(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\w+\s*)?[,;]", text):
            yield start + declaration.start() + name.start(1), name.group(1)


def declared(code):
    for m in FUNCTION.finditer(code):
        yield m.start(1), m.group(1)
    for m in BODY.finditer(code):
        if m.group(1):
            yield m.start(1), m.group(1)
        yield from members(code, m.end(), closing(code, m.end()) - 1)


def is_empty(name):
    words = [w for w in name.lower().split("_") if w and w != "ws"]
    return bool(words) and name not in ALLOWED and all(w in FUNCTION_WORDS for w in words)


def offences(source):
    code = without_text(source)
    for position, name in sorted(set(declared(code))):
        if is_empty(name):
            yield code.count("\n", 0, position) + 1, name


def self_test():
    planted = """static int is(int x)
struct own { int count; /* of told */ const char *at, *name;
	struct { size_t until[2]; } inner; int (*tell)(void *ctx); };
static struct ws_bytes *ws_is_at(const struct out *out) { int told; return "was("; }
static bool is_open(void)"""
    assert [name for _, name in offences(planted)] == ["is", "own", "at", "until", "tell", "ws_is_at"], list(offences(planted))


def main():
    root = sys.argv[1]
    self_test()
    bad = files = 0
    for room in ROOMS:
        for path in sorted(glob.glob(os.path.join(root, room, "**", "*.[ch]"), recursive=True)):
            files += 1
            with open(path, encoding="utf-8") as f:
                for line, name in offences(f.read()):
                    bad += 1
                    print(f"{os.path.relpath(path, root)}:{line}: {name}")
    assert files > 100, "no sources"
    print(f"{files} files, {bad} names of function words alone")
    return 1 if bad else 0


sys.exit(main())
