//! A backend: computes graphs on the device's session.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::base::{base, Base};
use super::bindings::*;
use super::buffer;
use super::device::Device;
use super::guard::guard;
use super::profile::Profiler;
use super::tensor::Tensor;
use crate::batch::wire::htp_op_profile;
use crate::config::Config;
use crate::dsp::MappedBuffer;
use crate::error::Error;
use crate::graph::{self, PlannedBatch};

/// What `ggml_backend::context` points to.
struct Backend {
    device: &'static Device,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Shared memory that batches are written to; grows with the largest batch.
    command: Option<Arc<MappedBuffer>>,
    profiler: Profiler,
}

const GUID: ggml_guid =
    [0x7b, 0x57, 0xdc, 0xaf, 0xde, 0x12, 0x1d, 0x49, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11];

/// Makes a backend of `device`.
pub fn create(device: &'static Device) -> ggml_backend_t {
    static SHARED_GUID: ggml_guid = GUID;
    let context = Box::into_raw(Box::new(Backend { device, state: Mutex::default() }));
    Box::into_raw(Box::new(ggml_backend {
        guid: ptr::from_ref(&SHARED_GUID).cast_mut(),
        iface: VTABLE,
        device: device.as_ptr(),
        context: context.cast(),
    }))
}

/// Whether a backend is one of ours.
///
/// # Safety
/// `backend` is null or a live backend.
pub unsafe fn is_ours(backend: ggml_backend_t) -> bool {
    // SAFETY: live by this function's contract.
    unsafe { backend.as_ref() }.is_some_and(|backend| same_function!(backend.iface.get_name, VTABLE.get_name))
}

impl Backend {
    /// Computes a graph; returns when it is done.
    fn compute(&self, nodes: &[Tensor], private: impl Fn(&[usize]) -> bool) -> Result<(), String> {
        let config = Config::get();
        let max_ops = if config.opsync { 1 } else { config.opbatch };
        let batches = graph::plan(nodes, max_ops, private, |t| {
            // SAFETY: a tensor of a graph lies in a live buffer, or in none.
            let buffer = unsafe { buffer::of(t.buffer()) }.ok_or("it is not in a buffer of this device")?;
            buffer.place(t).map_err(|error| error.to_string())
        })
        .map_err(|error| error.to_string())?;
        let mut state = self.state.lock();
        for planned in &batches {
            self.run(&mut state, planned, nodes).map_err(|error| match error.failed_op() {
                Some(op) => {
                    let node = planned.nodes.get(op).and_then(|indices| nodes.get(*indices.start()));
                    let what = node.map_or_else(String::new, |node| format!("{} {node:?}, ", node.op_name()));
                    format!("{error} ({what}op {op} of the batch)")
                }
                None => error.to_string(),
            })?;
        }
        Ok(())
    }

    fn run(&self, state: &mut State, planned: &PlannedBatch, nodes: &[Tensor]) -> Result<(), Error> {
        let State { command, profiler } = state;
        let profile = Config::get().profile.enabled;
        let bytes = planned.batch.encode(profile);
        if Config::get().verbose > 1 {
            log::debug!("{}: batch of {} ops, {} bytes", self.device.session.name(), planned.batch.len(), bytes.len());
        }
        if Config::get().verbose > 2 {
            planned.batch.describe().for_each(|line| log::debug!("{line}"));
        }
        if command.as_ref().is_none_or(|command| command.len() < bytes.len()) {
            // The old one is unmapped first: its room may be what the new one needs.
            *command = None;
            *command = Some(self.device.session.allocate(bytes.len().next_power_of_two())?);
        }
        let Some(memory) = command else { return Ok(()) };
        // SAFETY: the mapping has room for the bytes, and the DSP uses it only between submission and response.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len()) };
        let report = self.device.session.run(memory, 0, bytes.len() as u32)?;
        if report.ops_done as usize != planned.batch.len() {
            let (done, all) = (report.ops_done, planned.batch.len());
            return Err(Error::Malformed(format!("it says that {done} of {all} ops are done, and that all is well")));
        }
        if profile {
            let mut costs = vec![htp_op_profile::default(); planned.batch.len()];
            let size = planned.batch.profile_bytes();
            // SAFETY: the last bytes of what was written above; the DSP has answered and writes no more. The vector has
            // that size, and any bits are a profile.
            unsafe {
                let from = memory.as_ptr().add(bytes.len() - size);
                ptr::copy_nonoverlapping(from, costs.as_mut_ptr().cast::<u8>(), size);
            }
            let ops = planned.nodes.iter().filter_map(|op| nodes.get(op.clone()));
            for line in profiler.batch(&report, ops, &costs) {
                log::info!("{} {line}", self.device.session.name());
            }
        }
        Ok(())
    }
}

