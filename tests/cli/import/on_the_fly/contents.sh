# a report names the file that it was given, not the trace that was made of it meanwhile
warpsheet report fixtures/imports/alexnet-a100.json.gz --format md 2>/dev/null | grep -o '[0-9]* bytes, XXH3-64 `[0-9a-f]*`'
wc -c <fixtures/imports/alexnet-a100.json.gz
