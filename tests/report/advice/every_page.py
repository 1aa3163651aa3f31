"""The first page of every trace below a folder, as HTML and on the terminal, is one that can be true.

    python3 every_page.py WARPSHEET FOLDER

No finding saves under 1 %, or under what a launch varies by; what comes first saves time by replay, or says that it is an upper bound; gains are of different time, so together they save no more than there is, unless devices or
streams worked side by side; no text holds nan, inf or a minus before 0; no share is over 100 %, no segment, bar or figure is empty, no part of
the model has more time than what it is in. The tables `idle` and `execution` give the devices' time to the same causes. Exit status 77: there is no such folder.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile

from first_pages import LEAST, page_of_html

KINDS = ('.wtrace', '.json.gz', '.json', '.sqlite')
NO_NUMBER = re.compile(r'(?<![\w.:/*-])[-+]?(?:nan|inf)(?![\w.:/*-])|(?<![\w.])-0(?:\.0+)?(?![\d.]*[1-9])\s|\(null\)')
PERCENT = re.compile(r'(?<![\w.])([\d,]+(?:\.\d+)?) ?%')


def of_text(text):
    """What is wrong in a text for people."""
    for found in NO_NUMBER.finditer(text):
        yield f'{found[0]!r} in {text[max(0, found.start() - 60):found.end() + 20]!r}'
    for found in PERCENT.finditer(text):
        if float(found[1].replace(',', '')) > 100:
            yield f'{found[0]!r} in {text[max(0, found.start() - 60):found.end() + 20]!r}'


def texts_of(page):
    for name in ('headline', 'first'):
        for sentence in page.get(name) or ():
            yield ''.join(part for part, _ in sentence) if isinstance(sentence[0], list) else sentence[0]
    for value, label in page.get('figures') or ():
        yield f'{value} {label}'
    for f in (page.get('findings') or {}).get('list', ()):
        yield f['title']
        yield f['advice']
        yield f['evidence']


def of_parts(page):
    """Numbers of the pictures."""
    bar = page.get('bar')
    if bar and bar['segments']:  # one without is not shown
        if bar['whole'] <= 0:
            yield 'a bar of nothing'
        total = sum(s['percent'] for s in bar['segments'])
        if not 99 < total < 100.01:
            yield f'segments of the bar add up to {total} %'
        if any(s['ns'] <= 0 for s in bar['segments']):
            yield 'an empty segment'
    tree = page.get('tree')
    if tree and tree['nodes']:
        if tree['total'] <= 0:
            yield 'an icicle of nothing'
        for n in tree['nodes']:
            if n['exclusive'] > n['inclusive'] or n['inclusive'] > tree['total'] or n['parent'] >= 0 and \
                    n['inclusive'] > tree['nodes'][n['parent']]['inclusive']:
                yield f'{n["path"]} has more than the part around it'
    roofline = page.get('roofline')
    if roofline:
        for p in roofline['points']:
            if p['attained'] is not None and p['attained'] > 100 or p['percent'] > 100:
                yield f'{p["name"]} {p["dtype"]} attains {p["attained"]} %, {p["percent"]} % of the time'
    lanes = (page.get('timeline') or {}).get('lanes', ())
    if lanes and (page.get('findings') or {}).get('rungs') and sum(lane['n'] > 0 for lane in lanes if lane['kind'] == 'path') != 1:
        yield 'a step that is replayed has no critical path in the timeline'
    for k in (page.get('kernels') or {}).get('list', ()):
        if k['percent'] > 100.001 or (k.get('attained') or 0) > 100:
            yield f'{k["name"]}: {k["percent"]} % of the time, {k.get("attained")} % of its roof'
    for value, label in page.get('figures') or ():
        if not value.strip() or not label.strip():
            yield f'an empty figure: {value!r} {label!r}'


def of_gains(page):
    gains = [f['percent'] for f in (page.get('findings') or {}).get('list', ()) if f['percent'] is not None]
    if any(g < LEAST for g in gains):
        yield f'a finding saves under {LEAST} %: {gains}'
    if any(g > 100.001 for g in gains):
        yield f'a finding saves more than there is: {gains}'
    timeline = page.get('timeline') or {}
    lanes = [lane for lane in timeline.get('lanes', ()) if lane['kind'] not in ('thread', 'path')]
    if len(lanes) == 1 and sum(gains) > 100.001:
        yield f'together {sum(gains):.1f} % on one stream: {gains}'


def ns_of(time):
    value, unit = re.fullmatch(r'([\d.,]+) (ns|µs|ms|s)', time).groups()
    return float(value.replace(',', '')) * {'ns': 1, 'µs': 1e3, 'ms': 1e6, 's': 1e9}[unit]


def of_first(page):
    """"First: do this. 29.1 ms → 23.4 ms per step.", or "At most 5.7 ms (19 %) per step.": of the largest gain."""
    text = ''.join(part for part, _ in page.get('first') or ())
    findings = (page.get('findings') or {}).get('list') or [{}]
    gain, percent = findings[0].get('gain'), findings[0].get('percent')
    if not text:
        if percent:
            yield f'a finding saves {percent} %, and nothing comes first'
        return
    if text.startswith(('First: warm up, then record', 'First: record ')):  # no finding: there is nothing to be replayed
        return
    if (percent or 0) < LEAST and (findings[0] or 'At most' not in text):  # the host's collectives are no finding of a rule
        yield f'what comes first saves {percent} %'
    replayed = re.search(r'([\d.,]+ \w+) → ([\d.,]+ \w+)', text)
    if replayed:
        now, then = (ns_of(time) for time in replayed.groups())
        # times have three digits
        if not then < now or abs(now - then - gain) > 0.008 * now:
            yield f'{text!r} is no gain of {gain} ns'
    elif not re.search(r'At most [\d.,]+ \w+ \([\d.<]+ %\)', text):
        yield f'{text!r} tells no gain'


USES = {'Computing': 'computing', 'Only Communication': 'waiting for communication', 'Only Copies': 'waiting for copies',
        'Idle: Launches': 'waiting for launches', 'Idle: Host': 'waiting for the host', 'Idle: Synchronisation': 'after a host synchronisation',
        'Idle: Data': 'waiting for data', 'Idle: Stream or Event': 'waiting for a stream or event', 'Idle: Between Kernels': 'between queued kernels',
        'Idle: Before First Work': 'before the first work', 'Idle: After Last Work': 'after the last work', 'Idle: Unknown': 'unknown',
        'Idle: Starting Up': 'starting up', 'Page Faults': 'page faults of managed memory', 'Idle: Another Process': 'another process had the GPU',
        'Idle: Recording': 'recording'}


def of_uses(warpsheet, trace):
    """`idle` and `execution`, of all devices."""
    def table(name):
        text = subprocess.run([warpsheet, 'report', trace, '--table', name, '--format', 'csv'], capture_output=True, text=True).stdout
        return list(csv.DictReader(line for line in text.splitlines() if not line.startswith('#')))
    idle, steps = table('idle'), [row for row in table('execution') if row['Step'] != 'Average']
    devices = {row['Device'] for row in idle}
    told = {row['Use']: int(row['Time (ns)']) for row in idle if row['Device'] == 'all' or len(devices) == 1}
    for column, use in USES.items():
        ns = sum(1e3 * float(row[f'{column} (us)'] or 0) for row in steps)
        if told and steps and abs(ns - told.get(use, 0)) > 1e-6 * sum(told.values()) + 1:
            yield f'{use}: {told.get(use, 0)} ns in idle, {ns:.0f} ns in execution'


def traces_below(folder):
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(KINDS):
                yield os.path.join(at, name)


def main(warpsheet, folder):
    if not os.path.isdir(folder):
        print('SKIP: no folder', folder)
        return 77
    seen = wrong = 0
    refused = []
    with tempfile.TemporaryDirectory() as scratch:
        html = os.path.join(scratch, 'x.html')
        for trace in traces_below(folder):
            made = subprocess.run([warpsheet, 'report', trace, '-o', html], capture_output=True, text=True)
            if made.returncode not in (0, 3) or not os.path.exists(html):
                if made.returncode not in (1, 2, 3) or not made.stderr:
                    wrong += 1
                    print(f'{trace}: exit status {made.returncode}: {made.stderr}')
                refused.append(os.path.relpath(trace, folder))
                continue
            page = page_of_html(html)
            os.remove(html)
            terminal = subprocess.run([warpsheet, 'report', trace, '--color', 'never'], capture_output=True, text=True,
                                      env={**os.environ, 'COLUMNS': '160'}).stdout
            bad = [f'html: {b}' for t in texts_of(page) for b in of_text(t)]
            bad += [f'html: {b}' for of in (of_parts, of_gains, of_first) for b in of(page)]
            bad += of_uses(warpsheet, trace)
            bad += [f'terminal: {b}' for b in of_text(terminal)]
            for b in bad:
                print(f'{os.path.relpath(trace, folder)}: {b}')
            wrong += bool(bad)
            seen += 1
    print(f'{seen} first pages, {wrong} wrong; not reported: {", ".join(refused) or "none"}')
    return 1 if wrong or not seen else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2]))
