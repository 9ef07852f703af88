/*
 * Every intrinsic that the C versions cover, by shape: what a check runs through.
 * Letters: result, then operands. V vector, W pair, Q predicate, R scalar.
 */
#ifndef HVX_EMUL_LIST_H
#define HVX_EMUL_LIST_H

#define HVX_LIST_V_V(X) X(Q6_V_vnot_V) X(Q6_Vuw_vcl0_Vuw) X(Q6_Vh_vshuff_Vh) X(Q6_Vh_vdeal_Vh)
#define HVX_LIST_V_R(X) X(Q6_V_vsplat_R) X(Q6_Vh_vsplat_R) X(Q6_Vb_vsplat_R)
#define HVX_LIST_V_VV(X)                                                                                        \
    X(Q6_V_vand_VV) X(Q6_V_vor_VV) X(Q6_V_vxor_VV) X(Q6_Vw_vadd_VwVw) X(Q6_Vw_vsub_VwVw) X(Q6_Vh_vadd_VhVh)      \
    X(Q6_Vh_vsub_VhVh) X(Q6_Vw_vmax_VwVw) X(Q6_Vw_vmin_VwVw) X(Q6_Vw_vrmpy_VubVb) X(Q6_Vw_vrmpy_VbVb)            \
    X(Q6_Vw_vasl_VwVw) X(Q6_Vw_vlsr_VwVw) X(Q6_Vh_vpacke_VwVw) X(Q6_Vh_vpacko_VwVw) X(Q6_Vb_vpacke_VhVh)         \
    X(Q6_Vb_vpacko_VhVh) X(Q6_Vh_vshuffe_VhVh) X(Q6_Vh_vshuffo_VhVh) X(Q6_V_vdelta_VV) X(Q6_V_vrdelta_VV)        \
    X(Q6_Vh_vadd_VhVh_sat) X(Q6_Vh_vmpy_VhVh_s1_rnd_sat) X(Q6_Vuh_vmpy_VuhVuh_rs16) X(Q6_Vuh_vmax_VuhVuh)        \
    X(Q6_Vw_vmpyie_VwVuh) X(Q6_Vw_vmpye_VwVuh) X(Q6_Vub_vmax_VubVub) X(Q6_Vub_vsub_VubVub_sat)    \
    X(Q6_Vw_vmpyio_VwVh) X(Q6_Vb_vsub_VbVb)
#define HVX_LIST_V_VR(X)                                                                              \
    X(Q6_Vw_vmpyi_VwRub) X(Q6_Vw_vrmpy_VubRb) X(Q6_Vw_vasl_VwR) X(Q6_Vw_vasr_VwR) X(Q6_Vuw_vlsr_VuwR) \
    X(Q6_Vuh_vlsr_VuhR) X(Q6_Vub_vlsr_VubR) X(Q6_V_vror_VR) X(Q6_Vw_vdmpy_VhRh_sat)
#define HVX_LIST_V_VVV(X) X(Q6_Vw_vrmpyacc_VwVubVb) X(Q6_Vw_vrmpyacc_VwVbVb) X(Q6_Vw_vmpyieacc_VwVwVh)
#define HVX_LIST_V_VVR(X) \
    X(Q6_Vw_vrmpyacc_VwVubRb) X(Q6_Vw_vasracc_VwVwR) X(Q6_V_valign_VVR) X(Q6_V_vlalign_VVR) \
    X(Q6_Vb_vlut32_VbVbR_nomatch) X(Q6_Vh_vasr_VwVwR) X(Q6_Vw_vaslacc_VwVwR)
#define HVX_LIST_W_VVR(X) X(Q6_W_vdeal_VVR) X(Q6_W_vshuff_VVR) X(Q6_Wh_vlut16_VbVhR_nomatch)
#define HVX_LIST_W_V(X) X(Q6_Wuh_vunpack_Vub) X(Q6_Wuh_vzxt_Vub) X(Q6_Wh_vsxt_Vb)
#define HVX_LIST_W_WVV(X) X(Q6_Wh_vmpyacc_WhVubVb)
#define HVX_LIST_W_WVR(X) X(Q6_Ww_vmpyacc_WwVhRh)
#define HVX_LIST_Q_R(X) X(Q6_Q_vsetq_R) X(Q6_Q_vsetq2_R)
#define HVX_LIST_Q_VR(X) X(Q6_Q_vand_VR)
#define HVX_LIST_V_VQR(X) X(Q6_V_vandor_VQR)
#define HVX_LIST_Q_VV(X) X(Q6_Q_vcmp_eq_VwVw) X(Q6_Q_vcmp_eq_VhVh) X(Q6_Q_vcmp_gt_VwVw) X(Q6_Q_vcmp_gt_VuwVuw)
#define HVX_LIST_Q_QQ(X) X(Q6_Q_and_QQ) X(Q6_Q_and_QQn) X(Q6_Q_or_QQ)
#define HVX_LIST_Q_QVV(X) X(Q6_Q_vcmp_gtand_QVuwVuw)
#define HVX_LIST_V_QV(X) X(Q6_V_vand_QV)
#define HVX_LIST_V_QVV(X) X(Q6_V_vmux_QVV)
#define HVX_LIST_W_QVV(X) X(Q6_W_vswap_QVV)
#define HVX_LIST_V(X) X(Q6_V_vzero)
#define HVX_LIST_V_W(X) X(Q6_V_lo_W) X(Q6_V_hi_W)
#define HVX_LIST_W_VV(X) X(Q6_W_vcombine_VV) X(Q6_Wuw_vmpy_VuhVuh) X(Q6_Wh_vshuffoe_VhVh) X(Q6_Wh_vsub_VubVub) \
    X(Q6_Wh_vmpy_VbVb)
/* store under a predicate: the plain version takes a mask */
#define HVX_LIST_QV(X) X(Q6_vmem_QRIV)

/* float: of NaN only that it is NaN counts */
#define HVX_LIST_FLOAT_V_V(X) \
    X(Q6_Vsf_equals_Vqf32) X(Q6_Vsf_equals_Vw) X(Q6_Vw_equals_Vsf) X(Q6_Vhf_equals_Vqf16) X(Q6_Vhf_equals_Vh)
#define HVX_LIST_FLOAT_V_VV(X)                                                                               \
    X(Q6_Vqf32_vadd_VsfVsf) X(Q6_Vqf32_vadd_Vqf32Vsf) X(Q6_Vqf32_vadd_Vqf32Vqf32) X(Q6_Vqf32_vsub_VsfVsf)     \
    X(Q6_Vqf32_vsub_Vqf32Vsf) X(Q6_Vqf32_vsub_Vqf32Vqf32) X(Q6_Vqf32_vmpy_VsfVsf) X(Q6_Vqf32_vmpy_Vqf32Vqf32) \
    X(Q6_Vqf16_vmpy_VhfVhf) X(Q6_Vqf16_vadd_Vqf16Vhf) X(Q6_Vsf_vmax_VsfVsf) X(Q6_Vsf_vmin_VsfVsf)
#define HVX_LIST_FLOAT_W_VV(X) X(Q6_Wqf32_vmpy_VhfVhf)
#define HVX_LIST_FLOAT_V_W(X) X(Q6_Vhf_equals_Wqf32)

#endif
