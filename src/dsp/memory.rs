//! Memory that this process and the DSP share.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use hexagon_sdk_sys::{self as sys, FastRpc};

use super::session::Session;
use crate::error::Error;

/// The driver maps whole pages.
const PAGE_BYTES: usize = 4096;
/// Kernels and DMA may read a little beyond the last tensor: a page that is not used otherwise.
const PADDING_BYTES: usize = PAGE_BYTES;

/// A block of rpcmem: memory with a file descriptor that a DSP session can map. Freed when dropped.
pub struct SharedMemory {
    rpc: Arc<FastRpc>,
    base: NonNull<u8>,
    len: usize,
    fd: i32,
}

// SAFETY: the block belongs to this value alone and is not tied to a thread; rpcmem functions may be called from any.
unsafe impl Send for SharedMemory {}
// SAFETY: shared references only give out the address; who accesses the memory through it does so at his own risk.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Allocates `len` bytes, which may be 0. Their content is not defined.
    ///
    /// # Errors
    /// The driver has no memory, or cannot allocate so much at once.
    pub fn allocate(rpc: &Arc<FastRpc>, len: usize) -> Result<SharedMemory, Error> {
        let bytes = mapped_bytes(len)
            .and_then(|bytes| bytes.checked_add(PADDING_BYTES))
            .ok_or(Error::TooLarge { bytes: len })?;
        const HEAP: i32 = sys::RPCMEM_HEAP_ID_SYSTEM as i32;
        const FLAGS: u32 = sys::RPCMEM_DEFAULT_FLAGS | sys::RPCMEM_HEAP_NOREG;
        let (call, base) = match rpc.rpcmem_alloc2 {
            // SAFETY: allocates, whatever the size.
            Some(alloc) => ("rpcmem_alloc2", unsafe { alloc(HEAP, FLAGS, bytes) }),
            None => {
                let size = i32::try_from(bytes).map_err(|_| Error::TooLarge { bytes: len })?;
                // SAFETY: as above.
                ("rpcmem_alloc", unsafe { (rpc.rpcmem_alloc)(HEAP, FLAGS, size) })
            }
        };
        let base = NonNull::new(base.cast::<u8>()).ok_or(Error::OutOfMemory { call, bytes: len })?;
        // from here on the block is freed by drop
        let mut memory = SharedMemory { rpc: Arc::clone(rpc), base, len, fd: -1 };
        // SAFETY: an address that the allocation returned.
        memory.fd = unsafe { (rpc.rpcmem_to_fd)(base.as_ptr().cast()) };
        if memory.fd < 0 {
            return Err(Error::NoDescriptor { fd: memory.fd });
        }
        Ok(memory)
    }

    /// Address of the first byte; aligned to a page.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes that can be used.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no byte can be used.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes to map: whole pages, at least one.
    pub(super) fn mapped_bytes(&self) -> usize {
        // allocate() has computed the same, and more
        mapped_bytes(self.len).unwrap_or(self.len)
    }

    /// The file descriptor, by which the DSP finds the memory.
    pub fn fd(&self) -> i32 {
        self.fd
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by this driver and freed once; a session that has it mapped holds a reference to it.
        unsafe { (self.rpc.rpcmem_free)(self.base.as_ptr().cast()) };
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, fd {}", self.len, self.fd)
    }
}

fn mapped_bytes(len: usize) -> Option<usize> {
    len.max(1).checked_next_multiple_of(PAGE_BYTES)
}

/// Shared memory that a session has mapped, and maps again when it has to open a new DSP process. Unmapped and freed
/// when dropped.
pub struct MappedBuffer {
    memory: Arc<SharedMemory>,
    session: Arc<Session>,
}

impl MappedBuffer {
    /// For [`Session::allocate`], which has mapped it.
    pub(super) fn new(memory: Arc<SharedMemory>, session: Arc<Session>) -> MappedBuffer {
        MappedBuffer { memory, session }
    }

    /// Whether it belongs to that session.
    pub(super) fn is_of(&self, session: &Session) -> bool {
        std::ptr::eq(&*self.session, session)
    }

    /// Address of the first byte; aligned to a page.
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Bytes that can be used.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether no byte can be used.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The file descriptor, by which the DSP finds the memory.
    pub fn fd(&self) -> i32 {
        self.memory.fd()
    }
}

impl Drop for MappedBuffer {
    fn drop(&mut self) {
        self.session.release(&self.memory);
    }
}

impl fmt::Debug for MappedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.memory, self.session.name())
    }
}

/// Memory of this machine: in all, and what can still be had, in bytes. `None` where the system does not tell.
pub fn host_memory() -> Option<(u64, u64)> {
    parse_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse_meminfo(text: &str) -> Option<(u64, u64)> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some((bytes("MemTotal")?, bytes("MemAvailable")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_whole_pages() {
        assert_eq!(mapped_bytes(0), Some(4096));
        assert_eq!(mapped_bytes(4096), Some(4096));
        assert_eq!(mapped_bytes(4097), Some(8192));
        assert_eq!(mapped_bytes(usize::MAX), None);
    }

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       16 kB\nMemFree:   1 kB\nMemAvailable:    8 kB\nHugePages_Total: 0\n";
        assert_eq!(parse_meminfo(text), Some((16384, 8192)));
        assert_eq!(parse_meminfo("MemTotal: 16 kB\n"), None);
        assert_eq!(parse_meminfo("MemTotal: 16 kB\nMemAvailable: 99999999999999999999 kB\n"), None);
        assert_eq!(parse_meminfo(""), None);
    }
}
