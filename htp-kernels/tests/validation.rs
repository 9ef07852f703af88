//! What the DSP side accepts and what it refuses.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/local.rs"]
mod local;

use common::scene::*;
use common::*;
use local::{declare, undeclare, Runtime};
use proptest::prelude::*;

struct Bench {
    runtime: Runtime,
    command: Shared,
    data: Shared,
}

impl Bench {
    fn new() -> Self {
        let bench =
            Self { runtime: Runtime::start(2), command: Shared::new(COMMAND_BYTES), data: Shared::new(DATA_BYTES) };
        declare(&bench.command);
        declare(&bench.data);
        bench
    }

    fn scene(&self) -> Scene {
        Scene::new(&self.command, &self.data)
    }

    fn run(&self, scene: &Scene) -> Response {
        scene.store(&self.command);
        let response = self.runtime.packet(&scene.request.bytes());
        assert_eq!(response.magic, RESPONSE_MAGIC);
        assert_eq!(response.seq, scene.request.seq);
        assert!(response.status <= LAST_STATUS);
        assert_ne!(response.usecs, u64::MAX);
        response
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        undeclare(&self.command);
        undeclare(&self.data);
    }
}

fn ok(ops: u32) -> impl Fn(Response) {
    move |r| {
        assert_eq!((r.status, r.op_index, r.ops_done, r.detail), (OK, NO_TENSOR.into(), ops, 0));
    }
}

#[test]
fn valid_batch_computes() {
    let bench = Bench::new();
    let a: Vec<f32> = (0..ELEMENTS).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..ELEMENTS).map(|i| (i * i) as f32 * 0.5).collect();
    bench.data.write_f32(A_AT, &a);
    bench.data.write_f32(B_AT, &b);
    ok(2)(bench.run(&bench.scene()));
    let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(bench.data.read_f32(SUM_AT, ELEMENTS), want);
}

#[test]
fn nothing_to_do_is_fine() {
    let bench = Bench::new();
    let mut scene = bench.scene();
    scene.ops.clear();
    scene.tensors.clear();
    scene.buffers.clear();
    scene.lay_out();
    ok(0)(bench.run(&scene));
}

#[test]
fn op_without_elements_is_skipped() {
    let bench = Bench::new();
    let mut scene = bench.scene();
    scene.ops[0].dst = 6; // an empty F16 tensor, which ADD of F32 would refuse
    ok(2)(bench.run(&scene));
}

