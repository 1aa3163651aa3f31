# one slow step makes the mean of the kernels, no idle time that they became
aa=fixtures/recorded/aa/mlp-r
warpsheet diff ${aa}1.wtrace ${aa}2.wtrace ${aa}3.wtrace -- ${aa}4.wtrace ${aa}5.wtrace ${aa}6.wtrace \
	--table diff-verdict --format csv | sed -n 's/^where the gain went,\([^,]*\),.*/\1/p'
