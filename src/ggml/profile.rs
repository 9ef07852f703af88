//! What ops cost (`GGML_HEXAGON_PROFILE`): a line an op and a batch, and sums when the backend is freed.
//!
//! The lines have the form that llama.cpp's scripts `ggml-hexagon-profile.py` and `ggml-hexagon-trace.py` read.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::tensor::Tensor;
use crate::batch::wire::htp_op_profile;
use crate::dsp::BatchReport;
use crate::ops;

/// The sums of a backend.
#[derive(Default)]
pub struct Profiler {
    totals: BTreeMap<String, Total>,
}

#[derive(Default)]
struct Total {
    calls: u64,
    usecs: u64,
    hmx_calls: u64,
}

impl Profiler {
    /// Lines for a batch that is done. `ops` are the nodes that each op computed, `costs` what the DSP says of them.
    pub fn batch<'a>(
        &mut self,
        report: &BatchReport,
        ops: impl Iterator<Item = &'a [Tensor<'a>]>,
        costs: &[htp_op_profile],
    ) -> Vec<String> {
        let mut lines = vec![batch_line(report, costs)];
        for (nodes, cost) in ops.zip(costs) {
            let name = name(nodes);
            lines.push(op_line(&name, nodes, cost, report.n_events));
            let total = self.totals.entry(name).or_default();
            total.calls += 1;
            total.usecs += u64::from(cost.usecs);
            total.hmx_calls += u64::from(cost.hmx);
        }
        lines
    }

    /// A table of all ops so far, the most expensive first; empty when there are none.
    pub fn table(&self) -> Vec<String> {
        let all: u64 = self.totals.values().map(|total| total.usecs).sum();
        let mut rows: Vec<_> = self.totals.iter().collect();
        rows.sort_by_key(|(_, total)| std::cmp::Reverse(total.usecs));
        let rows = rows.into_iter().map(|(name, total)| {
            let percent = 100.0 * total.usecs as f64 / all.max(1) as f64;
            let ms = total.usecs as f64 / 1e3;
            format!("{name:<24} {:>9} {ms:>12.3} {percent:>6.1} {:>9}", total.calls, total.hmx_calls)
        });
        let head = format!("{:<24} {:>9} {:>12} {:>6} {:>9}", "op", "calls", "ms", "%", "with HMX");
        if self.totals.is_empty() {
            return Vec::new();
        }
        std::iter::once(head).chain(rows).collect()
    }
}

/// `RMS_NORM+MUL`: what was computed by one op.
fn name(nodes: &[Tensor]) -> String {
    let names = computed(nodes).map(|node| ops::find(node).map_or("?", |(_, op)| ops::name(op)));
    joined(names, "+")
}

fn computed<'a, 'n>(nodes: &'n [Tensor<'a>]) -> impl Iterator<Item = Tensor<'a>> + use<'a, 'n> {
    nodes.iter().copied().filter(|&node| !ops::is_view_op(node))
}

fn joined<T: Display>(items: impl Iterator<Item = T>, separator: &str) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(separator)
}

/// From the first op's start to the last one's end. The clock rate, by which the trace script places ops in time, is
/// that of the ops; what the batch took with all around it is said beside it.
fn batch_line(report: &BatchReport, costs: &[htp_op_profile]) -> String {
    let start = costs.first().map_or(0, |first| first.start);
    let end = costs.last().map_or(0, |last| last.start.wrapping_add(last.cycles));
    let cycles = end.wrapping_sub(start);
    let sum = |of: fn(&htp_op_profile) -> u64| costs.iter().map(of).fold(0, u64::wrapping_add);
    let mhz = mhz(sum(|cost| cost.cycles), sum(|cost| cost.usecs.into()));
    let usecs = if mhz > 0.0 { (cycles as f64 / mhz) as u64 } else { 0 };
    let (ops, hmx, all) = (report.ops_done, report.hmx_ops, report.dsp_time.as_micros());
    format!(
        "profile-op OPBATCH|----|n-ops {ops}|with hmx {hmx}, answered in usec {all}|----|----|\
         usec {usecs} cycles {cycles} start {start} mhz {mhz:.1}"
    )
}

