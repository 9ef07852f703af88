//! Committed bindgen output, one file per supported ggml ABI. Only `src/ggml` uses it.

#[allow(
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    clippy::undocumented_unsafe_blocks,
    clippy::all,
    reason = "generated code"
)]
#[path = "ggml_0_25_3.rs"]
mod v0_25_3;

pub use v0_25_3::*;

/// The versions of ggml whose ABI these bindings describe, as prefixes of `ggml_version()`.
///
/// The backend API number does not guard the layout of the vtables, the version does; patch releases keep it.
pub const SUPPORTED_VERSIONS: &[&str] = &["0.25."];

/// Ops and types whose numbers this crate relies on, with the names that ggml gives them at run time.
pub const KNOWN_OPS: &[(ggml_op, &str)] = &[
    (GGML_OP_NONE, "NONE"),
    (GGML_OP_ADD, "ADD"),
    (GGML_OP_SUB, "SUB"),
    (GGML_OP_MUL, "MUL"),
    (GGML_OP_DIV, "DIV"),
    (GGML_OP_RMS_NORM, "RMS_NORM"),
    (GGML_OP_NORM, "NORM"),
    (GGML_OP_L2_NORM, "L2_NORM"),
    (GGML_OP_SUM_ROWS, "SUM_ROWS"),
    (GGML_OP_ARGMAX, "ARGMAX"),
    (GGML_OP_CUMSUM, "CUMSUM"),
    (GGML_OP_ADD_ID, "ADD_ID"),
    (GGML_OP_MUL_MAT, "MUL_MAT"),
    (GGML_OP_RESHAPE, "RESHAPE"),
    (GGML_OP_VIEW, "VIEW"),
    (GGML_OP_PERMUTE, "PERMUTE"),
    (GGML_OP_TRANSPOSE, "TRANSPOSE"),
    (GGML_OP_GLU, "GLU"),
    (GGML_OP_MUL_MAT_ID, "MUL_MAT_ID"),
    (GGML_OP_FLASH_ATTN_EXT, "FLASH_ATTN_EXT"),
    (GGML_OP_GET_ROWS, "GET_ROWS"),
    (GGML_OP_SET_ROWS, "SET_ROWS"),
    (GGML_OP_DUP, "DUP"),
    (GGML_OP_CPY, "CPY"),
    (GGML_OP_CONT, "CONT"),
    (GGML_OP_REPEAT, "REPEAT"),
    (GGML_OP_CONCAT, "CONCAT"),
    (GGML_OP_PAD, "PAD"),
    (GGML_OP_ARGSORT, "ARGSORT"),
    (GGML_OP_TOP_K, "TOP_K"),
    (GGML_OP_SSM_CONV, "SSM_CONV"),
    (GGML_OP_ROPE, "ROPE"),
    (GGML_OP_SOFT_MAX, "SOFT_MAX"),
    (GGML_OP_SCALE, "SCALE"),
    (GGML_OP_SQR, "SQR"),
    (GGML_OP_SQRT, "SQRT"),
    (GGML_OP_LOG, "LOG"),
    (GGML_OP_CLAMP, "CLAMP"),
    (GGML_OP_UNARY, "UNARY"),
    (GGML_OP_GROUP_NORM, "GROUP_NORM"),
    (GGML_OP_IM2COL, "IM2COL"),
    (GGML_OP_IM2COL_3D, "IM2COL_3D"),
    (GGML_OP_POOL_1D, "POOL_1D"),
    (GGML_OP_POOL_2D, "POOL_2D"),
    (GGML_OP_UPSCALE, "UPSCALE"),
    (GGML_OP_PAD_REFLECT_1D, "PAD_REFLECT_1D"),
    (GGML_OP_CONV_2D, "CONV_2D"),
    (GGML_OP_CONV_2D_DW, "CONV_2D_DW"),
    (GGML_OP_CONV_TRANSPOSE_1D, "CONV_TRANSPOSE_1D"),
    (GGML_OP_CONV_TRANSPOSE_2D, "CONV_TRANSPOSE_2D"),
];

/// See [`KNOWN_OPS`].
pub const KNOWN_TYPES: &[(ggml_type, &str)] = &[
    (GGML_TYPE_F32, "f32"),
    (GGML_TYPE_F16, "f16"),
    (GGML_TYPE_I32, "i32"),
    (GGML_TYPE_I64, "i64"),
    (GGML_TYPE_I16, "i16"),
    (GGML_TYPE_I8, "i8"),
    (GGML_TYPE_Q4_0, "q4_0"),
    (GGML_TYPE_Q8_0, "q8_0"),
    (GGML_TYPE_MXFP4, "mxfp4"),
    (GGML_TYPE_BF16, "bf16"),
    (GGML_TYPE_Q4_1, "q4_1"),
    (GGML_TYPE_Q5_0, "q5_0"),
    (GGML_TYPE_Q5_1, "q5_1"),
    (GGML_TYPE_IQ4_NL, "iq4_nl"),
];
