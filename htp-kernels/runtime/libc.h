/*
 * The few C library functions that runtime/ and skel/ use. The device build has no libc headers, only the library, so
 * they are declared here when the headers are missing.
 */
#ifndef HTP_LIBC_H
#define HTP_LIBC_H

#include <stddef.h>

#if defined(__has_include)
#if __has_include(<stdlib.h>)
#define HTP_HAS_LIBC_HEADERS
#endif
#endif

#ifdef HTP_HAS_LIBC_HEADERS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#else
void *memcpy(void *dst, const void *src, size_t size);
void *memset(void *dst, int value, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void free(void *memory);
int snprintf(char *text, size_t size, const char *format, ...);
#endif

#endif
