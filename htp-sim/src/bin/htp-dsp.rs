//! The DSP process of engine `native`: the DSP's sources, built for this machine. The simulated driver starts it.

fn main() {
    std::process::exit(htp_kernels::dsp_main());
}
