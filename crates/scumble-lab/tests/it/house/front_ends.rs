//! Front ends parse, call and print. What they hold for the first thirteen verbs stays small: what grows is logic, a default
//! or a table of the library's, and belongs there.

use super::words::sources;
use std::fs;
use std::path::Path;

/// The most lines, in both front ends together.
const MOST: usize = 3500;

/// What came later has its own files, which do not count.
const LATER: [&str; 14] = [
    "verbs/campaign.rs",
    "verbs/collect.rs",
    "verbs/collect_absent.rs",
    "verbs/decode.rs",
    "verbs/learn.rs",
    "verbs/statistics/mod.rs",
    "verbs/statistics/page.rs",
    "scumble-py/src/capsule.rs",
    "scumble-py/src/device.rs",
    "scumble-py/src/interrupt.rs",
    "scumble-py/src/job.rs",
    "scumble-py/src/record_batch.rs",
    "scumble-py/src/statistics.rs",
    "scumble-py/src/structure.rs",
];

#[test]
fn front_ends_stay_thin() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for name in ["scumble-cli", "scumble-py"] {
        sources(&crates.join(name).join("src"), &mut all);
    }
    let later = |path: &Path| LATER.iter().any(|later| path.ends_with(later));
    assert_eq!(all.iter().filter(|path| later(path)).count(), LATER.len(), "a file of the list is gone");
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    let held: usize = all.iter().filter(|path| !later(path)).map(|path| lines(path)).sum();
    assert!(held <= MOST, "{held} lines, at most {MOST}: what is not parsing, calling or printing goes to a library");
}
