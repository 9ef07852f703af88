/* Formatted log lines, cut at a fixed length. A macro and not a function: no varargs of our own. */
#ifndef HTP_LOG_H
#define HTP_LOG_H

#include "platform/platform.h"
#include "runtime/libc.h"

#define HTP_LOG_BYTES 200 /* small: it lives on the stacks of worker threads */

#define HTP_LOG(level, ...)                                 \
    do {                                                    \
        char htp_log_text[HTP_LOG_BYTES];                   \
        snprintf(htp_log_text, HTP_LOG_BYTES, __VA_ARGS__); \
        platform_log((level), htp_log_text);                \
    } while (0)

#define HTP_DEBUG(...) HTP_LOG(PLATFORM_LOG_DEBUG, __VA_ARGS__)
#define HTP_INFO(...) HTP_LOG(PLATFORM_LOG_INFO, __VA_ARGS__)
#define HTP_WARN(...) HTP_LOG(PLATFORM_LOG_WARN, __VA_ARGS__)
#define HTP_ERROR(...) HTP_LOG(PLATFORM_LOG_ERROR, __VA_ARGS__)

#endif
