//! Errors are typed: one variant per way to be wrong, its sentence beside it. None is made of free text.

use super::words::{sources, without_tests};
use std::fs;
use std::path::Path;

/// Crates that have only typed errors.
const TYPED: [&str; 5] = ["scumble-core", "scumble", "scumble-lab", "scumble-device", "scumble-collector"];

/// The words of the operating system are its own.
const SYSTEM: &str = "Io(String),";

/// True for `#[error("{0}")]` and `#[error("{text}")]`: a sentence that says nothing by itself.
fn is_empty(sentence: &str) -> bool {
    let text = sentence.strip_prefix("#[error(\"{").and_then(|rest| rest.strip_suffix("}\")]"));
    text.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// The variants before the tests of a source that take any text for their sentence.
fn made_of_text(source: &str) -> Vec<String> {
    let lines: Vec<&str> = without_tests(source).lines().map(str::trim).collect();
    let variant = |at: usize| {
        let end = (at..lines.len()).find(|&i| lines[i].ends_with("},") || lines[i].ends_with("),"));
        let end = end.unwrap_or(lines.len() - 1);
        lines[at..=end].join(" ")
    };
    let empty = (0..lines.len().saturating_sub(1)).filter(|&at| is_empty(lines[at]));
    empty.map(|at| variant(at + 1)).filter(|variant| variant.contains("String") && variant != SYSTEM).collect()
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
            faults.extend(made_of_text(&source).into_iter().map(|variant| format!("{}: {variant}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn planted_text_is_found() {
    for planted in [
        "    #[error(\"{0}\")]\n    Invalid(String),\n",
        "    #[error(\"{text}\")]\n    Invalid { text: String },\n",
        "    #[error(\"{reason}\")]\n    NotPrivate {\n        /// Why.\n        reason: String,\n    },\n",
    ] {
        let source = format!("{planted}#[cfg(test)]\nmod tests {{\n{planted}}}\n");
        assert_eq!(made_of_text(&source).len(), 1, "{planted}");
    }
    for typed in [
        "    #[error(\"k is {k}\")]\n    K { k: usize },\n    Other(String),\n",
        "    #[error(transparent)]\n    Grid(#[from] GridError),\n    Other(String),\n",
        "    #[error(\"{0}\")]\n    Io(String),\n",
        "    #[error(\"{kind}\")]\n    Kind {\n        /// Which.\n        kind: Kind,\n    },\n    Other(String),\n",
    ] {
        assert!(made_of_text(typed).is_empty(), "{typed}");
    }
}
