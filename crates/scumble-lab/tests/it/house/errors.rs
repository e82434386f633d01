//! Errors are typed: one variant per way to be wrong, its sentence beside it. None is made of free text.

use super::words::{sources, without_tests};
use std::fs;
use std::path::Path;

/// Crates that have only typed errors.
const TYPED: [&str; 1] = ["scumble-core"];

/// What makes an error of text.
const FREE: [&str; 4] = [
    "ParameterError::invalid(",
    "ParameterError::not_private(",
    "ParameterError::Invalid(",
    "ParameterError::NotPrivate {",
];

/// The lines before the tests of a source that make an error of text.
fn made_of_text(source: &str) -> Vec<&str> {
    without_tests(source).lines().filter(|line| FREE.iter().any(|free| line.contains(free))).collect()
}

#[test]
fn no_error_is_made_of_free_text() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut faults = Vec::new();
    for name in TYPED {
        let mut all = Vec::new();
        sources(&crates.join(name).join("src"), &mut all);
        assert!(!all.is_empty(), "{name} has no sources");
        for path in all {
            let source = fs::read_to_string(&path).unwrap();
            faults.extend(made_of_text(&source).into_iter().map(|line| format!("{}: {line}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn planted_text_is_found() {
    let planted = "return Err(ParameterError::invalid(format!(\"k is {k}\")));\n#[cfg(test)]\nmod tests {}\n";
    assert_eq!(made_of_text(planted).len(), 1);
    assert!(made_of_text("return Err(ProjectionError::K { k }.into());").is_empty());
}
