/*
 * Stands in for the SDK's HAP_compute_res.h: VTCM from the compute resource manager. As there, the names to call are
 * inline functions, and the imports behind them are weak: an image without the manager says "unsupported".
 */
#ifndef HTP_DECLARE_COMPUTE_RES_H
#define HTP_DECLARE_COMPUTE_RES_H

#include <stdint.h>

#define HAP_COMPUTE_RES_NOT_SUPPORTED ((int)0x80000404)
#define HTP_RES_ATTR_VERSION 0x300

/* Filled by the manager alone. Older managers use the first 64 bytes. */
typedef struct {
    uint64_t opaque[20];
} compute_res_attr_t;

typedef struct {
    unsigned int page_size, num_pages;
} compute_res_vtcm_page_t;

typedef struct compute_res_vtcm_page_info {
    unsigned int block_size, page_list_len;
    compute_res_vtcm_page_t page_list[8];
} compute_res_vtcm_page_t_list;

#define HTP_WEAK __attribute__((weak))
int compute_resource_attr_init(compute_res_attr_t *attr) HTP_WEAK;
int compute_resource_attr_init_v2(compute_res_attr_t *attr, unsigned int size, unsigned int version) HTP_WEAK;
int compute_resource_attr_set_serialize(compute_res_attr_t *attr, unsigned char on) HTP_WEAK;
int compute_resource_attr_set_cache_mode(compute_res_attr_t *attr, unsigned char on) HTP_WEAK;
int compute_resource_attr_set_hmx_param(compute_res_attr_t *attr, unsigned char on) HTP_WEAK;
int compute_resource_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int size, unsigned int min_page,
                                            unsigned int min_size) HTP_WEAK;
int compute_resource_attr_set_release_callback(compute_res_attr_t *attr, int (*release)(unsigned int, void *),
                                               void *context) HTP_WEAK;
int compute_resource_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **address, unsigned int *size) HTP_WEAK;
int compute_resource_query_VTCM(unsigned int application, unsigned int *total, compute_res_vtcm_page_t_list *total_layout,
                                unsigned int *free_bytes, compute_res_vtcm_page_t_list *free_layout) HTP_WEAK;
unsigned int compute_resource_acquire(compute_res_attr_t *attr, unsigned int timeout_us) HTP_WEAK;
int compute_resource_release(unsigned int context) HTP_WEAK;
int compute_resource_acquire_cached(unsigned int context, unsigned int timeout_us) HTP_WEAK;
int compute_resource_release_cached(unsigned int context) HTP_WEAK;
int compute_resource_hmx_lock(unsigned int context) HTP_WEAK;
int compute_resource_hmx_unlock(unsigned int context) HTP_WEAK;

/* value of a call to a function that may be missing */
#define HTP_RES_CALL(function, ...) ((function) == 0 ? HAP_COMPUTE_RES_NOT_SUPPORTED : (function)(__VA_ARGS__))

static inline int HAP_compute_res_attr_init(compute_res_attr_t *attr) {
    if (HTP_RES_CALL(compute_resource_attr_init_v2, attr, sizeof(*attr), HTP_RES_ATTR_VERSION) == 0)
        return 0;
    return HTP_RES_CALL(compute_resource_attr_init, attr);
}
static inline int HAP_compute_res_attr_set_serialize(compute_res_attr_t *attr, unsigned char on) {
    return HTP_RES_CALL(compute_resource_attr_set_serialize, attr, on);
}
static inline int HAP_compute_res_attr_set_cache_mode(compute_res_attr_t *attr, unsigned char on) {
    return HTP_RES_CALL(compute_resource_attr_set_cache_mode, attr, on);
}
static inline int HAP_compute_res_attr_set_hmx_param(compute_res_attr_t *attr, unsigned char on) {
    return HTP_RES_CALL(compute_resource_attr_set_hmx_param, attr, on);
}
static inline int HAP_compute_res_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int size,
                                                         unsigned int min_page, unsigned int min_size) {
    return HTP_RES_CALL(compute_resource_attr_set_vtcm_param_v2, attr, size, min_page, min_size);
}
static inline int HAP_compute_res_attr_set_release_callback(compute_res_attr_t *attr,
                                                            int (*release)(unsigned int, void *), void *context) {
    return HTP_RES_CALL(compute_resource_attr_set_release_callback, attr, release, context);
}
static inline int HAP_compute_res_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **address, unsigned int *size) {
    return HTP_RES_CALL(compute_resource_attr_get_vtcm_ptr_v2, attr, address, size);
}
static inline int HAP_compute_res_query_VTCM(unsigned int application, unsigned int *total,
                                             compute_res_vtcm_page_t_list *total_layout, unsigned int *free_bytes,
                                             compute_res_vtcm_page_t_list *free_layout) {
    return HTP_RES_CALL(compute_resource_query_VTCM, application, total, total_layout, free_bytes, free_layout);
}
/* Here 0 means failure. */
static inline unsigned int HAP_compute_res_acquire(compute_res_attr_t *attr, unsigned int timeout_us) {
    return compute_resource_acquire == 0 ? 0 : compute_resource_acquire(attr, timeout_us);
}
static inline int HAP_compute_res_release(unsigned int context) {
    return HTP_RES_CALL(compute_resource_release, context);
}
static inline int HAP_compute_res_acquire_cached(unsigned int context, unsigned int timeout_us) {
    return HTP_RES_CALL(compute_resource_acquire_cached, context, timeout_us);
}
static inline int HAP_compute_res_release_cached(unsigned int context) {
    return HTP_RES_CALL(compute_resource_release_cached, context);
}
static inline int HAP_compute_res_hmx_lock(unsigned int context) {
    return HTP_RES_CALL(compute_resource_hmx_lock, context);
}
static inline int HAP_compute_res_hmx_unlock(unsigned int context) {
    return HTP_RES_CALL(compute_resource_hmx_unlock, context);
}

#endif
