/* PyTorch in this process: its operations are recorded from ws_pytorch_attach() on. */
#pragma once

#include <stdbool.h>

/* A library of this handle (dlopen, or RTLD_DEFAULT) is PyTorch. */
bool ws_pytorch_is_in(void *handle);
/* Once the process is recorded, and wants operations; a second time it does nothing. */
void ws_pytorch_attach(void *handle);
/* The program is about to push a range of this name, which may be a step. */
void ws_pytorch_saw_range(const char *name);
