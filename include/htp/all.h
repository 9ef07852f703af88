/* Everything the host's bindings are generated from. */
#include "params.h"
#include "tiles.h"
#include "wire.h"
