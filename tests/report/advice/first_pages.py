"""First pages advise nothing that saves under 1 %: as HTML, as a workbook and on the terminal.

    python3 first_pages.py WARPSHEET FOLDER TRACE...

Every gain of a page is one of the table `advice`, of 1 % of the step or more; the HTML page has the largest of every rule. Exit status 77: there is no such folder.
"""
import base64
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zipfile
import zlib

LEAST = 1.0
SPACE = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
NOTES = ('A25', 'A26')  # about begin and end of the recording: below the findings, without a gain


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def page_of_html(path):
    text = open(path, encoding='utf-8').read()
    return json.loads(zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', text)[1])))['page']


def of_html(path):
    return [f['percent'] for f in page_of_html(path)['findings']['list'] if f['percent'] is not None]


def of_workbook(path):
    """Numbers below "Gain (%)" on the first sheet, down to the next row of headers."""
    book = zipfile.ZipFile(path)
    strings = [''.join(t.text or '' for t in s.iter(SPACE + 't')) for s in
               xml.etree.ElementTree.fromstring(book.read('xl/sharedStrings.xml'))]
    gains, column = [], None
    for row in xml.etree.ElementTree.fromstring(book.read('xl/worksheets/sheet1.xml')).iter(SPACE + 'row'):
        cells = {}
        for c in row:
            value = c.find(SPACE + 'v')
            if value is not None:
                cells[c.get('r').rstrip('0123456789')] = strings[int(value.text)] if c.get('t') == 's' else float(value.text)
        header = [at for at, value in cells.items() if value == 'Gain (%)']
        if header:
            column = header[0]
        elif column and isinstance(cells.get(column), str):
            column = None
        elif column in cells:
            gains.append(cells[column])
    return gains


def of_terminal(text):
    return [float(g) for g in re.findall(r'Gain:\s+at\s+most\s+([\d.]+)\s+%', text)]


def main(warpsheet, folder, traces):
    if not os.path.isdir(folder):
        print('SKIP: no folder', folder)
        return 77
    wrong = seen = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in traces:
            trace, html, workbook = os.path.join(folder, name), scratch + '/x.html', scratch + '/x.xlsx'
            run(warpsheet, 'report', trace, '-o', html)
            run(warpsheet, 'report', trace, '-o', workbook)
            text = run(warpsheet, 'report', trace, '--table', 'advice', '--format', 'csv')
            told = list(csv.DictReader(line for line in text.splitlines() if not line.startswith('#')))
            large = {}  # of each rule the largest gain that a page may show
            for row in told:
                gain = float(row['Est. Gain (%)'] or 'nan')
                if gain >= LEAST and row['Rule'] not in NOTES:
                    large[row['Rule']] = max(gain, large.get(row['Rule'], 0))
            pages = {'html': of_html(html), 'workbook': of_workbook(workbook),
                     'terminal': of_terminal(run(warpsheet, 'report', trace))}
            for form, gains in pages.items():
                # a text has two digits
                bad = [g for g in gains if g < LEAST or not any(abs(g - l) <= (0.51 if l > 9.5 else 0.051) for l in large.values())]
                missing = form == 'html' and len(gains) != len(large)
                seen += len(gains)
                if bad or missing:
                    wrong += 1
                    print(f'{name}: {form} shows {gains}, the table has {large}')
    print(f'{seen} gains on the first pages of {len(traces)} traces')
    return 1 if wrong or not seen else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
