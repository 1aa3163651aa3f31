# a disk that is full in the middle; through a pipe, as what is said here goes into files, too
(trap '' XFSZ; ulimit -f 20; warpsheet import fixtures/imports/bert-small-h100.json.gz -o t.wtrace; echo $?) 2>&1 | cat
ls -A
