/* Opens libraries given on the command line, the plug-in last, and asks the plug-in for its registry. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = NULL;
    for (int i = 1; i < argc; i++) {
        library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            printf("%s\n", dlerror());
            return 2;
        }
    }
    void *(*init)(void) = (void *(*)(void))dlsym(library, "ggml_backend_init");
    if (!init) return 2;
    printf("%s\n", init() ? "registered" : "refused");
    return 0;
}
