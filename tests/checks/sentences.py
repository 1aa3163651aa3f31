#!/usr/bin/env python3
"""Every sentence that the programs say: long string literals of C sources and .def lists, and what users' pages say.
sentences.py ROOT            prints each sentence that breaks a rule; exit 1 when there is one
sentences.py ROOT --list F   writes all of them to F: words, file:line, sentence; longest first
A literal is a message where it has four words or more. Rules: at most 25 words a sentence; no banned turn
(banned_turns.txt, a regular expression and what to say instead). What is no sentence for people has
`/* not prose */` on its line.
"""
import collections
import glob
import os
import re
import sys

MOST_WORDS = 25
FEWEST_WORDS = 4
ROOMS = ("formats", "kernels", "recorder", "report")
USERS = ("README.md", "SECURITY.md", "docs/*.md")
Sentence = collections.namedtuple("Sentence", "words path line text")

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|' + LITERAL + r"|'(?:[^'\\\n]|\\.)*'", re.S)
# what stands between two literals that the compiler joins: blanks, line ends, a macro for a format or a name
BETWEEN = re.compile(r'(?:\s|\\\n|(?:PRI[a-zA-Z0-9]+|WS_[A-Z_]+))*')
ESCAPE = {"n": " ", "t": " ", '"': '"', "\\": "\\"}
CONVERSION = re.compile(r"%[-+ #0']*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?[a-zA-Z]")
WORD = re.compile(r"[A-Za-zµ0-9%][\w'’.%×/µ*-]*")
END = re.compile(r"(?<=[.?!])[\"')]*\s+(?=[A-Z0-9`'\"%*\[-])|\n")


def plain(text):
    text = re.sub(r"\\(.)", lambda m: ESCAPE.get(m.group(1), m.group(1)), text)
    text = re.sub(r"<[a-z!/][^>]*>", "\n", text)
    return re.sub(r"[ \t]+", " ", CONVERSION.sub("N", text.replace("%%", "%").replace("% of", "% of")))


def literals(source):
    """(line, text) of literals, those that are joined as one."""
    joined, end, first = [], None, 0
    for m in TOKEN.finditer(source):
        token = m.group(0)
        if not token.startswith('"'):
            continue
        if joined and BETWEEN.fullmatch(source, end, m.start()):
            joined.append(token[1:-1])
        else:
            if joined:
                yield first, "".join(joined)
            joined, first = [token[1:-1]], source.count("\n", 0, m.start()) + 1
        end = m.end()
    if joined:
        yield first, "".join(joined)


def sentences_of_code(path, source):
    lines = source.split("\n")
    for line, text in literals(source):
        if "not prose" in lines[line - 1] or re.match(r"\s*#\s*include", lines[line - 1]):
            continue
        # a paragraph of --help breaks its lines anywhere
        text = re.sub(r"(?:\\n){2,}", " .  ", text).replace("\\n", " ")
        for sentence in END.split(plain(text)):
            yield line, sentence.strip()


def sentences_of_page(text):
    inside = False
    paragraph, first = [], 1
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.startswith("```"):
            inside = not inside
        ends = inside or not line.strip() or line.startswith(("```", "|", "#", "- ", "* ", ">")) or re.match(r"\d+\. ", line)
        if ends and paragraph:
            for sentence in END.split(" ".join(paragraph)):
                yield first, sentence.strip()
            paragraph = []
        if inside or line.startswith(("```", "#", "<!--")):
            continue
        if line.startswith("|"):
            for cell in line.strip("| ").split(" | "):
                for sentence in END.split(cell):
                    yield number, sentence.strip()
            continue
        if line.strip():
            if not paragraph:
                first = number
            paragraph.append(re.sub(r"\]\([^)]*\)", "]", line.strip()))


def prose(text):
    """Words of a sentence, none where it is code, a list of names or a pattern."""
    text = re.sub(r"`[^`]*`", "code", text)
    words = WORD.findall(text)
    lower = [w for w in words if re.fullmatch(r"[a-z][a-z'’-]+[.,]?", w)]
    return words if len(lower) >= 3 and 2 * len(lower) > len(words) - text.count("code") else []


def all_sentences(root):
    for room in ROOMS:
        for path in sorted(glob.glob(os.path.join(root, room, "**", "*.*"), recursive=True)):
            if not path.endswith((".c", ".h", ".def")):
                continue
            with open(path, encoding="utf-8") as f:
                source = f.read()
            for line, text in sentences_of_code(path, source):
                words = prose(text)
                if len(words) >= FEWEST_WORDS:
                    yield Sentence(len(words), os.path.relpath(path, root), line, text)
    for pattern in USERS:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            with open(path, encoding="utf-8") as f:
                for line, text in sentences_of_page(f.read()):
                    words = prose(text)
                    if len(words) >= FEWEST_WORDS:
                        yield Sentence(len(words), os.path.relpath(path, root), line, text)


def banned_turns(root):
    with open(os.path.join(root, "tests", "checks", "banned_turns.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                pattern, _, instead = line.rstrip("\n").partition("\t")
                yield re.compile(pattern, re.I), instead.strip()


def offences(sentences, turns):
    for s in sentences:
        if s.words > MOST_WORDS:
            yield f"{s.path}:{s.line}: {s.words} words: {s.text}"
        for pattern, instead in turns:
            found = pattern.search(s.text)
            if found:
                yield f"{s.path}:{s.line}: '{found.group(0)}' ({instead}): {s.text}"


def self_test(turns):
    long = "One two" + " one two" * 12 + " end"
    code = f'fail("{long[:60]}"\n    "{long[60:]}", n); f("no steps were found here"); /* "{long}" */ g("%s.c");'
    found = [Sentence(len(prose(t)), "x.c", n, t) for n, t in sentences_of_code("x.c", code)]
    assert [s.words for s in found if s.words] == [27, 5], found
    page = f"# T\n\nA short sentence stands here. {long}.\n\n```\n{long}\n```\n"
    found = [len(prose(t)) for _, t in sentences_of_page(page)]
    assert found == [5, 27], found
    assert list(offences([Sentence(27, "x", 1, long)], turns)) != []
    planted = Sentence(9, "x", 1, "it is not so that the sheet says, as far as the traces say")
    assert list(offences([planted], turns)) != [], "banned turns are not found"


def main():
    root = sys.argv[1]
    turns = list(banned_turns(root))
    self_test(turns)
    sentences = list(all_sentences(root))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w", encoding="utf-8") as f:
            for s in sorted(sentences, key=lambda s: (-s.words, s.path, s.line)):
                f.write(f"{s.words}\t{s.path}:{s.line}\t{s.text}\n")
        print(f"{len(sentences)} sentences, {sum(s.words for s in sentences)} words")
        return 0
    bad = list(offences(sentences, turns))
    print("\n".join(bad))
    print(f"{len(sentences)} sentences, {len(bad)} that break a rule")
    return 1 if bad else 0


sys.exit(main())
