//! The client from outside: vectors, refusals, crashes, an audit through the C ABI, markers.

mod audit;
mod crash;
mod ffi;
mod files;
mod markers;
mod refusals;
mod support;
#[path = "../../examples/vectors.rs"]
mod vectors;

/// One file of vectors for every language: what is in the repository is what this code gives.
#[test]
fn the_file_of_vectors_is_what_this_code_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/vectors.json");
    let kept = std::fs::read_to_string(path).expect("packages/vectors.json");
    assert!(kept == vectors::text(), "write it anew: cargo run --release -p scumble-device --example vectors");
}
