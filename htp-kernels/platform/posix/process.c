/*
 * The DSP process: a receiver thread reads what the host sends and passes it on, the main thread runs remote calls in
 * their order. Nothing that the host sends may crash this process; what cannot be understood is logged and ignored.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/platform.h"
#include "platform/posix/posix.h"
#include "runtime/aee.h"
#include "runtime/log.h"
#include "skel/skel.h"

#define MAX_MESSAGE (128 * 1024)
#define PARENT_CHECK_MS 1000
#define MAX_ARGS (255 + 255 + 15 + 15) /* what a scalars word can count */

struct call {
    struct call *next;
    struct posix_header header;
    uint8_t data[];
};

static int host_socket = -1; /* set before there are threads */

static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t calls_changed = PTHREAD_COND_INITIALIZER;
static struct call *first_call, **last_call = &first_call;

int posix_send(struct posix_header *header, const void *data, uint32_t bytes) {
    if (host_socket < 0)
        return -1;
    header->bytes = bytes;
    struct iovec parts[2] = {
        {.iov_base = header, .iov_len = sizeof(*header)},
        {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = bytes > 0 ? 2 : 1};
    ssize_t sent;
    do {
        sent = sendmsg(host_socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

/* ---- remote calls ---- */

static uint64_t join_words(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

static uint32_t padded(uint32_t bytes) { return (bytes + 3) & ~3u; } /* bytes <= MAX_MESSAGE */

/* Reads the length of the next buffer at *at; false when the data ends or the length cannot be true. */
static bool read_length(const struct call *call, uint32_t *at, uint32_t *length) {
    if (call->header.bytes - *at < sizeof(*length))
        return false;
    memcpy(length, call->data + *at, sizeof(*length));
    *at += (uint32_t)sizeof(*length);
    return *length <= MAX_MESSAGE;
}

struct arguments {
    uint32_t n_in, n_out, n_in_handles, n_out_handles;
    skel_arg arg[MAX_ARGS];
    uint8_t *reply; /* data of the reply: the output buffers lie in it, each behind its length */
    uint32_t reply_bytes;
};

static bool unpack_inputs(struct call *call, struct arguments *args, uint32_t *at) {
    for (uint32_t i = 0; i < args->n_in; i++) {
        uint32_t length;
        if (!read_length(call, at, &length) || padded(length) > call->header.bytes - *at)
            return false;
        args->arg[i].buf.pv = call->data + *at;
        args->arg[i].buf.nLen = length;
        *at += padded(length);
    }
    return true;
}

static bool unpack_outputs(const struct call *call, struct arguments *args, uint32_t at) {
    const uint32_t lengths_at = at;
    uint32_t length;
    for (uint32_t i = 0; i < args->n_out; i++) {
        if (!read_length(call, &at, &length))
            return false;
        args->reply_bytes += (uint32_t)sizeof(length) + padded(length);
        if (args->reply_bytes > MAX_MESSAGE - sizeof(struct posix_header))
            return false;
    }
    if (at != call->header.bytes)
        return false;
    args->reply = calloc(1, args->reply_bytes + 1u);
    if (args->reply == NULL)
        return false;
    uint8_t *out = args->reply;
    at = lengths_at;
    for (uint32_t i = 0; i < args->n_out; i++) {
        read_length(call, &at, &length);
        memcpy(out, &length, sizeof(length));
        args->arg[args->n_in + i].buf.pv = out + sizeof(length);
        args->arg[args->n_in + i].buf.nLen = length;
        out += sizeof(length) + padded(length);
    }
    return true;
}

/* A message has room for one handle, which is all that the interface uses. */
static bool unpack(struct call *call, struct arguments *args) {
    const uint32_t scalars = call->header.a;
    memset(args, 0, sizeof(*args));
    args->n_in = scalars >> 16 & 0xff;
    args->n_out = scalars >> 8 & 0xff;
    args->n_in_handles = scalars >> 4 & 0xf;
    args->n_out_handles = scalars & 0xf;
    uint32_t at = 0;
    if (args->n_in_handles > 1 || args->n_out_handles > 1 || !unpack_inputs(call, args, &at) ||
        !unpack_outputs(call, args, at))
        return false;
    if (args->n_in_handles == 1)
        args->arg[args->n_in + args->n_out].h64 = join_words(call->header.c, call->header.d);
    return true;
}

static void run_call(struct call *call) {
    struct arguments args;
    struct posix_header reply = {.kind = POSIX_REPLY, .seq = call->header.seq, .a = call->header.a};
    if (unpack(call, &args)) {
        const uint64_t handle = join_words(call->header.c, call->header.d);
        reply.result = (uint32_t)htp_iface_skel_handle_invoke(handle, call->header.a, args.arg);
        if (args.n_out_handles == 1 && reply.result == 0) {
            const uint64_t opened = args.arg[args.n_in + args.n_out + args.n_in_handles].h64;
            reply.c = (uint32_t)opened;
            reply.d = (uint32_t)(opened >> 32);
        }
    } else {
        HTP_ERROR("call %u: arguments do not fit scalars 0x%x", (unsigned)call->header.seq, (unsigned)call->header.a);
        reply.result = (uint32_t)HTP_AEE_BAD_PARAMETER;
        args.reply_bytes = args.reply == NULL ? 0 : args.reply_bytes;
    }
    if (posix_send(&reply, args.reply, args.reply_bytes) != 0)
        HTP_ERROR("reply to call %u not sent", (unsigned)call->header.seq);
    free(args.reply);
}

static struct call *next_call(void) {
    pthread_mutex_lock(&calls_lock);
    while (first_call == NULL)
        pthread_cond_wait(&calls_changed, &calls_lock);
    struct call *call = first_call;
    first_call = call->next;
    if (first_call == NULL)
        last_call = &first_call;
    pthread_mutex_unlock(&calls_lock);
    return call;
}

/* Answers a call that does not get as far as the skel: the host waits for each of them. */
static void refuse_call(const struct posix_header *call, int error) {
    struct posix_header reply = {.kind = POSIX_REPLY, .seq = call->seq, .a = call->a, .result = (uint32_t)error};
    if (posix_send(&reply, NULL, 0) != 0)
        HTP_ERROR("reply to call %u not sent", (unsigned)call->seq);
}

static void add_call(const struct posix_header *header, const uint8_t *data) {
    struct call *call = malloc(sizeof(*call) + header->bytes);
    if (call == NULL) {
        refuse_call(header, HTP_AEE_NO_MEMORY);
        return;
    }
    call->next = NULL;
    call->header = *header;
    memcpy(call->data, data, header->bytes);
    pthread_mutex_lock(&calls_lock);
    *last_call = call;
    last_call = &call->next;
    pthread_cond_signal(&calls_changed);
    pthread_mutex_unlock(&calls_lock);
}

/* ---- receiver ---- */

/* length: what the host sent, of which no more than MAX_MESSAGE bytes are there */
static void distribute(const uint8_t *message, size_t length) {
    struct posix_header header;
    if (length < sizeof(header)) {
        HTP_WARN("message of %u bytes ignored", (unsigned)length);
        return;
    }
    memcpy(&header, message, sizeof(header));
    const uint8_t *data = message + sizeof(header);
    if (length > MAX_MESSAGE || header.bytes != length - sizeof(header)) {
        HTP_WARN("message of kind %u ignored: %u bytes of data announced, %u came", (unsigned)header.kind,
                 (unsigned)header.bytes, (unsigned)(length - sizeof(header)));
        if (header.kind == POSIX_CALL)
            refuse_call(&header, HTP_AEE_BAD_PARAMETER);
        return;
    }
    switch (header.kind) {
    case POSIX_CALL:
        add_call(&header, data);
        break;
    case POSIX_MAP:
        posix_map_declare(header.a, join_words(header.c, header.d));
        break;
    case POSIX_UNMAP:
        posix_map_remove(header.a);
        break;
    case POSIX_QUEUE:
        posix_queue_declare(join_words(header.a, header.b), header.d);
        break;
    case POSIX_QUEUE_CLOSE:
        posix_queue_remove(join_words(header.a, header.b));
        break;
    case POSIX_PACKET:
        posix_queue_deliver(join_words(header.a, header.b), data, header.bytes);
        break;
    default:
        HTP_WARN("message of unknown kind %u ignored", (unsigned)header.kind);
    }
}

/*
 * Waits until there is something to read, or the host is gone. End of file says so, unless another process holds the
 * host's end as well; then a changed parent does. (PR_SET_PDEATHSIG would not do: it kills this process as soon as the
 * host's *thread* that started it ends.)
 */
static bool wait_for_message(pid_t parent) {
    struct pollfd poller = {.fd = host_socket, .events = POLLIN};
    for (;;) {
        const int ready = poll(&poller, 1, PARENT_CHECK_MS);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
        if (getppid() != parent)
            return false;
    }
}

static void receiver_main(void *arg) {
    static uint8_t message[MAX_MESSAGE];
    const pid_t parent = *(const pid_t *)arg;
    while (wait_for_message(parent)) {
        const ssize_t length = recv(host_socket, message, sizeof(message), MSG_TRUNC);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            break;
        distribute(message, (size_t)length);
    }
    exit(0); /* at once, whatever else runs: nobody waits for results any more */
}

int htp_dsp_main(void) {
    static pid_t parent;
    parent = getppid();
    const uint32_t fd = posix_env("HTP_SIM_SOCKET", 0, INT32_MAX, UINT32_MAX);
    int type = 0;
    socklen_t size = sizeof(type);
    if (fd == UINT32_MAX || getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
        HTP_ERROR("HTP_SIM_SOCKET does not name a socket: this program is started by the simulated driver");
        return 2;
    }
    host_socket = (int)fd;
    /* Signals of the terminal are the host's to act upon; this process ends when the host does. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);

    struct platform_thread *receiver;
    if (platform_thread_start(&receiver, "htp-receiver", 0, receiver_main, &parent) != 0) {
        HTP_ERROR("no receiver thread");
        return 1;
    }
    for (;;) {
        struct call *call = next_call();
        run_call(call);
        free(call);
    }
}
