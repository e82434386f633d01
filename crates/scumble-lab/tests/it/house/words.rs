//! The libraries name no flag and no command: each front end has its own words for them (`‹beta›`, `‹keygen()›`).

use std::fs;
use std::path::{Path, PathBuf};

/// Front ends have flags and commands, and the collector is a part of one. All other crates have not.
const LIBRARIES: [&str; 4] = ["scumble-core", "scumble", "scumble-lab", "scumble-device"];

/// A statement goes to readers of a release and tells them which program checks it.
const STATEMENT: &str = "scumble/src/certificate/statement.rs";

const VERBS: [&str; 20] = [
    "audit",
    "bins",
    "book",
    "campaign",
    "collect",
    "compare",
    "components",
    "decode",
    "demo",
    "evaluate",
    "inspect",
    "keygen",
    "ledger",
    "plan",
    "release",
    "reproduce",
    "search",
    "statistics",
    "statement",
    "verify",
];

/// All sources below a folder.
pub(super) fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

/// A source up to its unit tests.
pub(super) fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod").next().unwrap_or_default()
}

/// The string literals of a source before its tests, without comments.
fn literals(source: &str) -> Vec<String> {
    let (mut found, mut chars) = (Vec::new(), without_tests(source).chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|&c| c != '\n').is_some() {},
            // A quote as a character is no string.
            '\'' if chars.peek() == Some(&'"') => _ = chars.next(),
            '"' => {
                let mut literal = String::new();
                while let Some(c) = chars.next().filter(|&c| c != '"') {
                    literal.push(c);
                    if c == '\\' {
                        literal.extend(chars.next());
                    }
                }
                found.push(literal);
            }
            _ => {}
        }
    }
    found
}

/// True if a text speaks of `--flag` or `scumble verb`.
fn names_a_command(text: &str) -> bool {
    let flag = text.match_indices("--").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| c == ' ' || c == '`') // not the variables of a style sheet
            && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    });
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != ' ').flat_map(|part| {
        let words: Vec<&str> = part.split(' ').collect();
        words.windows(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect::<Vec<_>>()
    });
    flag || words.any(|(first, second)| first == "scumble" && VERBS.contains(&second.as_str()))
}

#[test]
fn no_library_text_names_a_flag_or_a_command() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut faults = Vec::new();
    for library in LIBRARIES {
        let mut all = Vec::new();
        sources(&crates.join(library).join("src"), &mut all);
        for path in all.iter().filter(|path| !path.ends_with(STATEMENT)) {
            let texts = literals(&fs::read_to_string(path).unwrap());
            faults.extend(
                texts
                    .into_iter()
                    .filter(|text| names_a_command(text))
                    .map(|text| format!("{}: {text}", path.display())),
            );
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn planted_words_are_found() {
    for text in [
        "give --beta",
        "the `--budget-delta`",
        "make one with scumble keygen",
        "give a file that `scumble release` wrote",
    ] {
        let source = format!(
            "// \"--comment\"\nlet quote = '\"';\nlet text = \"{text}\";\n#[cfg(test)]\nmod tests {{}} // \"--x\""
        );
        assert_eq!(literals(&source), [text]);
        assert!(names_a_command(text), "{text}");
    }
    for text in [
        "a--b",
        "-- sql comment",
        "var(--ink)",
        "give ‹beta›",
        "scumble-release 1",
        "scumble releases",
        "not scumble; release",
    ] {
        assert!(!names_a_command(text), "{text}");
    }
}
