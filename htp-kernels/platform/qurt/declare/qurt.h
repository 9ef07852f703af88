/* Stands in for the SDK's qurt.h: the few kernel calls that platform/qurt uses. Layouts are checked in layout.h. */
#ifndef HTP_DECLARE_QURT_H
#define HTP_DECLARE_QURT_H

#include <stddef.h>

#define QURT_EOK 0

/* ---- threads ---- */
typedef unsigned int qurt_thread_t;
typedef struct {
    char name[16];
    unsigned char tcb_partition; /* 0: RAM */
    unsigned char stid;
    unsigned short priority; /* 1 (highest) .. 254 */
    unsigned char flags;
    unsigned char bus_priority;
    unsigned short timetest_id;
    unsigned int stack_size;
    void *stack_addr; /* lowest address */
    unsigned short detach_state; /* 0: can be joined until it has ended */
} qurt_thread_attr_t;

/* Inline in the SDK as well: there are no such symbols to import. */
static inline void qurt_thread_attr_init(qurt_thread_attr_t *attr) {
    *attr = (qurt_thread_attr_t){.priority = 254, .bus_priority = 255, .timetest_id = 0xfffe};
}
static inline void qurt_thread_attr_set_name(qurt_thread_attr_t *attr, const char *name) {
    size_t i = 0;
    for (; i + 1 < sizeof(attr->name) && name[i] != 0; i++)
        attr->name[i] = name[i];
    attr->name[i] = 0;
}
static inline void qurt_thread_attr_set_priority(qurt_thread_attr_t *attr, unsigned short priority) {
    attr->priority = priority;
}
static inline void qurt_thread_attr_set_stack_size(qurt_thread_attr_t *attr, unsigned int size) {
    attr->stack_size = size;
}
static inline void qurt_thread_attr_set_stack_addr(qurt_thread_attr_t *attr, void *address) {
    attr->stack_addr = address;
}

int qurt_thread_create(qurt_thread_t *thread, qurt_thread_attr_t *attr, void (*entry)(void *), void *arg);
int qurt_thread_join(unsigned int thread, int *status);
qurt_thread_t qurt_thread_get_id(void);
int qurt_thread_get_priority(qurt_thread_t thread); /* -1: no such thread */

int qurt_futex_wait(void *word, int value);
int qurt_futex_wake(void *word, int count);

/* ---- HVX ---- */
typedef enum { QURT_HVX_MODE_64B = 0, QURT_HVX_MODE_128B = 1 } qurt_hvx_mode_t;
int qurt_hvx_get_units(void); /* bits 15..8: contexts of 128 bytes */
int qurt_hvx_lock(qurt_hvx_mode_t mode);
int qurt_hvx_unlock(void);

/* ---- performance monitor ---- */
enum {
    QURT_PMUCNT0 = 0, /* counters 0 .. 3 */
    QURT_PMUCFG = 4,
    QURT_PMUEVTCFG = 5,
    QURT_PMUCNT4 = 6, /* counters 4 .. 7 */
    QURT_PMUEVTCFG1 = 10
};
void qurt_pmu_set(int reg, unsigned int value);
unsigned int qurt_pmu_get(int reg);
void qurt_pmu_enable(int enable);

/* ---- caches ---- */
typedef unsigned int qurt_addr_t;
typedef unsigned int qurt_size_t;
typedef enum { QURT_MEM_CACHE_FLUSH_INVALIDATE_ALL = 4 } qurt_mem_cache_op_t;
typedef enum { QURT_MEM_ICACHE = 0, QURT_MEM_DCACHE = 1 } qurt_mem_cache_type_t;
int qurt_mem_cache_clean(qurt_addr_t address, qurt_size_t size, qurt_mem_cache_op_t op, qurt_mem_cache_type_t type);

#endif
