/* Operations of a PyTorch that is none: see fake_torch.c. */
#pragma once

#include <stdint.h>

/* An operation whose input is a tensor of one dimension of this size. */
void fake_op(const char *name, int64_t size);
/* Annotations (record_function) inside each other, all of which end. */
void fake_ranges(const char *name, unsigned depth);
