for table in kernel-summary ranges range-kernels softmax-matmul steps; do
	echo "== $table"
	warpsheet report fixtures/traces/step-fp32.wtrace --table $table --format csv | tr -d "\r" | head -n 12
done
