/*
 * The ops of the family: what they demand of their sources, and how those make up the states that walk.c walks over.
 *
 * detail of a failure: 0 sources missing, 16 + operand (sources in order, 31 dst) whose type or layout is not taken,
 * 32 + operand (47 dst) whose size does not fit, 48 too many parts, 49 rows of the state that are too long, 50 the
 * number of snapshots; for HTP_STATUS_BAD_INDEX the sequence whose state does not exist
 */
#include "ops/recurrent/recurrent.h"

#include "htp/params.h"

#define DST 15                     /* as an operand */
#define MAX_ELEMENTS (1ull << 31) /* no memory has more; products of it with 32 bits stay below 2^64 */

uint32_t htp_recurrent(struct htp_exec *exec);

static bool is_f32(const struct htp_view *v) {
    return v->type == HTP_TYPE_F32 && v->layout == HTP_LAYOUT_ROWS && v->nb[0] == 4;
}

static bool has_shape(const struct htp_view *v, uint32_t n0, uint32_t n1, uint32_t n2, uint32_t n3) {
    return v->ne[0] == n0 && v->ne[1] == n1 && v->ne[2] == n2 && v->ne[3] == n3;
}

/* The product of sizes; false when one is zero or there are more elements than memory has. */
static bool count(uint64_t *elements, const uint32_t *sizes, uint32_t n) {
    *elements = 1;
    for (uint32_t i = 0; i < n; i++) {
        *elements *= sizes[i];
        if (*elements == 0 || *elements > MAX_ELEMENTS)
            return false;
    }
    return true;
}

/* Whether f32 lie one after the other, as many as that. */
static bool is_block_of(const struct htp_view *v, uint64_t elements) {
    uint64_t n;
    if (!count(&n, v->ne, HTP_MAX_DIMS) || n != elements)
        return false;
    uint64_t step = 4;
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (v->ne[i] != 1 && v->nb[i] != step)
            return false;
        step *= v->ne[i];
    }
    return true;
}

static uint32_t wrong_size(struct htp_exec *exec, uint32_t operand) {
    return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + operand);
}

static uint32_t set_delta_net(struct htp_exec *exec, struct recurrent *r) {
    const struct htp_view *const v = r->src[2], *const gate = r->src[3];
    const uint32_t size = v->ne[0], heads = v->ne[1], tokens = v->ne[2], sequences = v->ne[3];
    for (uint32_t i = 0; i < 2; i++) { /* q and k may have fewer heads and sequences, which repeat */
        const struct htp_view *const x = r->src[i];
        if (x->ne[0] != size || x->ne[1] == 0 || x->ne[2] != tokens || x->ne[3] == 0 || sequences % x->ne[3] != 0)
            return wrong_size(exec, i);
    }
    if (!has_shape(gate, gate->ne[0] == 1 ? 1 : size, heads, tokens, sequences))
        return wrong_size(exec, 3);
    if (!has_shape(r->src[4], 1, heads, tokens, sequences))
        return wrong_size(exec, 4);
    r->units = heads;
    r->unit_rows = r->length = size;
    r->tokens = tokens;
    r->sequences = r->states = sequences;
    r->state = r->src[5];
    return HTP_STATUS_OK;
}

static uint32_t set_scan(struct htp_exec *exec, struct recurrent *r) {
    const struct htp_view *const state = r->src[0], *const x = r->src[1], *const decay = r->src[3];
    const struct htp_view *const b = r->src[4], *const ids = r->src[6];
    const uint32_t length = state->ne[0], size = x->ne[0], heads = x->ne[1], tokens = x->ne[2], sequences = x->ne[3];
    if (state->ne[1] != size || state->ne[2] != heads)
        return wrong_size(exec, 0);
    if (heads != 1 && x->nb[1] != (uint64_t)size * 4) /* rows of the state are numbered through the heads */
        return wrong_size(exec, 1);
    if (!has_shape(r->src[2], heads, tokens, sequences, 1))
        return wrong_size(exec, 2);
    if (!has_shape(decay, decay->ne[0] == 1 ? 1 : length, heads, 1, 1) ||
        !is_block_of(decay, (uint64_t)decay->ne[0] * heads))
        return wrong_size(exec, 3);
    const uint32_t groups = b->ne[1];
    if (groups == 0 || heads % groups != 0 || !has_shape(b, length, groups, tokens, sequences))
        return wrong_size(exec, 4);
    if (!has_shape(r->src[5], length, groups, tokens, sequences))
        return wrong_size(exec, 5);
    if (!has_shape(ids, sequences, 1, 1, 1))
        return wrong_size(exec, 6);
    uint64_t rows;
    if (!count(&rows, (const uint32_t[]){heads / groups, size}, 2))
        return wrong_size(exec, 1);
    r->units = groups;
    r->unit_rows = (uint32_t)rows;
    r->length = length;
    r->tokens = tokens;
    r->sequences = sequences;
    r->states = state->ne[3];
    r->state = state;
    r->ids = ids;
    return HTP_STATUS_OK;
}

