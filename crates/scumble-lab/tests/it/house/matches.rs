//! A new encoding, unit or perturbation fails to compile at every place that must decide: no `_ =>` over them.

use super::words::{sources, without_tests};
use std::fs;
use std::path::Path;

/// What must be listed.
const LISTED: [&str; 3] = ["Encoding::", "Unit::", "Perturbation::"];

/// Where they are defined, and `Self::` is one of them.
const HOMES: [&str; 3] = ["release/encoding.rs", "privacy/unit.rs", "mechanism/perturbation/"];

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Lines with an arm `_ =>` (alone or in a tuple's every place) beside an arm that names what must be listed. By the
/// indents that rustfmt gives.
fn wildcards(source: &str, at_home: bool) -> Vec<usize> {
    let lines: Vec<&str> = without_tests(source).lines().collect();
    let names = |line: &str| {
        let pattern = line.split("=>").next().unwrap_or_default();
        let listed = LISTED.iter().any(|name| {
            pattern.match_indices(name).any(|(at, _)| !pattern[..at].ends_with(|c: char| c.is_alphanumeric()))
        });
        listed || at_home && pattern.contains("Self::")
    };
    let is_wild = |line: &str| {
        let pattern = line.trim_start().split("=>").next().unwrap_or_default().trim_end();
        line.contains("=>")
            && (pattern == "_"
                || pattern.starts_with("(_") && pattern.trim_matches(['(', ')', '_', ',', ' ']).is_empty())
    };
    let arms = |at: usize| {
        let own = indent(lines[at]);
        let start = (0..at).rev().find(|&i| !lines[i].trim().is_empty() && indent(lines[i]) < own).unwrap_or(0);
        lines[start + 1..at].iter().filter(move |line| indent(line) == own && !line.trim_start().starts_with("//"))
    };
    (0..lines.len()).filter(|&at| is_wild(lines[at]) && arms(at).any(|line| names(line))).map(|at| at + 1).collect()
}

#[test]
fn every_match_lists_encodings_units_and_perturbations() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut all);
    }
    let mut faults = Vec::new();
    // The encodings of Parquet are others.
    for path in all.into_iter().filter(|path| !path.to_string_lossy().contains("files/parquet")) {
        let at_home = HOMES.iter().any(|home| path.to_string_lossy().contains(home));
        let found = wildcards(&fs::read_to_string(&path).unwrap(), at_home);
        faults.extend(found.iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_planted_wildcard_is_found() {
    let planted = "match x {\n    Encoding::F32 => {\n        1\n    }\n    _ => 2,\n}\n";
    assert_eq!(wildcards(planted, false), [5]);
    assert_eq!(wildcards(&planted.replace("Encoding::F32", "Self::F32"), true), [5]);
    assert_eq!(
        wildcards(&planted.replace("Encoding::F32", "(Unit::L1, _)").replace("_ => 2", "(_, _) => 2"), false),
        [5]
    );
    for fine in
        ["Encoding::B1", "Self::F32"].map(|name| planted.replace("_ =>", name).replace("Encoding::F32", "Other::Unit"))
    {
        assert!(wildcards(&fine, false).is_empty());
    }
    assert!(wildcards("match x {\n    1 => Encoding::F32,\n    _ => Encoding::B1,\n}\n", false).is_empty());
}
