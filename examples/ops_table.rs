//! Prints `docs/ops.md`; `cargo xtask docs` writes it to its place.

fn main() {
    print!("{}", ggml_hexagon::ops::docs::markdown());
}
