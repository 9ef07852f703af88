//! Loading a library and looking up its symbols.

pub use platform::{system_drivers, Library};

#[cfg(unix)]
mod platform {
    use std::ffi::{c_void, CStr, CString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::ptr::NonNull;

    /// What the driver library is called. Some Linux systems have the second name only.
    pub fn system_drivers() -> Vec<PathBuf> {
        vec!["libcdsprpc.so".into(), "libcdsprpc.so.1".into()]
    }

    /// A loaded library.
    pub struct Library(NonNull<c_void>);

    // SAFETY: the handle is a number to the loader, whose functions may be called from any thread.
    unsafe impl Send for Library {}
    // SAFETY: as above.
    unsafe impl Sync for Library {}

    impl Library {
        /// Loads the library, or says why not.
        pub fn open(path: &Path) -> Result<Library, String> {
            let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "the name has a NUL in it".to_owned())?;
            // SAFETY: a C string. That its initialisers run is what loading a driver means.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            NonNull::new(handle).map(Library).ok_or_else(last_error)
        }

        /// The address of a symbol, null when there is none.
        pub fn symbol(&self, name: &CStr) -> *mut c_void {
            // SAFETY: a handle that dlopen gave and that is not closed yet, and a C string.
            unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) }
        }
    }

    impl Drop for Library {
        fn drop(&mut self) {
            // SAFETY: closed once. Who has a function pointer holds the library (see FastRpc).
            unsafe { libc::dlclose(self.0.as_ptr()) };
        }
    }

    /// The loader's text about the last failure on this thread.
    fn last_error() -> String {
        // SAFETY: takes no arguments; the text stays valid until the next call on this thread.
        let text = unsafe { libc::dlerror() };
        if text.is_null() {
            return "the loader gives no reason".to_owned();
        }
        // SAFETY: not null, so a C string.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

#[cfg(windows)]
mod platform {
    use std::ffi::{c_char, c_void, CStr};
    use std::os::windows::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::ptr::NonNull;

    #[link(name = "kernel32")]
    extern "system" {
        fn LoadLibraryW(name: *const u16) -> *mut c_void;
        fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
        fn FreeLibrary(module: *mut c_void) -> i32;
    }

    /// The driver library lies in the driver's own folder, which has another name with every version.
    pub fn system_drivers() -> Vec<PathBuf> {
        const NAME: &str = "libcdsprpc.dll";
        let in_store = crate::driver_store::folder().map(|folder| folder.join(NAME));
        in_store.into_iter().chain([PathBuf::from(NAME)]).collect()
    }

    /// A loaded library.
    pub struct Library(NonNull<c_void>);

    // SAFETY: the handle is a number to the loader, whose functions may be called from any thread.
    unsafe impl Send for Library {}
    // SAFETY: as above.
    unsafe impl Sync for Library {}

    impl Library {
        /// Loads the library, or says why not.
        pub fn open(path: &Path) -> Result<Library, String> {
            let name: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
            // SAFETY: a string with a NUL at the end. That its initialisers run is what loading a driver means.
            let handle = unsafe { LoadLibraryW(name.as_ptr()) };
            NonNull::new(handle).map(Library).ok_or_else(|| std::io::Error::last_os_error().to_string())
        }

        /// The address of a symbol, null when there is none.
        pub fn symbol(&self, name: &CStr) -> *mut c_void {
            // SAFETY: a handle that LoadLibraryW gave and that is not freed yet, and a C string.
            unsafe { GetProcAddress(self.0.as_ptr(), name.as_ptr()) }
        }
    }

    impl Drop for Library {
        fn drop(&mut self) {
            // SAFETY: freed once. Who has a function pointer holds the library (see FastRpc).
            unsafe { FreeLibrary(self.0.as_ptr()) };
        }
    }
}
