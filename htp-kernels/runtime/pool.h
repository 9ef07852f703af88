/* The worker threads of a session, behind htp_parallel of exec.h. */
#ifndef HTP_POOL_H
#define HTP_POOL_H

#include <stdint.h>

#include "runtime/exec.h"

#define HTP_MAX_THREADS 16 /* the caller included; more HVX contexts than any DSP has */

struct htp_pool;

/* n_threads: 1 .. HTP_MAX_THREADS, the caller of htp_pool_run included. 0 or a DSP error code. */
int htp_pool_start(struct htp_pool **pool, uint32_t n_threads);
/* fn(arg, i, n) for i = 0 .. n-1, i = 0 on the caller. One caller at a time. */
void htp_pool_run(struct htp_pool *pool, uint32_t n, htp_thread_fn fn, void *arg);
uint32_t htp_pool_threads(const struct htp_pool *pool);
/* No htp_pool_run may be under way. pool may be NULL. */
void htp_pool_stop(struct htp_pool *pool);

#endif
