//! A valid batch over a data buffer, to be run as it is or after it was made wrong.

use super::*;

pub const BATCH_OFFSET: usize = 256;
pub const DATA_BYTES: usize = 1 << 20;
pub const COMMAND_BYTES: usize = 64 * 1024;

/// Where the F32 tensors of the scene lie in the data buffer, and how many elements each has.
pub const A_AT: usize = 0;
pub const B_AT: usize = 4096;
pub const SUM_AT: usize = 8192;
pub const NORM_AT: usize = 12288;
pub const ELEMENTS: usize = 32 * 4 * 2;

#[derive(Clone)]
pub struct Scene {
    pub request: Request,
    pub header: Header,
    pub buffers: Vec<Buffer>,
    pub tensors: Vec<Tensor>,
    pub ops: Vec<Op>,
}

pub fn f32_tensor(offset: usize, ne: [u32; 4]) -> Tensor {
    let nb = [4, ne[0] * 4, ne[0] * ne[1] * 4, ne[0] * ne[1] * ne[2] * 4];
    Tensor { buffer: 0, kind: F32, layout: ROWS, offset: offset as u64, ne, nb }
}

impl Scene {
    /// ADD and RMS_NORM over small tensors, and one tensor of each kind that no op uses.
    pub fn new(command: &Shared, data: &Shared) -> Self {
        let ne = [32, 4, 2, 1];
        let tensors = vec![
            f32_tensor(A_AT, ne),
            f32_tensor(B_AT, ne),
            f32_tensor(SUM_AT, ne),
            f32_tensor(NORM_AT, ne),
            // a weight matrix of 64 x 40 in each layout; column tiles of 64 weights take 2 * 4 + 1 vectors
            Tensor { buffer: 0, kind: Q4_0, layout: ROWS, offset: 16384, ne: [64, 40, 1, 1], nb: [18, 36, 1440, 1440] },
            Tensor { buffer: 0, kind: Q4_0, layout: TILES, offset: 32768, ne: [64, 40, 1, 1], nb: [0; 4] },
            // nothing in it: allowed, even at the very end
            Tensor {
                buffer: 0,
                kind: F16,
                layout: ROWS,
                offset: DATA_BYTES as u64,
                ne: [8, 0, 1, 1],
                nb: [2, 16, 0, 0],
            },
        ];
        let mut sum = Op { op: ADD, dst: 2, n_src: 2, src: [NO_TENSOR; 8], ..Op::default() };
        sum.src[..2].copy_from_slice(&[0, 1]);
        let mut norm = Op { op: RMS_NORM, dst: 3, n_src: 1, src: [NO_TENSOR; 8], ..Op::default() };
        norm.src[0] = 2;
        norm.params[0] = 1e-5f32.to_bits() as i32;
        let mut scene = Self {
            request: Request {
                magic: REQUEST_MAGIC,
                version: VERSION,
                seq: 7,
                fd: command.fd,
                offset: BATCH_OFFSET as u32,
                size: 0,
                fd_size: command.size as u32,
                flags: 0,
            },
            header: Header::default(),
            buffers: vec![Buffer { fd: data.fd, reserved: 0, size: data.size as u64 }],
            tensors,
            ops: vec![sum, norm],
        };
        scene.lay_out();
        scene
    }

    /// Sets header and request to match the tables.
    pub fn lay_out(&mut self) {
        let buffers_offset = size_of::<Header>();
        let tensors_offset = buffers_offset + self.buffers.len() * size_of::<Buffer>();
        let ops_offset = tensors_offset + self.tensors.len() * size_of::<Tensor>();
        self.header = Header {
            magic: BATCH_MAGIC,
            version: VERSION,
            n_buffers: self.buffers.len() as u32,
            n_tensors: self.tensors.len() as u32,
            n_ops: self.ops.len() as u32,
            buffers_offset: buffers_offset as u32,
            tensors_offset: tensors_offset as u32,
            ops_offset: ops_offset as u32,
            ..Header::default()
        };
        self.request.size = (ops_offset + self.ops.len() * size_of::<Op>()) as u32;
    }

    /// Asks for a profile behind the tables; returns where it is in the command buffer.
    pub fn want_profile(&mut self) -> usize {
        self.header.profile_offset = self.request.size;
        self.request.size += (self.ops.len() * size_of::<Profile>()) as u32;
        BATCH_OFFSET + self.header.profile_offset as usize
    }

    /// Header and tables one behind the other, as `lay_out` places them.
    pub fn batch_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.bytes();
        self.buffers.iter().for_each(|b| bytes.extend(b.bytes()));
        self.tensors.iter().for_each(|t| bytes.extend(t.bytes()));
        self.ops.iter().for_each(|o| bytes.extend(o.bytes()));
        bytes
    }

    pub fn store(&self, command: &Shared) {
        command.write(BATCH_OFFSET, &self.batch_bytes());
    }
}
