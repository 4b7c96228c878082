//! Generates the client code from the API's definition. It needs no program besides the compiler.

use std::{env, fs, path::PathBuf};

use protox::prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from("proto/memsidecar/v1");
    println!("cargo:rerun-if-changed=proto");
    let mut files = Vec::new();
    for entry in fs::read_dir(&directory)? {
        files.push(entry?.path());
    }
    files.sort();
    let descriptors = protox::compile(&files, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?; // for the tests
    tonic_prost_build::configure().build_server(false).compile_fds(descriptors)?;
    Ok(())
}
