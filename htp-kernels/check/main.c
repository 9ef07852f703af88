/* The check as a program of its own. */
#include "check/check.h"

int main(int argc, char **argv) { return htp_check_main(argc, argv); }
