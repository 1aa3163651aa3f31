#!/usr/bin/env python3
"""honest_pairs.py SCENARIO_TRACE: 200 honest programs against what they replace, of which the referee may accuse none, and
50 planted slow-downs, which it finds as docs/dev/referee.md promises. All times are made from seeds, none is of this
machine."""
import collections
import json
import math
import os
import random
import sys
import tempfile

import scenario

EVERY = 2_000_000  # ns from the begin of a step to that of the next one
LAYER = 60_000     # ns of a product and what follows it
STEPS, LAYERS = 3, 4

# what an honest program may do in another way; a comparison takes some of them
WAYS = ("other kernels", "fused kernels", "another stream", "another order", "one graph", "a longer start-up", "tuning in the first step",
        "the loss read back", "own times", "more memory", "another dtype of equal precision", "ranges around layers", "faster products",
        "work not waited for")


def trace(rng, ways, factor):
    """A run: its rows. factor: of the length of its steps."""
    rows = ['device id=0 kind=cuda name="NVIDIA H100 80GB HBM3"', f"meta key=gpu.0.start.sm_clock_mhz value={1980 - rng.randrange(9)}"]
    lengths = []
    # the recording begins so much before the first step
    begin = EVERY * (4 if "a longer start-up" in ways else 1)
    for i in range(40 if "a longer start-up" in ways else 2):
        rows.append(f"launch {10_000 * i} init {10_000 * i + 2000} 7000")
    for step in range(STEPS):
        at, host = begin + step * EVERY, begin + step * EVERY + 2000
        length = int(600_000 * factor * math.exp(0.002 * rng.gauss(0, 1)))
        lengths.append(length)
        device = at + 20_000
        calls = 0
        rows.append(f"push {at} step")
        if "one graph" in ways:
            rows.append(f"call {host} 4000 {step + 1} name=cudaGraphLaunch")
        if "tuning in the first step" in ways and not step:
            for _ in range(3):
                rows.append(f"launch {host} try_gemm {device - 12_000 + 3000 * _} 2000")
                host += 1500
        order = list(range(LAYERS))
        if "another order" in ways:
            order = order[1:] + order[:1]
        for layer in order:
            stream = 9 if "another stream" in ways and layer % 2 else 7
            product = int(rng.uniform(0.9, 1) * LAYER * (0.5 if "faster products" in ways else 0.7))
            rest = 9000
            kernel = "ampere_sgemm_128x64_tn" if "other kernels" in ways else "cutlass_80_simt_sgemm_128x128_8x4_nn_align1"
            dtype = "fp32"
            if "another dtype of equal precision" in ways:
                kernel, dtype = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "bf16"
            elif "16 bits" in ways:
                kernel, dtype = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32", "bf16"
            kernels = [("gemm", kernel, product, 1_000_000_000), ("scale", "elementwise_kernel", rest, 0)]
            if "fused kernels" in ways:
                kernels = [("gemm", kernel + "_scaled", product + rest // 2, 1_000_000_000)]
            if "ranges around layers" in ways:
                rows.append(f"push {host} layer{layer}")
            for op, name, ns, flops in kernels:
                calls += 1
                if "one graph" in ways:
                    rows.append(f"kernel {name} {device} {ns} correlation={step + 1} stream={stream}")
                else:
                    rows.append(f"push {host} {op}{layer} op={op} direction=forward dtype={dtype} flops={flops} read=4000000 written=4000000")
                    rows.append(f"launch {host + 100} {name} {device} {ns} stream={stream}")
                    rows.append(f"pop {host + 1200}")
                host += 1500
                device += ns + 500
            if "ranges around layers" in ways:
                rows.append(f"pop {host}")
        if "the loss read back" in ways:
            rows.append(f"memcpy start_ns={device} dur_ns=1500 bytes=4 kind=dtoh")
        # the step waits, and the loader sets its length; or it ends with its last kernel
        if "work not waited for" in ways:
            rows.append(f"launch {host} last {device} {at + length - device}")
        else:
            rows.append(f"launch {host} last {device} 1000")
        rows.append(f"pop {host + 3000 if 'work not waited for' in ways else at + length}")
    if "own times" in ways:
        rows.append(f"mark 0 workload.claimed_step_ms={sum(lengths) / len(lengths) / 1e6 * rng.uniform(0.99, 1.01):.6f}")
    if "more memory" in ways:
        rows.append("memcpy start_ns=1000 dur_ns=9000 bytes=64000000 kind=htod")
    return "".join(row + "\n" for row in rows)


def judge(ways, slower, looks, options, seed):
    """The referee's verdict and its reasons after each of so many pairs, of which B is slower by that factor. Runs scatter by
    0.7 %, so pairs by 1 %."""
    rng = random.Random(seed)
    # a new process each time: what it may use in all is limited
    program = scenario.Program(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        made = 0
        for look in looks:
            texts = {}
            while made < look:
                made += 1
                for side in rng.sample("ab", 2):
                    factor = math.exp(0.01 / math.sqrt(2) * rng.gauss(0, 1)) * (slower if side == "b" else 1)
                    texts[os.path.join(folder, f"{side}-r{made}.wtrace")] = trace(rng, ways[side == "b"], factor)
            program.write_traces(texts)
            tables = json.loads(program.run("referee", folder, "--format", "json", *options).stdout)["tables"]
            yield tables["referee"]["rows"][0], tables["referee-reasons"]["rows"]
    program.end()


def check_honest():
    """None of 200 is accused. Their steps are as long as those of A, so PROVEN is a false alarm, of 1 % of them."""
    alarms, wrong, used = 0, [], collections.Counter()
    for seed in range(200):
        rng = random.Random(seed)
        # both programs do the same about what they wait for and the bits that they compute in
        both = [way for way in ("work not waited for", "own times") if rng.random() < 0.2]
        ways = rng.sample([way for way in WAYS if way != "work not waited for"], rng.randrange(1, 5))
        if "another dtype of equal precision" in ways:
            both.append("16 bits")
        used.update(ways)
        (verdict, reasons), = judge((both, both + ways), 1, [10], (), seed)
        alarms += verdict[0] == "PROVEN"
        if verdict[0] not in ("SAME", "PROVEN", "CANNOT TELL") or any(reason[2] for reason in reasons):
            wrong.append(f"seed {seed}, {', '.join(both + ways)}: {verdict[0]}: {verdict[-1]}")
    print(f"of 200 honest programs {len(wrong)} accused, {alarms} false alarms; ways {dict(used)}")
    assert not wrong, "\n".join(wrong)
    # 200 trials of 1 %: more than 5 happen in one of 60 tests by chance, and these numbers are always the same
    assert alarms <= 5, alarms
    assert len(used) == len(WAYS) - 1 and min(used.values()) >= 10, used


def check_slower():
    """With at most 30 pairs, four of five slow-downs of 1 % are found, and all of 2 to 5 %."""
    for percent in range(1, 6):
        found = sum(any(verdict[0] == "PROVEN" and verdict[1] < 1 for verdict, _ in
                        judge(((), ()), 1 + percent / 100, range(9, 31, 3), ("--min-effect", "0"), 1000 * percent + seed))
                    for seed in range(10))
        print(f"of 10 slow-downs of {percent} % {found} found")
        # of 10 that are found with a probability of 0.8, fewer than 5 happen in one of 150 tests by chance
        assert found >= (5 if percent == 1 else 10), (percent, found)


check_honest()
check_slower()
