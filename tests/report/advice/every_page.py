"""The first page of every trace below a folder, as HTML and on the terminal, is one that can be true.

    python3 every_page.py WARPSHEET FOLDER

No finding saves under 1 %; gains are of different time, so together they save no more than there is, unless devices or
streams worked side by side; no text holds nan, inf or a minus before 0; no share is over 100 %, no segment, bar or figure is empty, no part of
the model has more time than what it is in. Exit status 77: there is no such folder.
"""
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
    lanes = [lane for lane in timeline.get('lanes', ()) if lane['kind'] != 'thread']
    if len(lanes) == 1 and sum(gains) > 100.001:
        yield f'together {sum(gains):.1f} % on one stream: {gains}'


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
            bad += [f'html: {b}' for of in (of_parts, of_gains) for b in of(page)]
            bad += [f'terminal: {b}' for b in of_text(terminal)]
            for b in bad:
                print(f'{os.path.relpath(trace, folder)}: {b}')
            wrong += bool(bad)
            seen += 1
    print(f'{seen} first pages, {wrong} wrong; not reported: {", ".join(refused) or "none"}')
    return 1 if wrong or not seen else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2]))
