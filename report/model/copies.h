#pragma once

#include "report/model/model.h"

/* Copies in one direction, or fills: what they are called, from 0 to WS_COPY_NAMES - 1. */
#define WS_COPY_NAMES 15u
uint32_t ws_copy_name_of(const struct ws_work *w); /* a copy or fill */
const char *ws_copy_name(uint32_t name);
