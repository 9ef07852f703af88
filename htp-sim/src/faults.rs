//! Fault injection: `HTP_SIM_FAULTS`, a comma list of
//!
//! | fault | effect |
//! |---|---|
//! | `<call>=<code>` | every call of that driver function returns the code, and does nothing |
//! | `<call>:<n>=<code>` | only the n-th call does, counted from 1 |
//! | `kill:<n>` | the DSP process is killed right after the n-th packet was written |
//! | `stall:<n>` | the n-th packet is swallowed, so nobody answers it |
//!
//! `<call>` is the name of an exported function, `<code>` a number (`0x2e`, `46`, `-1`), or `null` for the two
//! functions that allocate. Packets are counted over all queues; a write that a fault refuses is not counted.
//!
//! Example: `remote_handle64_open:2=0x80000406,rpcmem_alloc2:3=null,kill:10`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Functions that can be made to fail. `rpcmem_free` cannot: it returns nothing.
pub const CALLS: [&str; 18] = [
    "rpcmem_alloc",
    "rpcmem_alloc2",
    "rpcmem_to_fd",
    "fastrpc_mmap",
    "fastrpc_munmap",
    "dspqueue_create",
    "dspqueue_close",
    "dspqueue_export",
    "dspqueue_write",
    "dspqueue_read",
    "dspqueue_read_noblock",
    "remote_handle64_open",
    "remote_handle64_invoke",
    "remote_handle64_close",
    "remote_handle_control",
    "remote_handle64_control",
    "remote_session_control",
    "remote_system_request",
];

/// What shall go wrong.
#[derive(Debug, Default)]
pub struct Faults {
    calls: Vec<CallFault>,
    kill: Vec<u64>,
    stall: Vec<u64>,
    packets: AtomicU64,
}

#[derive(Debug)]
struct CallFault {
    call: &'static str,
    /// None: every call.
    nth: Option<u64>,
    code: i32,
    seen: AtomicU64,
}

/// What becomes of a packet that the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is sent.
    Deliver,
    /// It is lost.
    Swallow,
    /// It is sent, then the DSP process is killed.
    DeliverAndKill,
}

impl Faults {
    /// Reads a list. Items that make no sense are passed to `complain` and left out.
    pub fn parse(list: &str, mut complain: impl FnMut(&str)) -> Self {
        let mut faults = Faults::default();
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            if let Err(reason) = faults.add(item) {
                complain(&format!("fault `{item}` is ignored: {reason}"));
            }
        }
        faults
    }

    fn add(&mut self, item: &str) -> Result<(), &'static str> {
        match item.split_once('=') {
            Some((call, code)) => {
                let (name, nth) = match call.split_once(':') {
                    Some((name, nth)) => (name, Some(ordinal(nth)?)),
                    None => (call, None),
                };
                let call = CALLS.into_iter().find(|known| *known == name).ok_or("no such function of the driver")?;
                let code = parse_code(call, code)?;
                self.calls.push(CallFault { call, nth, code, seen: AtomicU64::new(0) });
            }
            None => match item.split_once(':') {
                Some(("kill", nth)) => self.kill.push(ordinal(nth)?),
                Some(("stall", nth)) => self.stall.push(ordinal(nth)?),
                _ => return Err("expected <call>[:<n>]=<code>, kill:<n> or stall:<n>"),
            },
        }
        Ok(())
    }

    /// To be asked once at each call of a function: the code that it has to return instead of doing its work.
    pub fn of_call(&self, call: &str) -> Option<i32> {
        let mut code = None;
        for fault in self.calls.iter().filter(|fault| fault.call == call) {
            let nth = fault.seen.fetch_add(1, Ordering::Relaxed) + 1;
            if fault.nth.is_none_or(|wanted| wanted == nth) {
                code = code.or(Some(fault.code));
            }
        }
        code
    }

    /// To be asked once for each packet that is written.
    pub fn of_packet(&self) -> Fate {
        let nth = self.packets.fetch_add(1, Ordering::Relaxed) + 1;
        if self.kill.contains(&nth) {
            Fate::DeliverAndKill
        } else if self.stall.contains(&nth) {
            Fate::Swallow
        } else {
            Fate::Deliver
        }
    }
}

fn ordinal(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("n must be a number from 1 on"),
        Ok(nth) => Ok(nth),
    }
}

fn parse_code(call: &str, text: &str) -> Result<i32, &'static str> {
    let allocates = call == "rpcmem_alloc" || call == "rpcmem_alloc2";
    if text == "null" || allocates {
        // the code is not used: these functions have only one way to fail
        return if text == "null" && allocates {
            Ok(0)
        } else {
            Err("null is for allocations, and they take nothing else")
        };
    }
    // codes of the DSP have the highest bit set: they are written unsigned and returned as int
    let code = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok().map(|code| code as i32),
        None => text.parse::<i32>().ok().or_else(|| text.parse::<u32>().ok().map(|code| code as i32)),
    };
    code.ok_or("the code is not a 32-bit number")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &str) -> (Faults, usize) {
        let mut complaints = 0;
        let faults = Faults::parse(list, |_| complaints += 1);
        (faults, complaints)
    }

    #[test]
    fn the_nth_call_fails_and_no_other() {
        let (faults, complaints) = parse("dspqueue_write:3=0x2e, remote_handle64_open=0x80000406,rpcmem_to_fd=-1");
        assert_eq!(complaints, 0);
        let writes: Vec<_> = (0..4).map(|_| faults.of_call("dspqueue_write")).collect();
        assert_eq!(writes, [None, None, Some(0x2e), None]);
        assert_eq!(faults.of_call("remote_handle64_open"), Some(0x8000_0406_u32 as i32));
        assert_eq!(faults.of_call("remote_handle64_open"), Some(0x8000_0406_u32 as i32));
        assert_eq!(faults.of_call("rpcmem_to_fd"), Some(-1));
        assert_eq!(faults.of_call("dspqueue_read"), None);
    }

    #[test]
    fn several_faults_of_one_function_count_the_same_calls() {
        let (faults, _) = parse("fastrpc_mmap:1=2,fastrpc_mmap:2=14,rpcmem_alloc2:2=null");
        assert_eq!((faults.of_call("fastrpc_mmap"), faults.of_call("fastrpc_mmap")), (Some(2), Some(14)));
        assert_eq!((faults.of_call("rpcmem_alloc2"), faults.of_call("rpcmem_alloc2")), (None, Some(0)));
    }

    #[test]
    fn packets_are_lost_or_kill() {
        let (faults, complaints) = parse("kill:2,stall:3,stall:1");
        assert_eq!(complaints, 0);
        let fates: Vec<_> = (0..4).map(|_| faults.of_packet()).collect();
        assert_eq!(fates, [Fate::Swallow, Fate::DeliverAndKill, Fate::Swallow, Fate::Deliver]);
    }

    #[test]
    fn nonsense_is_reported_item_by_item() {
        let nonsense = "kill,kill:0,kill:x,nothing=1,dspqueue_write,dspqueue_write=,dspqueue_write=null,\
                        dspqueue_write:0=1,dspqueue_write=0x123456789,rpcmem_alloc=3,rpcmem_free=1,=,:,stall:1=2";
        let items = nonsense.split(',').count();
        let (faults, complaints) = parse(&format!("{nonsense},,stall:1"));
        assert_eq!(complaints, items);
        assert!(faults.calls.is_empty() && faults.kill.is_empty());
        assert_eq!(faults.stall, [1]);
    }
}