/// A change of a valid scene that must be refused, with status, op_index and detail of the response.
type Case = (&'static str, fn(&mut Scene), u32, u32, u32);

const NO_OP: u32 = NO_TENSOR as u32;

fn shape(scene: &mut Scene, ne: [u32; 4], nb: [u32; 4]) {
    scene.tensors[0].ne = ne;
    scene.tensors[0].nb = nb;
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("request magic", |s| s.request.magic ^= 1, BAD_PACKET, NO_OP, 0),
    ("request version", |s| s.request.version += 1, BAD_PACKET, NO_OP, 0),
    ("request flags", |s| s.request.flags = 1, BAD_PACKET, NO_OP, 0),
    ("request offset unaligned", |s| s.request.offset += 8, BAD_BATCH, NO_OP, 1),
    ("request offset beyond", |s| s.request.offset = COMMAND_BYTES as u32, BAD_BATCH, NO_OP, 1),
    ("request offset wraps", |s| s.request.offset = 0xffff_ff80, BAD_BATCH, NO_OP, 1),
    ("request size below a header", |s| s.request.size = 39, BAD_BATCH, NO_OP, 1),
    ("request size beyond", |s| s.request.size = COMMAND_BYTES as u32, BAD_BATCH, NO_OP, 1),
    ("request size short of the ops", |s| s.request.size -= 1, BAD_BATCH, NO_OP, 5),
    ("request fd", |s| s.request.fd = 60000, BAD_BUFFER, NO_OP, NO_OP),
    ("request fd huge", |s| s.request.fd = u32::MAX, BAD_BUFFER, NO_OP, NO_OP),
    ("request fd_size", |s| s.request.fd_size += 1, BAD_BUFFER, NO_OP, NO_OP),
    ("request fd_size zero", |s| s.request.fd_size = 0, BAD_BATCH, NO_OP, 1),
    ("batch magic", |s| s.header.magic ^= 1, BAD_BATCH, NO_OP, 2),
    ("batch version", |s| s.header.version = 0, BAD_BATCH, NO_OP, 2),
    ("too many buffers", |s| s.header.n_buffers = 65, BAD_BATCH, NO_OP, 3),
    ("buffers beyond", |s| s.header.buffers_offset = s.request.size / 8 * 8, BAD_BATCH, NO_OP, 3),
    ("buffers unaligned", |s| s.header.buffers_offset += 4, BAD_BATCH, NO_OP, 3),
    ("buffers in the header", |s| s.header.buffers_offset = 0, BAD_BATCH, NO_OP, 3),
    ("too many tensors", |s| s.header.n_tensors = 16385, BAD_BATCH, NO_OP, 4),
    ("tensors beyond", |s| s.header.n_tensors = 100, BAD_BATCH, NO_OP, 4),
    ("tensors_offset wraps", |s| s.header.tensors_offset = 0xffff_fff8, BAD_BATCH, NO_OP, 4),
    ("tensors unaligned", |s| s.header.tensors_offset += 1, BAD_BATCH, NO_OP, 4),
    ("too many ops", |s| s.header.n_ops = 4097, BAD_BATCH, NO_OP, 5),
    ("n_ops that overflows", |s| s.header.n_ops = u32::MAX, BAD_BATCH, NO_OP, 5),
    ("ops beyond", |s| s.header.n_ops += 1, BAD_BATCH, NO_OP, 5),
    ("ops unaligned", |s| s.header.ops_offset -= 4, BAD_BATCH, NO_OP, 5),
    ("profile in the header", |s| s.header.profile_offset = 8, BAD_BATCH, NO_OP, 6),
    ("profile unaligned", |s| s.header.profile_offset = 44, BAD_BATCH, NO_OP, 6),
    ("profile beyond", |s| s.header.profile_offset = s.request.size - 120, BAD_BATCH, NO_OP, 6),
    ("profile_offset wraps", |s| s.header.profile_offset = 0xffff_fff8, BAD_BATCH, NO_OP, 6),
    ("buffer fd", |s| s.buffers[0].fd = 60000, BAD_BUFFER, NO_OP, 0),
    ("buffer size beyond", |s| s.buffers[0].size += 1, BAD_BUFFER, NO_OP, 0),
    ("buffer size zero", |s| s.buffers[0].size = 0, BAD_BUFFER, NO_OP, 0),
    ("buffer size above 32 bits", |s| s.buffers[0].size |= 1 << 32, BAD_BUFFER, NO_OP, 0),
    ("buffer size huge", |s| s.buffers[0].size = u64::MAX, BAD_BUFFER, NO_OP, 0),
    ("tensor buffer", |s| s.tensors[3].buffer = 1, BAD_TENSOR, NO_OP, 3),
    ("tensor type", |s| s.tensors[3].kind = 6, BAD_TENSOR, NO_OP, 3),
    ("tensor layout", |s| s.tensors[3].layout = 2, BAD_TENSOR, NO_OP, 3),
    ("tensor offset beyond", |s| s.tensors[6].offset += 2, BAD_TENSOR, NO_OP, 6),
    ("tensor offset huge", |s| s.tensors[0].offset = u64::MAX - 3, BAD_TENSOR, NO_OP, 0),
    ("tensor offset unaligned", |s| s.tensors[0].offset = 2, BAD_TENSOR, NO_OP, 0),
    ("tensor stride unaligned", |s| s.tensors[0].nb[1] += 2, BAD_TENSOR, NO_OP, 0),
    ("tensor ends beyond by one row", |s| s.tensors[1].offset = (DATA_BYTES - 1024 + 4) as u64, BAD_TENSOR, NO_OP, 1),
    ("tensor ne beyond", |s| s.tensors[1].ne[0] = DATA_BYTES as u32, BAD_TENSOR, NO_OP, 1),
    ("tensor nb beyond", |s| s.tensors[1].nb[2] = DATA_BYTES as u32, BAD_TENSOR, NO_OP, 1),
    ("tensor rows above 32 bits", |s| shape(s, [1, 65536, 65536, 1], [4, 0, 0, 0]), BAD_TENSOR, NO_OP, 0),
    ("tensor span above 64 bits", |s| shape(s, [u32::MAX, 2, 2, 2], [0xffff_fffc; 4]), BAD_TENSOR, NO_OP, 0),
    ("quantised row not of whole blocks", |s| s.tensors[4].ne[0] = 48, BAD_TENSOR, NO_OP, 4),
    ("quantised nb[0]", |s| s.tensors[4].nb[0] = 20, BAD_TENSOR, NO_OP, 4),
    ("quantised stride odd", |s| s.tensors[4].nb[1] = 37, BAD_TENSOR, NO_OP, 4),
    ("tiles of F32", |s| s.tensors[5].kind = F32, BAD_TENSOR, NO_OP, 5),
    ("tiles ne[0]", |s| s.tensors[5].ne[0] = 48, BAD_TENSOR, NO_OP, 5),
    ("tiles offset", |s| s.tensors[5].offset += 64, BAD_TENSOR, NO_OP, 5),
    // two column tiles of 9 vectors: 2304 bytes
    ("tiles beyond", |s| s.tensors[5].offset = (DATA_BYTES - 2304 + 128) as u64, BAD_TENSOR, NO_OP, 5),
    ("tiles of many matrices", |s| s.tensors[5].ne = [0xffff_ffe0, 65535, 65536, 1], BAD_TENSOR, NO_OP, 5),
    ("op number", |s| s.ops[1].op = 999, UNSUPPORTED, 1, 999),
    ("op number zero", |s| s.ops[1].op = 0, UNSUPPORTED, 1, 0),
    ("op dst", |s| s.ops[1].dst = 7, BAD_OP, 1, 7),
    ("op dst absent", |s| s.ops[1].dst = NO_TENSOR, BAD_OP, 1, NO_OP),
    ("op n_src", |s| s.ops[1].n_src = 9, BAD_OP, 1, 9),
    ("op src", |s| s.ops[1].src[0] = 7, BAD_OP, 1, 7),
];

#[test]
fn each_field_is_checked() {
    let bench = Bench::new();
    for (name, change, status, op_index, detail) in CASES {
        let mut scene = bench.scene();
        bench.data.write_f32(SUM_AT, &[-1.0; ELEMENTS]);
        change(&mut scene);
        let r = bench.run(&scene);
        assert_eq!((r.status, r.op_index, r.detail, r.ops_done), (*status, *op_index, *detail, 0), "{name}");
        assert_eq!(bench.data.read_f32(SUM_AT, ELEMENTS), [-1.0; ELEMENTS], "{name}: an op ran before the checks");
        ok(2)(bench.run(&bench.scene()));
    }
}

#[test]
fn what_just_fits_is_accepted() {
    let bench = Bench::new();
    let mut scene = bench.scene();
    scene.tensors[1].offset = (DATA_BYTES - 1024) as u64;
    scene.tensors[5].offset = (DATA_BYTES - 2304) as u64;
    scene.tensors[4].offset = (DATA_BYTES - 1440) as u64;
    ok(2)(bench.run(&scene));
}

#[test]
fn failing_op_says_where_it_stopped() {
    let bench = Bench::new();
    let mut scene = bench.scene();
    scene.ops.swap(0, 1);
    scene.ops[1].n_src = 1; // ADD of one source: the kernel's own check
    let r = bench.run(&scene);
    assert_ne!(r.status, OK);
    assert_eq!((r.op_index, r.ops_done), (1, 1));
}

/// What a batch's profile says after it ran; ops that were not completed keep what was there before.
fn profile(bench: &Bench, scene: &mut Scene) -> (Response, Vec<Profile>) {
    let at = scene.want_profile();
    let mut bytes = vec![0xee; scene.ops.len() * size_of::<Profile>()];
    bench.command.write(at, &bytes);
    let r = bench.run(scene);
    bench.command.read(at, &mut bytes);
    (r, bytes.chunks_exact(size_of::<Profile>()).map(Profile::from_bytes).collect())
}

#[test]
fn a_profile_is_written_where_it_is_wanted() {
    let bench = Bench::new();
    let (r, costs) = profile(&bench, &mut bench.scene());
    ok(2)(r);
    let [first, second] = costs[..] else { panic!("{costs:?}") };
    assert!(first.cycles > 0 && second.cycles > 0);
    assert!(second.start >= first.start + first.cycles, "{first:?} {second:?}");
    assert!(u64::from(first.usecs) + u64::from(second.usecs) <= r.usecs);
    assert_eq!((first.hmx, first.packets, first.events), (0, 0, [0; 8])); // nobody counts them here
}

#[test]
fn an_op_that_fails_has_no_profile() {
    let bench = Bench::new();
    let mut scene = bench.scene();
    scene.ops[1].n_src = 0;
    let (r, costs) = profile(&bench, &mut scene);
    assert_eq!((r.status, r.op_index, r.ops_done), (BAD_OP, 1, 1));
    assert_ne!(costs[0].start, 0xeeee_eeee_eeee_eeee);
    assert_eq!(costs[1].bytes(), [0xee; size_of::<Profile>()]);
}

#[test]
fn packets_of_any_length_are_answered() {
    let bench = Bench::new();
    bench.scene().store(&bench.command);
    let message = bench.scene().request.bytes();
    for length in (0..32).chain([33, 64, 4096]) {
        let mut packet = message.clone();
        packet.resize(length, 0);
        let r = bench.runtime.packet(&packet);
        let seq = if length < 12 { 0 } else { 7 };
        assert_eq!((r.magic, r.seq, r.status, r.detail), (RESPONSE_MAGIC, seq, BAD_PACKET, length as u32));
    }
}

#[test]
fn unregistered_buffer_is_refused() {
    let bench = Bench::new();
    ok(2)(bench.run(&bench.scene()));
    undeclare(&bench.data);
    assert_eq!(bench.run(&bench.scene()).status, BAD_BUFFER);
    declare(&bench.data);
    ok(2)(bench.run(&bench.scene()));
}

#[test]
fn reused_fd_number_reaches_the_new_memory() {
    let bench = Bench::new();
    ok(2)(bench.run(&bench.scene()));
    bench.data.write_f32(SUM_AT, &[-1.0; ELEMENTS]);
    let other = Shared::new(DATA_BYTES);
    other.write_f32(A_AT, &[1.0; ELEMENTS]);
    other.write_f32(B_AT, &[2.0; ELEMENTS]);
    undeclare(&bench.data);
    // SAFETY: both are open descriptors of this process.
    assert!(unsafe { libc::dup2(other.fd as i32, bench.data.fd as i32) } >= 0);
    declare(&bench.data);
    ok(2)(bench.run(&bench.scene()));
    assert_eq!(other.read_f32(SUM_AT, ELEMENTS), [3.0; ELEMENTS]);
    assert_eq!(bench.data.read_f32(SUM_AT, ELEMENTS), [-1.0; ELEMENTS]); // the old memory, still mapped here
}

#[test]
fn buffer_named_twice_with_growing_size() {
    let bench = Bench::new();
    let mut scene = bench.scene();
    let whole = scene.buffers[0];
    scene.buffers = vec![Buffer { size: 20480, ..whole }, whole, Buffer { size: 4096, ..whole }];
    scene.tensors[4].buffer = 1;
    scene.tensors[5].buffer = 1;
    scene.tensors[6].buffer = 1;
    scene.lay_out();
    bench.data.write_f32(A_AT, &[4.0; ELEMENTS]);
    bench.data.write_f32(B_AT, &[5.0; ELEMENTS]);
    ok(2)(bench.run(&scene));
    assert_eq!(bench.data.read_f32(SUM_AT, ELEMENTS), [9.0; ELEMENTS]);
    ok(2)(bench.run(&scene));
    scene.tensors[0].buffer = 2; // ends at 1024, fits
    scene.tensors[1].buffer = 2; // begins where that buffer ends
    assert_eq!(bench.run(&scene).status, BAD_TENSOR);
}

#[test]
fn more_buffers_than_mappings() {
    let bench = Bench::new();
    let many: Vec<Shared> = (0..150).map(|_| Shared::new(DATA_BYTES)).collect();
    many.iter().for_each(declare);
    for round in 0..2 {
        for (i, shared) in many.iter().enumerate() {
            let value = (round * 1000 + i) as f32;
            shared.write_f32(A_AT, &[value; ELEMENTS]);
            ok(2)(bench.run(&Scene::new(&bench.command, shared)));
            assert_eq!(shared.read_f32(SUM_AT, 1), [value]);
        }
    }
    many.iter().for_each(undeclare);
}

/// The rule for a tensor, written again from the documentation with numbers that cannot overflow: the bytes from the
/// first element to behind the last. None: wrong wherever it lies.
fn extent(t: &Tensor) -> Option<u128> {
    let (block, bytes, align): (u128, u128, u128) = match t.kind {
        F32 | I32 => (1, 4, 4),
        F16 | BF16 | I16 => (1, 2, 2),
        I8 => (1, 1, 1),
        I64 => (1, 8, 8),
        Q4_0 | IQ4_NL => (32, 18, 2),
        Q8_0 => (32, 34, 2),
        Q4_1 => (32, 20, 2),
        Q5_0 => (32, 22, 2),
        Q5_1 => (32, 24, 2),
        MXFP4 => (32, 17, 1),
        Q2_K => (256, 84, 2),
        Q3_K => (256, 110, 2),
        Q4_K => (256, 144, 2),
        Q5_K => (256, 176, 2),
        Q6_K => (256, 210, 2),
        IQ4_XS => (256, 136, 2),
        _ => return None,
    };
    let ne = t.ne.map(u128::from);
    let nb = t.nb.map(u128::from);
    let offset = u128::from(t.offset);
    let empty = ne.contains(&0);
    let right = ne[1] * ne[2] * ne[3] <= u32::MAX.into();
    match t.layout {
        ROWS => {
            let shape = ne[0] % block == 0 && (block == 1 || nb[0] == bytes);
            let aligned = offset % align == 0 && nb.iter().all(|n| n % align == 0);
            let last = || (ne[0] / block - 1) * nb[0] + (1..4).map(|i| (ne[i] - 1) * nb[i]).sum::<u128>();
            (right && shape && aligned).then(|| if empty { 0 } else { last() + bytes })
        }
        TILES => {
            // vectors of the quants of a block, blocks that share scale vectors, and how many of these
            let (vectors, group, scales) = match t.kind {
                Q4_0 | IQ4_NL => (4, 2, 1),
                Q8_0 => (8, 2, 1),
                Q4_1 => (4, 2, 2),
                MXFP4 => (4, 4, 1),
                Q5_0 => (5, 2, 1),
                Q5_1 => (5, 2, 2),
                Q2_K => (2, 8, 5),
                Q3_K => (3, 16, 7),
                Q4_K => (4, 8, 4),
                Q5_K => (5, 8, 4),
                Q6_K => (6, 16, 9),
                IQ4_XS => (4, 8, 2),
                _ => return None,
            };
            let blocks = ne[0] / 32;
            let column = 128 * (blocks * vectors + blocks.div_ceil(group) * scales);
            let all = column * ne[1].div_ceil(32) * ne[2] * ne[3];
            (right && ne[0] % block == 0 && offset % 128 == 0).then_some(all)
        }
        _ => None,
    }
}

/// Whether a tensor is right in a batch with one buffer.
fn fits(t: &Tensor, buffer_size: u64) -> bool {
    t.buffer == 0 && extent(t).is_some_and(|bytes| u128::from(t.offset) + bytes <= buffer_size.into())
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => 0u32..70,
        4 => (0u32..40).prop_map(|n| n * 32),
        3 => (0u32..10).prop_map(|n| n * 256),
        2 => (0u32..32).prop_map(|n| 1 << n),
        1 => (0u32..64).prop_map(|n| u32::MAX - n),
        1 => any::<u32>(),
    ]
}

