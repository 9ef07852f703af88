/* Threads, sleeping and waking. */
#include "platform/platform.h"
#include "platform/qurt/layout.h"
#include "runtime/aee.h"
#include "runtime/libc.h"

void *memalign(size_t align, size_t size);

#define STACK_ALIGN 128
#define DEFAULT_PRIORITY 192 /* of the threads that serve remote calls */
#define LOWEST_PRIORITY 254
#define WAKE_ALL 256 /* more than a process may have threads */

struct platform_thread {
    qurt_thread_t id;
    platform_thread_fn fn;
    void *arg;
    void *stack;
};

/* From v73 on a thread gets its HVX context at the first vector instruction; before, it has to ask. */
static void take_hvx(void) {
#if __HEXAGON_ARCH__ < 73
    if (qurt_hvx_lock != NULL)
        qurt_hvx_lock(QURT_HVX_MODE_128B);
#endif
}

static void give_hvx(void) {
#if __HEXAGON_ARCH__ < 73
    if (qurt_hvx_unlock != NULL)
        qurt_hvx_unlock();
#endif
}

static void thread_main(void *arg) {
    const struct platform_thread *thread = arg;
    take_hvx();
    thread->fn(thread->arg);
    give_hvx();
}

/* All threads of a session have the priority of the remote call that starts it. */
static unsigned short own_priority(void) {
    const int priority = qurt_thread_get_priority(qurt_thread_get_id());
    if (priority < 1)
        return DEFAULT_PRIORITY;
    return (unsigned short)(priority > LOWEST_PRIORITY ? LOWEST_PRIORITY : priority);
}

int platform_thread_start(struct platform_thread **out, const char *name, size_t stack_bytes, platform_thread_fn fn,
                          void *arg) {
    *out = NULL;
    stack_bytes = (stack_bytes + STACK_ALIGN - 1) & ~(size_t)(STACK_ALIGN - 1);
    struct platform_thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL)
        return HTP_AEE_NO_MEMORY;
    thread->fn = fn;
    thread->arg = arg;
    thread->stack = memalign(STACK_ALIGN, stack_bytes);
    if (thread->stack == NULL) {
        free(thread);
        return HTP_AEE_NO_MEMORY;
    }
    qurt_thread_attr_t attr;
    qurt_thread_attr_init(&attr);
    qurt_thread_attr_set_name(&attr, (char *)(uintptr_t)name); /* the SDK's parameter is not const */
    qurt_thread_attr_set_stack_addr(&attr, thread->stack);
    qurt_thread_attr_set_stack_size(&attr, stack_bytes);
    qurt_thread_attr_set_priority(&attr, own_priority());
    if (qurt_thread_create(&thread->id, &attr, thread_main, thread) != QURT_EOK) {
        free(thread->stack);
        free(thread);
        return HTP_AEE_NO_THREAD;
    }
    *out = thread;
    return 0;
}

void platform_thread_join(struct platform_thread *thread) {
    int status;
    qurt_thread_join(thread->id, &status); /* an error says that it has ended already */
    free(thread->stack);
    free(thread);
}

void platform_wait(volatile uint32_t *word, uint32_t value) { qurt_futex_wait((void *)(uintptr_t)word, (int)value); }

void platform_wake_all(volatile uint32_t *word) { qurt_futex_wake((void *)(uintptr_t)word, WAKE_ALL); }
