/* A libggml-base of a version that does not exist: what a plug-in meets when a program brings a newer ggml. */
#include <stdarg.h>
#include <stdio.h>

const char *ggml_version(void) { return "9.9.9"; }
const char *ggml_op_name(int op) { return op ? "SOMETHING" : "NONE"; }
const char *ggml_type_name(int type) { return type ? "something" : "f32"; }
void ggml_log_internal(int level, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "[%d] ", level);
    vfprintf(stderr, format, args);
    va_end(args);
}
void *ggml_backend_buffer_init(void) { return NULL; }
unsigned long ggml_nbytes(void) { return 0; }
int ggml_graph_n_nodes(void) { return 0; }
void *ggml_graph_nodes(void) { return NULL; }
