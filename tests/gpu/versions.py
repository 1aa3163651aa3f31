#!/usr/bin/env python3
"""Our declarations against every CUPTI that NVIDIA has published for Python, and what each library says.

versions.py [--table FILE] FOLDER [VERSION...]
FOLDER keeps what is fetched. VERSION: of the packages nvidia-cuda-cupti-cu12 and nvidia-cuda-cupti, all
without one. Needs the toolkit's headers (cuda.h), a C compiler and the registry of Python packages.

Each field of recorder/shared/cupti_records.def is compiled against the newest record of its kind in the
package's header: it must lie where we read it, with its size, or the record must end before it. So are the
numbers of callbacks and the fields of those for graphs. Each
library is asked, without a driver, for its version and for the size of each record; where it answers,
the size must be that of its header. Ends with 1 when anything differs, with 77 when no registry is reached.
"""
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
# Newer ones are told of, and fail nothing: that NVIDIA publishes one is no fault of a change here.
LAST_TRIED = [13, 5, 25]
PACKAGES = {"nvidia-cuda-cupti-cu12": "12.0", "nvidia-cuda-cupti": "13.0"}
# What the drain leaves out of a record of 12.4: activity_rows.c
LEFT_OUT = {"CUpti_ActivityContext2": {"numMultiprocessors"}}
# Ours and NVIDIA's of the callbacks.
CALLBACKS = [("offsetof(struct ws_cupti_graph_callback, %s)" % ours, "offsetof(CUpti_GraphData, %s)" % theirs)
             for ours, theirs in (("graph", "graph"), ("original_graph", "originalGraph"), ("node", "node"),
                                  ("original_node", "originalNode"))]
CALLBACKS += [("WS_CUPTI_CBID_RESOURCE_" + ours, "CUPTI_CBID_RESOURCE_" + theirs)
              for ours, theirs in (("INIT_FINISHED", "CU_INIT_FINISHED"), ("GRAPHNODE_CREATED", "GRAPHNODE_CREATED"),
                                   ("GRAPHNODE_CLONED", "GRAPHNODE_CLONED"),
                                   ("GRAPH_NODE_UPDATED", "GRAPH_NODE_UPDATED"))]
CUDA = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)


def by_number(version):
    return [int(part) for part in version.split(".")]


def published(packages):
    """(package, version) of all that there are, oldest first, each version once; empty when nobody answers."""
    found = {}
    for package, first in packages.items():
        said = run(PIP + ["index", "versions", package]).stdout
        listed = re.search(r"Available versions: (.*)", said)
        for version in listed.group(1).split(", ") if listed else []:
            if by_number(version) >= by_number(first):
                found[version] = package
    return sorted(((p, v) for v, p in found.items()), key=lambda one: by_number(one[1]))


def fetch(folder, package, version):
    """The folder of the unpacked package; None when it cannot be had."""
    where = os.path.join(folder, version)
    if not os.path.isdir(where):
        wheels = os.path.join(folder, "wheels")
        try:
            run(PIP + ["download", "-q", "--no-deps", "-d", wheels, "%s==%s" % (package, version)], timeout=900)
        except subprocess.TimeoutExpired:
            return None
        for name in os.listdir(wheels) if os.path.isdir(wheels) else []:
            if name.startswith(package.replace("-", "_") + "-" + version + "-"):
                with zipfile.ZipFile(os.path.join(wheels, name)) as wheel:
                    wheel.extractall(where + ".part")
                os.rename(where + ".part", where)
                os.remove(os.path.join(wheels, name))
    return where if os.path.isdir(where) else None


def find(folder, name):
    for path, _, names in os.walk(folder):
        for one in names:
            if one == name or one.startswith(name + ".so."):
                return os.path.join(path, one)
    return None


