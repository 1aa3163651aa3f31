# every relation can be read, and counting its rows reads what they are made of; prints what differs
trace=fixtures/recorded/h100/transformer-small.wtrace
names=$(warpsheet query "$trace" --format csv | sed -n '1d; s/^\([a-z_]*\),.*/\1/p')
echo "$names" | grep -x 'cell\|api_summary\|steps'
for name in $names; do
	counted=$(warpsheet query "$trace" "SELECT count(*) FROM $name" --format csv | tr -d '\r' | tail -n 1)
	read=$(warpsheet query "$trace" "SELECT * FROM $name" --format json | grep -c "^\[")
	[ "$counted" = "$((read))" ] || echo "$name: $counted counted, $read read"
done
