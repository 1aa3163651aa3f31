# single recordings of the CPU reference: no grade, no interval, no finding
warpsheet diff fixtures/recorded/aa/mlp-r1.wtrace fixtures/recorded/aa/mlp-r2.wtrace --threshold 5 \
	--table diff-verdict --format csv
