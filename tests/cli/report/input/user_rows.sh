# rows of --peaks and --rules that are refused, and why
trace=fixtures/traces/empty.wtrace
try() { # try OPTION: with the file on stdin
	cat >rows
	warpsheet report $trace --table steps "$1" rows 2>&1 >out
}
printf '# x\nA | fp32 1 | s\nB | fp16 | s\n' | try --peaks
for row in 'B | fp64 3 | s' 'B | fp32 1 fp32 2 | s' '| fp32 1 | s' B 'B | fp32 1 |' 'A|fp32 1|\0'; do
	printf "$row" | try --peaks
done
for number in 0 -1 1e3 1,5 nan inf .5 5. 1..2 1.2.3 0.0 0x10 +1 1234567890123456; do
	echo "A | fp32 $number | s" | try --peaks
done
yes 'A|fp32 1| s' | head -4097 | try --peaks
head -c 1048577 /dev/zero | tr '\0' '\n' | try --peaks
printf 'class gemm a\nclas gemm b\n' | try --rules
for rule in '\nclass matmul b' 'tensor maybe b' '# x\nclass gemm   \n' class 'dtype fp32 a(b\n' 'class gemm a\0b'; do
	printf "$rule" | try --rules
done
yes 'class gemm a' | head -4097 | try --rules
head -c 1048577 /dev/zero | tr '\0' '\n' | try --rules
# and those that are taken: blanks, ends of lines as Windows has them, patterns, a rule before the built-in ones
printf '# ours\r\n\r\n  Ex?mple GPU*|memory 500.5 fp32 10|our bench \r\n*|fp32 1|anything else' >rows
warpsheet report fixtures/traces/step-fp32.wtrace --table roofline --peaks rows | grep -o '[^ ]* GB/s\|our bench\|anything else'
printf '# mine\n\n  class\tloss   (vectorized|x)_  \r\nclass norm .\n' >rows
warpsheet report fixtures/traces/hostile.wtrace --table classes --columns class,kernels --format csv --rules rows
