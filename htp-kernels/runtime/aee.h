/* Error codes that the DSP side returns from calls: 0x80000400 + the number of the AEE code. */
#ifndef HTP_AEE_H
#define HTP_AEE_H

#define HTP_AEE(n) ((int)(0x80000400u + (n)))
#define HTP_AEE_FAILED HTP_AEE(0x01u)
#define HTP_AEE_NO_MEMORY HTP_AEE(0x02u)
#define HTP_AEE_BAD_VERSION HTP_AEE(0x04u)
#define HTP_AEE_BAD_STATE HTP_AEE(0x0du)
#define HTP_AEE_BAD_PARAMETER HTP_AEE(0x0eu)
#define HTP_AEE_UNSUPPORTED HTP_AEE(0x14u)
#define HTP_AEE_BUSY HTP_AEE(0x20u)
#define HTP_AEE_NO_THREAD HTP_AEE(0x14bu)

#endif
