//! Marks the driver library so that `dlclose` leaves it in place: threads of open sessions may still run in it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
