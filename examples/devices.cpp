// A C++ program that links the library: the names of the Hexagon devices, and what each can do.
//
//   c++ -std=c++17 devices.cpp -I<ggml>/include -I<ggml-hexagon>/include -L<libs> -lggml-hexagon -lggml -lggml-base
#include <cstdio>
#include <memory>

#include "ggml-cpp.h"
#include "ggml-hexagon.h"

int main() {
    ggml_backend_reg_t reg = ggml_backend_hexagon_reg();
    if (reg == nullptr) {
        std::fprintf(stderr, "this ggml is not supported, see the log above\n");
        return 1;
    }
    const size_t count = ggml_backend_reg_dev_count(reg);
    for (size_t i = 0; i < count; i++) {
        ggml_backend_dev_t dev = ggml_backend_reg_dev_get(reg, i);
        size_t free = 0, total = 0;
        ggml_backend_dev_memory(dev, &free, &total);
        std::printf("%s (%s): %zu of %zu MiB free\n", ggml_backend_dev_name(dev), ggml_backend_dev_description(dev),
                    free >> 20, total >> 20);
        const ggml_backend_ptr backend{ggml_backend_dev_init(dev, nullptr)};
        if (!ggml_backend_is_hexagon(backend.get())) {
            return 1;
        }
    }
    return count == 0 ? 1 : 0;
}
