# --capture-range: what is outside is left out, and that is no loss
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"
record 'nothing matches' nested 1000 --capture-range event
ask t.wtrace 'SELECT count(*) FROM nvtx_record'
record 'a range of every thread counts' short-threads 8 --capture-range 'event 5'
ask t.wtrace "SELECT DISTINCT name FROM nvtx_record WHERE name LIKE 'event%'"
