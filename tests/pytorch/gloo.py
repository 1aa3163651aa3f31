"""Two ranks of torch.distributed on the CPU (gloo), and what reports make of them.

gloo.py run: a rank, by RANK and MEET, a folder that both share. gloo.py judge WARPSHEET TRACE TRACE: checks the tables by hand.
"""
import csv
import io
import os
import subprocess
import sys
import time

STEPS = 6
LATE = 2  # the step in which rank 1 comes 50 ms late


def run():
    import torch
    import torch.distributed as dist

    rank, meet = int(os.environ["RANK"]), os.environ["MEET"]
    dist.init_process_group("gloo", init_method=f"file://{meet}/store", rank=rank, world_size=2)
    floats, doubles, both, longs = torch.ones(1000), torch.ones(64, dtype=torch.float64), torch.empty(128, dtype=torch.float64), torch.ones(10, dtype=torch.int64)
    lists = [torch.empty(64, dtype=torch.float64) for _ in range(2)]
    for step in range(STEPS):
        with torch.profiler.record_function(f"ProfilerStep#{step}"):
            dist.barrier()
            there = os.path.join(meet, "there")
            if step == LATE and rank == 0:
                open(there, "w", encoding="utf-8").close()
            if step == LATE and rank == 1:
                while not os.path.exists(there):
                    time.sleep(0.001)
                time.sleep(0.05)
            dist.all_reduce(floats)
            dist.all_gather_into_tensor(both, doubles)
            dist.all_gather(lists, doubles)
            dist.broadcast(longs, 0)
    dist.destroy_process_group()


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, not {wanted!r}")


def judge(warpsheet, *traces):
    def table(name, *of):
        made = subprocess.run([warpsheet, "report", *(of or traces), "--table", name, "--format", "csv"], check=True, capture_output=True, text=True).stdout
        return list(csv.DictReader(io.StringIO(made.lstrip("\ufeff"))))

    # bytes: 1000 floats; two ranks' 64 doubles; unknown of a list of tensors, as its group is not recorded; 10 longs
    wanted = {("allreduce", "Float", "4000"), ("_allgather_base", "Double", "1024"), ("allgather", "Double", ""), ("broadcast", "Long", "80")}
    rows = [r for r in table("collectives") if "barrier" not in r["Collective"]]
    same("collectives", {(r["Collective"], r["Dtype"], r["Size (bytes)"].removesuffix(".0")) for r in rows}, wanted)
    # a collective of both ranks counts once; broadcasts are not matched
    same("calls", {r["Collective"]: int(r["Calls"]) for r in rows}, {name: STEPS * (1 + (name == "broadcast")) for name, _, _ in wanted})
    same("ranks", [(r["Rank"], float(r["Communication (ns)"]) > 0) for r in table("ranks")], [("0", True), ("1", True)])
    for trace, r in zip(traces, table("ranks")):  # they compute in operations that do not communicate, such as copies of lists
        most = sum(float(o["Self CPU (ns)"]) for o in table("ops", trace) if o["Name"].startswith("aten::")) / STEPS
        if not 0 <= float(r["Compute (ns)"]) <= most + 1:
            sys.exit(f"rank {r['Rank']} computes {r['Compute (ns)']} ns per step, not at most {most}")
    calls = [r for r in table("collective-calls") if r["Collective"] == "allreduce"]
    same("steps", [int(r["Step"]) for r in calls], list(range(STEPS)))
    same("ranks of a call", {r["Ranks"] for r in calls}, {"2"})
    same("host dispatch, which takes a GPU", {r["Host Dispatch (ns)"] for r in calls}, {""})

    # the same from the ranges of gloo alone, which are begin and end of the work on each rank
    begins = []
    for trace in traces:
        made = subprocess.run([warpsheet, "query", trace, "--scope", "all", "--format", "csv", "SELECT time_ns + :base_ns AS at FROM nvtx_record "
                               "WHERE name = 'gloo:all_reduce' ORDER BY time_ns"], check=True, capture_output=True, text=True).stdout
        begins.append([int(line) for line in made.lstrip("\ufeff").split()[1:]])
    late = [two - one for one, two in zip(*begins)]
    print("rank 1 after rank 0, ms:", [round(ns / 1e6, 3) for ns in late])
    print("skew by the table, ms:", [round(float(r["Skew (ns)"]) / 1e6, 3) for r in calls])
    print("residuals, ms:", [round(float(r["Residual (ns)"]) / 1e6, 3) for r in calls])
    if late[LATE] < 25e6:
        print("a busy machine hid the delay")
        sys.exit(3)
    # clocks are aligned by ends, of which each can be late itself
    slack = max(abs(float(r["Residual (ns)"])) for r in calls) + 25e6
    if abs(float(calls[LATE]["Skew (ns)"]) - late[LATE]) > slack:
        sys.exit(f"the skew is {calls[LATE]['Skew (ns)']}, not about {late[LATE]}")


if sys.argv[1] == "run":
    run()
else:
    judge(*sys.argv[2:])
