#!/usr/bin/env python3
"""A wheel of the programs, what they load, and the module warpsheet: wheel.py VERSION SOURCE ROOT OUT [PLATFORM].
ROOT: what was installed, with programs that need the C library alone. The tag says for which platform it is, else
which C library: the newest version of its symbols that anything in the wheel asks for. The same bytes each time."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: warpsheet
Version: {version}
Summary: Records kernel launches and PyTorch operations of a program, and reports them as spreadsheets
License: {licence}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{text}
"""
WHEEL = """Wheel-Version: 1.0
Generator: warpsheet packaging/wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def glibc_of(paths):
    """The newest version of glibc's symbols that these files ask for."""
    newest = (2, 5)
    for path in paths:
        text = subprocess.run(["readelf", "--version-info", path], capture_output=True, text=True, check=True).stdout
        newest = max([newest] + [(int(a), int(b)) for a, b in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)])
    return newest


def files_under(folder):
    return sorted(os.path.join(top, n) for top, _, names in os.walk(folder) for n in names)


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def machine_of(paths):
    """The one machine that these files are for."""
    machines = {open(path, "rb").read(20)[18:] for path in paths}
    assert len(machines) == 1, "files of several machines"
    return {b"\x3e\0": "x86_64", b"\xb7\0": "aarch64"}[machines.pop()]


def contents(source, root, version):
    """Name in the wheel, path."""
    data = f"warpsheet-{version}.data"
    for path in files_under(os.path.join(root, "bin")):
        yield f"{data}/scripts/{os.path.basename(path)}", path
    for path in files_under(os.path.join(root, "lib", "warpsheet")):
        yield f"{data}/data/{os.path.relpath(path, root)}", path
    for path in files_under(os.path.join(source, "packaging", "python", "warpsheet")):
        if path.endswith(".py"):
            yield f"warpsheet/{os.path.basename(path)}", path


def main(version, source, root, out, platform=None):
    files = dict(contents(source, root, version))
    programs = [p for p in files.values() if is_elf(p)]
    if not platform:
        major, minor = glibc_of(programs)
        platform = f"manylinux_{major}_{minor}_{machine_of(programs)}"
    tag = f"py3-none-{platform}"
    info = f"warpsheet-{version}.dist-info"
    with open(os.path.join(source, "LICENSE"), encoding="utf-8") as f:
        licence = f.readline().strip()
    with open(os.path.join(source, "docs", "python.md"), encoding="utf-8") as f:
        text = f.read()
    parts = {name: open(path, "rb").read() for name, path in files.items()}
    parts[f"{info}/METADATA"] = METADATA.format(version=version, licence=licence, text=text).encode()
    parts[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    parts[f"{info}/LICENSE"] = open(os.path.join(source, "LICENSE"), "rb").read()
    record = ""
    for name, data in sorted(parts.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    parts[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"warpsheet-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, data in sorted(parts.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            is_program = "/scripts/" in name or name.endswith(".so")
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            z.writestr(entry, data)
    print(path)


main(*sys.argv[1:])
