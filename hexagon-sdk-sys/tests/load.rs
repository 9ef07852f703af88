//! Loading a driver: libraries that are missing, that are none, that lack a function, and one that has all.

use std::path::{Path, PathBuf};
use std::process::Command;

use hexagon_sdk_sys::{FastRpc, LoadError};

const REQUIRED: [&str; 14] = [
    "rpcmem_alloc",
    "rpcmem_free",
    "rpcmem_to_fd",
    "fastrpc_mmap",
    "fastrpc_munmap",
    "remote_handle64_open",
    "remote_handle64_invoke",
    "remote_handle64_close",
    "remote_session_control",
    "dspqueue_create",
    "dspqueue_close",
    "dspqueue_export",
    "dspqueue_write",
    "dspqueue_read",
];

/// Compiles a library that exports functions of these names, each of which returns 7.
fn library(folder: &Path, names: &[&str]) -> PathBuf {
    let (source, library) = (folder.join("driver.c"), folder.join("libdriver.so"));
    let code: String = names.iter().map(|name| format!("int {name}(void) {{ return 7; }}\n")).collect();
    std::fs::write(&source, code).expect("a temporary file can be written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(status.expect("these tests need a C compiler, cc or $CC").success(), "{compiler} failed");
    library
}

fn load_error(path: &Path) -> LoadError {
    FastRpc::load(Some(path)).err().expect("this is no driver")
}

#[test]
fn a_missing_file_is_named() {
    let error = load_error(Path::new("/nonexistent/libcdsprpc.so"));
    let LoadError::NotFound { tried } = &error else { panic!("{error:?}") };
    assert_eq!(tried.len(), 1, "a given path is the only candidate");
    assert_eq!(tried[0].0, "/nonexistent/libcdsprpc.so");
    assert!(error.to_string().contains("/nonexistent/libcdsprpc.so"), "{error}");
}

#[test]
fn a_file_that_is_no_library_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("libcdsprpc.so");
    std::fs::write(&path, "not a library").expect("a temporary file can be written");
    let LoadError::NotFound { tried } = load_error(&path) else { panic!("expected NotFound") };
    assert!(!tried[0].1.is_empty(), "the loader's reason is kept");
}

#[test]
fn each_required_function_is_missed_by_name() {
    for missing in REQUIRED {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let names: Vec<&str> = REQUIRED.into_iter().filter(|name| *name != missing).collect();
        let path = library(folder.path(), &names);
        let expected = LoadError::MissingSymbol { library: path.display().to_string(), symbol: missing };
        assert_eq!(load_error(&path), expected);
        assert!(expected.to_string().contains(missing) && expected.to_string().contains("libdriver.so"));
    }
}

#[test]
fn a_driver_with_the_required_functions_loads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rpc = FastRpc::load(Some(&library(folder.path(), &REQUIRED))).expect("all required functions are there");
    assert!(rpc.rpcmem_alloc2.is_none() && rpc.remote_handle_control.is_none() && rpc.dspqueue_read_noblock.is_none());
    assert!(rpc.remote_handle64_control.is_none() && rpc.remote_system_request.is_none());
    // SAFETY: the function that was compiled above takes any handle.
    assert_eq!(unsafe { (rpc.remote_handle64_close)(1) }, 7, "the table holds the library's functions");
}

#[test]
fn optional_functions_are_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names: Vec<&str> = REQUIRED.into_iter().chain(["rpcmem_alloc2", "remote_handle_control"]).collect();
    let rpc = FastRpc::load(Some(&library(folder.path(), &names))).expect("all required functions are there");
    assert!(rpc.rpcmem_alloc2.is_some() && rpc.remote_handle_control.is_some());
    assert!(rpc.dspqueue_read_noblock.is_none());
}
