//! Queue packets as bytes: `htp_request` and `htp_response` of `include/htp/wire.h`, little endian.

use std::time::Duration;

use crate::batch::wire::*;
use crate::dsp::BatchReport;
use crate::error::{Error, HtpStatus};

const REQUEST_BYTES: usize = size_of::<htp_request>();
const RESPONSE_BYTES: usize = size_of::<htp_response>();
const _: () = assert!(REQUEST_BYTES == 32 && RESPONSE_BYTES == 32);

/// Room for a response, and for one that is too long, so that it can be told from a driver's error.
pub const RESPONSE_ROOM: usize = 8 * RESPONSE_BYTES;

/// A request: run the batch at `offset` of the command buffer.
pub fn encode_request(request: &htp_request) -> [u8; REQUEST_BYTES] {
    let htp_request { magic, version, seq, fd, offset, size, fd_size, flags } = *request;
    let mut bytes = [0; REQUEST_BYTES];
    for (to, word) in bytes.chunks_exact_mut(4).zip([magic, version, seq, fd, offset, size, fd_size, flags]) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// What a response says. Checked in order: size, magic, sequence number, status.
///
/// # Errors
/// [`Error::Malformed`], or [`Error::Batch`] when the DSP reports a failure.
pub fn decode_response(bytes: &[u8], seq: u32) -> Result<BatchReport, Error> {
    let Ok(bytes) = <&[u8; RESPONSE_BYTES]>::try_from(bytes) else {
        return Err(Error::Malformed(format!("{} bytes instead of {RESPONSE_BYTES}", bytes.len())));
    };
    let mut words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let [magic, its_seq, status, op_index, ops_done, detail, usecs_low, usecs_high] =
        std::array::from_fn(|_| words.next().unwrap_or_default());
    if magic != HTP_RESPONSE_MAGIC {
        return Err(Error::Malformed(format!("magic number {magic:#010x} instead of {HTP_RESPONSE_MAGIC:#010x}")));
    }
    if its_seq != seq {
        return Err(Error::Malformed(format!("it answers request {its_seq} instead of {seq}")));
    }
    match HtpStatus::try_from(status) {
        Ok(HtpStatus::Ok) => {
            let usecs = u64::from(usecs_high) << 32 | u64::from(usecs_low);
            Ok(BatchReport { ops_done, hmx_ops: detail, dsp_time: Duration::from_micros(usecs), n_events: 0 })
        }
        Ok(status) => {
            let op_index = (op_index != HTP_NO_TENSOR).then_some(op_index);
            Err(Error::Batch { status, op_index, ops_done, detail })
        }
        Err(number) => Err(Error::Malformed(format!("status {number}, which is not known"))),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn a_request_has_the_layout_of_the_header() {
        let request =
            htp_request { magic: 1, version: 2, seq: 3, fd: 4, offset: 5, size: 6, fd_size: 7, flags: 0x0a0b0c0d };
        let bytes = encode_request(&request);
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        assert_eq!(word(offset_of!(htp_request, magic)), 1);
        assert_eq!(word(offset_of!(htp_request, version)), 2);
        assert_eq!(word(offset_of!(htp_request, seq)), 3);
        assert_eq!(word(offset_of!(htp_request, fd)), 4);
        assert_eq!(word(offset_of!(htp_request, offset)), 5);
        assert_eq!(word(offset_of!(htp_request, size)), 6);
        assert_eq!(word(offset_of!(htp_request, fd_size)), 7);
        assert_eq!(bytes[offset_of!(htp_request, flags)..], [0x0d, 0x0c, 0x0b, 0x0a]);
    }

    /// A response with each word at the place of its field.
    fn response(words: [(usize, u32); 6], usecs: u64) -> Vec<u8> {
        let mut bytes = vec![0; RESPONSE_BYTES];
        for (at, word) in words {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let at = offset_of!(htp_response, usecs);
        bytes[at..at + 8].copy_from_slice(&usecs.to_le_bytes());
        bytes
    }

    fn answer(magic: u32, seq: u32, status: u32, op_index: u32) -> Vec<u8> {
        let words = [
            (offset_of!(htp_response, magic), magic),
            (offset_of!(htp_response, seq), seq),
            (offset_of!(htp_response, status), status),
            (offset_of!(htp_response, op_index), op_index),
            (offset_of!(htp_response, ops_done), 17),
            (offset_of!(htp_response, detail), 99),
        ];
        response(words, 0x1_0000_0002)
    }

    #[test]
    fn a_good_response_is_a_report() {
        let report = decode_response(&answer(HTP_RESPONSE_MAGIC, 5, 0, HTP_NO_TENSOR), 5).expect("a good response");
        let dsp_time = Duration::from_micros(0x1_0000_0002);
        assert_eq!(report, BatchReport { ops_done: 17, hmx_ops: 99, dsp_time, n_events: 0 });
    }

    #[test]
    fn a_failed_batch_is_told_from_a_bad_response() {
        for (op_index, expected) in [(3, Some(3)), (HTP_NO_TENSOR, None)] {
            let error = decode_response(&answer(HTP_RESPONSE_MAGIC, 5, HTP_STATUS_BAD_OP, op_index), 5);
            let Err(Error::Batch { status, op_index, ops_done, detail }) = error else { panic!("{error:?}") };
            assert_eq!((status, op_index, ops_done, detail), (HtpStatus::BadOp, expected, 17, 99));
        }
        let good = answer(HTP_RESPONSE_MAGIC, 5, 0, HTP_NO_TENSOR);
        let long = [&good[..], &[0]].concat();
        let bad: [(&[u8], &str); 6] = [
            (&good[..31], "31 bytes"),
            (&[], "0 bytes"),
            (&long, "33 bytes"),
            (&answer(HTP_REQUEST_MAGIC, 5, 0, 0), "magic"),
            (&answer(HTP_RESPONSE_MAGIC, 4, 0, 0), "request 4"),
            (&answer(HTP_RESPONSE_MAGIC, 5, 1000, 0), "status 1000"),
        ];
        for (bytes, reason) in bad {
            match decode_response(bytes, 5) {
                Err(Error::Malformed(text)) => assert!(text.contains(reason), "{text}"),
                other => panic!("{reason}: {other:?}"),
            }
        }
    }
}
