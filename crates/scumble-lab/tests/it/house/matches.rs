//! A new encoding, unit or perturbation fails to compile at every place that must decide: no `_ =>` over them, in a tuple
//! neither, and no `matches!`, which is one.

use super::words::{sources, without_tests};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What must be listed, and how many variants each has.
const LISTED: [(&str, usize); 3] = [("Encoding", 7), ("Unit", 4), ("Perturbation", 6)];

/// Where they are defined, and `Self::` is one of them.
const HOMES: [&str; 3] = ["release/encoding.rs", "privacy/unit.rs", "mechanism/perturbation/"];

/// The parts of a pattern between those of its separators that are in no bracket.
fn split(pattern: &str, at: char) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, c) in pattern.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if c == at && depth == 0 => {
                parts.push(pattern[start..i].trim());
                start = i + at.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(pattern[start..].trim());
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// What stands before the bracket that closes the one before it.
fn up_to_the_end(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// The places of a tuple; anything else is one place, in an option too.
fn places(pattern: &str) -> Vec<&str> {
    let within = |open: &str| pattern.strip_prefix(open).and_then(|rest| rest.strip_suffix(')'));
    within("(").map_or_else(|| vec![within("Some(").unwrap_or(pattern)], |inside| split(inside, ','))
}

/// True for `_` and for a name that takes anything.
fn takes_all(place: &str) -> bool {
    !place.is_empty() && place.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// The listed variants that a text names, such as `Unit::L1`.
fn named(text: &str, at_home: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, _) in LISTED.iter().copied().chain(at_home.then_some(("Self", 0))) {
        for (at, path) in text.match_indices(&format!("{name}::")) {
            if !text[..at].ends_with(|c: char| c.is_alphanumeric()) {
                let rest = &text[at + path.len()..];
                let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                found.insert(format!("{path}{}", &rest[..end]));
            }
        }
    }
    found
}

/// True if patterns for one place leave nothing out, as far as their text tells. All variants of `growing` are not all.
fn cover(patterns: &[&str], growing: &str) -> bool {
    let inner = |outer: &str| {
        let open = format!("{outer}(");
        patterns.iter().any(|p| p.strip_prefix(&open).and_then(|p| p.strip_suffix(')')).is_some_and(takes_all))
    };
    let has = |plain: &str| patterns.contains(&plain);
    let all_of = |(name, variants): &(&str, usize)| {
        let whole = named(&patterns.join(" "), false);
        *name != growing && whole.iter().filter(|path| path.starts_with(&format!("{name}::"))).count() == *variants
    };
    patterns.iter().any(|p| takes_all(p))
        || inner("Some") && has("None")
        || inner("Ok") && inner("Err")
        || has("true") && has("false")
        || LISTED.iter().any(all_of)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The patterns of the match that begins at a line, with their conditions. By the indents that rustfmt gives.
fn arms(lines: &[&str], start: usize) -> Vec<String> {
    let own = indent(lines[start]);
    let inside = lines[start + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line) > own);
    let (mut arms, mut arm) = (Vec::new(), String::new());
    for line in inside {
        let text = line.trim();
        let begins = indent(line) == own + 4 && !text.starts_with(['}', ')', '/']);
        if begins || !arm.is_empty() {
            arm = format!("{arm} {text}");
            if let Some((pattern, _)) = arm.split_once("=>") {
                arms.push(pattern.trim().to_owned());
                arm.clear();
            }
        }
    }
    arms
}

/// Lines where a match or a `matches!` would take in a new variant without a word.
fn wildcards(source: &str, at_home: bool) -> Vec<usize> {
    let lines: Vec<&str> = without_tests(source).lines().collect();
    let swallows = |start: usize| {
        let arms = arms(&lines, start);
        let unconditional = arms.iter().filter(|arm| !arm.contains(" if "));
        let rows: Vec<Vec<&str>> = unconditional.flat_map(|arm| split(arm, '|')).map(places).collect();
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        // The enum that a place lists.
        let listed = |place: usize| {
            let patterns = arms.iter().map(|arm| arm.split(" if ").next().unwrap_or_default());
            let mut alternatives = patterns.flat_map(|pattern| split(pattern, '|')).map(places);
            alternatives.find_map(|row| named(row.get(place)?, at_home).pop_first())
        };
        let swallowed = |place: usize, path: String| {
            let growing = path.split("::").next().unwrap_or_default();
            let taking: Vec<_> = rows.iter().filter(|row| takes_all(row.get(place).unwrap_or(&row[0]))).collect();
            let column = |at: usize| taking.iter().map(|row| *row.get(at).unwrap_or(&"_")).collect::<Vec<_>>();
            !taking.is_empty() && (0..width).filter(|&at| at != place).all(|at| cover(&column(at), growing))
        };
        (0..width).any(|place| listed(place).is_some_and(|path| swallowed(place, path)))
    };
    let asks = |at: usize| {
        let text = lines[at..(at + 4).min(lines.len())].join(" ");
        let asked = lines[at].split_once("matches!(").and_then(|(before, _)| text[before.len()..].split_once('('));
        asked.is_some_and(|(_, rest)| !named(up_to_the_end(rest), at_home).is_empty())
    };
    let begins = |at: usize| lines[at].trim_end().ends_with('{') && format!(" {}", lines[at]).contains(" match ");
    let code = |at: &usize| !lines[*at].trim_start().starts_with("//");
    (0..lines.len()).filter(code).filter(|&at| begins(at) && swallows(at) || asks(at)).map(|at| at + 1).collect()
}

#[test]
fn every_match_lists_encodings_units_and_perturbations() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut all);
    }
    let (mut faults, mut variants) = (Vec::new(), BTreeSet::new());
    // The encodings of Parquet are others.
    for path in all.into_iter().filter(|path| !path.to_string_lossy().contains("files/parquet")) {
        let source = fs::read_to_string(&path).unwrap();
        let at_home = HOMES.iter().any(|home| path.to_string_lossy().contains(home));
        let found = wildcards(&source, at_home);
        faults.extend(found.iter().map(|line| format!("{}:{line}", path.display())));
        if path.to_string_lossy().contains("scumble-core") {
            variants.extend(named(&source, false));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    for (name, count) in LISTED {
        let known = variants.iter().filter_map(|path| path.strip_prefix(&format!("{name}::")));
        let known: Vec<_> = known.filter(|rest| rest.starts_with(char::is_uppercase)).collect();
        assert_eq!(known.len(), count, "{known:?}");
    }
}

/// A match over `value` with these arms.
fn match_of(value: &str, arms: &[&str]) -> String {
    let arms: String = arms.iter().map(|arm| format!("    {arm} => {{\n        1\n    }}\n")).collect();
    format!("let x = match {value} {{\n{arms}}};\n")
}

#[test]
fn a_planted_wildcard_is_found() {
    let found = |arms: &[&str]| wildcards(&match_of("x", arms), false) == [1];
    for planted in [
        &["Encoding::F32", "_"][..],
        &["Encoding::F32", "other"],
        &["Some(Encoding::F32)", "None", "Some(_)"],
        &["Perturbation::Noise { clip: Some(_), .. }", "_"],
        &["(Unit::L1, _)", "(_, _)"],
        &["(Unit::L1, _)", "_"],
        &["(Unit::L1, _)", "(_, Some(far))", "(_, None)"],
        &[
            "(Unit::Record | Unit::L2, _)",
            "(Unit::Attribute | Unit::L1, Perturbation::Cap(_))",
            "(Unit::Attribute | Unit::L1, _)",
        ],
        &["(\n        Unit::L1\n        | Unit::L2,\n        true,\n    )", "(_, true) | (_, false)"],
    ] {
        assert!(found(planted), "{planted:?}");
    }
    for fine in [
        &["Encoding::F32", "Encoding::B1"][..],
        &["Other::Unit", "_"],
        &["FlipUnit::L1", "_"],
        &["1", "_"],
        &["(Unit::L1, _)", "(Unit::Record, _)"],
        &["(Unit::L1, _)", "(unit, Some(beta))", "(Unit::L2, None)"],
        &["_ if beta < 0.0", "Unit::L1"],
        &["(Unit::L1, Unit::L1)", "(Unit::Attribute | Unit::L1 | Unit::L2 | Unit::Record, _)"],
    ] {
        assert!(!found(fine), "{fine:?}");
    }
    assert_eq!(wildcards("let a = 1;\nlet x = matches!(\n    unit,\n    Unit::L1 | Unit::L2,\n);\n", false), [2]);
    assert!(wildcards("if matches!(kind, Kind::Npy) { Unit::L1 } else { Unit::L2 }\n", false).is_empty());
    assert_eq!(wildcards(&match_of("self", &["Self::F32", "_"]), true), [1]);
}
