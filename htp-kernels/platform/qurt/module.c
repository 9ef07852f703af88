/* What the loader looks for in a DSP library, besides the interface's entry point. */

#define EXPORTED __attribute__((visibility("default")))

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* Says how the host is to name this library. */
EXPORTED const char htp_iface_skel_handle_invoke_uri[] = "file:///libggml-htp-v" TEXT(
    __HEXAGON_ARCH__) ".so?htp_iface_skel_handle_invoke&_modver=1.0";

#ifndef HTP_SDK_HEADERS
/*
 * Run by the loader; the SDK's linker brings its own. There are no constructors, destructors or exception frames to
 * register, but all shipped libraries have both, so a loader may count on them.
 */
void _init(void);
void _fini(void);
void _init(void) {}
void _fini(void) {}
#endif
