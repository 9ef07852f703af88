//! A read-only view of a `ggml_tensor`: the only place that dereferences one.

use std::ffi::CStr;
use std::fmt;

use super::bindings::*;
use crate::batch::wire;

/// A tensor of ggml, borrowed for the duration of one call from ggml.
///
/// ggml owns the tensor and its sources and keeps them alive, unchanged, while it calls the backend.
#[derive(Clone, Copy)]
pub struct Tensor<'a>(&'a ggml_tensor);

impl<'a> Tensor<'a> {
    /// # Safety
    /// `pointer` is null or a tensor that ggml keeps alive and unchanged for `'a`, its sources and view source too.
    pub unsafe fn from_ptr(pointer: *const ggml_tensor) -> Option<Tensor<'a>> {
        // SAFETY: valid for 'a by this function's contract.
        unsafe { pointer.as_ref() }.map(Tensor)
    }

    /// The C tensor, for calls into ggml.
    pub fn as_ptr(self) -> *const ggml_tensor {
        self.0
    }

    /// Which op computes the tensor.
    pub fn op(self) -> ggml_op {
        self.0.op
    }

    /// The op's name, for messages.
    pub fn op_name(self) -> &'static str {
        KNOWN_OPS.iter().find(|(op, _)| *op == self.0.op).map_or("op of another kind", |(_, name)| name)
    }

    /// Element type, as ggml numbers it.
    pub fn ggml_type(self) -> ggml_type {
        self.0.type_
    }

    /// Element type, when the DSP knows it.
    pub fn element_type(self) -> Option<ElementType> {
        ElementType::from_ggml(self.0.type_)
    }

    /// Elements per dimension, innermost first.
    pub fn ne(self) -> [i64; 4] {
        self.0.ne
    }

    /// Stride of each dimension in bytes.
    pub fn nb(self) -> [usize; 4] {
        self.0.nb
    }

    /// Rows: product of all dimensions but the innermost.
    pub fn rows(self) -> i64 {
        self.0.ne[1].saturating_mul(self.0.ne[2]).saturating_mul(self.0.ne[3])
    }

    /// Whether a dimension is 0.
    pub fn is_empty(self) -> bool {
        self.0.ne.contains(&0)
    }

    /// Bytes from the first to behind the last element, gaps included: ggml's `ggml_nbytes`. `None` for types that the
    /// DSP does not know, and for sizes that overflow.
    pub fn bytes(self) -> Option<usize> {
        let kind = self.element_type()?;
        if self.0.ne.iter().any(|&n| n <= 0) {
            return Some(0);
        }
        let [n0, n @ ..] = self.0.ne.map(|n| n as usize);
        let row = match kind.block_elements() {
            1 => (n0 - 1).checked_mul(self.0.nb[0])?.checked_add(kind.block_bytes())?,
            block => n0.checked_mul(self.0.nb[0])? / block,
        };
        n.iter().zip(&self.0.nb[1..]).try_fold(row, |sum, (n, nb)| (n - 1).checked_mul(*nb)?.checked_add(sum))
    }

    /// Source `index`, `None` when absent.
    pub fn src(self, index: usize) -> Option<Tensor<'a>> {
        // SAFETY: a source lives as long as the tensor, by the contract of from_ptr.
        self.0.src.get(index).and_then(|source| unsafe { Tensor::from_ptr(*source) })
    }

    /// The tensor whose memory this one is a view of; the tensor itself when it is no view.
    pub fn root(self) -> Tensor<'a> {
        // SAFETY: a view source lives as long as the view, by the contract of from_ptr. ggml flattens views of views.
        unsafe { Tensor::from_ptr(self.0.view_src) }.unwrap_or(self)
    }

    /// Whether the tensor is a view of another one.
    pub fn is_view(self) -> bool {
        !self.0.view_src.is_null()
    }

    /// The op's arguments, as ggml lays them out.
    pub fn params(self) -> [i32; wire::HTP_MAX_PARAMS as usize] {
        self.0.op_params
    }

    /// Address of the first element, 0 before allocation.
    pub fn address(self) -> usize {
        self.0.data as usize
    }

    /// Addresses from the first to behind the last element, if [`Tensor::bytes`] knows how many there are.
    pub fn memory(self) -> Option<std::ops::Range<usize>> {
        let start = self.address();
        Some(start..start.checked_add(self.bytes()?)?)
    }

    /// The buffer that the tensor lies in (its own, or that of the tensor it is a view of); null before allocation.
    pub fn buffer(self) -> ggml_backend_buffer_t {
        if self.0.buffer.is_null() {
            self.root().0.buffer
        } else {
            self.0.buffer
        }
    }

    /// Whether the scheduler wants the node computed. Graphs may carry nodes that it does not.
    pub fn wants_compute(self) -> bool {
        self.0.flags & GGML_TENSOR_FLAG_COMPUTE as i32 != 0
    }

    /// Name given by the program, for messages.
    pub fn name(self) -> String {
        let bytes: Vec<u8> = self.0.name.iter().map(|&c| c as u8).collect();
        CStr::from_bytes_until_nul(&bytes).map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether elements lie one after the other, rows without gaps, in ggml's order.
    pub fn is_contiguous(self) -> bool {
        let Some((block, bytes)) = self.element_type().map(|kind| (kind.block_elements(), kind.block_bytes())) else {
            return false;
        };
        let mut expected = bytes;
        for (dim, (&ne, &nb)) in self.0.ne.iter().zip(&self.0.nb).enumerate() {
            if ne != 1 && nb != expected {
                return false;
            }
            let count = ne as usize / if dim == 0 { block } else { 1 };
            expected = expected.saturating_mul(count);
        }
        true
    }

    /// Whether elements of a row lie one after the other (rows themselves may be anywhere).
    pub fn has_contiguous_rows(self) -> bool {
        self.element_type().is_some_and(|kind| self.0.nb[0] == kind.block_bytes())
    }

    /// Whether both have the same number of elements in each dimension.
    pub fn same_shape(self, other: Tensor) -> bool {
        self.0.ne == other.0.ne
    }

    /// Whether each dimension of `self` divides that of `other`: `self` can be repeated to `other`'s shape.
    pub fn can_repeat_to(self, other: Tensor) -> bool {
        !self.is_empty() && self.0.ne.iter().zip(&other.0.ne).all(|(&small, &large)| large % small == 0)
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [n0, n1, n2, n3] = self.ne();
        match self.element_type() {
            Some(kind) => write!(f, "{} {kind:?}[{n0},{n1},{n2},{n3}]", self.name()),
            None => write!(f, "{} type {}[{n0},{n1},{n2},{n3}]", self.name(), self.ggml_type()),
        }
    }
}

