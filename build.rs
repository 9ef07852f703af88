//! Linker flags of the shared library: its installed name, for programs which link it, and that it stays in the process
//! once it is loaded. Devices, buffer types and the threads of `src/layout/pool.rs` live as long as the process.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "linux" || os == "android" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libggml-hexagon.so");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
