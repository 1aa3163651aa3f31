"""GPU time of no class and of a wrong class, by trace, against what a reader judged: judged_classes.tsv.

    python3 class_shares.py WARPSHEET JUDGED.tsv FOLDER TRACE...

Prints a table in Markdown. Exit status 1: over 1 % of a trace's time is unclassified or wrong, or not judged; 77: no such folder.
"""
import collections
import csv
import os
import re
import subprocess
import sys

MOST = 1.0
# classes that are parts of another, or two words for one thing
PARTS = {'conv_aux': 'conv', 'gemm_aux': 'gemm', 'layout': 'conv', 'scale': 'elementwise', 'mask': 'elementwise', 'gather': 'embedding'}


def judge(judged, name):
    return next((c for c, pattern in judged if pattern.search(name)), None)


def main(warpsheet, judged, folder, traces):
    if not os.path.isdir(folder):
        print('SKIP: no folder', folder)
        return 77
    lines = [line.rstrip('\n').split('\t') for line in open(judged, encoding='utf-8') if line[0] not in '#\n']
    judged, failed = [(c, re.compile(p)) for c, p, _ in lines], False
    print('| trace | names | unclassified (%) | wrong (%) | not judged (%) |\n|---|---|---|---|---|')
    for trace in traces:
        text = subprocess.run([warpsheet, 'report', os.path.join(folder, trace), '--table', 'kernel-summary', '--scope', 'all',
                               '--format', 'csv'], check=True, capture_output=True, text=True).stdout
        ns, examples = collections.Counter(), {}
        rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith('#')))
        for row in rows:
            right, told = judge(judged, row['Name']), row['Class by Name']
            time = int(row['Total Time (ns)'] or 0)
            ns['all'] += time
            if right is None:
                kind = 'not judged'
            elif right == 'none':
                kind = 'right' if not told or told == 'elementwise' else 'wrong'
            elif not row['Op Class'] and right:
                kind = 'unclassified'
            else:
                kind = 'right' if PARTS.get(told, told) == PARTS.get(right, right) else 'wrong'
            ns[kind] += time
            if kind != 'right' and time > examples.get(kind, (0,))[0]:
                examples[kind] = time, right, told, row['Name'][:160]
        share = {k: 100 * ns[k] / ns['all'] if ns['all'] else 0 for k in ('unclassified', 'wrong', 'not judged')}
        print(f"| {os.path.basename(trace).split('.')[0]} | {len(rows)} | " + ' | '.join(f'{v:.3f}' for v in share.values()) + ' |')
        for kind, v in share.items():
            if v > MOST:
                failed = True
                print(f'{trace}: {kind}: {examples[kind]}', file=sys.stderr)
    return failed


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
