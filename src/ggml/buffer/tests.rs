//! The buffer's functions as ggml calls them, against plain vectors of bytes: transfers at any offset and size, 2-D
//! transfers, fills, copies between buffers, for tensors in tiles and in rows that lie side by side.

#[allow(dead_code)] // of the driver: what other tests need
#[path = "../../../tests/dsp_driver/mod.rs"]
mod dsp_driver;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::dsp::{Capabilities, Session};
use crate::ggml::tensor::test::{tensor, view};
use crate::ggml::tensor::ElementType::{self, *};
use crate::layout::TileType;

/// A buffer as `ggml_backend_buffer_init` makes it.
struct Holder(Box<ggml_backend_buffer>);

impl Holder {
    fn new(session: &Arc<Session>, size: usize, tiles: bool) -> Holder {
        let memory = session.allocate(size).expect("memory");
        let context = Box::into_raw(Box::new(Buffer::new(memory, tiles)));
        Holder(Box::new(ggml_backend_buffer { iface: VTABLE, context: context.cast(), size, ..Default::default() }))
    }

    fn raw(&self) -> ggml_backend_buffer_t {
        ptr::from_ref(&*self.0).cast_mut()
    }

    fn place(&self, t: &mut ggml_tensor, at: usize) {
        // SAFETY: a live buffer of ours, a live tensor.
        unsafe {
            t.data = get_base(self.raw()).cast::<u8>().add(at).cast();
            t.buffer = self.raw();
            assert_eq!(init_tensor(self.raw(), t), GGML_STATUS_SUCCESS);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { free_buffer(self.raw()) };
    }
}

/// A tensor with what ggml expects in it: all its bytes, or those of the tensor that it is a view of.
struct Subject {
    t: Box<ggml_tensor>,
    buffer: usize,
    /// Which model, and where in it the tensor begins.
    model: usize,
    start: usize,
    len: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Set(usize, f64, f64),
    Set2d(usize, f64, usize, usize, usize, usize),
    Get2d(usize, f64, usize, usize, usize, usize),
    Memset(usize, f64, f64, u8),
    Copy(usize, usize),
    Clear(usize, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Lengths inside a block, inside a row, and any.
    let len = || prop_oneof![0.0..0.01, 0.0..0.1, 0.0..1.0f64];
    let at = || prop_oneof![0.0..1.0f64, Just(0.0)];
    let (size, count, gap) = (|| 0usize..60, || 0usize..5, || 0usize..90);
    let step = prop_oneof![
        3 => (any::<usize>(), at(), len()).prop_map(|(t, a, b)| Step::Set(t, a, b)),
        2 => (any::<usize>(), at(), size(), count(), gap(), 0usize..9).prop_map(|(t, a, s, n, g, d)| Step::Set2d(t, a, s, n, g, d)),
        2 => (any::<usize>(), at(), size(), count(), gap(), 0usize..9).prop_map(|(t, a, s, n, g, d)| Step::Get2d(t, a, s, n, g, d)),
        2 => (any::<usize>(), at(), len(), any::<u8>()).prop_map(|(t, a, b, v)| Step::Memset(t, a, b, v)),
        3 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Copy(a, b)),
        1 => (0usize..3, any::<u8>()).prop_map(|(b, v)| Step::Clear(b, v)),
    ];
    prop::collection::vec(step, 1..10)
}

fn kinds() -> impl Strategy<Value = ElementType> {
    let tiled: Vec<_> =
        ElementType::ALL.iter().copied().filter(|&kind| super::super::storage::tile_type(kind).is_some()).collect();
    assert_eq!(tiled.len(), TileType::ALL.len());
    prop::sample::select(tiled)
}

/// Two buffers with tiles and one with rows. Each holds a weight, a few f32 right behind it, a second weight like the
/// first, and views of the first: some of its rows, and one of its matrices.
struct World {
    buffers: Vec<Holder>,
    subjects: Vec<Subject>,
    models: Vec<Vec<u8>>,
    seed: u64,
}

impl World {
    fn new(session: &Arc<Session>, kind: ElementType, ne: [i64; 4], rows: (usize, usize)) -> World {
        let mut world = World { buffers: vec![], subjects: vec![], models: vec![], seed: 1 };
        for tiles in [true, true, false] {
            let weight = tensor(kind, ne);
            let room = super::super::storage::tile_layout(view(&weight)).expect("a weight").tiled_bytes() + 128;
            let holder = Holder::new(session, 2 * room + 64, tiles);
            let buffer = world.buffers.len();
            let weights: Vec<usize> = [0, room].map(|at| world.add(&holder, buffer, weight, at)).into();
            world.add(&holder, buffer, tensor(F32, [16, 1, 1, 1]), room - 128);
            world.add_views(buffer, weights[0], rows);
            world.buffers.push(holder);
        }
        for model in 0..world.models.len() {
            world.models[model].fill(0x77);
        }
        for (subject, holder) in world.subjects.iter().map(|s| (s, &world.buffers[s.buffer])) {
            // SAFETY: a live buffer of ours and a live tensor in it.
            unsafe { memset_tensor(holder.raw(), ptr::from_ref(&*subject.t).cast_mut(), 0x77, 0, subject.len) };
        }
        world
    }

