//! Batches: ops and the tensors they name, written in the wire format of `include/htp/wire.h`.

#[allow(dead_code, missing_docs, non_camel_case_types, clippy::all, reason = "generated code")]
pub mod wire;

use std::collections::HashMap;

use wire::*;

/// Where a tensor lies and in which layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// File descriptor of the shared buffer.
    pub fd: u32,
    /// Bytes of the whole buffer.
    pub buffer_size: u64,
    /// Of the first element, in bytes from the start of the buffer.
    pub offset: u64,
    /// `HTP_LAYOUT_ROWS` or `HTP_LAYOUT_TILES`.
    pub layout: u16,
}

/// A tensor as the DSP sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TensorKey {
    fd: u32,
    offset: u64,
    kind: u16,
    layout: u16,
    ne: [u32; 4],
    nb: [u32; 4],
}

/// One op with its tensors.
#[derive(Debug, Clone)]
pub struct Op {
    /// `HTP_OP_*`.
    pub op: u16,
    /// What it computes into.
    pub dst: TensorArg,
    /// What it reads; `None` where an optional source is absent.
    pub src: Vec<Option<TensorArg>>,
    /// Arguments, see `include/htp/params.h`.
    pub params: [i32; HTP_MAX_PARAMS as usize],
}

/// A tensor of an [`Op`].
#[derive(Debug, Clone, Copy)]
pub struct TensorArg {
    /// Where it lies.
    pub place: Place,
    /// `HTP_TYPE_*`.
    pub kind: u16,
    /// Elements per dimension.
    pub ne: [u32; 4],
    /// Strides in bytes.
    pub nb: [u32; 4],
}

/// The batch cannot take one more op: send it and start the next.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// A batch under construction. Buffers and tensors that several ops name are written once.
#[derive(Default)]
pub struct Builder {
    buffers: Vec<htp_buffer>,
    buffer_index: HashMap<u32, u32>,
    tensors: Vec<htp_tensor>,
    tensor_index: HashMap<TensorKey, u16>,
    ops: Vec<htp_op_desc>,
    max_ops: usize,
}

impl Builder {
    /// An empty batch that takes up to `max_ops` ops (and never more than the wire format allows).
    pub fn new(max_ops: usize) -> Builder {
        Builder { max_ops: max_ops.clamp(1, HTP_MAX_OPS as usize), ..Builder::default() }
    }

    /// Ops so far.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is no op yet.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Adds an op, or leaves the batch as it was when it is full.
    ///
    /// # Errors
    /// [`Full`]. An empty batch always takes one op, for the limits of the wire format are larger than an op.
    pub fn push(&mut self, op: &Op) -> Result<(), Full> {
        let named = 1 + op.src.len();
        if self.ops.len() >= self.max_ops
            || self.tensors.len() + named > HTP_MAX_TENSORS as usize
            || self.buffers.len() + named > HTP_MAX_BUFFERS as usize
        {
            return Err(Full);
        }
        let mut desc = htp_op_desc {
            op: op.op,
            dst: self.tensor(&op.dst),
            n_src: op.src.len().min(HTP_MAX_SRC as usize) as u16,
            src: [HTP_NO_TENSOR as u16; HTP_MAX_SRC as usize],
            params: op.params,
            ..Default::default()
        };
        for (slot, source) in desc.src.iter_mut().zip(&op.src) {
            if let Some(source) = source {
                *slot = self.tensor(source);
            }
        }
        self.ops.push(desc);
        Ok(())
    }

    fn tensor(&mut self, arg: &TensorArg) -> u16 {
        let Place { fd, buffer_size, offset, layout } = arg.place;
        let key = TensorKey { fd, offset, kind: arg.kind, layout, ne: arg.ne, nb: arg.nb };
        if let Some(&index) = self.tensor_index.get(&key) {
            return index;
        }
        let buffers = &mut self.buffers;
        let buffer = *self.buffer_index.entry(fd).or_insert_with(|| {
            buffers.push(htp_buffer { fd, size: buffer_size, ..Default::default() });
            (buffers.len() - 1) as u32
        });
        let index = self.tensors.len() as u16;
        self.tensors.push(htp_tensor { buffer, type_: arg.kind, layout, offset, ne: arg.ne, nb: arg.nb });
        self.tensor_index.insert(key, index);
        index
    }