fn stride(kind: u16) -> impl Strategy<Value = u32> {
    let block = match kind {
        Q4_0 | IQ4_NL => 18,
        Q8_0 => 34,
        Q4_1 => 20,
        MXFP4 => 17,
        Q5_0 => 22,
        Q5_1 => 24,
        Q2_K => 84,
        Q3_K => 110,
        Q4_K => 144,
        Q5_K => 176,
        Q6_K => 210,
        IQ4_XS => 136,
        _ => 4,
    };
    prop_oneof![6 => Just(block), 4 => (0u32..64).prop_map(move |n| n * block), 2 => number()]
}

fn tensor() -> impl Strategy<Value = Tensor> {
    let offset = prop_oneof![
        4 => (0u64..16).prop_map(|n| n * 128),
        3 => (0u64..32).prop_map(|n| DATA_BYTES as u64 - n * 64),
        2 => any::<u32>().prop_map(|n| u64::from(n) % (DATA_BYTES as u64 + 8)),
        1 => any::<u64>(),
    ];
    (0u16..21, prop_oneof![3 => Just(ROWS), 3 => Just(TILES), 1 => 2u16..4], offset).prop_flat_map(
        |(kind, layout, offset)| {
            let ne = [
                number().boxed(),
                number().boxed(),
                (0u32..5).boxed(),
                prop_oneof![4 => 0u32..3, 1 => number()].boxed(),
            ];
            let nb = [stride(kind).boxed(), stride(kind).boxed(), stride(kind).boxed(), stride(kind).boxed()];
            (prop_oneof![9 => Just(0u32), 1 => number()], ne, nb).prop_map(move |(buffer, ne, nb)| Tensor {
                buffer,
                kind,
                layout,
                offset,
                ne,
                nb,
            })
        },
    )
}

