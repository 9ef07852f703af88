//! The kernel check: every kernel against its scalar reference. Arguments: op families, none for all.

fn main() {
    std::process::exit(htp_kernels::check_main(std::env::args()));
}
