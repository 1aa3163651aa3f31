# records as they are in the file: texts and names for numbers, in the order of the file
ask() {
	warpsheet query "fixtures/$1" "$2" --format csv
}
ask traces/killed.wtrace "SELECT * FROM kernel_record LIMIT 3"
ask traces/killed.wtrace "SELECT type, e.name, t.name AS thread FROM nvtx_record AS e JOIN thread_record AS t ON t.id = thread LIMIT 3"
ask traces/killed.wtrace "SELECT cause, count FROM loss_record"
ask traces/empty.wtrace "SELECT *, :base_ns AS base FROM process_record"
ask traces/empty.wtrace "SELECT count(*) FROM kernel_record"
# bytes that are no text, and texts that do harm elsewhere
ask traces/killed.wtrace "SELECT schema, hex(bytes) AS bytes FROM payload_record LIMIT 1" | cut -c1-100
ask traces/hostile.wtrace "SELECT id, text FROM string_record WHERE id BETWEEN 8 AND 24" | od -An -c -w16 | head -n 40
# of a damaged trace what is whole
ask broken/truncated.wtrace "SELECT count(*) FROM kernel_record"
