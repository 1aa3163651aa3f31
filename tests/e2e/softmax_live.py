"""Softmax against matmul, live: a program's NVTX ranges recorded, the same imported, and the same under the names that
PyTorch's emit_nvtx gives, all held against sums by hand.

    python3 softmax_live.py BIN
"""
import csv
import os
import sqlite3
import subprocess
import sys
import tempfile

binary = sys.argv[1]
PARTS = {'computing attention scores': 'Attention Scores', 'computing softmax': 'attention_softmax',
         'final matmul': 'ComputingFinalMatmul'}
OPERATIONS = {'q k^T': 'aten::bmm', 'softmax': 'aten::softmax', 'p v': 'aten::bmm'}


def run(program, *arguments):
    return subprocess.run([os.path.join(binary, program), *arguments], check=True, capture_output=True, text=True).stdout


def told(trace):
    """GPU time a step of each part of all layers, by phase."""
    text = run('warpsheet', 'report', trace, '--table', 'softmax-matmul', '--format', 'csv')
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith('#'))
    return {(r['Phase'], r['Part']): (float(r['Kernels']), float(r['GPU Time (ns)'])) for r in rows
            if r['Part'] != 'both products'}


def by_hand(database):
    """Kernels by the ranges around their launch, each once; a mean over the measured steps."""
    db = sqlite3.connect(database)
    ranges = db.execute('select start, end, globalTid, coalesce(text, (select value from StringIds where id = textId)) '
                        'from NVTX_EVENTS where end is not null').fetchall()
    kernels = db.execute('select k.end - k.start, r.start, r.globalTid, s.value from CUPTI_ACTIVITY_KIND_KERNEL k join '
                         'CUPTI_ACTIVITY_KIND_RUNTIME r using (correlationId) join StringIds s on s.id = k.demangledName').fetchall()
    steps = len([r for r in ranges if r[3] == 'step'])
    sums = {}
    for ns, at, thread, name in kernels:
        around = [r[3] for r in ranges if r[2] == thread and r[0] <= at < r[1]]
        part = next((p for p in PARTS if p in around), None)
        if 'step' not in around or not part:
            continue
        is_scale_or_mask = 'scale' in around or 'mask' in around
        phase = 'backward' if 'backward' in around else 'forward'
        alone = is_scale_or_mask if part == 'computing softmax' else 'gemm' not in name
        for row in ['whole attention'] + [part] * (not alone):
            count, total = sums.get((phase, row), (0, 0))
            sums[phase, row] = count + 1 / steps, total + ns / steps
    return sums


def as_emit_nvtx(database):
    """Operations as emit_nvtx names them, parts as somebody else spells them, and no payload that says what a range is."""
    db = sqlite3.connect(database)
    for ours, theirs in (PARTS | OPERATIONS).items():
        number = "|| ', seq = ' || rowid || ', op_id = ' || rowid" if ours in OPERATIONS else ''
        db.execute(f"update NVTX_EVENTS set text = ? {number}, textId = NULL where coalesce(text, (select value from "
                   'StringIds where id = textId)) = ?', (theirs, ours))
    columns = [c[1] for c in db.execute('pragma table_info(NVTX_EVENTS)')]
    for column in ('jsonTextId', 'binaryData', 'jsonText'):
        if column in columns:
            db.execute(f'update NVTX_EVENTS set {column} = NULL')
    db.commit()


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        live, database = folder + '/live.wtrace', folder + '/live.sqlite'
        run('warpsheet-record', '-o', live, '--', os.path.join(binary, 'warpsheet-step'), '--model', 'transformer-tiny', '--device',
            'cpu', '--context', '64', '--batch', '1', '--steps', '2', '--warmup', '1')
        run('warpsheet', 'export', live, '-o', database)
        hand, first = by_hand(database), told(live)
        second = told(database)
        as_emit_nvtx(database)
        for name, other in (('by hand', hand), ('imported', second), ('with the names of emit_nvtx', told(database))):
            for key in sorted(set(first) | set(other)):
                a, b = first.get(key, (0, 0)), other.get(key, (0, 0))
                if abs(a[0] - b[0]) > 1e-6 or abs(a[1] - b[1]) > 1e-6 * max(a[1], 1):
                    wrong += 1
                    print(f'{key}: live {a}, {name} {b}')
    print(f'{len(first)} parts, {wrong} differ')
    return wrong > 0 or len(first) < 8


sys.exit(main())
