/*
 * What graphs of cuDNN's backend API compute, in fp32 on the host, operation by operation.
 */
#pragma once

#include <cudnn.h>
#include <stdint.h>

struct dnn_tensor {
	int64_t dim[4], stride[4]; /* of a convolution: n or k, c, h or r, w or s */
	int type;                  /* cudaDataType; between operations integers are fp32, too */
	int64_t id;
	void *data; /* NULL: only between operations */
};

enum dnn_direction { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_FILTER };

struct dnn_conv {
	enum dnn_direction direction;
	struct dnn_tensor x, w, y;
	int64_t pad[2], stride[2];
	int tf32; /* operands rounded so */
};

void dnn_convolve(const struct dnn_conv *conv);

/* y = a product x b, mode(x, b) by element, a reduction of x, or x read in another order. */
struct dnn_operation {
	cudnnBackendDescriptorType_t type;
	int mode;     /* cudnnPointwiseMode_t or cudnnReduceTensorOp_t */
	int64_t axis; /* of CUDNN_POINTWISE_GEN_INDEX */
	struct dnn_tensor x, b, choice, y;
};

/* One after the other; 0 when one is none of the known. */
int dnn_run(const struct dnn_operation *operations, int64_t count);
