/*
 * Whether a program is one of CUDA, seen from outside: where nothing of a GPU
 * was recorded, that tells a program that wanted one from `ls`.
 */
#pragma once

#include <stdint.h>

/*
 * 1 when the program in this file holds device code (nvcc's section .nv_fatbin) or names a
 * library of CUDA, to be linked to or loaded. Of a file over 64 MiB its first 64 and its last are
 * looked at.
 */
int ws_cuda_use_of_file(const char *path);

/* 1 when the process has a library of CUDA in its memory now. */
int ws_cuda_use_of_process(uint32_t pid);
