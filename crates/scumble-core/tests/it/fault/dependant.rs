//! Promises hold in crates that depend on ours: their profile has no overflow checks, and ours is not inherited.

use std::path::Path;
use std::process::Command;

/// Builds a small crate in the default release profile and runs 1,000 extreme parameter sets through it.
#[test]
fn extreme_parameters_in_a_dependants_build() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dependant");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"dependant\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         scumble-core = {{ path = {core:?}, default-features = false }}\nnum-bigint = \"0.4\"\nnum-rational = \"0.4\"\n\
         num-traits = \"0.2\"\n"
    );
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        // An unchanged file keeps its time, and cargo its build.
        if std::fs::read(&path).ok().as_deref() != Some(text) {
            std::fs::write(path, text).unwrap();
        }
    };
    write("Cargo.toml", manifest.as_bytes());
    write("src/main.rs", &std::fs::read(core.join("tests/dependant/program.rs")).unwrap());
    // The versions of this workspace: nothing is looked up, nothing is downloaded.
    write("Cargo.lock", &std::fs::read(core.join("../../Cargo.lock")).unwrap());
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["run", "--release", "--offline", "--quiet", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    let counts: Vec<usize> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(counts[0] >= 100 && counts[0] + counts[1] >= 1000, "too few promises to confirm: {said}");
}
