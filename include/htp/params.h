/* Arguments of ops: how htp_op_desc.params is read, one struct a family. Unused words are zero. */
#ifndef HTP_PARAMS_H
#define HTP_PARAMS_H

#include <stdint.h>

/* norm: RMS_NORM, NORM, L2_NORM  x, weight (optional), addend (optional): normalised rows * weight + addend
 *       GROUP_NORM  x */
struct htp_norm_params {
    float eps;
    uint32_t groups; /* GROUP_NORM: that dimension 2 is divided into, the last may be smaller */
};

/* attention: FLASH_ATTN_EXT  q, k, v, mask (optional), sinks (optional) */
struct htp_attention_params {
    float scale;          /* of the dot products, before the soft cap */
    float logit_softcap;  /* cap * tanh(score / cap); 0: none */
    float slope_base[2];  /* ALiBi: head h < slope_heads multiplies its mask by base[0]^(h+1), */
    uint32_t slope_heads; /* others by base[1]^(2(h-slope_heads)+1); 0: all heads by 1 */
};

/* copy: CONCAT  the dimension in which src1 follows src0 */
struct htp_concat_params {
    uint32_t dim;
};

/* copy: PAD  what dst has before and behind src in each dimension: zeros, or src again when circular */
struct htp_pad_params {
    uint32_t by[8]; /* before, behind; dimension 0 first */
    uint32_t circular;
};

/* sort: ARGSORT */
struct htp_argsort_params {
    uint32_t order; /* 0 ascending, 1 descending */
};

/* gather, conv, reduce and the other ops of copy and sort have no arguments */

/* rope: ROPE  x, positions, frequency factors (optional) */
#define HTP_ROPE_NORMAL 0  /* pairs of neighbours */
#define HTP_ROPE_NEOX 2    /* pairs n_dims / 2 apart, as in the modes below */
#define HTP_ROPE_MROPE 8   /* four positions a token: each section of the pairs has its own */
#define HTP_ROPE_VISION 24 /* the same, pairs n_dims apart, angles start anew in each section */
#define HTP_ROPE_IMROPE 40 /* as MROPE, sections interleaved */
struct htp_rope_params {
    int32_t mode;
    int32_t n_dims;      /* twice the pairs; vision: the pairs */
    int32_t offset;      /* elements in front of the rotated ones; what is beside them is copied */
    int32_t sections[4]; /* pairs */
    float theta_scale;   /* the angle of a pair is that of the pair before times this */
    float freq_scale;    /* of angles that are interpolated */
    float ext_factor;    /* YaRN: how much of the angles below the ramp is not interpolated; 0: none */
    float ramp_low;      /* the pair that the ramp starts at */
    float ramp_inverse;  /* 1 / its length */
    float magnitude;     /* of the rotated vectors */
};

/* softmax: SOFT_MAX  x, mask (optional), sinks (optional) */
struct htp_softmax_params {
    float scale;
    float slope_base[2];   /* ALiBi, as in htp_attention_params */
    uint32_t slope_heads;
};

/* unary: the other ops of the family have no arguments */
struct htp_unary_params {
    /* SCALE: factor, what is added; CLAMP: least, greatest; LEAKY_RELU: slope below 0;
       XIELU: alpha_n, alpha_p, beta, eps, as ggml has them after its softplus */
    float args[4];
};

/* glu: dst = f(a) * b  a is src0 and b is src1, or they are the halves of the rows of src0 */
struct htp_glu_params {
    uint32_t swapped; /* of halves: b comes first */
    float alpha;      /* SWIGLU_OAI: of the sigmoid */
    float limit;      /* SWIGLU_OAI, SWIGLU_CLAMP: upper bound of a; b stays within -limit .. limit */
};

/*
 * recurrent: a state for each head of a sequence, and what each token makes of it
 *   GATED_DELTA_NET    q, k, v, gate, beta, state
 *   SSM_SCAN           state, x, dt, decay, b, c, ids: which states the sequences start from
 *   RWKV_WKV6          k, v, r, bonus, decay, state
 *   RWKV_WKV7          r, decay, k, v, a, b, state
 *   GATED_LINEAR_ATTN  k, v, q, gate, state
 */
struct htp_recurrent_params {
    uint32_t snapshots; /* GATED_DELTA_NET, SSM_SCAN: states that dst has room for, the last one first;
                         1 for the other ops */
    float scale;        /* GATED_DELTA_NET, GATED_LINEAR_ATTN: of the results */
};

/* pattern: FILL */
struct htp_fill_params {
    float value;
};

/* pattern: ARANGE */
struct htp_arange_params {
    float start, step;
};

/* pattern: TRI, DIAG, DIAG_MASK_INF  of row r, elements r + low .. r + high stay */
struct htp_band_params {
    int32_t low, high;
    float outside; /* what the others become */
};

/* pattern: ROLL */
struct htp_roll_params {
    uint32_t by[4]; /* towards the end of each dimension, less than its size */
};

/* pattern: TIMESTEP_EMBEDDING */
struct htp_timestep_params {
    float step; /* log2 of a frequency less that of the next one */
};

/* pattern: ACC, SET  the region of dst */
struct htp_put_params {
    uint32_t nb[3]; /* strides of dimensions 1 to 3, in bytes */
    uint32_t offset;
};

/*
 * image: windows that slide over an image of up to three dimensions, width first
 *
 *   IM2COL, IM2COL_3D  kernel (its shape only), image: the window at each place as a row
 *   CONV_2D, CONV_2D_DW  kernel, image: the products of each window with the kernel, summed up
 *   CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D  kernel, image: padding 0, dilation 1
 */
struct htp_window_params {
    int32_t stride[3]; /* from window to window; at least 1 */
    int32_t padding[3]; /* zeros in front of the image */
    int32_t dilation[3]; /* from element to element of a window; at least 1 */
    uint32_t dims; /* IM2COL: 1 or 2; dimensions that are not used have stride 1, padding 0, dilation 1 */
    uint32_t channels; /* IM2COL_3D: images and channels share a dimension */
};

/* resample: POOL_1D, POOL_2D  image; width first */
struct htp_pool_params {
    uint32_t largest; /* of a window's elements; 0: their mean, in one dimension of those in the image only */
    uint32_t window[2];
    int32_t stride[2];
    int32_t padding[2]; /* in front of the image */
};

/* resample: UPSCALE  image, which is as wide and high as dst in the end */
#define HTP_UPSCALE_NEAREST 0
#define HTP_UPSCALE_BILINEAR 1
#define HTP_UPSCALE_BICUBIC 2
struct htp_upscale_params {
    uint32_t mode;
    uint32_t align_corners; /* the first and last elements of both lie on each other, not their outer edges */
    uint32_t antialias;     /* BILINEAR: what shrinks is a mean of all that it covers */
};

/* resample: PAD_REFLECT_1D  how many elements of a row are mirrored at its ends */
struct htp_reflect_params {
    uint32_t before, behind;
};

/* matmul (MUL_MAT, MUL_MAT_ID), binary and solve have no arguments */

#endif
