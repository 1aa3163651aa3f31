/* One of NVIDIA's libraries, as far as it tells its version; FAKE says which. */
#include <stddef.h>

#define CUBLAS   1
#define CUBLASLT 2
#define CUDNN    3
#define NCCL     4

#if FAKE == CUBLAS
int cublasGetProperty(int property, int *value);
int cublasGetProperty(int property, int *value)
{
	static const int version[] = {13, 1, 0};

	*value = version[property];
	return 0;
}
#elif FAKE == CUBLASLT
size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void)
{
	return 120805;
}
#elif FAKE == CUDNN
size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void)
{
	return 8907; /* as versions were numbered before 9 */
}
#elif FAKE == NCCL
int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	*version = 22809;
	return 0;
}
#endif
