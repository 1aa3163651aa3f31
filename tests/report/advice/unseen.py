"""What commands say of the traces in FOLDER holds what TEXT says of them.

    python3 unseen.py WARPSHEET FOLDER TEXT

Exit status 77: there is no such folder.
"""
import os
import re
import subprocess
import sys


def main(warpsheet, folder, text):
    if not os.path.isdir(folder):
        print('SKIP: no folder', folder)
        return 77
    wrong = cases = 0
    with open(text, encoding='utf-8') as f:
        paragraphs = re.sub('^#.*\n', '', f.read(), flags=re.M).strip().split('\n\n')
    for paragraph in paragraphs:
        command, *lines = paragraph.split('\n')
        made = subprocess.run([warpsheet, *command.split()], cwd=folder, capture_output=True, text=True, check=False,
                              env=dict(os.environ, COLUMNS='1000'))
        cases += 1
        for line in lines:
            absent = line.startswith('! ')
            if made.returncode or (line.removeprefix('! ') in made.stdout) == absent:
                wrong += 1
                print(f'{command}: {line}\n  status {made.returncode} {made.stderr.strip()}\n' + '\n'.join(made.stdout.split('\n')[:12]))
    print(f'{cases} cases, {wrong} lines wrong')
    return 1 if wrong or not cases else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