extern "C" {
    fn htp_tensor_fits(tensor: *const Tensor, buffer_size: u64, bytes: *mut u64) -> bool;
}

/// The check itself: the extent of a tensor that fits.
fn checked(t: &Tensor, buffer_size: u64) -> Option<u64> {
    let mut bytes = u64::MAX;
    // SAFETY: both pointers are valid for the call.
    unsafe { htp_tensor_fits(t, buffer_size, &mut bytes) }.then_some(bytes)
}

#[test]
fn sizes_beyond_64_bits_do_not_wrap() {
    let rows = Tensor { ne: [u32::MAX, 4, 4, 4], nb: [0xffff_fffc; 4], ..f32_tensor(0, [1; 4]) };
    let tiles = Tensor { kind: Q8_0, layout: TILES, ne: [0xffff_ffe0, 1, 65535, 65537], ..rows };
    for t in [rows, tiles] {
        assert!(extent(&t).is_some_and(|bytes| bytes > u64::MAX.into()));
        assert_eq!(checked(&t, u64::MAX), None);
    }
}

#[test]
fn range_check_is_exact() {
    let sized = std::cell::Cell::new(0u32);
    proptest!(ProptestConfig::with_cases(50_000), |(t in tensor(), size in any::<u64>())| {
        let Some(bytes) = extent(&t) else {
            prop_assert_eq!(checked(&t, size), None);
            prop_assert_eq!(checked(&t, u64::MAX), None);
            return Ok(());
        };
        match u64::try_from(u128::from(t.offset) + bytes) {
            Ok(end) => {
                sized.set(sized.get() + 1);
                prop_assert_eq!(checked(&t, end), Some(bytes as u64));
                prop_assert_eq!(checked(&t, u64::MAX), Some(bytes as u64));
                prop_assert!(end == 0 || checked(&t, end - 1).is_none());
            }
            Err(_) => prop_assert_eq!(checked(&t, u64::MAX), None),
        }
    });
    assert!(sized.get() > 5000, "the inputs test little: {}", sized.get());
}

