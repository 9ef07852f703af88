//! With `HEXAGON_SDK_ROOT` set, generates bindings from the SDK's own headers, for the tests that compare their layouts
//! with those of the committed file (`src/layout.rs`). Without it, nothing is generated and neither SDK nor libclang is
//! needed.
//!
//! The SDK is not public, so this was tried with the open FastRPC headers only, which have the same names and layouts:
//! a folder with `incs/{remote,rpcmem,dspqueue,AEEStdErr,AEEStdDef}.h`.

use std::path::{Path, PathBuf};

/// Folders of an SDK that hold the headers, from its root. The set differs between SDK versions.
const INCLUDE_FOLDERS: [&str; 4] = ["incs", "incs/stddef", "ipc/fastrpc/incs", "ipc/fastrpc/rpcmem/inc"];

const HEADERS: &str = "#include <stddef.h>\n#include <stdint.h>\n#include \"AEEStdErr.h\"\n#include \"remote.h\"\n\
                       #include \"rpcmem.h\"\n#include \"dspqueue.h\"\n";

const TYPES: &str = "remote_(buf|arg|dsp_capability|rpc_control_unsigned_module|rpc_process_clean_params|\
                     rpc_control_latency|rpc_reserve_new_session|rpc_get_uri)|dspqueue_buffer";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=HEXAGON_SDK_ROOT");
    println!("cargo:rustc-check-cfg=cfg(hexagon_sdk)");
    let Some(root) = std::env::var_os("HEXAGON_SDK_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from) else {
        return;
    };
    match generate(&root) {
        Ok(()) => println!("cargo:rustc-cfg=hexagon_sdk"),
        Err(reason) => {
            println!(
                "cargo::error=HEXAGON_SDK_ROOT is {}: {reason}; unset it to build without the SDK",
                root.display()
            );
        }
    }
}

fn generate(root: &Path) -> Result<(), String> {
    let folders = INCLUDE_FOLDERS.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir());
    let output = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?).join("sdk.rs");
    bindgen::Builder::default()
        .header_contents("sdk.h", HEADERS)
        .clang_args(folders.map(|folder| format!("-I{}", folder.display())))
        .allowlist_type(TYPES)
        .layout_tests(false)
        .generate_comments(false)
        .use_core()
        .generate()
        .map_err(|error| error.to_string())?
        .write_to_file(output)
        .map_err(|error| error.to_string())
}
