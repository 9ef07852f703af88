/* What src/ggml/bindings/ggml_*.rs are generated from; the include path is that of the ggml version in the file name. */
#include "ggml-backend-impl.h"
#include "ggml.h"