def our_records():
    """{name: (struct without its number, [(type, offset, member)], kinds)} of cupti_records.def."""
    with open(os.path.join(SOURCE, "recorder/shared/cupti_records.def")) as lines:
        text = lines.read().replace("\\\n", " ")
    records = {}
    for upper, name, struct in re.findall(r"R\(([A-Z]+), (\w+), (\w+?)\d*, \d+, \d+\)", text):
        fields = re.findall(r"F\(%s, \w+, (\w+), (\d+), ([\w.]+)\)" % name, text)
        kinds = re.findall(r"K\((\w+), (\d+), %s\)" % name, text)
        records[name] = (struct, fields, kinds)
        assert fields and kinds, (upper, name)
    return records


def compile_and_run(work, include, body):
    """What a program that includes the package's headers prints, and what the compiler says."""
    program = os.path.join(work, "layout")
    with open(program + ".c", "w") as out:
        out.write("#include <stdint.h>\n#include <stdio.h>\n#include <stddef.h>\n#include <cupti_activity.h>\n"
                  "#include <cupti_callbacks.h>\n#include <cupti_version.h>\n"
                  "#include \"recorder/shared/cupti_abi.h\"\nint main(void)\n{\n%s\treturn 0;\n}\n" % body)
    said = run(["cc", "-w", "-I", include, "-I", CUDA, "-I", SOURCE, "-o", program, program + ".c"])
    return (run([program]).stdout if said.returncode == 0 else ""), said.stderr


def newest(header, struct):
    """Of CUpti_ActivityKernel, …9, …10 the one with the highest number; None when there is none."""
    numbers = [int(n or 1) for n in re.findall(r"\} %s(\d*);" % struct, header)]
    return None if not numbers else struct + (str(max(numbers)) if max(numbers) > 1 else "")