static VTABLE: ggml_backend_i = ggml_backend_i {
    get_name: Some(get_name),
    free: Some(free),
    set_tensor_async: None,
    get_tensor_async: None,
    set_tensor_2d_async: None,
    get_tensor_2d_async: None,
    cpy_tensor_async: None,
    synchronize: None,
    graph_plan_create: None,
    graph_plan_free: None,
    graph_plan_update: None,
    graph_plan_compute: None,
    graph_compute: Some(graph_compute),
    event_record: None,
    event_wait: None,
    graph_optimize: None,
};

/// # Safety
/// `raw` is one of our backends; ggml calls the functions of a vtable with nothing else.
unsafe fn context<'a>(raw: ggml_backend_t) -> &'a Backend {
    // SAFETY: set by `create`, freed by `free` only.
    unsafe { &*(*raw).context.cast::<Backend>() }
}

unsafe extern "C" fn get_name(raw: ggml_backend_t) -> *const c_char {
    // SAFETY: see `context`.
    unsafe { context(raw) }.device.name.as_ptr()
}

unsafe extern "C" fn free(raw: ggml_backend_t) {
    guard("free", (), || {
        // SAFETY: ggml frees a backend once; both boxes came from `create`.
        unsafe {
            let backend = Box::from_raw(raw);
            let context = Box::from_raw(backend.context.cast::<Backend>());
            for line in context.state.lock().profiler.table() {
                log::info!("{}: {line}", context.device.session.name());
            }
        }
    });
}

/// Whether the results of all nodes but the last of these are used by these nodes alone. A graph may be a part of a
/// larger one, so only ggml's own counts of uses tell.
fn is_private(base: &Base, graph: *const ggml_cgraph, nodes: &[Tensor], indices: &[usize]) -> bool {
    let Some(can_fuse) = base.can_fuse else { return false };
    let ops: Option<Vec<ggml_op>> = indices.iter().map(|&index| nodes.get(index).map(|node| node.op())).collect();
    let numbers: Result<Vec<c_int>, _> = indices.iter().map(|&index| c_int::try_from(index)).collect();
    let (Some(ops), Ok(numbers), Ok(count)) = (ops, numbers, c_int::try_from(indices.len())) else { return false };
    let Some(last) = numbers.last() else { return false };
    // SAFETY: a live graph, and arrays of the lengths given; indices are below the number of its nodes, as `nodes` is.
    unsafe { can_fuse(graph, numbers.as_ptr(), count, ops.as_ptr(), last, 1) }
}

unsafe extern "C" fn graph_compute(raw: ggml_backend_t, graph: *mut ggml_cgraph) -> ggml_status {
    guard("graph_compute", GGML_STATUS_FAILED, || {
        let Ok(base) = base() else { return GGML_STATUS_FAILED };
        // SAFETY: see `context`; ggml passes a live graph, whose node array has n_nodes live tensors.
        let (backend, nodes) = unsafe {
            let count = usize::try_from((base.graph_n_nodes)(graph)).unwrap_or(0);
            let nodes = (base.graph_nodes)(graph);
            (context(raw), if count == 0 { &[] } else { std::slice::from_raw_parts(nodes, count) })
        };
        // SAFETY: live tensors, unchanged during the call.
        let nodes: Vec<Tensor> = nodes.iter().map_while(|&node| unsafe { Tensor::from_ptr(node) }).collect();
        match backend.compute(&nodes, |indices| is_private(base, graph, &nodes, indices)) {
            Ok(()) => GGML_STATUS_SUCCESS,
            Err(error) => {
                log::error!("{}: {error}", backend.device.name.to_string_lossy());
                GGML_STATUS_FAILED
            }
        }
    })
}
