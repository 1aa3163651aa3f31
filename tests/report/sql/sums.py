"""Parts add up to the totals that are shown, in every table of a report as docs/reference/json.md has it."""
import math

PHASES = ("forward", "loss", "backward", "optimizer", "remainder", "evaluation")
ROLES = ("kernel", "memcpy", "memset", "comm", "runtime", "data_loader", "cpu", "other")
USES = ("computing", "collective", "copy", "launch", "host", "sync", "data", "wait", "device", "start", "end", "unknown",
        "setup", "paging")


def rows_of(table):
    """Dictionaries by column, with 0 for unknown."""
    ids = [c["id"] for c in table["columns"]]
    return [{i: 0 if cell is None else cell for i, cell in zip(ids, row)} for row in table["rows"]]


def total(tables, name, column):
    ids = [c["id"] for c in tables[name]["columns"]]
    return (tables[name]["totals"] or [0] * len(ids))[ids.index(column)] or 0


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)


def of_totals(table):
    """A whole number is the sum of its column, and a share of 100 %, unless it is one of each row's own time."""
    for i, c in enumerate(table["columns"]):
        shown = (table["totals"] or {i: None})[i]
        added = sum(row[i] or 0 for row in table["rows"] if not isinstance(row[i], str))
        if c["type"] == "integer" and shown is not None and shown != added:
            yield f"{c['id']}: {added}, not {shown}"
        if c["unit"] == "%" and shown == 100 and table["rows"] and c["id"] != "tensor_share" and not near(added, 100):
            yield f"{c['id']}: {added} %"


def of_summary(tables, gpu_ns):
    summary, classes = rows_of(tables["summary"]), {r["class"]: r for r in rows_of(tables["classes"])}
    for section in ("GPU time by phase", "GPU time by class", "Top kernels"):
        rows = [r for r in summary if r["section"] == section]
        if not near(sum(r["time_ns"] for r in rows), gpu_ns) or gpu_ns and not near(sum(r["share"] for r in rows), 100):
            yield f"{section} is not {gpu_ns} ns"
        for r in rows if section == "GPU time by class" else ():
            # the one name in brackets is that of no class
            of = classes["(unclassified)" if r["item"].startswith("(") else {"communication": "comm"}.get(r["item"], r["item"])]
            if (of["kernels"], of["gpu_ns"]) != (r["count"], r["time_ns"]):
                yield f"{r['item']} differs in classes"


def of_attention(rows):
    """Of each direction the parts that ran, then the whole."""
    parts = {}
    for r in rows:
        parts[r["part"]] = r
        if r["part"] != "whole attention":
            continue
        scores, softmax, final = (parts.get(p, {}) for p in ("computing attention scores", "computing softmax", "final matmul"))
        both = parts.get("both products", {})
        for c in ("kernels", "gpu_ns"):
            products = (scores.get(c) or 0) + (final.get(c) or 0)
            if both.get(c) and not near(products, both[c]) or products + (softmax.get(c) or 0) > (r[c] or 0) + 1e-6:
                yield f"{c} of {r}"
        parts = {}


def of_times(tables):
    for r in rows_of(tables["steps"]):
        # a remainder is told beside phases only
        for prefix, whole in (("", "host_ns"), ("gpu_", "gpu_ns")):
            if r[prefix + "remainder_ns"] and sum(r[f"{prefix}{p}_ns"] for p in PHASES) != r[whole]:
                yield f"steps, {whole}: {r}"
    for r in rows_of(tables["execution"]):
        # the uses are those of each device that ran
        used = sum(r[f"{u}_us"] for u in USES) / r["total_us"] if r["total_us"] else 0
        if not (near(sum(r[f"{role}_us"] for role in ROLES), r["total_us"]) and near(r["busy_us"] + r["idle_us"], r["total_us"])
                and near(used, round(used))):
            yield f"execution: {r}"
    for r in rows_of(tables["gpu"]):
        if (r["computation_ns"] + r["comm_exposed_ns"] + r["copy_exposed_ns"] + (r["graph_ns"] or 0) != r["busy_ns"]
                or r["busy_ns"] + r["idle_ns"] != r["timeline_ns"]):
            yield f"gpu: {r}"


def of_idle(rows):
    """Each device's uses, none of them negative, are the time of the steps, or of the trace: the same of all devices,
    which `all` adds up."""
    used = {}
    for r in rows:
        used[r["device"]] = used.get(r["device"], 0) + r["time_ns"]
        if r["time_ns"] < 0:
            yield f"idle: {r}"
    of_all = used.pop("all", sum(used.values()))
    if len(set(used.values())) > 1 or of_all != sum(used.values()):
        yield f"idle: {used}, all {of_all}"


def wrongs(tables):
    """Yields what does not add up in the tables of a report, by name."""
    gpu_ns = total(tables, "kernel-summary", "total_ns")
    for name, table in tables.items():
        yield from (f"{name}, {why}" for why in of_totals(table))
    for name, column in (("ranges", "exclusive_ns"), ("range-kernels", "total_ns"), ("classes", "gpu_ns"),
                         ("classes", "by_name_ns"), ("kernel-launches", "total_ns")):
        if total(tables, name, column) != gpu_ns:
            yield f"{name}, {column}: {total(tables, name, column)}, not {gpu_ns}"
    yield from of_summary(tables, gpu_ns)
    yield from of_attention(rows_of(tables["softmax-matmul"]))
    yield from of_times(tables)
    yield from of_idle(rows_of(tables["idle"]))