fn op_line(name: &str, nodes: &[Tensor], cost: &htp_op_profile, n_events: usize) -> String {
    let results: Vec<Tensor> = computed(nodes).collect();
    let is_result = |source: &Tensor| results.iter().any(|result| result.as_ptr() == source.as_ptr());
    let sources: Vec<Tensor> = results
        .iter()
        .flat_map(|&node| {
            let count = ops::find(node).map_or(0, |(family, _)| family.sources);
            (0..count).filter_map(move |index| node.src(index))
        })
        .filter(|source| !is_result(source))
        .collect();
    let column = |text: &dyn Fn(Tensor) -> String| {
        let result = results.last().map_or_else(String::new, |&result| text(result));
        format!("{} -> {result}", joined(sources.iter().map(|&source| text(source)), " x "))
    };
    let names = column(&|t| t.name().replace(|c: char| c == '|' || c.is_control(), "_"));
    let dims = column(&|t| joined(t.ne().iter(), ":"));
    let types = column(&|t| t.element_type().map_or("?".into(), |kind| format!("{kind:?}").to_lowercase()));
    let strides = column(&|t| joined(t.nb().iter(), ":"));
    let htp_op_profile { start, cycles, packets, usecs, hmx, events } = *cost;
    let events = match events.get(..n_events) {
        Some(counts @ [_, ..]) => format!(" pmu [{}]", joined(counts.iter(), ",")),
        _ => String::new(),
    };
    let unit = if hmx != 0 { "hmx" } else { "hvx" };
    let (mhz, start) = (mhz(cycles, usecs.into()), start as u32); // the scripts know that it wraps around
    format!(
        "profile-op {name}|{names}|{dims}|{types}|{strides}|{unit} packets {packets}|\
         usec {usecs} cycles {cycles} start {start} mhz {mhz:.1}{events}"
    )
}

fn mhz(cycles: u64, usecs: u64) -> f64 {
    if usecs == 0 {
        return 0.0;
    }
    cycles as f64 / usecs as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::F32;

    const COST: htp_op_profile =
        htp_op_profile { start: 0x1_0000_0064, cycles: 900, packets: 77, usecs: 3, hmx: 1, events: [5; 8] };

    #[test]
    fn a_fused_op_names_what_it_read_and_its_last_result() {
        let (mut x, mut weight) = (tensor(F32, [8, 3, 1, 1]), tensor(F32, [8, 1, 1, 1]));
        let mut norm = node(GGML_OP_RMS_NORM, F32, [8, 3, 1, 1], &mut [&mut x]);
        let product = node(GGML_OP_MUL, F32, [8, 3, 1, 1], &mut [&mut norm, &mut weight]);
        let nodes = [view(&norm), view(&product)];
        let line = op_line(&name(&nodes), &nodes, &COST, 2);
        assert_eq!(
            line,
            "profile-op RMS_NORM+MUL| x  -> |8:3:1:1 x 8:1:1:1 -> 8:3:1:1|f32 x f32 -> f32|\
             4:32:96:96 x 4:32:32:32 -> 4:32:96:96|hmx packets 77|\
             usec 3 cycles 900 start 100 mhz 300.0 pmu [5,5]"
        );
        assert!(!op_line("MUL", &nodes, &COST, 0).contains("pmu"));
        x.name[..4].copy_from_slice(&b"a|\nb".map(|byte| byte as std::ffi::c_char));
        let line = op_line("RMS_NORM", &[view(&norm)], &COST, 0);
        assert!(line.starts_with("profile-op RMS_NORM|a__b -> |"), "{line}");
    }

    #[test]
    fn sums_are_sorted_by_time() {
        let (mut x, mut y) = (tensor(F32, [8, 1, 1, 1]), tensor(F32, [8, 1, 1, 1]));
        let add = node(GGML_OP_ADD, F32, [8, 1, 1, 1], &mut [&mut x, &mut y]);
        let mul = node(GGML_OP_MUL, F32, [8, 1, 1, 1], &mut [&mut x, &mut y]);
        let nodes = [view(&add), view(&mul)];
        let report = BatchReport { ops_done: 2, hmx_ops: 1, dsp_time: Duration::from_micros(500), n_events: 1 };
        let mut profiler = Profiler::default();
        assert!(profiler.table().is_empty());
        let later = htp_op_profile { start: COST.start + 2000, usecs: 9, hmx: 0, ..COST };
        let lines = profiler.batch(&report, nodes.chunks(1), &[COST, later]);
        assert_eq!(lines.len(), 3);
        // 2900 cycles at the 150 MHz of 1800 cycles in 12 us
        let batch = "profile-op OPBATCH|----|n-ops 2|with hmx 1, answered in usec 500|----|----|\
                     usec 19 cycles 2900 start 4294967396 mhz 150.0";
        assert_eq!(lines[0], batch);
        assert!(lines[1].ends_with("pmu [5]"), "{}", lines[1]);
        let table = profiler.table();
        assert_eq!(table.len(), 3);
        assert!(table[1].starts_with("MUL ") && table[1].contains("75.0"), "{}", table[1]);
        assert!(table[2].starts_with("ADD ") && table[2].ends_with(" 1"), "{}", table[2]);
    }
}