#[test]
fn accepted_tensors_lie_in_their_buffer() {
    let bench = Bench::new();
    let counts = std::cell::Cell::new([0u32; 2]);
    proptest!(ProptestConfig::with_cases(20_000), |(t in tensor())| {
        let mut scene = bench.scene();
        scene.ops.clear();
        scene.tensors = vec![t];
        scene.lay_out();
        let accepted = bench.run(&scene).status == OK;
        prop_assert_eq!(accepted, fits(&t, DATA_BYTES as u64));
        let mut seen = counts.get();
        seen[usize::from(accepted)] += 1;
        counts.set(seen);
    });
    let [refused, accepted] = counts.get();
    assert!(refused > 1000 && accepted > 1000, "the inputs test little: {refused} refused, {accepted} accepted");
}

#[test]
fn mutated_batches_never_crash() {
    let bench = Bench::new();
    let mut original = bench.scene();
    // weights of 64 x 40 in tiles, times three vectors
    original.tensors.extend([f32_tensor(A_AT, [64, 3, 1, 1]), f32_tensor(65536, [40, 3, 1, 1])]);
    let mut product = Op { op: MUL_MAT, dst: 8, n_src: 2, src: [NO_TENSOR; 8], ..Op::default() };
    product.src[..2].copy_from_slice(&[5, 7]);
    original.ops.push(product);
    // the same weights as those of the only expert, which all of three tokens choose: memory is zero there
    original.tensors.extend([
        Tensor { kind: I32, ..f32_tensor(131072, [1, 3, 1, 1]) },
        f32_tensor(A_AT, [64, 1, 3, 1]),
        f32_tensor(65536, [40, 1, 3, 1]),
    ]);
    let mut experts = Op { op: MUL_MAT_ID, dst: 11, n_src: 3, src: [NO_TENSOR; 8], ..Op::default() };
    experts.src[..3].copy_from_slice(&[5, 10, 9]);
    original.ops.push(experts);
    original.lay_out();
    ok(4)(bench.run(&original));
    let request_len = size_of::<Request>();
    let total = request_len + original.batch_bytes().len();
    let byte = prop_oneof![Just(0u8), Just(1), Just(0x7f), Just(0xff), any::<u8>()];
    let changes = proptest::collection::vec((0..total, byte), 1..8);
    proptest!(ProptestConfig::with_cases(20_000), |(changes in changes)| {
        let mut bytes = original.request.bytes();
        bytes.extend(original.batch_bytes());
        for (at, value) in changes {
            bytes[at] = value;
        }
        bench.command.write(BATCH_OFFSET, &bytes[request_len..]);
        let r = bench.runtime.packet(&bytes[..request_len]);
        prop_assert_eq!(r.magic, RESPONSE_MAGIC);
        prop_assert_eq!(r.seq, Request::from_bytes(&bytes[..request_len]).seq);
        prop_assert!(r.status <= LAST_STATUS);
        prop_assert!(r.status != OK || (r.op_index == NO_OP && r.detail == 0));
    });
    ok(2)(bench.run(&bench.scene()));
}
