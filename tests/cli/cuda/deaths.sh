# every death of a program: no launch is lost, and each has its one call
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

record 'return from main' count=20000
record '_exit' @_exit count=20000
record 'SIGKILL' @kill count=20000 threads=4
record 'a crash' @segv count=20000
record 'abort' @abort count=20000
record 'exec of another program' @exec count=20000
record 'a forked child that launches does not reach the buffers of its parent' @fork count=5000
ask "SELECT calls, recorded_name FROM api_summary"
record 'a forked child that exits does not hang and flushes nothing' @fork-exit count=5000
record 'a reset of the device' @reset count=5000
record 'a thread that outlives main' @outlive count=5000
# a flush takes a buffer from each thread, however little is in it
record '64 threads with many flushes' threads=64 pause=200000 --flush-interval 25 --gpu-buffers 512
