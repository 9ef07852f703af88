//! The wire format as tests write it: structs that can be made wrong in any field, and shared memory.
#![allow(dead_code, missing_docs)]

pub mod scene;

use std::ffi::CString;

pub const REQUEST_MAGIC: u32 = 0x5150_5448;
pub const RESPONSE_MAGIC: u32 = 0x5250_5448;
pub const BATCH_MAGIC: u32 = 0x4250_5448;
pub const VERSION: u32 = 3;
pub const NO_TENSOR: u16 = 0xffff;

pub const F32: u16 = 0;
pub const F16: u16 = 1;
pub const I32: u16 = 2;
pub const I64: u16 = 3;
pub const Q4_0: u16 = 4;
pub const Q8_0: u16 = 5;
pub const Q4_1: u16 = 6;
pub const MXFP4: u16 = 7;
pub const IQ4_NL: u16 = 8;
pub const BF16: u16 = 9;
pub const Q5_0: u16 = 10;
pub const Q5_1: u16 = 11;
pub const I16: u16 = 12;
pub const I8: u16 = 13;
pub const Q2_K: u16 = 14;
pub const Q3_K: u16 = 15;
pub const Q4_K: u16 = 16;
pub const Q5_K: u16 = 17;
pub const Q6_K: u16 = 18;
pub const IQ4_XS: u16 = 19;
pub const ROWS: u16 = 0;
pub const TILES: u16 = 1;

pub const MUL_MAT: u16 = 1;
pub const MUL_MAT_ID: u16 = 80;
pub const ADD: u16 = 2;
pub const RMS_NORM: u16 = 6;

pub const OK: u32 = 0;
pub const BAD_PACKET: u32 = 1;
pub const BAD_BATCH: u32 = 2;
pub const BAD_BUFFER: u32 = 3;
pub const BAD_TENSOR: u32 = 4;
pub const BAD_OP: u32 = 5;
pub const UNSUPPORTED: u32 = 6;
pub const LAST_STATUS: u32 = 10;

/// Structs of the wire: plain old data without padding, so their bytes are what is sent.
///
/// # Safety
/// The type must be `repr(C)`, hold integers only and have no padding.
pub unsafe trait Wire: Copy {
    fn bytes(&self) -> Vec<u8> {
        let start: *const Self = self;
        // SAFETY: the type has no padding, so every one of its size_of bytes is initialised.
        unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size_of::<Self>()) }.to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len(), size_of::<Self>());
        // SAFETY: the length is that of the type, whose integers take any bytes; the read may be unaligned.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }
}

macro_rules! wire {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name { $(pub $field: $type),* }
        // SAFETY: repr(C), integers only; the sum of the sizes of the fields is checked to be the size.
        unsafe impl Wire for $name {}
        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*);
    )*};
}

wire! {
    Request { magic: u32, version: u32, seq: u32, fd: u32, offset: u32, size: u32, fd_size: u32, flags: u32 }
    Response { magic: u32, seq: u32, status: u32, op_index: u32, ops_done: u32, detail: u32, usecs: u64 }
    Header {
        magic: u32, version: u32, n_buffers: u32, n_tensors: u32, n_ops: u32,
        buffers_offset: u32, tensors_offset: u32, ops_offset: u32, profile_offset: u32, reserved: u32,
    }
    Buffer { fd: u32, reserved: u32, size: u64 }
    Tensor { buffer: u32, kind: u16, layout: u16, offset: u64, ne: [u32; 4], nb: [u32; 4] }
    Op { op: u16, flags: u16, dst: u16, n_src: u16, src: [u16; 8], params: [i32; 16] }
    Profile { start: u64, cycles: u64, packets: u64, usecs: u32, hmx: u32, events: [u32; 8] }
    Events { n_events: u32, events: [u32; 8] }
    Start { session_id: u32, n_hvx: u32, queue_id: u64, use_hmx: u32, version: u32 }
    HwInfo { arch: u32, n_hvx: u32, vtcm_bytes: u32, has_hmx: u32, version: u32, reserved: u32 }
}

/// Memory that another process can open through `/proc`.
pub struct Shared {
    pub fd: u32,
    pub size: usize,
    address: *mut u8,
}

impl Shared {
    pub fn new(size: usize) -> Self {
        let name = CString::new("htp-test").unwrap();
        // SAFETY: the name is a C string; the calls return -1 or MAP_FAILED on failure, which is checked.
        unsafe {
            let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0);
            assert_eq!(libc::ftruncate(fd, size as libc::off_t), 0);
            let address =
                libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, 0);
            assert_ne!(address, libc::MAP_FAILED);
            Self { fd: fd as u32, size, address: address.cast() }
        }
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.size && bytes.len() <= self.size - offset);
        // SAFETY: the range lies in the mapping, which this object owns.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.add(offset), bytes.len()) }
    }

    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        assert!(offset <= self.size && bytes.len() <= self.size - offset);
        // SAFETY: the range lies in the mapping, which this object owns.
        unsafe { std::ptr::copy_nonoverlapping(self.address.add(offset), bytes.as_mut_ptr(), bytes.len()) }
    }

    pub fn write_f32(&self, offset: usize, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.write(offset, &bytes);
    }

    pub fn read_f32(&self, offset: usize, count: usize) -> Vec<f32> {
        let mut bytes = vec![0; count * 4];
        self.read(offset, &mut bytes);
        bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: address, size and fd are those of `new` and not used after this.
        unsafe {
            libc::munmap(self.address.cast(), self.size);
            libc::close(self.fd as i32);
        }
    }
}
