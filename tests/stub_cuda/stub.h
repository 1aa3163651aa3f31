/*
 * A CUDA runtime, driver, cuBLAS and cuDNN for machines without a GPU: libraries of the real
 * ones' names, so that the very programs that run on a GPU run here (LD_LIBRARY_PATH). Device
 * memory is the host's. Kernels that nvcc compiled do nothing. What the project asks of the
 * libraries is written down, and, where it is asked for, computed. By the environment:
 *
 *   WS_STUB_LOG      file to which a line is added for each thing that cuBLAS and cuDNN are asked
 *   WS_STUB_COMPUTE  1: products and convolutions are computed (in fp32, operands rounded as
 *                    TF32 has them where that is asked for); else they do nothing
 *   WS_STUB_TF32     what becomes of operands of TF32: rounded; "cut"; "mixed": products cut,
 *                    convolutions rounded; "bf16": what no hardware does
 *   WS_STUB_GPUS     GPUs that there are: 1
 *
 * The driver loads the recorder's collector and tells the CUPTI of tests/recorder/cuda what
 * is launched, when there is one.
 */
#pragma once

#include <stdint.h>

#define STUB_MEMORY_BYTES (UINT64_C(80) << 30) /* the smallest of those that lend themselves */
#define STUB_SM_COUNT     132

/* Of the environment, 0 where it says nothing. */
long stub_setting(const char *name);
/* A line of the log. */
void stub_asked(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Elements of device memory as numbers and back. type: cudaDataType of 32 or 16 bits. */
float stub_load(const void *data, int64_t index, int type);
/* An operand as it is read as TF32. convolution: of one, else of a product. */
float stub_tf32(float value, int convolution);
void stub_store(void *data, int64_t index, int type, float value);
