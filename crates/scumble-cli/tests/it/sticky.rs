//! Sticky releases: what has not changed gives the same bytes and costs nothing.

use crate::support::*;

const RELEASE: &str =
    "release x.csv --mechanism dp-oporp-laplace --epsilon 1 --range 0,1 -k 4 --id id --sticky-key s.key";
const LEDGER: &str = "--ledger l.db --dataset d --budget 2";

/// Rows `id,value,...`.
fn table(folder: &Folder, rows: &[(&str, f32)]) {
    let lines: String = rows.iter().map(|(id, x)| format!("{id},{x},0.5,0.25,0.75\n")).collect();
    folder.file("x.csv", format!("id,a,b,c,d\n{lines}"));
}

fn sketches(folder: &Folder, name: &str) -> Vec<Vec<u8>> {
    let release = release(&folder.path(name));
    (0..release.len()).map(|i| release.row(i).to_vec()).collect()
}

fn spent(folder: &Folder) -> f64 {
    folder.json("ledger show l.db")["accounts"][0]["spent"].as_f64().unwrap()
}

#[test]
fn only_what_changes_is_new_and_only_that_is_charged() {
    let folder = Folder::new();
    folder.ok("keygen --sticky --out s.key");
    table(&folder, &[("p", 0.1), ("q", 0.2), ("r", 0.3)]);
    folder.ok(&format!("{RELEASE} {LEDGER} --out a.npy"));
    assert_eq!(spent(&folder), 1.0);
    let first = sketches(&folder, "a.npy");

    // Again, in another encoding and order, with one row less and one more: the same rows, nothing to pay.
    folder.ok(&format!("{RELEASE} {LEDGER} --out b.npy"));
    assert_eq!(sketches(&folder, "b.npy"), first);
    folder.ok(&format!("{RELEASE} {LEDGER} --out b.parquet --encoding i16"));
    table(&folder, &[("r", 0.3), ("s", 0.4), ("p", 0.1)]);
    folder.ok(&format!("{RELEASE} {LEDGER} --out c.npy"));
    let moved = sketches(&folder, "c.npy");
    assert_eq!([&moved[0], &moved[2]], [&first[2], &first[0]]);
    assert_eq!(spent(&folder), 1.0);

    // One row changes: all of its sketch is new, the others stay; the account pays for a second content.
    table(&folder, &[("p", 0.9), ("q", 0.2), ("r", 0.3)]);
    folder.ok(&format!("{RELEASE} {LEDGER} --out d.npy"));
    let changed = sketches(&folder, "d.npy");
    assert_ne!(changed[0], first[0]);
    assert_eq!(changed[1..], first[1..]);
    assert_eq!(spent(&folder), 2.0);

    // Another row's second content costs nothing: no row has more than two. Going back costs nothing either.
    table(&folder, &[("p", 0.1), ("q", 0.8), ("r", 0.3)]);
    folder.ok(&format!("{RELEASE} {LEDGER} --out e.npy"));
    assert_eq!(sketches(&folder, "e.npy")[0], first[0]);
    assert_eq!(spent(&folder), 2.0);

    // A third content of a row is over budget.
    table(&folder, &[("p", 0.5), ("q", 0.2), ("r", 0.3)]);
    let line = folder.fails(&format!("{RELEASE} {LEDGER} --out f.npy"), 1);
    assert!(line.contains("2 of it spent"), "{line}");
    // So is the same table under another key or another mechanism: that is new noise.
    table(&folder, &[("p", 0.1), ("q", 0.2), ("r", 0.3)]);
    folder.ok("keygen --sticky --out t.key");
    folder.fails(&format!("{} {LEDGER} --out f.npy", RELEASE.replace("s.key", "t.key")), 1);
    folder.fails(&format!("{} {LEDGER} --out f.npy", RELEASE.replace("--epsilon 1", "--epsilon 0.5")), 1);
    folder.ok(&format!("{RELEASE} {LEDGER} --out f.npy"));
    assert!(!folder.names().contains(&"l.db-journal".to_owned()));
}

#[test]
fn the_certificate_says_so_and_ids_are_needed() {
    let folder = Folder::new();
    folder.ok("keygen --sticky --out s.key");
    table(&folder, &[("p", 0.1)]);
    folder.ok(&format!("{RELEASE} --out a.npy"));
    let certificate = folder.json("inspect a.npy");
    assert_eq!(certificate["sticky"], true);
    assert!(certificate["not_protected"].to_string().contains("whether a row has changed"));
    folder.ok("verify a.npy");
    let unnamed = RELEASE.replace(" --id id", "");
    for words in [format!("{unnamed} --out b.npy"), format!("{unnamed} {LEDGER} --out b.npy")] {
        let line = folder.fails(&words, 1);
        assert!(line.contains("needs row ids"), "{line}");
    }
    for other in [b"too short".to_vec(), vec![7; 32]] {
        std::fs::write(folder.path("s.key"), other).unwrap();
        assert!(folder.fails(&format!("{RELEASE} --out b.npy"), 2).contains("not a sticky key"));
    }
}
