#!/usr/bin/env python3
"""Plans of every cuDNN 9 that NVIDIA has published for Python, for a GPU that is described to it.

cudnn_versions.py [--table FILE] [--some] FOLDER PROGRAM [VERSION...]
FOLDER: what is fetched lies there until it was asked. PROGRAM: test_kernels_cuda of a build. --some: the first, the
last and one between; else all, some 25 GB one after the other. Packages of CUDA 13, and of CUDA 12 before there were any.

What cuDNN loads besides must be found: cuBLAS and NVRTC of its CUDA, by LD_LIBRARY_PATH (packages nvidia-cublas-cu12,
nvidia-cuda-nvrtc-cu12; nvidia-cublas, nvidia-cuda-nvrtc), else it takes no description.

Our sources are compiled against each one's headers; its library is asked for a plan of each convolution of each image
model and of fused attention. Ends with 1 when one that takes a description (9.8 and newer) lacks a plan of a
convolution, or one of 9.10.2 and newer a plan of attention; with 77 when no registry is reached.
"""
import os
import re
import shutil
import sys

import versions

PACKAGES = {"nvidia-cudnn-cu12": "9", "nvidia-cudnn-cu13": "9"}  # of two with a version the last
SOURCES = ("attention.c", "dnn.c")
DESCRIBES, ATTENTION = [9, 8], [9, 10, 2]  # kernels/cuda/cuda.h: WS_CUDA_ATTENTION_CUDNN
REFUSES = [9, 10, 0]  # what it is described, as a bad parameter
LAST_TRIED = [9, 28, 1]


def does_not_compile(include):
    """The first of our sources that these headers do not have all for; empty when all compile."""
    for name in SOURCES:
        said = versions.run(["cc", "-fsyntax-only", "-w", "-D_GNU_SOURCE", "-I", versions.SOURCE, "-I", include, "-I",
                             versions.CUDA, os.path.join(versions.SOURCE, "kernels/cuda", name)])
        if said.returncode != 0:
            return name + ": " + re.search(r"error: (.*)", said.stderr).group(1)
    return ""


def ask(program, suite, libraries):
    """(tests that pass, tests, what is said)"""
    folders = libraries + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    said = versions.run([program, "-j1", "--filter", suite + "/*"], env=dict(os.environ, LD_LIBRARY_PATH=folders)).stderr
    told = re.search(r"Tested: (\d+) . Passing: (\d+)", said)
    return (int(told.group(2)), int(told.group(1)), said) if told else (0, 0, said)


def look_at(work, program, package, version):
    """A row of the table, and whether all is as it must be; None when it cannot be had."""
    folder = versions.fetch(work, package, version)
    library = folder and versions.find(folder, "libcudnn.so.9")
    if not library:
        return None
    problem = does_not_compile(os.path.dirname(versions.find(folder, "cudnn.h")))
    convs = ask(program, "cuda_plans", os.path.dirname(library))
    attention = ask(program, "cuda_attention", os.path.dirname(library))
    number = versions.by_number(version)
    told = re.search(r"convolutions (\d+), without a plan (\d+)(.*)", convs[2])
    plans = "takes no description" if not told else "%d of %s%s" % (
        int(told.group(1)) - int(told.group(2)), told.group(1), told.group(3))
    right = number < DESCRIBES or not problem and (number[:3] == REFUSES or convs[0] == convs[1] > 0) and \
        (number < ATTENTION or attention[0] == attention[1] > 0)
    shutil.rmtree(folder)
    return [version, package[-4:], problem or "yes", plans, "%d of %d" % attention[:2]], right


def main():
    out, arguments = versions.table_of(sys.argv[1:])
    some = arguments[:1] == ["--some"]
    arguments = arguments[some:]
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    work, program = os.path.abspath(arguments[0]), os.path.abspath(arguments[1])
    os.makedirs(work, exist_ok=True)
    if not os.path.exists(program):
        print("cudnn_versions.py: left out, %s is not built: no CUDA toolkit" % program)
        return 77
    listed = [one for one in versions.published(PACKAGES) if not arguments[2:] or one[1] in arguments[2:]]
    if some:
        able = [one for one in listed if versions.by_number(one[1]) >= ATTENTION]
        listed = able and [able[0], able[len(able) // 2], able[-1]]
    return versions.tell("cuDNN", ("cuDNN", "for", "our sources compile", "plans of convolutions", "tests of attention"), listed,
                         lambda package, version: look_at(work, program, package, version), LAST_TRIED, out)


if __name__ == "__main__":
    sys.exit(main())
