/*
 * CUDA's place in the .cu files when they are compiled for the host:
 *   g++ -x c++ -std=c++17 -include tests/cuda_host/cuda_host.h -DWS_CUDA_HOST -fdata-sections
 * and linked with shared.ld, which gathers their shared memory. This is all of
 * CUDA that kernels may use (kernels/cuda/own/kernel.cuh); the machinery: emulation.h.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tuple>
#include <type_traits>

extern "C" { /* what they declare is C */
#include "formats/base/status.h"
#include "kernels/graph/op.h"
}
#include "tests/cuda_host/emulation.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__   static /* found by its section: shared.ld */
/* as the compiler likes: forced, these take four times as long to compile with sanitizers */
#define __forceinline__ inline
#define __align__(n)    __attribute__((aligned(n)))
#define __launch_bounds__(...)

typedef void *cudaStream_t;

struct dim3 {
	unsigned x, y, z;

	constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
};

#define threadIdx (*ws_host_thread)
#define blockIdx  ws_host_block
#define blockDim  ws_host_block_dim
#define gridDim   ws_host_grid_dim

/* --- barriers, shuffles, votes ---------------------------------------------------------------- */

#define WS_HOST_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(WS_HOST_PLACE)
{
	ws_host_sync_threads(file, line);
}

static inline void __syncwarp(unsigned mask = 0xffffffffu, WS_HOST_PLACE)
{
	ws_host_ballot(mask, false, file, line);
}

template <typename T>
static inline T ws_host_read_lane(unsigned mask, T value, int from, const char *file, int line)
{
	T result;

	static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
	ws_host_shuffle(mask, from, &value, &result, sizeof(T), file, line);
	return result;
}

template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, WS_HOST_PLACE)
{
	int first = ws_host_lane() & ~(width - 1);

	return ws_host_read_lane(mask, value, first + (from & (width - 1)), file, line);
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, WS_HOST_PLACE)
{
	int lane = ws_host_lane(), end = (lane & ~(width - 1)) + width, from = lane ^ bits;

	return ws_host_read_lane(mask, value, from < end ? from : lane, file, line);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned step, int width = 32,
                                 WS_HOST_PLACE)
{
	int lane = ws_host_lane(), end = (lane & ~(width - 1)) + width, from = lane + (int)step;

	return ws_host_read_lane(mask, value, from < end ? from : lane, file, line);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned step, int width = 32, WS_HOST_PLACE)
{
	int lane = ws_host_lane(), first = lane & ~(width - 1), from = lane - (int)step;

	return ws_host_read_lane(mask, value, from >= first ? from : lane, file, line);
}

static inline unsigned __ballot_sync(unsigned mask, int value, WS_HOST_PLACE)
{
	return ws_host_ballot(mask, value != 0, file, line);
}

static inline int __any_sync(unsigned mask, int value, WS_HOST_PLACE)
{
	return ws_host_ballot(mask, value != 0, file, line) != 0;
}

static inline int __all_sync(unsigned mask, int value, WS_HOST_PLACE)
{
	return ws_host_ballot(mask, value != 0, file, line) == mask;
}

/* --- single instructions ---------------------------------------------------------------------- */

template <typename T> static inline T __ldg(const T *from)
{
	return *from;
}

/* fibers take turns only where they wait: what lies between two waits is atomic */
template <typename T> static inline T atomicAdd(T *at, T value)
{
	T old = *at;

	static_assert(std::is_integral<T>::value, "atomics on floats have no order");
	*at = (T)(old + value);
	return old;
}

template <typename T> static inline T atomicOr(T *at, T value)
{
	T old = *at;

	*at = old | value;
	return old;
}

template <typename T> static inline T atomicMax(T *at, T value)
{
	T old = *at;

	static_assert(std::is_integral<T>::value, "atomics on floats have no order");
	*at = old < value ? value : old;
	return old;
}

template <typename To, typename From> static inline To ws_host_bits(From from)
{
	To to;

	static_assert(sizeof(to) == sizeof(from), "a bit cast keeps the size");
	memcpy(&to, &from, sizeof(to));
	return to;
}

static inline unsigned __float_as_uint(float x)
{
	return ws_host_bits<unsigned>(x);
}

static inline float __uint_as_float(unsigned x)
{
	return ws_host_bits<float>(x);
}

static inline int __float_as_int(float x)
{
	return ws_host_bits<int>(x);
}

static inline float __int_as_float(int x)
{
	return ws_host_bits<float>(x);
}

static inline int __popc(unsigned x)
{
	return __builtin_popcount(x);
}

static inline int __ffs(int x)
{
	return __builtin_ffs(x);
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((uint64_t)a * b >> 32);
}

static inline uint64_t __umul64hi(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* --- launching -------------------------------------------------------------------------------- */

#define WS_HOST_PARAMETERS_MAX_BYTES 32764 /* of a kernel, sm_70 and later */

template <typename... Parameters> struct ws_host_call {
	void (*kernel)(Parameters...);
	std::tuple<Parameters...> arguments;
};

template <typename... Parameters> static void ws_host_enter(const void *arg)
{
	const struct ws_host_call<Parameters...> *call =
	        (const struct ws_host_call<Parameters...> *)arg;

	std::apply(call->kernel, call->arguments);
}

template <typename... Parameters, typename... Arguments>
static enum ws_status ws_host_start(const char *name, dim3 grid, dim3 block, uint64_t shared_bytes,
                                    struct ws_err *err, void (*kernel)(Parameters...),
                                    const Arguments &...arguments)
{
	struct ws_host_call<Parameters...> call = {
		kernel, std::tuple<Parameters...>(arguments...)
	};
	struct ws_host_launch launch = {name,
	                                {grid.x, grid.y, grid.z},
	                                {block.x, block.y, block.z},
	                                shared_bytes};

	static_assert((sizeof(Parameters) + ... + 0) <= WS_HOST_PARAMETERS_MAX_BYTES,
	              "more parameters than a kernel may have");
	return ws_host_run(&launch, ws_host_enter<Parameters...>, &call, err);
}

#define WS_LAUNCH(launch, err, kernel, grid, block, shared_bytes, ...) \
	((void)(launch)->stream,                                       \
	 ws_host_start(#kernel, (grid), (block), (shared_bytes), (err), (kernel), __VA_ARGS__))

#define WS_SHARED_DYNAMIC(type, name) type *name = (type *)ws_host_shared()
