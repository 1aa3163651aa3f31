#!/usr/bin/env python3
"""The page and the package for Node: assemble.py FOLDER WASM OUT: OUT/warpsheet.html, one file that opens a trace without a
network, and OUT/npm, for `npm pack`. The same bytes each time."""
import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import sys

LICENCE = "LICENSE"


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def main(folder, wasm, out):
    with open(wasm, "rb") as f:
        program = f.read()
    frame = text_of(folder, "frame.js")
    parts = {
        "warpsheet.wasm.gz": base64.b64encode(gzip.compress(program, 9, mtime=0)).decode(),
        "frame.js": json.dumps(frame)[1:-1],
        "frame.hash": base64.b64encode(hashlib.sha256(frame.encode()).digest()).decode(),
        **{name: text_of(folder, name) for name in ("page.css", "page.js", "wasi.js", "worker.js")},
    }

    def fill(text):
        return re.sub(r"\{\{([a-z.]+)\}\}", lambda name: fill(parts[name[1]]), text)

    page = fill(text_of(folder, "page.html"))
    with open(os.path.join(out, "warpsheet.html"), "w", encoding="utf-8", newline="\n") as f:
        f.write(page)
    npm = os.path.join(out, "npm")
    os.makedirs(npm, exist_ok=True)
    source = os.path.join(folder, "..", "..")
    version = re.search(r"project\(warpsheet VERSION ([0-9.]+)", text_of(source, "CMakeLists.txt"))[1]
    for name in ("wasi.js", "cli.js"):
        shutil.copy(os.path.join(folder, name), npm)
    shutil.copy(os.path.join(source, LICENCE), npm)
    shutil.copy(wasm, os.path.join(npm, "warpsheet.wasm"))
    package = {
        "name": "warpsheet",
        "version": version,
        "description": "Reports kernel launches and PyTorch operations of recorded traces",
        "license": text_of(source, LICENCE).splitlines()[0].strip(),
        "bin": {"warpsheet": "cli.js"},
        "files": ["cli.js", "wasi.js", "warpsheet.wasm"],
        "engines": {"node": ">=18"},
    }
    with open(os.path.join(npm, "package.json"), "w", encoding="utf-8") as f:
        json.dump(package, f, indent="\t")
        f.write("\n")


main(*sys.argv[1:])