    /// A line an op, for the log: number of the op, and its tensors by buffer, offset and shape.
    pub fn describe(&self) -> impl Iterator<Item = String> + '_ {
        let tensor = |index: u16| match self.tensors.get(usize::from(index)) {
            Some(t) => format!("{}+{:#x} type {} layout {} {:?}", t.buffer, t.offset, t.type_, t.layout, t.ne),
            None => "none".into(),
        };
        self.ops.iter().enumerate().map(move |(index, op)| {
            let sources: Vec<String> = op.src.iter().take(op.n_src.into()).map(|&source| tensor(source)).collect();
            format!("  {index}: op {} {} <- {}", op.op, tensor(op.dst), sources.join(", "))
        })
    }

    /// Bytes of the profile.
    pub fn profile_bytes(&self) -> usize {
        self.len() * size_of::<htp_op_profile>()
    }

    /// The batch as bytes for the command buffer. With `profile`, room for a [`htp_op_profile`] an op is at their end,
    /// which the DSP fills in.
    pub fn encode(&self, profile: bool) -> Vec<u8> {
        let buffers_offset = size_of::<htp_batch>();
        let tensors_offset = buffers_offset + size_of_val(&*self.buffers);
        let ops_offset = tensors_offset + size_of_val(&*self.tensors);
        let end = ops_offset + size_of_val(&*self.ops);
        let header = htp_batch {
            magic: HTP_BATCH_MAGIC,
            version: HTP_WIRE_VERSION,
            n_buffers: self.buffers.len() as u32,
            n_tensors: self.tensors.len() as u32,
            n_ops: self.ops.len() as u32,
            buffers_offset: buffers_offset as u32,
            tensors_offset: tensors_offset as u32,
            ops_offset: ops_offset as u32,
            profile_offset: if profile { end as u32 } else { 0 },
            ..Default::default()
        };
        let size = if profile { end + self.profile_bytes() } else { end };
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(as_bytes(std::slice::from_ref(&header)));
        bytes.extend_from_slice(as_bytes(&self.buffers));
        bytes.extend_from_slice(as_bytes(&self.tensors));
        bytes.extend_from_slice(as_bytes(&self.ops));
        bytes.resize(size, 0);
        bytes
    }
}

/// Wire structs: fixed-width integers without padding (the asserts in `wire.h` and below), so every byte is initialised.
trait Wire: Copy {}
impl Wire for htp_batch {}
impl Wire for htp_buffer {}
impl Wire for htp_tensor {}
impl Wire for htp_op_desc {}

const _: () = assert!(size_of::<htp_batch>() == 40 && size_of::<htp_buffer>() == 16);
const _: () = assert!(size_of::<htp_tensor>() == 48 && size_of::<htp_op_desc>() == 88);

fn as_bytes<T: Wire>(items: &[T]) -> &[u8] {
    // SAFETY: the slice is readable memory of that size, and types that are Wire have no padding bytes.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(fd: u32, offset: u64) -> TensorArg {
        let place = Place { fd, buffer_size: 4096, offset, layout: HTP_LAYOUT_ROWS as u16 };
        TensorArg { place, kind: HTP_TYPE_F32 as u16, ne: [4, 1, 1, 1], nb: [4, 16, 16, 16] }
    }

    fn add(dst: TensorArg, a: TensorArg, b: TensorArg) -> Op {
        Op { op: HTP_OP_ADD as u16, dst, src: vec![Some(a), Some(b)], params: [0; 16] }
    }

    #[test]
    fn tensors_and_buffers_are_written_once() {
        let mut batch = Builder::new(10);
        batch.push(&add(arg(3, 0), arg(3, 16), arg(4, 0))).expect("room");
        batch.push(&add(arg(3, 32), arg(3, 0), arg(4, 0))).expect("room");
        assert_eq!((batch.buffers.len(), batch.tensors.len(), batch.len()), (2, 4, 2));
        assert_eq!(batch.encode(false).len(), 40 + 2 * 16 + 4 * 48 + 2 * 88);
        assert!(batch.describe().all(|line| line.contains("op 2 ")) && batch.describe().count() == 2);
    }

    #[test]
    fn a_full_batch_is_left_as_it_was() {
        let mut batch = Builder::new(1);
        batch.push(&add(arg(3, 0), arg(3, 16), arg(4, 0))).expect("room");
        let before = batch.encode(false);
        assert_eq!(batch.push(&add(arg(5, 0), arg(6, 16), arg(7, 0))), Err(Full));
        assert_eq!(batch.encode(false), before);
    }

    #[test]
    fn the_profile_is_at_the_end() {
        let mut batch = Builder::new(10);
        batch.push(&add(arg(3, 0), arg(3, 16), arg(4, 0))).expect("room");
        let (without, with) = (batch.encode(false), batch.encode(true));
        let offset = |bytes: &[u8]| {
            let at = std::mem::offset_of!(htp_batch, profile_offset);
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
        };
        assert_eq!((offset(&without), offset(&with), with.len()), (0, without.len(), without.len() + 64));
        assert_eq!(with.len() - batch.profile_bytes(), offset(&with));
    }

    #[test]
    fn the_table_of_buffers_has_a_limit() {
        let mut batch = Builder::new(4096);
        let mut taken = 0;
        while batch.push(&add(arg(3 * taken, 0), arg(3 * taken + 1, 0), arg(3 * taken + 2, 0))).is_ok() {
            taken += 1;
        }
        assert!(batch.buffers.len() <= HTP_MAX_BUFFERS as usize && taken == HTP_MAX_BUFFERS / 3);
    }
}
