"""What a kernel's name says that it is, against the operation that launched it, over traces that others recorded.

    python3 class_agreement.py SCENARIO_TRACE CLASSIFICATION.md FOLDER TRACE...

Of the GPU time under 2 % is of what neither tells, and under 1 % of no class at all, not even a compiler's. Exit status 77: no such folder.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenarios"))
import scenario  # pylint: disable=wrong-import-position

# reviewed, both are right: the operation's class, the name's, a part of the name
DIFFERENCES = [
    ("conv", "gemm", "gemm_"),  # cuDNN unfolds the input and multiplies, by the kernels of cuBLAS
    ("conv", "copy", "batched_transpose_"), ("conv", "elementwise", "SubTensorOp"),  # MIOpen, around its convolutions
    ("gemm", "copy", "copy_device_to_device"),  # a linear layer writes its bias into the result before it multiplies
]
KERNELS = "SELECT class_by_range, class_by_name, class, name, sum(instances), sum(total_ns) FROM cell GROUP BY 1, 2, 3, 4"


def main(program, classification, folder, *traces):
    if not os.path.isdir(folder):
        print("SKIP: no folder", folder)
        return 77
    program, both, wrong = scenario.Program(program), 0, False
    with open(classification, encoding="utf-8") as f:
        counts_as = dict(re.findall(r"^\| (\w+) \| (\w+) \|", f.read().split("begin classes")[1], re.M))
    for trace in traces:
        made = program.run("query", os.path.join(folder, trace), KERNELS, "--scope", "all", "--format", "json")
        made.check_returncode()
        ns = {"all": 0, "unknown": 0, "unclassified": 0}
        for by_range, by_name, cls, name, kernels, total in json.loads(made.stdout)["rows"]:
            operation, named = counts_as.get(by_range), counts_as.get(by_name)
            named = None if named == "compiled" else named
            ns["all"] += total
            ns["unclassified"] += 0 if cls else total
            ns["unknown"] += 0 if operation or named else total
            if not operation or not named:
                continue
            both += kernels
            if operation != named and not any((operation, named) == d[:2] and d[2] in name for d in DIFFERENCES):
                print(f"{trace}: launched as {by_range}, named as {named}: {name}")
                wrong = True
        for what, most in (("unknown", 2), ("unclassified", 1)):
            if 100 * ns[what] > most * ns["all"]:
                print(f"{trace}: {100 * ns[what] / ns['all']:.3f} % {what}")
                wrong = True
    print(f"{both} kernels are known by both")
    return wrong or not both


sys.exit(main(*sys.argv[1:]))
