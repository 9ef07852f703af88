//! What llama.cpp's own log says about a run: speed, buffers, and which device ran which op.

use std::collections::BTreeMap;

/// Tokens and tokens a second of one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    pub tokens: u64,
    pub per_second: f64,
}

/// The speed lines at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Perf {
    pub prompt: Option<Speed>,
    pub generation: Option<Speed>,
}

impl Perf {
    pub fn parse(log: &str) -> Perf {
        let mut perf = Perf { prompt: None, generation: None };
        for line in log.lines() {
            let Some((_, line)) = line.split_once("perf") else { continue };
            let Some((head, values)) = line.split_once('=') else { continue };
            let what = head.rsplit(':').next().unwrap_or_default().trim();
            match what {
                "prompt eval time" => perf.prompt = speed(values),
                "eval time" => perf.generation = speed(values),
                _ => {}
            }
        }
        perf
    }
}

/// ` 45.15 ms /     5 tokens (    9.03 ms per token,   110.73 tokens per second)`
fn speed(values: &str) -> Option<Speed> {
    let tokens = values.split_once('/')?.1.split_whitespace().next()?.parse().ok()?;
    let per_second = values.split_once(',')?.1.split_whitespace().next()?.parse().ok()?;
    Some(Speed { tokens, per_second })
}

/// MiB of model weights by buffer type, of the last time a model was loaded in the log (the first may be a trial).
pub fn weights(log: &str) -> BTreeMap<String, f64> {
    let mut buffers = BTreeMap::new();
    for line in log.lines().filter(|line| line.contains("load_tensors:")) {
        let Some((head, tail)) = line.split_once(" model buffer size =") else { continue };
        let name = head.rsplit(' ').next().unwrap_or_default();
        if let Some(size) = tail.split_whitespace().next().and_then(|size| size.parse().ok()) {
            buffers.insert(name.to_owned(), size);
        }
    }
    buffers
}

/// How many ops of one graph each device ran: device, then op name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Placement(pub BTreeMap<String, BTreeMap<String, u64>>);

impl Placement {
    /// Ops on one device.
    pub fn on(&self, device: &str) -> u64 {
        self.0.get(device).map(|ops| ops.values().sum()).unwrap_or(0)
    }

    /// Ops on every other device, by name.
    pub fn elsewhere(&self, device: &str) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for ops in self.0.iter().filter(|(name, _)| *name != device).map(|(_, ops)| ops) {
            for (op, count) in ops {
                *counts.entry(op.as_str()).or_insert(0) += count;
            }
        }
        counts
    }
}

/// The graphs that were run, from a log made with `GGML_SCHED_DEBUG=2` and `-v`. Graphs that were only planned, to
/// size the buffers, come before the line that ends the reservation and are left out.
pub fn placements(log: &str) -> Vec<Placement> {
    let mut graphs: Vec<Placement> = Vec::new();
    let mut last_index = u64::MAX;
    for line in log.lines() {
        if line.contains("sched_reserve: reserve took") {
            graphs.clear();
            last_index = u64::MAX;
        }
        let Some((index, op, device)) = node(line) else { continue };
        if index <= last_index {
            graphs.push(Placement::default());
        }
        last_index = index;
        if let Some(graph) = graphs.last_mut() {
            *graph.0.entry(device.to_owned()).or_default().entry(op.to_owned()).or_insert(0) += 1;
        }
    }
    graphs
}

/// `node #  3 (   MUL_MAT):               Qcur-0 (   2K) [ HTP0         ] use=1,c=1: ...`: index, op, device.
/// llama.cpp cuts names to 10 and 5 characters.
fn node(line: &str) -> Option<(u64, &str, &str)> {
    let rest = line.split_once("node #")?.1;
    let (index, rest) = rest.split_once('(')?;
    let (op, rest) = rest.split_once("):")?;
    let device = rest.split_once(") [")?.1.split_once(']')?.0;
    Some((index.trim().parse().ok()?, op.trim(), device.split_whitespace().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_lines() {
        let log = "\
0.00.689.619 I common_perf_print:        load time =      45.51 ms
0.00.689.630 I common_perf_print: prompt eval time =      45.15 ms /     5 tokens (    9.03 ms per token,   110.73 tokens per second)
0.00.689.641 I common_perf_print:        eval time =     218.43 ms /    23 runs   (    9.50 ms per token,   105.30 tokens per second)
0.00.689.650 I common_perf_print:       total time =     269.83 ms /    28 tokens
";
        let perf = Perf::parse(log);
        assert_eq!(perf.prompt, Some(Speed { tokens: 5, per_second: 110.73 }));
        assert_eq!(perf.generation, Some(Speed { tokens: 23, per_second: 105.30 }));
        assert_eq!(Perf::parse("nothing"), Perf { prompt: None, generation: None });
    }

    #[test]
    fn weight_lines_of_the_last_load() {
        let log = "\
0.00.131.365 I load_tensors:         HTP0 model buffer size =     0.00 MiB
0.00.277.291 I load_tensors:   CPU_Mapped model buffer size =    28.35 MiB
0.00.277.295 I load_tensors:         HTP0 model buffer size =    56.95 MiB
0.00.366.308 I llama_context:        CPU  output buffer size =     0.19 MiB
";
        let weights = weights(log);
        assert_eq!(weights["HTP0"], 56.95);
        assert_eq!(weights.len(), 2);
    }

    const GRAPHS: &str = "\
## SPLIT #0: CPU # 0 inputs0.00.131.446 D 
0.00.131.453 D node #  0 (  GET_ROWS):                 embd (   2K) [  CPU         ] use=2,c=1:0.00.131.454 D     token_embd.weight (  28M) [  CPU         ]
0.00.161.000 D node #  1 (  RMS_NORM):               norm-0 (   2K) [  CPU         ] use=1,c=1:
0.00.367.996 I sched_reserve: reserve took 36.33 ms, sched copies = 1
0.00.399.298 D node #  0 (  GET_ROWS):                 embd (  36K) [  CPU         ] use=2,c=1:0.00.399.299 D     token_embd.weight (  28M) [ HTP0         ]
node #  1 (  RMS_NORM):               norm-0 (  36K) [ HTP0         ] use=1,c=1:
node #  5 (FLASH_ATTN):           __fattn__-0 (  36K) [ HTP0         ] use=1,c=1:
node #  0 (  GET_ROWS):                 embd (   2K) [  CPU         ] use=2,c=1:
node #  1 (  RMS_NORM):               norm-0 (   2K) [ HTP0         ] use=1,c=1:
";

    #[test]
    fn graphs_that_were_run() {
        let graphs = placements(GRAPHS);
        assert_eq!(graphs.len(), 2);
        assert_eq!(graphs[0].on("HTP0"), 2);
        assert_eq!(graphs[1].on("HTP0"), 1);
        assert_eq!(graphs[1].elsewhere("HTP0"), BTreeMap::from([("GET_ROWS", 1)]));
    }
}
