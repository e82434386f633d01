//! Imports run one way. Every crate's `lib.rs` lists its modules in order; no module may use one that stands below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 3] = ["scumble-core", "scumble", "scumble-lab"];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src")
}

/// The modules in the order of the table in `lib.rs`.
fn order(library: &str) -> Vec<String> {
    let rows = library.lines().filter_map(|line| line.strip_prefix("//! | "));
    let cells = rows.filter_map(|row| row.split_once(" | ")).map(|(name, _)| name);
    cells.filter(|cell| cell.contains('`')).map(|cell| cell.trim_matches(['[', '`', ']']).to_owned()).collect()
}

/// Every `crate::name` outside comments and unit tests.
fn used(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = lines.flat_map(|line| line.split("crate::").skip(1));
    let end = |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    names.map(|rest| rest[..end(rest)].to_owned()).collect()
}

/// Edges that point up: (file, module that it must not use).
fn upward(order: &[String], files: &[(String, String)]) -> Vec<(String, String)> {
    let place = |name: &str| order.iter().position(|module| module == name);
    let mut found = Vec::new();
    for (file, text) in files {
        let module = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let Some(own) = place(module) else { continue };
        let up = used(text).into_iter().filter(|name| place(name).is_some_and(|other| other > own));
        found.extend(up.map(|name| (file.clone(), name)));
    }
    found
}

fn files(folder: &Path, prefix: &str, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            files(&path, &format!("{name}/"), into);
        } else if name.ends_with(".rs") {
            into.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn no_import_points_up() {
    for name in CRATES {
        let mut all = Vec::new();
        files(&source(name), "", &mut all);
        let library = fs::read_to_string(source(name).join("lib.rs")).unwrap();
        let order = order(&library);
        for line in library.lines() {
            if let Some(module) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
                assert!(order.iter().any(|listed| listed == module), "{name}: {module} is not in the table of lib.rs");
            }
        }
        assert_eq!(upward(&order, &all), [], "{name}");
    }
}

#[test]
fn a_planted_edge_is_found() {
    let order = ["below".to_owned(), "above".to_owned()];
    let planted = [("below/part.rs".to_owned(), "use crate::above::Thing;\n// crate::nothing\n".to_owned())];
    assert_eq!(upward(&order, &planted), [("below/part.rs".to_owned(), "above".to_owned())]);
    let fine = [
        ("above.rs".to_owned(), "use crate::below::Thing;".to_owned()),
        ("below.rs".to_owned(), "//! crate::above\n#[cfg(test)]\nmod tests { use crate::above::Thing; }".to_owned()),
    ];
    assert_eq!(upward(&order, &fine), []);
}
