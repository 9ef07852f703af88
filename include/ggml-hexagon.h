/*
 * ggml-hexagon: a ggml backend for the Hexagon NPU.
 *
 * For programs that link libggml-hexagon. Programs that load ggml backends as plug-ins (GGML_BACKEND_DL) need no
 * header: set GGML_BACKEND_PATH, or put libggml-hexagon.so beside the executable.
 */
#ifndef GGML_HEXAGON_H
#define GGML_HEXAGON_H

#include "ggml-backend.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The registry "HTP" with devices HTP0, HTP1, ... It has no device when the machine has no usable DSP; the log says
 * why. NULL when the program's ggml is not one that the library knows. */
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_hexagon_reg(void);

/* A backend on the first device, NULL when there is none. Free it with ggml_backend_free. */
GGML_BACKEND_API ggml_backend_t ggml_backend_hexagon_init(void);

/* Whether backend (which may be NULL) belongs to this library. */
GGML_BACKEND_API bool ggml_backend_is_hexagon(ggml_backend_t backend);

#ifdef __cplusplus
}
#endif

#endif
