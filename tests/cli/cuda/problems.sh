# what can be wrong with CUPTI, and what is then recorded, said and counted
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

record 'larger records of a later version are read as far as they are known' FAKE_CUPTI_VERSION=130100 FAKE_CUPTI_KERNEL_SIZE=232
told cupti.version
record 'smaller records of an older version too' FAKE_CUPTI_VERSION=26 FAKE_CUPTI_KERNEL_SIZE=208
told cupti.version
record 'a version with faults of its own' FAKE_CUPTI_VERSION=130000
record 'the version after it' FAKE_CUPTI_VERSION=130001
record 'green contexts are there from 13.2 on' FAKE_CUPTI_VERSION=130200
warpsheet info t.wtrace | sed -n 's/^  context  *\([0-9]*\) .*/\1 contexts/p'
for version in 18 24 28 130001 140000; do
	record "version $version" FAKE_CUPTI_VERSION=$version
done
# what describes a full command buffer is the recorder's to free from 12.4 on; before there is none
for version in 22 130001; do
	record "what CUPTI $version allocates is freed, or it would drop records" FAKE_CUPTI_VERSION=$version FAKE_CUPTI_OVERHEAD=1
done
record 'and nothing else' FAKE_CUPTI_VERSION=21 FAKE_CUPTI_OVERHEAD=2
record 'how long records are may be known late' threads=4 FAKE_CUPTI_LATE_SIZES=1

record 'too old' FAKE_CUPTI_VERSION=17
record 'a version that is not told is a failure, and not too old' FAKE_CUPTI_VERSION=0
record 'another tool' FAKE_CUPTI_SUBSCRIBE=39
record 'a missing function' WARPSHEET_CUPTI_PATH="$tests/fake_cuda/libcupti-lacks.so"
record 'no permission' FAKE_CUPTI_SUBSCRIBE=35
record 'any other failure' FAKE_CUPTI_SUBSCRIBE=999

record 'kernels without times are kept' FAKE_CUPTI_ZERO_EVERY=10
record 'kernels that run when the last records are asked for have no time' FAKE_CUPTI_RUN_EVERY=10
record 'launches whose kernels are missing are counted' FAKE_CUPTI_LOSE_EVERY=10
record 'all calls' --api all
ask "SELECT api_name, count(*) FROM kernel GROUP BY 1"
ask 'SELECT name, calls FROM api_summary ORDER BY 1'
record 'no call' --api none
ask 'SELECT count(*) FROM api_summary'

record 'launches that are captured into a graph are not missed' @capture --flush-interval 20
record 'queries are no waits where CUPTI can leave them out' FAKE_CUPTI_QUERIES=1
record 'and where it cannot' FAKE_CUPTI_QUERIES=1 FAKE_CUPTI_ALL_SYNC=1
warpsheet info t.wtrace | grep -c '^  sync '
record 'on a busy GPU all comes in the end' FAKE_CUPTI_BUSY=1 @range --flush-interval 20
record 'flushes are timed by the recorder' FAKE_CUPTI_FLUSH_MS=5
told cupti.flushes cupti.flush_ns cupti.flush_longest_ns | awk '{ least = $1 == "cupti.flushes" ? 1 : 5000000; print $1, ($3 + 0 >= least ? "enough" : $3) }'
record 'with CUPTI 13.3 a profiler in the program and the recording are both complete' FAKE_CUPTI_VERSION=130300 @beside --flush-interval 20
record 'CUPTI 13.3 on an older driver' FAKE_CUPTI_VERSION=130300 FAKE_CUPTI_SCOPES=0
record "another profiler's clock" @clock --flush-interval 20
record "another profiler's buffers" FAKE_CUPTI_FOREIGN=1
record 'a call that is refused, cudaMemcpy, leaves the others enabled' FAKE_CUPTI_REFUSE_CALL=31
record 'an attribute that is refused' FAKE_CUPTI_REFUSE_ATTR=5
# the fake ends the program when it is flushed where the real one must not be
record 'nothing is flushed before there is a context' FAKE_CUDA_INIT_MS=60
record 'nothing is being flushed when CUDA is torn down' FAKE_CUPTI_FLUSH_MS=60 --flush-interval 20
