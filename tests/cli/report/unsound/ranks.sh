# Four ranks, an all-reduce in each step; rank 1 computes 20 us longer, and the last of the four longest of all.
# rank FILE RANK COMPUTE FIRST LAST [WORLD [BASE]]: steps FIRST to LAST
rank() {
	awk -v rank="$2" -v us="$3" -v first="$4" -v last="$5" -v world="${6:-4}" -v base="${7:-1700000000000000000}" 'BEGIN {
		printf "{\"baseTimeNanoseconds\":%s,\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},\"traceEvents\":[", base, rank, world
		for (s = first; s <= last; s++) {
			t = 1000 * (s + 1); sep = s > first ? "," : ""
			printf "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":999}", sep, s, t
			printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}", t + 10, 2 * s + 1
			printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}", t + 50, us, 2 * s + 1
			printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}", t + 20, 2 * s + 2
			printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":20,\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":20,\"correlation\":%d,\"Collective name\":\"allreduce\",\"In msg nelems\":1000000,\"Out msg nelems\":1000000,\"Group size\":4,\"dtype\":\"Float\",\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1, 2, 3]\",\"Seq\":%d}}", t + 51 + us, 499 - us, 2 * s + 2, s
		}
		print "]}"
	}' > "$1"
}
of() {
	warpsheet report "$1" --table ranks-verdict --format csv 2>"$1.err" | grep '^ranks\|^straggler\|^clocks'
	grep -v 'reading' "$1.err"
	warpsheet report "$1" --table collectives --format csv 2>/dev/null | cut -d, -f6,8,11,14
}

echo "== rank 3 recorded the last step alone"
mkdir short
for r in 0 2; do rank short/$r.json $r 300 0 11; done
rank short/1.json 1 320 0 11
rank short/3.json 3 400 11 11
of short

echo "== windows that overlap by half: 100 us of waiting per step"
mkdir half
for r in 0 1; do rank half/$r.json $r 300 0 7; done
rank half/2.json 2 300 4 11
rank half/3.json 3 400 4 11
of half

echo "== no step in common"
mkdir apart
for r in 0 1; do rank apart/$r.json $r 300 0 5; done
rank apart/2.json 2 400 6 11
rank apart/3.json 3 300 6 11
of apart

echo "== two runs, two world sizes"
mkdir runs sizes
rank runs/0.json 0 300 0 5
rank runs/1.json 1 300 0 5 4 1707776000000000000
rank sizes/0.json 0 300 0 5
rank sizes/1.json 1 300 0 5 8
for d in runs sizes; do warpsheet report $d 2>&1 | grep -v reading; done

echo "== a file that cannot be read"
mkdir bad
cp half/0.json half/1.json bad
printf '{"traceEvents":[' > bad/2.json
warpsheet report bad --table ranks-verdict --format csv 2>/dev/null | grep '^failed\|^ranks'
warpsheet report bad >/dev/null 2>&1; echo "report $?"
warpsheet sweep bad --table sweep --format csv 2>/dev/null | cut -d, -f6,7,25
warpsheet sweep bad >/dev/null 2>&1; echo "sweep $?"
mkdir base
warpsheet gate bad --baseline base --format csv 2>/dev/null | cut -d, -f1,3 | sort -u
warpsheet gate bad --baseline base >/dev/null 2>&1; echo "gate $?"
warpsheet sweep bad/2.json >/dev/null 2>&1; echo "nothing else $?"
