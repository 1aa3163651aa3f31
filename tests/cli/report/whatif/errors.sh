# what is wrong, and what would be right; each is a wrong use
wrong() {
	warpsheet report fixtures/traces/step-fp32.wtrace "$@"
	[ $? = 2 ] || echo "exit status is not 2: $*"
}
wrong --whatif class=gemm
wrong --whatif 'clas=gemm x0.5'
wrong --whatif 'class=gem x0.5'
wrong --whatif 'class~gemm x0.5'
wrong --whatif 'cause=waiting for launchs x0'
wrong --whatif dtype=bf61
wrong --whatif gpu=H20O
wrong --whatif 'gpu=H200 x0.5'
wrong --whatif 'kernel~( x0'
wrong --whatif 'kernel~nobody x0'
wrong --whatif 'range~nowhere x0'
wrong --whatif ''
wrong --table whatif
wrong fixtures/traces/step-fp32.wtrace --whatif 'class=gemm x0.5'
