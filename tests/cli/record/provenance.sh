# what a trace says about where it comes from, and nothing more; every key and counter stands in the page
root=$(dirname "$(readlink -f fixtures)")
docs=$root/docs/reference/keys.md
tests=$(dirname "$(command -v warpsheet)")/../tests
told() { # told KEY...: of t.wtrace
	for key in "$@"; do
		warpsheet info t.wtrace | sed -n "s/^  \($key\)  */\1 = /p"
	done
}
record() { # its last words
	warpsheet-record -o t.wtrace "$@" 2>words
	grep -o 'secrets in .* masked\|unknown option.*' words
	! grep -aq hunter2 t.wtrace || echo 'the secret is in the trace'
}
SECRET_TOKEN=hunter2 record --compress 3 -- /bin/sh -c 'exit 0' "it's" 'two words'
told tool.name program.path program.arguments record.options
told record.start_utc | grep -c '= 20..-..-..T..:..:..Z$'
warpsheet info t.wtrace | sed -n '/^  provenance$/,/^$/s/^  \([a-z_.0-9]*\)  .*/\1/p; /^  losses$/,/^$/s/^  \([a-z_]*\)  .*/\1/p' >keys
wc -l <keys | sed 's/[3-9][0-9]/many/;s/1[0-9][0-9]/many/'
while read -r key; do
	grep -qF "| \`$key\` |" "$docs" || echo "$key is not documented"
done <keys
# … and the variables that tell ranks
sed -n 's/^\tX("process\.[a-z_]*", "\([A-Z_0-9]*\)").*/\1/p' "$root/recorder/shared/segment.h" >variables
[ -s variables ] || echo 'no variables'
while read -r variable; do
	grep -qF "\`$variable\`" "$docs" || echo "$variable is not documented"
done <variables
record --no-args -- /bin/sh -c 'exit 0' hunter2
told program.arguments
record -- /bin/true --password=hunter2 --api-key hunter2 HF_TOKEN=hunter2 --max-tokens=8 --token --num-key-heads=4 last
told program.arguments
record -- /bin/true -H 'Authorization: Bearer hunter2' https://user:hunter2@host/x --pwd hunter2 --auth hunter2 --cookie hunter2 '{"token":"hunter2"}'
record -- /bin/true -v
# versions of libraries, and what the GPUs of the machine do at the start and at the end
export LD_LIBRARY_PATH="$tests/fake_cuda" WARPSHEET_CUPTI_PATH="$tests/fake_cuda/libcupti-fake.so"
record --flush-interval 20 -- "$tests/victim_profiler" 10 300
told library.cublas library.cublaslt library.cudnn library.nccl
LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$tests/fake_nvml"
record -- /bin/true
told gpu.readings gpu.driver_version gpu.0.name gpu.0.pci_bus gpu.0.start.sm_clock_mhz gpu.0.start.memory_clock_mhz gpu.0.end.power_mw \
	gpu.0.end.throttle gpu.0.end.temperature_c gpu.1.name gpu.1.start.sm_clock_mhz gpu.1.start.throttle
# no GPU is recorded, so none is asked
record --gpu-buffers 0 -- /bin/true
told gpu.0.name