    fn add(&mut self, holder: &Holder, buffer: usize, t: ggml_tensor, at: usize) -> usize {
        let mut t = Box::new(t);
        holder.place(&mut t, at);
        let (model, len) = (self.models.len(), view(&t).bytes().expect("known"));
        self.models.push(vec![0; len]);
        self.subjects.push(Subject { t, buffer, model, start: 0, len });
        self.subjects.len() - 1
    }

    fn add_views(&mut self, buffer: usize, of: usize, (first, count): (usize, usize)) {
        let root = &self.subjects[of];
        let (model, raw) = (root.model, ptr::from_ref(&*root.t).cast_mut());
        let whole = *root.t;
        let matrices = [whole.ne[0], whole.ne[1], 1, 1];
        let rows = [whole.ne[0], count as i64, 1, 1];
        for (ne, start) in [(rows, first * whole.nb[1]), (matrices, (whole.ne[2] - 1) as usize * whole.nb[2])] {
            let mut t = Box::new(ggml_tensor { ne, view_src: raw, view_offs: start, ..whole });
            t.nb[2] = t.nb[1] * ne[1] as usize;
            t.nb[3] = t.nb[2];
            t.data = (whole.data as usize + start) as *mut c_void;
            t.buffer = ptr::null_mut();
            let len = view(&t).bytes().expect("known");
            self.subjects.push(Subject { t, buffer, model, start, len });
        }
    }