macro_rules! element_types {
    ($($name:ident = $ggml:ident, $htp:ident, $elements:literal, $bytes:literal;)*) => {
        /// The element types that both ggml and the DSP know; blocks as in `include/htp/type_list.h`.
        #[allow(non_camel_case_types, reason = "ggml's names of its block formats")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ElementType {
            $(#[doc = concat!("`", stringify!($ggml), "`")] $name,)*
        }

        impl ElementType {
            /// All of them.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$name),*];

            /// From ggml's number.
            pub fn from_ggml(number: ggml_type) -> Option<ElementType> {
                match number {
                    $($ggml => Some(ElementType::$name),)*
                    _ => None,
                }
            }

            /// Number on the wire.
            pub fn to_wire(self) -> u16 {
                match self {
                    $(ElementType::$name => wire::$htp as u16,)*
                }
            }

            /// Elements of a block.
            pub fn block_elements(self) -> usize {
                match self {
                    $(ElementType::$name => $elements,)*
                }
            }

            /// Bytes of a block.
            pub fn block_bytes(self) -> usize {
                match self {
                    $(ElementType::$name => $bytes,)*
                }
            }

            /// Whether a block holds more than one element.
            pub fn is_quantized(self) -> bool {
                self.block_elements() > 1
            }
        }
    };
}

