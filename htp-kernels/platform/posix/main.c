/* The program of builds without Rust, such as the one for qemu-hexagon. */
#include "platform/posix/posix.h"

int main(void) { return htp_dsp_main(); }
