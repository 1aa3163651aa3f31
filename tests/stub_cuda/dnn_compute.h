/*
 * What graphs of cuDNN's backend API compute, in fp32 on the host, operation by operation; and what
 * its functions for whole ops compute, as its documentation has it.
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

/* A batch norm over n, h and w, or its gradient: y is dx then, dy set, dscale written. */
struct dnn_norm {
	struct dnn_tensor x, dy, y;
	const float *scale;
	float *dscale;
	float *mean, *inverse; /* of the batch: written, or read by the gradient */
	double eps;
};

void dnn_normalise(const struct dnn_norm *n, const float *bias, double momentum,
                   float *running_mean, float *running_var);
void dnn_normalise_grad(const struct dnn_norm *n, float *dbias);

/* to = log(softmax(x)) of each first size or, with dy, the gradient of x from that result. */
void dnn_log_softmax(const struct dnn_tensor *x, const struct dnn_tensor *dy,
                     const struct dnn_tensor *to);
