# Workbooks are written by a module, so that nothing else loads its libraries: without it the rest
# works, and a workbook says what it needs.
ldd "$(command -v warpsheet)" | grep -E 'xlsxwriter|crypto|minizip'
cp "$(command -v warpsheet)" alone
./alone report fixtures/traces/step-fp32.wtrace --table kernel-summary --format csv | wc -l
./alone report fixtures/traces/step-fp32.wtrace -o book.xlsx
code=$?
ls
exit $code
