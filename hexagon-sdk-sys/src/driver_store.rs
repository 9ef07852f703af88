//! Where Windows keeps the driver: the folder of the kernel driver that the service [`SERVICE`] runs.

use std::path::PathBuf;

/// The NPU driver's service.
#[cfg(windows)]
const SERVICE: &str = "qcnspmcdm";

/// The folder of a service's image, as a path that programs can use. The Service Control Manager writes it for the
/// kernel: `\SystemRoot\...`, `\??\C:\...`, or relative to the Windows folder.
fn image_folder(image: &str, windows: &str) -> Option<PathBuf> {
    let strip = |prefix: &str| {
        let head = image.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then(|| &image[prefix.len()..])
    };
    let absolute = if let Some(rest) = strip(r"\SystemRoot\") {
        format!(r"{windows}\{rest}")
    } else if let Some(rest) = strip(r"\??\") {
        rest.to_owned()
    } else if image.get(1..2) == Some(":") {
        image.to_owned()
    } else {
        format!(r"{windows}\{image}")
    };
    let (folder, file) = absolute.rsplit_once('\\')?;
    (!file.is_empty()).then(|| PathBuf::from(folder))
}

/// The folder of the driver; `None` when the service does not exist.
#[cfg(windows)]
pub fn folder() -> Option<PathBuf> {
    image_folder(&service_image()?, &std::env::var("windir").ok()?)
}

#[cfg(windows)]
use manager::service_image;

#[cfg(windows)]
mod manager {
    use std::ffi::c_void;
    use std::ptr;

    /// `QUERY_SERVICE_CONFIGW`
    #[repr(C)]
    struct ServiceConfig {
        service_type: u32,
        start_type: u32,
        error_control: u32,
        binary_path_name: *const u16,
        load_order_group: *const u16,
        tag_id: u32,
        dependencies: *const u16,
        service_start_name: *const u16,
        display_name: *const u16,
    }

    #[link(name = "advapi32")]
    extern "system" {
        fn OpenSCManagerW(machine: *const u16, database: *const u16, access: u32) -> *mut c_void;
        fn OpenServiceW(manager: *mut c_void, name: *const u16, access: u32) -> *mut c_void;
        fn QueryServiceConfigW(service: *mut c_void, config: *mut c_void, size: u32, needed: *mut u32) -> i32;
        fn CloseServiceHandle(handle: *mut c_void) -> i32;
    }

    const SC_MANAGER_CONNECT: u32 = 1;
    const SERVICE_QUERY_CONFIG: u32 = 1;
    /// No configuration is larger (documented limit).
    const MAX_CONFIG_BYTES: usize = 8 << 10;

    struct Handle(*mut c_void);

    impl Drop for Handle {
        fn drop(&mut self) {
            if !self.0.is_null() {
                // SAFETY: a handle of the Service Control Manager, closed once.
                unsafe { CloseServiceHandle(self.0) };
            }
        }
    }

    /// The path of the service's image, as the Service Control Manager has it.
    pub fn service_image() -> Option<String> {
        // SAFETY: null names stand for this machine and its active database.
        let manager = Handle(unsafe { OpenSCManagerW(ptr::null(), ptr::null(), SC_MANAGER_CONNECT) });
        if manager.0.is_null() {
            return None;
        }
        let name: Vec<u16> = super::SERVICE.encode_utf16().chain([0]).collect();
        // SAFETY: an open manager and a string with a NUL at the end.
        let service = Handle(unsafe { OpenServiceW(manager.0, name.as_ptr(), SERVICE_QUERY_CONFIG) });
        if service.0.is_null() {
            return None;
        }
        // u64, so that the structure at the start is aligned
        let mut buffer = [0u64; MAX_CONFIG_BYTES / 8];
        let mut needed = 0;
        // SAFETY: an open service, and a buffer of that many bytes.
        let filled =
            unsafe { QueryServiceConfigW(service.0, buffer.as_mut_ptr().cast(), MAX_CONFIG_BYTES as u32, &mut needed) };
        if filled == 0 {
            return None;
        }
        // SAFETY: filled with this structure by the call above.
        let path = unsafe { (*buffer.as_ptr().cast::<ServiceConfig>()).binary_path_name };
        if path.is_null() {
            return None;
        }
        // SAFETY: the path lies in the buffer, which has a NUL behind it.
        let length = (0..MAX_CONFIG_BYTES / 2).take_while(|&index| unsafe { *path.add(index) } != 0).count();
        // SAFETY: that many characters were just read.
        Some(String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(path, length) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_path_becomes_a_folder() {
        let folder = |image: &str| image_folder(image, r"C:\Windows");
        let store = r"System32\DriverStore\FileRepository\qcnspmcdm8380.inf_arm64_0123\";
        let expected = PathBuf::from(format!(r"C:\Windows\{}", &store[..store.len() - 1]));
        assert_eq!(folder(&format!(r"\SystemRoot\{store}qcnspmcdm.sys")), Some(expected.clone()));
        assert_eq!(folder(&format!(r"\systemroot\{store}qcnspmcdm.sys")), Some(expected.clone()));
        assert_eq!(folder(&format!(r"{store}qcnspmcdm.sys")), Some(expected.clone()));
        assert_eq!(folder(&format!(r"C:\Windows\{store}qcnspmcdm.sys")), Some(expected));
        assert_eq!(folder(r"\??\D:\drivers\a.sys"), Some(PathBuf::from(r"D:\drivers")));
        assert_eq!(folder(r"C:\Windows\"), None);
    }
}