def layout(work, include, records):
    """{name: size}, differences and fields that are not there yet, by the package's headers."""
    with open(os.path.join(include, "cupti_activity.h")) as text:
        header = text.read()
    sizes, differ, absent = {}, [], []
    for name, (struct, fields, kinds) in records.items():
        theirs = newest(header, struct)
        kinds = [(kind, number) for kind, number in kinds
                 if re.search(r"CUPTI_ACTIVITY_KIND_%s\b" % kind, header)]
        if not theirs or not kinds:
            absent.append(name)
            continue
        lines = ["\tprintf(\"size %%zu\\n\", sizeof(%s));\n" % theirs]
        lines += ["\tprintf(\"%s %%d\\n\", CUPTI_ACTIVITY_KIND_%s);\n" % (number, kind) for kind, number in kinds]
        wanted = list(fields)
        while True:
            body = lines + ["\tprintf(\"%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n"
                            % (member, theirs, member, theirs, member) for _, _, member in wanted]
            said, errors = compile_and_run(work, include, "".join(body))
            missing = set(re.findall(r"has no member named ‘(\w+)’", errors)) | \
                set(re.findall(r"has no member named '(\w+)'", errors))
            left = [field for field in wanted if not missing & set(field[2].split("."))]
            if said or len(left) == len(wanted):
                break
            wanted = left
        if not said:
            differ.append("%s does not compile: %s" % (theirs, errors.strip().split("\n")[0]))
            continue
        told = [line.split() for line in said.splitlines()]
        sizes[name] = int(told[0][1])
        for number, theirs_number in told[1:1 + len(kinds)]:
            if number != theirs_number:
                differ.append("kind %s is %s" % (number, theirs_number))
        for (ctype, offset, member), (_, at, size) in zip(wanted, told[1 + len(kinds):]):
            if offset != at or str({"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8}[ctype]) != size:
                differ.append("%s.%s at %s of %s" % (name, member, at, size))
        for _, offset, member in set(fields) - set(wanted):
            absent.append("%s.%s" % (name, member))
            if int(offset) < sizes[name] and member not in LEFT_OUT.get(theirs, ()):
                differ.append("%s.%s is not there, and %s has other bytes at %s" % (name, member, theirs, offset))
    with open(os.path.join(include, "cupti_callbacks.h")) as text:
        header = text.read()
    for ours, theirs in CALLBACKS:
        name = re.findall(r"\w+", theirs)[-1]
        if not re.search(r"\b%s\b" % name, header):
            absent.append(name)
            continue
        said, errors = compile_and_run(work, include, "\tprintf(\"%%d\", (int)(%s) == (int)(%s));\n" % (ours, theirs))
        if said != "1":
            differ.append("%s is not %s %s" % (theirs, ours, errors.strip().split("\n")[0]))
    return sizes, differ, sorted(absent)


def ask(work, library):
    """The version and {kind: size} as the library says without a driver; empty where it does not."""
    program = os.path.join(work, "asked")
    if not os.path.exists(program):
        subprocess.run(["cc", "-D_GNU_SOURCE", "-I", SOURCE, "-o", program, os.path.join(HERE, "cupti_sizes.c"),
                        os.path.join(SOURCE, "recorder/cupti/calls.c"), "-ldl"], check=True)
    version = run([program, library, "version"])
    told = run([program, library, "sizes"])
    sizes = dict(pair.split(":") for pair in told.stdout.split()) if told.returncode == 0 else {}
    return (version.stdout.strip() if version.returncode == 0 else "",
            {int(kind): int(size) for kind, size in sizes.items()})


def table_of(arguments):
    """Where the table is written, and the other arguments."""
    if arguments[:1] == ["--table"]:
        os.makedirs(os.path.dirname(arguments[1]) or ".", exist_ok=True)
        return open(arguments[1], "w"), arguments[2:]
    return sys.stdout, arguments


def tell(library, columns, listed, look, last_tried, out):
    """A row of the table for each version that is listed; the exit status."""
    if not listed:
        print("%s: left out, no registry of Python packages is reached" % library)
        return 77
    print("| %s |\n%s|" % (" | ".join(columns), "|---" * len(columns)), file=out)
    failed = seen = 0
    for package, version in listed:
        answer = look(package, version)
        if answer is None:
            print("%s %s cannot be had" % (package, version), file=sys.stderr)
            continue
        seen += 1
        failed += not answer[1] and by_number(version)[:3] <= last_tried
        print("| %s |" % " | ".join(answer[0]), file=out, flush=True)
    print("%d versions of %s, %d with differences" % (seen, library, failed))
    return 77 if not seen else failed > 0


def look_at(work, package, version, records):
    """A row of the table, and whether all is as it must be."""
    folder = fetch(work, package, version)
    header = folder and find(folder, "cupti_activity.h")
    library = folder and find(folder, "libcupti")
    if not header or not library:
        return None
    sizes, differ, absent = layout(work, os.path.dirname(header), records)
    with open(os.path.join(os.path.dirname(header), "cupti_version.h")) as text:
        api = re.search(r"#define CUPTI_API_VERSION\s+(\d+)", text.read()).group(1)
    said, told = ask(work, library)
    if said and said != api:
        differ.append("the library says API %s" % said)
    for name, size in sizes.items() if told else []:
        for kind, number in records[name][2]:
            if int(number) in told and told[int(number)] != size:
                differ.append("%s: the iterator steps %d, the header has %d" % (kind, told[int(number)], size))
            elif int(number) not in told:
                differ.append("%s: the iterator does not know it" % kind)
    return [version, api, "all" if told else "nothing", " ".join(str(sizes.get(name, "–")) for name in
                                                              ("kernel", "memcpy", "api", "device", "sync")),
            ", ".join(absent) or "none", "; ".join(differ) or "none"], not differ


def main():
    out, arguments = table_of(sys.argv[1:])
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    work = os.path.abspath(arguments[0])
    os.makedirs(work, exist_ok=True)
    if not os.path.exists(os.path.join(CUDA, "cuda.h")):
        print("versions.py: left out, the toolkit's headers are not here")
        return 77
    records = our_records()
    return tell("CUPTI", ("CUPTI", "API", "without a driver it tells", "bytes of kernel, memcpy, api, device, sync",
                          "not there yet", "differs"),
                [one for one in published(PACKAGES) if not arguments[1:] or one[1] in arguments[1:]],
                lambda package, version: look_at(work, package, version, records), LAST_TRIED, out)


if __name__ == "__main__":
    sys.exit(main())
