//! The cases of test-backend-ops that run in Hexagon code: small ones, one or a few for each kernel path. All others run
//! in this machine's code, which gives the same bits (see `check`).

/// test-backend-ops' name of an op, and a pattern for the parameters of its cases.
pub const CASES: &[(&str, &str)] = &[
    ("MUL_MAT", r"type_b=f32,m=16,n=(1|8),k=256,bs=\[1,1\],nr=\[1,1\],per=\[0,1,2,3\],k_v=0,o=1"),
    ("MUL_MAT_ID", r"type_a=(q4_0|f16),type_b=f32,n_mats=4,n_used=2,b=0,m=512,n=(1|4),k=256"),
    ("ADD", r"ne=\[10,5,4,3\]"),
    ("SUB", r"ne=\[10,5,4,3\]"),
    ("MUL", r"ne=\[10,5,4,3\]"),
    ("DIV", r"ne=\[10,5,4,3\]"),
    ("ADD_ID", r"n_embd=(32|129),n_experts=4,n_experts_used=(1|4),n_token=1$"),
    ("RMS_NORM", r"ne=\[64,5,4,3\]"),
    ("NORM", r"ne=\[64,5,4,3\]"),
    ("L2_NORM", r"ne=\[64,5,4,3\]"),
    ("SCALE", "ne="),
    ("SQR", "ne="),
    ("SQRT", "ne="),
    ("LOG", r"ne=\[10,5,4,3\]"),
    ("CLAMP", r"ne=\[10,5,4,3\]"),
    ("SILU", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("GELU", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("GELU_QUICK", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("GELU_ERF", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("SIGMOID", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("NEG", r"ne_a=\[128,2,2,2\]"),
    ("EXP", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("SOFTPLUS", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("TANH", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("RELU", r"ne_a=\[128,2,2,2\]"),
    ("ABS", r"ne_a=\[128,2,2,2\]"),
    ("STEP", r"ne_a=\[128,2,2,2\]"),
    ("SWIGLU", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("SWIGLU_OAI", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("SWIGLU_CLAMP", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("GEGLU", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("GEGLU_QUICK", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("GEGLU_ERF", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("REGLU", r"ne_a=\[(128,2,2,2|5,7,11,13)\]"),
    ("SUM_ROWS", r"ne=\[10,5,4,3\]"),
    ("ARGMAX", r"ne=\[(32|100|1024),"),
    ("CUMSUM", r"ne=\[(10,5,4,3|127,|128,)"),
    (
        "ROPE",
        r"ne_a=\[128,(32|12),2,1\],n_dims=\d+,mode=\d+,n_ctx=512,fs=1.000000,ef=0.000000,af=1.000000,ff=0,v=0,inplace=0",
    ),
    ("SOFT_MAX", r"ne=\[(16|15|200),(2|15),1,1\],mask=.,sinks=.,m_prec=f..,nr23=\[1,1\],scale=1.0"),
    (
        "FLASH_ATTN_EXT",
        r"hsk=(40|64|128),hsv=(40|64|128),nh=4,nr23=\[1,1\],kv=113,nb=(1|3),mask=1,sinks=0,max_bias=0.0.*softcap=0.0",
    ),
    ("GET_ROWS", r"n=256,m=5,r=4,be1=1,be2=1,v=0"),
    ("SET_ROWS", r"type_src=f32,.*,type_idx=i64,ne=\[256,5,1,3\],nr23=\[1,1\],r=1,v=0"),
    ("CPY", r"ne_src=\[256,2,3,4\],permute_src=\[0,0,0,0\],permute_dst=\[0,0,0,0\],_src_transpose=0"),
    ("CONT", r"ne=\[2,1,3,5\]"),
    ("REPEAT", r"ne=\[10,5,4,1\]"),
    ("CONCAT", r"ne_a=\[128,12,13,14\],ne_b_d=7,dim=1,v=0"),
    ("PAD", r"ne_a=\[33,17,2,1\]"),
    ("ARGSORT", r"ne=\[(4|60),"),
    ("TOP_K", r"ne=\[(8|32),1,1,1\]"),
    ("SSM_CONV", r"ne_a=\[\d,1536,1,1\],ne_b=\[4,"),
];

#[cfg(test)]
mod tests {
    use super::CASES;

    /// Numbers and names as in `X(40, NORM, norm)`.
    #[test]
    fn every_op_has_cases() {
        let list = include_str!("../../../include/htp/op_list.h");
        let names = list.lines().filter_map(|line| line.trim().strip_prefix("X(")?.split(", ").nth(1));
        let missing: Vec<&str> = names.filter(|name| !CASES.iter().any(|(op, _)| op == name)).collect();
        assert!(missing.is_empty(), "no case in Hexagon code: {missing:?}");
    }
}