element_types! {
    F32 = GGML_TYPE_F32, HTP_TYPE_F32, 1, 4;
    F16 = GGML_TYPE_F16, HTP_TYPE_F16, 1, 2;
    I32 = GGML_TYPE_I32, HTP_TYPE_I32, 1, 4;
    I64 = GGML_TYPE_I64, HTP_TYPE_I64, 1, 8;
    Q4_0 = GGML_TYPE_Q4_0, HTP_TYPE_Q4_0, 32, 18;
    Q8_0 = GGML_TYPE_Q8_0, HTP_TYPE_Q8_0, 32, 34;
    Q4_1 = GGML_TYPE_Q4_1, HTP_TYPE_Q4_1, 32, 20;
    MXFP4 = GGML_TYPE_MXFP4, HTP_TYPE_MXFP4, 32, 17;
    IQ4_NL = GGML_TYPE_IQ4_NL, HTP_TYPE_IQ4_NL, 32, 18;
    BF16 = GGML_TYPE_BF16, HTP_TYPE_BF16, 1, 2;
    Q5_0 = GGML_TYPE_Q5_0, HTP_TYPE_Q5_0, 32, 22;
    Q5_1 = GGML_TYPE_Q5_1, HTP_TYPE_Q5_1, 32, 24;
    I16 = GGML_TYPE_I16, HTP_TYPE_I16, 1, 2;
    I8 = GGML_TYPE_I8, HTP_TYPE_I8, 1, 1;
    Q2_K = GGML_TYPE_Q2_K, HTP_TYPE_Q2_K, 256, 84;
    Q3_K = GGML_TYPE_Q3_K, HTP_TYPE_Q3_K, 256, 110;
    Q4_K = GGML_TYPE_Q4_K, HTP_TYPE_Q4_K, 256, 144;
    Q5_K = GGML_TYPE_Q5_K, HTP_TYPE_Q5_K, 256, 176;
    Q6_K = GGML_TYPE_Q6_K, HTP_TYPE_Q6_K, 256, 210;
    IQ4_XS = GGML_TYPE_IQ4_XS, HTP_TYPE_IQ4_XS, 256, 136;
}

/// Builds tensors for tests, as ggml would lay them out.
#[cfg(test)]
pub mod test {
    use super::*;

    /// A contiguous tensor of `kind` and shape `ne` that no op computes.
    pub fn tensor(kind: ElementType, ne: [i64; 4]) -> ggml_tensor {
        let number = (0..GGML_TYPE_COUNT).find(|&n| ElementType::from_ggml(n) == Some(kind)).expect("a known type");
        let mut t = ggml_tensor { type_: number, ne, ..Default::default() };
        t.nb[0] = kind.block_bytes();
        t.nb[1] = t.nb[0] * (ne[0] as usize / kind.block_elements());
        t.nb[2] = t.nb[1] * ne[1] as usize;
        t.nb[3] = t.nb[2] * ne[2] as usize;
        t
    }

    /// `op` applied to `src`, with a contiguous result of `kind` and shape `ne`.
    pub fn node(op: ggml_op, kind: ElementType, ne: [i64; 4], src: &mut [&mut ggml_tensor]) -> ggml_tensor {
        let mut t = tensor(kind, ne);
        t.op = op;
        for (slot, source) in t.src.iter_mut().zip(src) {
            *slot = &mut **source;
        }
        t
    }

    /// The view of a C tensor that the test owns.
    pub fn view(t: &ggml_tensor) -> Tensor<'_> {
        Tensor(t)
    }

    #[test]
    fn contiguity() {
        let mut t = tensor(ElementType::F32, [5, 3, 2, 1]);
        assert!(view(&t).is_contiguous() && view(&t).has_contiguous_rows());
        t.nb[1] += 4;
        assert!(!view(&t).is_contiguous() && view(&t).has_contiguous_rows());
        t.nb.swap(0, 1);
        assert!(!view(&t).has_contiguous_rows());
        let q = tensor(ElementType::Q4_0, [64, 3, 1, 1]);
        assert!(view(&q).is_contiguous());
        assert_eq!(view(&q).nb()[1], 36);
    }

    #[test]
    fn bytes() {
        let t = tensor(ElementType::F32, [5, 3, 2, 1]);
        assert_eq!(view(&t).bytes(), Some(120));
        let rows = ggml_tensor { nb: [4, 64, 1024, 4096], ..t };
        assert_eq!(view(&rows).bytes(), Some(20 + 2 * 64 + 1024));
        let apart = ggml_tensor { nb: [64, 4, 1024, 4096], ..t };
        assert_eq!(view(&apart).bytes(), Some(4 * 64 + 4 + 2 * 4 + 1024));
        assert_eq!(view(&tensor(ElementType::Q8_0, [96, 3, 1, 2])).bytes(), Some(6 * 3 * 34));
        assert_eq!(view(&tensor(ElementType::F16, [4, 0, 2, 1])).bytes(), Some(0));
        assert_eq!(view(&ggml_tensor { type_: GGML_TYPE_COUNT, ..t }).bytes(), None);
        assert_eq!(view(&ggml_tensor { nb: [4, usize::MAX, 1, 1], ..t }).bytes(), None);
    }

    #[test]
    fn block_sizes_agree_with_the_wire_header() {
        let header = include_str!("../../include/htp/type_list.h");
        for kind in ElementType::ALL {
            let line = format!("X({}, {kind:?}, {}, {})", kind.to_wire(), kind.block_elements(), kind.block_bytes());
            assert!(header.contains(&line), "type_list.h lacks {line}");
        }
    }
}
