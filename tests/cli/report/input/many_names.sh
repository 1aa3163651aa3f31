# ten thousand names of kernels are classified in a second: reading each rule for each name anew takes minutes
{
	echo '{"traceEvents":['
	seq 10000 | sed 's/.*/{"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, &ul> >(int)","pid":0,"tid":7,"ts":&,"dur":1,"args":{"device":0,"stream":7,"correlation":&}},/'
	echo ']}'
} >many.json
ulimit -t 60
warpsheet report many.json --table classes --columns class,kernels --format csv