    fn noise(&mut self, len: usize) -> Vec<u8> {
        let mut next = || {
            self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.seed >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    /// The raw buffer and tensor of a subject.
    fn raw(&self, subject: usize) -> (ggml_backend_buffer_t, *mut ggml_tensor) {
        let subject = &self.subjects[subject];
        (self.buffers[subject.buffer].raw(), ptr::from_ref(&*subject.t).cast_mut())
    }

    fn model(&mut self, subject: usize) -> &mut [u8] {
        let subject = &self.subjects[subject];
        &mut self.models[subject.model][subject.start..][..subject.len]
    }

    fn get(&self, subject: usize) -> Vec<u8> {
        let (buffer, t) = self.raw(subject);
        let mut out = vec![0xee; self.subjects[subject].len];
        // SAFETY: live objects of ours; the memory has the tensor's size.
        unsafe { get_tensor(buffer, t, out.as_mut_ptr().cast(), 0, out.len()) };
        out
    }

    fn run(&mut self, step: &Step) {
        let count = self.subjects.len();
        match *step {
            Step::Set(subject, at, share) => {
                let (subject, len) = (subject % count, self.subjects[subject % count].len);
                let offset = (at * len as f64) as usize;
                let data = self.noise((share * (len - offset + 1) as f64) as usize);
                let (buffer, t) = self.raw(subject);
                // SAFETY: live objects of ours; a range inside the tensor.
                unsafe { set_tensor(buffer, t, data.as_ptr().cast(), offset, data.len()) };
                self.model(subject)[offset..][..data.len()].copy_from_slice(&data);
            }
            Step::Set2d(subject, at, size, n, gap, data_gap) => {
                let subject = subject % count;
                let Some(offset) = self.room(subject, at, size, n, gap) else { return };
                let (stride, data_stride) = (size + gap, size + data_gap);
                let data = self.noise(n * data_stride);
                let (buffer, t) = self.raw(subject);
                // SAFETY: live objects of ours; pieces inside the tensor and inside the data.
                unsafe { set_tensor_2d(buffer, t, data.as_ptr().cast(), offset, size, n, stride, data_stride) };
                for i in 0..n {
                    self.model(subject)[offset + i * stride..][..size]
                        .copy_from_slice(&data[i * data_stride..][..size]);
                }
            }
            Step::Get2d(subject, at, size, n, gap, data_gap) => {
                let subject = subject % count;
                let Some(offset) = self.room(subject, at, size, n, gap) else { return };
                let (stride, data_stride) = (size + gap, size + data_gap);
                let mut out = vec![0xee; n * data_stride];
                let mut expected = out.clone();
                let (buffer, t) = self.raw(subject);
                // SAFETY: live objects of ours; pieces inside the tensor and inside the memory.
                unsafe { get_tensor_2d(buffer, t, out.as_mut_ptr().cast(), offset, size, n, stride, data_stride) };
                for i in 0..n {
                    expected[i * data_stride..][..size]
                        .copy_from_slice(&self.model(subject)[offset + i * stride..][..size]);
                }
                assert!(out == expected, "bytes of the pieces, and those between them as they were");
            }
            Step::Memset(subject, at, share, value) => {
                let (subject, len) = (subject % count, self.subjects[subject % count].len);
                let offset = (at * len as f64) as usize;
                let size = (share * (len - offset + 1) as f64) as usize;
                let (buffer, t) = self.raw(subject);
                // SAFETY: live objects of ours; a range inside the tensor.
                unsafe { memset_tensor(buffer, t, value, offset, size) };
                self.model(subject)[offset..][..size].fill(value);
            }
            Step::Copy(src, dst) => {
                let src = src % count;
                let same = |t: &ggml_tensor| (t.type_, t.ne, t.nb) == self.layout(src);
                let fits: Vec<_> = (0..count).filter(|&dst| dst != src && same(&self.subjects[dst].t)).collect();
                self.copy(src, fits[dst % fits.len()]);
            }
            Step::Clear(buffer, value) => {
                // SAFETY: a live buffer of ours.
                unsafe { clear(self.buffers[buffer].raw(), value) };
                for subject in 0..count {
                    if self.subjects[subject].buffer == buffer {
                        self.model(subject).fill(value);
                    }
                }
            }
        }
    }

    /// An offset from which on `n` pieces fit into the tensor.
    fn room(&self, subject: usize, at: f64, size: usize, n: usize, gap: usize) -> Option<usize> {
        let last = n.saturating_sub(1) * (size + gap) + size;
        let free = self.subjects[subject].len.checked_sub(last)?;
        Some((at * (free + 1) as f64) as usize)
    }

    /// What two tensors must have in common for a copy.
    fn layout(&self, subject: usize) -> (ggml_type, [i64; 4], [usize; 4]) {
        let t = &self.subjects[subject].t;
        (t.type_, t.ne, t.nb)
    }

    /// As `ggml_backend_tensor_copy` does it, for tensors of one layout.
    fn copy(&mut self, src: usize, dst: usize) {
        let (from, to) = (&self.subjects[src], &self.subjects[dst]);
        if from.model == to.model && from.start < to.start + to.len && to.start < from.start + from.len {
            return;
        }
        let whole = |s: &Subject| s.len == self.models[s.model].len();
        let is_tiled = |s: &Subject| s.buffer < 2 && s.t.type_ != GGML_TYPE_F32;
        let direct = !(is_tiled(from) && is_tiled(to)) || (whole(from) && whole(to));
        let ((_, from), (buffer, to)) = (self.raw(src), self.raw(dst));
        // SAFETY: live objects of ours, tensors of one layout.
        let copied = unsafe { cpy_tensor(buffer, from, to) };
        assert_eq!(copied, direct, "only from part of tiles to tiles it takes memory in between");
        if !copied {
            let data = self.get(src);
            // SAFETY: live objects of ours; the data has the tensor's size.
            unsafe { set_tensor(buffer, to, data.as_ptr().cast(), 0, data.len()) };
        }
        let data = self.model(src).to_vec();
        self.model(dst).copy_from_slice(&data);
    }

    fn check(&mut self) {
        for subject in 0..self.subjects.len() {
            let found = self.get(subject);
            assert!(found == self.model(subject), "tensor {subject}");
        }
    }
}

fn session(driver: &dsp_driver::Driver) -> Arc<Session> {
    let capabilities = Capabilities { arch: 75, hvx: true, hmx: true, vtcm_bytes: 8 << 20, unsigned_pd: true };
    Session::open(driver.rpc(), 0, &Config::default(), &capabilities).expect("bring-up")
}

#[test]
fn any_use_equals_vectors_of_bytes() {
    let driver = dsp_driver::Driver::new();
    let session = session(&driver);
    let shapes = (1i64..=5, 1i64..=70, 1i64..=2, 1i64..=2);
    let rows = (0.0..1.0f64, 0.0..1.0f64);
    proptest!(ProptestConfig::with_cases(150), |(kind in kinds(), shape in shapes, rows in rows, steps in steps())| {
        let blocks = if kind.block_elements() == 32 { shape.0 } else { (shape.0 + 1) / 2 };
        let ne = [kind.block_elements() as i64 * blocks, shape.1, shape.2, shape.3];
        let all = (shape.1 * shape.2 * shape.3) as usize;
        let first = (rows.0 * all as f64) as usize;
        let count = 1 + (rows.1 * (all - first) as f64) as usize;
        let mut world = World::new(&session, kind, ne, (first, count.min(all - first)));
        world.check();
        for step in &steps {
            world.run(step);
            world.check();
        }
    });
    drop(session);
    driver.assert_idle();
}

#[test]
fn another_tensor_in_the_place_of_tiles() {
    let driver = dsp_driver::Driver::new();
    let session = session(&driver);
    let holder = Holder::new(&session, 4096, true);
    let mut weight = tensor(Q8_0, [32, 32, 1, 1]);
    holder.place(&mut weight, 1024);
    let mut view_of_rows = ggml_tensor { view_src: &mut weight, ne: [32, 1, 1, 1], ..weight };
    holder.place(&mut view_of_rows, 1024 + 34);
    let bytes = |t: &mut ggml_tensor, data: &[u8]| {
        // SAFETY: a live buffer of ours and a live tensor in it.
        let raw = unsafe {
            set_tensor(holder.raw(), t, data.as_ptr().cast(), 0, data.len());
            std::slice::from_raw_parts(t.data.cast::<u8>(), data.len())
        };
        raw.to_vec()
    };
    assert_ne!(bytes(&mut weight, &[7; 64]), [7; 64], "in tiles, as a view does not change what it is a view of");
    // Behind it, before it, and over its first bytes.
    for (at, still_tiled) in [(1024 + 1152, true), (1024 - 512, true), (1024 - 508, false)] {
        let mut rows = tensor(F32, [128, 1, 1, 1]);
        holder.place(&mut rows, at);
        assert_eq!(bytes(&mut rows, &[7; 512])[..508], [7; 508]);
        assert_eq!(bytes(&mut weight, &[9; 64]) != [9; 64], still_tiled, "{at}");
    }
}

#[test]
fn what_lies_outside_is_refused_and_changes_nothing() {
    let driver = dsp_driver::Driver::new();
    let session = session(&driver);
    for tiles in [false, true] {
        let holder = Holder::new(&session, 4096, tiles);
        let mut weight = tensor(Q4_0, [64, 40, 1, 1]);
        holder.place(&mut weight, 0);
        let size = 40 * 36;
        let get = || {
            let mut out = vec![0; size];
            // SAFETY: a live buffer of ours and a live tensor in it; the memory has its size.
            unsafe { get_tensor(holder.raw(), &weight, out.as_mut_ptr().cast(), 0, size) };
            out
        };
        // SAFETY: a live buffer of ours and a live tensor in it; for pieces that exist there is data.
        unsafe {
            let t = ptr::from_ref(&weight).cast_mut();
            memset_tensor(holder.raw(), t, 3, 0, size);
            let data = [5u8; 64];
            let before = get();
            for offset in [4096, usize::MAX - 8, usize::MAX] {
                memset_tensor(holder.raw(), t, 4, offset, 64);
                set_tensor(holder.raw(), t, data.as_ptr().cast(), offset, 64);
            }
            set_tensor_2d(holder.raw(), t, data.as_ptr().cast(), 0, 8, 3, usize::MAX / 2, 8);
            set_tensor_2d(holder.raw(), t, data.as_ptr().cast(), 0, 8, 3, 8, usize::MAX / 2);
            set_tensor_2d(holder.raw(), t, data.as_ptr().cast(), 0, 8, 0, 8, 8);
            set_tensor(holder.raw(), t, ptr::null(), 0, 0);
            assert!(get() == before);
            let mut out = [1u8; 64];
            get_tensor(holder.raw(), t, out.as_mut_ptr().cast(), 4096, 64);
            assert_eq!(out, [1; 64]);
        }
    }
}
