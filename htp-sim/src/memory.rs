//! rpcmem: memory that host and DSP share. Each buffer is a memfd, which the DSP process opens and maps as well.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use parking_lot::Mutex;

use crate::say;

/// Buffers are whole pages, as the device's are.
const PAGE_BYTES: usize = 4096;

/// All buffers that `rpcmem_alloc` gave out and that were not freed.
pub struct Memory {
    limit: Option<u64>,
    buffers: Mutex<Buffers>,
}

#[derive(Default)]
struct Buffers {
    by_address: BTreeMap<usize, Buffer>,
    bytes: u64,
}

impl Memory {
    /// Nothing allocated. `limit` is the number of bytes that all buffers may have together.
    pub fn new(limit: Option<u64>) -> Self {
        Memory { limit, buffers: Mutex::default() }
    }

    /// The address of a new buffer full of zeros; None when there is no room.
    pub fn allocate(&self, size: usize) -> Option<usize> {
        if size == 0 || size > isize::MAX as usize - PAGE_BYTES {
            return None;
        }
        let size = size.next_multiple_of(PAGE_BYTES);
        let mut buffers = self.buffers.lock();
        let bytes = buffers.bytes.checked_add(size as u64)?;
        if self.limit.is_some_and(|limit| bytes > limit) {
            say::driver(&format!(
                "no room for {size} bytes: {} are in use, HTP_SIM_MEMORY_MB is reached",
                buffers.bytes
            ));
            return None;
        }
        let buffer = Buffer::new(size)?;
        let address = buffer.address;
        buffers.bytes = bytes;
        buffers.by_address.insert(address, buffer);
        Some(address)
    }

    /// Takes a buffer back: `close` sees its descriptor number while that number is still taken. An unknown address
    /// is left alone.
    pub fn free(&self, address: usize, close: impl FnOnce(i32)) {
        if address == 0 {
            return;
        }
        let buffer = {
            let mut buffers = self.buffers.lock();
            let buffer = buffers.by_address.remove(&address);
            if let Some(buffer) = &buffer {
                buffers.bytes -= buffer.size as u64;
            }
            buffer
        };
        match buffer {
            Some(buffer) => close(buffer.fd.as_raw_fd()),
            None => say::driver(&format!("rpcmem_free: {address:#x} is not a buffer of this driver")),
        }
    }

    /// The descriptor of the buffer that starts at this address.
    pub fn fd(&self, address: usize) -> Option<i32> {
        self.buffers.lock().by_address.get(&address).map(|buffer| buffer.fd.as_raw_fd())
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.buffers.lock().bytes
    }
}

/// A mapped memfd.
struct Buffer {
    address: usize,
    size: usize,
    fd: OwnedFd,
}

impl Buffer {
    fn new(size: usize) -> Option<Self> {
        // SAFETY: the name is a C string; the result is checked.
        let fd = unsafe { libc::memfd_create(c"rpcmem".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return None;
        }
        // SAFETY: memfd_create has just returned this descriptor, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let length = libc::off_t::try_from(size).ok()?;
        // SAFETY: plain system call on a descriptor that is open.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), length) } != 0 {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: no address is asked for, so no memory in use is replaced; the descriptor is open and `size` long.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        (address != libc::MAP_FAILED).then_some(Buffer { address: address as usize, size, fd })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: mmap returned this range, and it is unmapped here alone. The owner has given it back.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_shared_through_its_descriptor() {
        let memory = Memory::new(None);
        let address = memory.allocate(10_000).unwrap();
        let fd = memory.fd(address).unwrap();
        // SAFETY: the buffer is 10,000 bytes long and nobody else uses it.
        unsafe { (address as *mut u8).add(9_999).write(77) };
        let copy = std::fs::read(format!("/proc/self/fd/{fd}")).unwrap();
        assert_eq!((copy.len(), copy[9_999], copy[0]), (12_288, 77, 0));
        let mut closed = None;
        memory.free(address, |fd| closed = Some(fd));
        assert_eq!((closed, memory.fd(address), memory.bytes()), (Some(fd), None, 0));
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        let memory = Memory::new(None);
        for size in [0, usize::MAX, isize::MAX as usize, 1 << 60] {
            assert_eq!(memory.allocate(size), None, "{size}");
        }
        assert_eq!(memory.bytes(), 0);
    }

    #[test]
    fn the_limit_counts_what_is_in_use() {
        let memory = Memory::new(Some(3 * 4096));
        let first = memory.allocate(2 * 4096).unwrap();
        assert_eq!(memory.allocate(4097), None);
        let second = memory.allocate(4096).unwrap();
        assert_eq!(memory.allocate(1), None);
        memory.free(first, |_| ());
        assert!(memory.allocate(2 * 4096).is_some());
        assert_ne!(first, second);
    }

    #[test]
    fn unknown_addresses_are_left_alone() {
        let memory = Memory::new(None);
        let address = memory.allocate(4096).unwrap();
        assert_eq!(memory.fd(address + 1), None);
        memory.free(address + 1, |_| panic!("nothing to close"));
        memory.free(0, |_| panic!("nothing to close"));
        assert_eq!(memory.bytes(), 4096);
    }
}
