# command lines that make no sense: each is refused before the program runs
refused() {
	warpsheet-record "$@" 2>&1 | sed "/: try --help/d; s#$PWD/##"
	warpsheet-record "$@" 2>/dev/null
	status=$?
	[ $status = 2 ] || echo "status $status"
}
for wrong in '--' 'ls' '-o' './train --epochs 3' '--modle m' '--stray -- p' '--model m -- ls' '--delay' '--buffer-size 1000 -- ls' '--buffer-size 5000 -- ls' \
	'--buffer-size x -- ls' '--buffer-size 8G -- ls' '--buffer-size 17179869185G -- ls' '--buffers 0 -- ls' '--buffers -1 -- ls' '--compress 20 -- ls' \
	'--flush-interval 0 -- ls' '--api some -- ls' '--graph-level kernel -- ls' '--library-ranges maybe -- ls' '--gpu-buffers 1025 -- ls' \
	'--duration 0 -- ls' '--max-size 0 -- ls' '--max-size 9999999999G -- ls' '--capture-range step@5..3 -- ls' '-o %x.wtrace -- ls' \
	'-o %p/t.wtrace -- ls' '--output= -- ls'; do
	refused $wrong
done
ls -A
warpsheet-record --help | head -n 1
warpsheet-record --version | sed 's/[0-9.]*$/N/'
