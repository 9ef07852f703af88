/* On Hexagon: every float intrinsic that kernels use becomes its plain version; integer ones stay instructions. */
#ifndef HVX_EMUL_FLOAT_LANES_H
#define HVX_EMUL_FLOAT_LANES_H

#include "hvx/emul/plain_float.h"

#undef Q6_Vqf32_vadd_VsfVsf
#undef Q6_Vqf32_vadd_Vqf32Vsf
#undef Q6_Vqf32_vadd_Vqf32Vqf32
#undef Q6_Vqf32_vsub_VsfVsf
#undef Q6_Vqf32_vsub_Vqf32Vsf
#undef Q6_Vqf32_vsub_Vqf32Vqf32
#undef Q6_Vqf32_vmpy_VsfVsf
#undef Q6_Vqf32_vmpy_Vqf32Vqf32
#undef Q6_Vsf_equals_Vqf32
#undef Q6_Vsf_equals_Vw
#undef Q6_Vw_equals_Vsf
#undef Q6_Wqf32_vmpy_VhfVhf
#undef Q6_Vhf_equals_Wqf32
#undef Q6_Vqf16_vmpy_VhfVhf
#undef Q6_Vhf_equals_Vqf16

#define Q6_Vqf32_vadd_VsfVsf plain_Q6_Vqf32_vadd_VsfVsf
#define Q6_Vqf32_vadd_Vqf32Vsf plain_Q6_Vqf32_vadd_Vqf32Vsf
#define Q6_Vqf32_vadd_Vqf32Vqf32 plain_Q6_Vqf32_vadd_Vqf32Vqf32
#define Q6_Vqf32_vsub_VsfVsf plain_Q6_Vqf32_vsub_VsfVsf
#define Q6_Vqf32_vsub_Vqf32Vsf plain_Q6_Vqf32_vsub_Vqf32Vsf
#define Q6_Vqf32_vsub_Vqf32Vqf32 plain_Q6_Vqf32_vsub_Vqf32Vqf32
#define Q6_Vqf32_vmpy_VsfVsf plain_Q6_Vqf32_vmpy_VsfVsf
#define Q6_Vqf32_vmpy_Vqf32Vqf32 plain_Q6_Vqf32_vmpy_Vqf32Vqf32
#define Q6_Vsf_equals_Vqf32 plain_Q6_Vsf_equals_Vqf32
#define Q6_Vsf_equals_Vw plain_Q6_Vsf_equals_Vw
#define Q6_Vw_equals_Vsf plain_Q6_Vw_equals_Vsf
#define Q6_Wqf32_vmpy_VhfVhf plain_Q6_Wqf32_vmpy_VhfVhf
#define Q6_Vhf_equals_Wqf32 plain_Q6_Vhf_equals_Wqf32
#define Q6_Vqf16_vmpy_VhfVhf plain_Q6_Vqf16_vmpy_VhfVhf
#define Q6_Vhf_equals_Vqf16 plain_Q6_Vhf_equals_Vqf16

#endif