/* The others: all sources are as large as v but for the state and the bonus of RWKV_WKV6. */
static uint32_t set_linear(struct htp_exec *exec, struct recurrent *r, uint32_t sources) {
    const struct htp_view *const v = r->src[1], *const state = r->src[sources - 1];
    const uint32_t size = v->ne[0], heads = v->ne[1], tokens = v->ne[2], sequences = state->ne[1];
    for (uint32_t i = 0; i + 1 < sources; i++) {
        const bool is_bonus = exec->op == HTP_OP_RWKV_WKV6 && i == 3;
        if (!has_shape(r->src[i], size, heads, is_bonus ? 1 : tokens, 1))
            return wrong_size(exec, i);
    }
    if (sequences == 0 || tokens % sequences != 0)
        return wrong_size(exec, sources - 1);
    r->units = heads;
    r->unit_rows = r->length = size;
    r->tokens = tokens / sequences;
    r->sequences = r->states = sequences;
    r->state = state;
    r->by_columns = exec->op != HTP_OP_RWKV_WKV7;
    return HTP_STATUS_OK;
}

static uint32_t sources_of(uint32_t op) {
    switch (op) {
    case HTP_OP_GATED_DELTA_NET:
    case HTP_OP_RWKV_WKV6:
        return 6;
    case HTP_OP_SSM_SCAN:
    case HTP_OP_RWKV_WKV7:
        return 7;
    case HTP_OP_GATED_LINEAR_ATTN:
        return 5;
    default:
        return 0;
    }
}

static uint32_t set_up(struct htp_exec *exec, struct recurrent *r) {
    const uint32_t sources = sources_of(exec->op);
    if (exec->n_src < sources)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    for (uint32_t i = 0; i < sources; i++) {
        const struct htp_view *const v = r->src[i] = exec->src[i];
        if (v == NULL)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
        const bool is_ids = exec->op == HTP_OP_SSM_SCAN && i == 6;
        if (is_ids ? v->type != HTP_TYPE_I32 || v->layout != HTP_LAYOUT_ROWS : !is_f32(v))
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16 + i);
    }
    switch (exec->op) {
    case HTP_OP_GATED_DELTA_NET:
        return set_delta_net(exec, r);
    case HTP_OP_SSM_SCAN:
        return set_scan(exec, r);
    default:
        return set_linear(exec, r, sources);
    }
}

static token_fn *choose_token(const struct recurrent *r) {
    switch (r->op) {
    case HTP_OP_GATED_DELTA_NET:
        return delta_net_token(r);
    case HTP_OP_SSM_SCAN:
        return scan_token(r);
    case HTP_OP_RWKV_WKV7:
        return wkv7_token(r);
    default:
        return columns_token(r);
    }
}

uint32_t htp_recurrent(struct htp_exec *exec) {
    if (exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (sources_of(exec->op) == 0)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct htp_recurrent_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    struct recurrent r = {.dst = exec->dst, .op = exec->op, .snapshots = params.snapshots, .scale = params.scale};
    const uint32_t status = set_up(exec, &r);
    if (status != HTP_STATUS_OK)
        return status;
    if (r.length > RECURRENT_MAX_LENGTH)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 49);
    const bool has_snapshots = exec->op == HTP_OP_GATED_DELTA_NET || exec->op == HTP_OP_SSM_SCAN;
    if (r.snapshots == 0 || (r.snapshots > 1 && !has_snapshots))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 50);
    uint64_t all_states, new_states;
    if (!count(&r.results, (const uint32_t[]){r.sequences, r.tokens, r.units, r.unit_rows}, 4) ||
        !count(&new_states, (const uint32_t[]){r.snapshots, r.sequences, r.units, r.unit_rows, r.length}, 5))
        return wrong_size(exec, DST);
    if (!count(&all_states, (const uint32_t[]){r.states, r.units, r.unit_rows, r.length}, 4) ||
        !is_block_of(r.state, all_states))
        return wrong_size(exec, r.ids != NULL ? 0 : sources_of(exec->op) - 1);
    if (!is_f32(r.dst))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16 + DST);
    if (!is_block_of(r.dst, r.results + new_states))
        return wrong_size(exec, DST);
    r.vectors = r.by_columns ? COLUMN_VECTORS : htp_div_up(r.length, HVX_WORDS);
    r.pitch = exec->op == HTP_OP_SSM_SCAN && scan_is_packed(&r) ? r.length * 4 : r.vectors * HVX_BYTES;
    r.token = choose_token(&r);
    return recurrent_walk(exec, &r);
}
