//! Compiles our `.proto` files into `crates/proto/src/generated`, without a `protoc`.

use anyhow::{Context, Result};
use std::path::Path;

const FILES: [&str; 8] = [
    "kv.proto",
    "membership.proto",
    "rpc.proto",
    "lock.proto",
    "election.proto",
    "health.proto",
    "log.proto",
    "peer.proto",
];

/// Writes the generated modules; the caller formats them.
pub(crate) fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/proto");
    generate(&root.join("proto"), &root.join("src/generated"))
}

pub(crate) fn generate(proto: &Path, out: &Path) -> Result<()> {
    let descriptors = protox::compile(FILES, [proto]).context("compile .proto files")?;
    std::fs::create_dir_all(out).context("create the folder of generated code")?;
    prost_build::Config::new()
        .bytes(["."])
        .out_dir(out)
        .compile_fds(descriptors)
        .context("generate Rust")
}
