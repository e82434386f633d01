//! Several rows of one person: at most N leave, nobody else hears of the others, and the certificate states the cost.

use crate::support::*;
use crate::tables::{self, Nesting};
use parquet::file::properties::WriterProperties;
use scumble::columns::Column;
use std::collections::BTreeMap;

const RELEASE: &str = "--mechanism dp-oporp-laplace --epsilon 0.5 --range 0,1 -k 3";
const ROWS: usize = 60;

/// Person i % 8, but person 7 has one row only.
fn person(i: usize) -> String {
    format!("WHO{}", if i % 8 == 7 && i > 8 { 0 } else { i % 8 })
}

fn value(i: usize, j: usize, turn: usize) -> f32 {
    ((i * 31 + j * 7 + turn * 13) % 10) as f32 / 10.0
}

fn csv(folder: &Folder, turn: usize) {
    let row = |i: usize| {
        let cells: Vec<String> = (0..4).map(|j| value(i, j, turn).to_string()).collect();
        format!("{i},{},{}\n", person(i), cells.join(","))
    };
    folder.file("x.csv", format!("id,who,a,b,c,d\n{}", (0..ROWS).map(row).collect::<String>()));
}

fn parquet(folder: &Folder) {
    let names: Vec<String> = (0..ROWS).map(person).collect();
    let columns = [
        (
            "vector",
            tables::lists(Nesting::Nullable, "Float32", &tables::whole(ROWS, 4, |i, j| f64::from(value(i, j, 0)))),
        ),
        ("id", tables::numbers("Int64", &(0..ROWS).map(|i| Some(i as f64)).collect::<Vec<_>>())),
        ("who", tables::texts(&names.iter().map(String::as_str).collect::<Vec<_>>())),
    ];
    tables::write_parquet(&folder.path("x.parquet"), &columns, 7, WriterProperties::builder().build());
}

/// The ids that left.
fn ids(folder: &Folder, name: &str) -> Vec<usize> {
    let Some(Column::Int(ids)) = release(&folder.path(name)).ids().cloned() else { panic!("integers") };
    ids.iter().map(|&id| id as usize).collect()
}

fn counts(ids: &[usize]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    ids.iter().for_each(|&i| *counts.entry(person(i)).or_default() += 1);
    counts
}

#[test]
fn at_most_so_many_rows_of_each_person_leave() {
    let folder = Folder::new();
    csv(&folder, 0);
    parquet(&folder);
    let all = counts(&(0..ROWS).collect::<Vec<_>>());
    for (input, out) in [("x.csv", "a.parquet"), ("x.parquet", "a.npy")] {
        for most in [1, 3, 20] {
            let words =
                format!("release {input} --out {most}-{out} {RELEASE} --id id --person who --rows-per-person {most}");
            let output = folder.run(&words);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let name = format!("{most}-{out}");
            let left = ids(&folder, &name);
            assert_eq!(counts(&left), all.iter().map(|(who, &n)| (who.clone(), n.min(most))).collect());
            assert!(left.is_sorted(), "rows keep their order");
            // The operator hears how many were left out; no file does, and no name leaves.
            let dropped = ROWS - left.len();
            assert!(stderr(&output).contains(&format!("note: {dropped} rows are left out")), "{}", stderr(&output));
            let certificate = folder.json(&format!("inspect {name}"));
            assert_eq!(certificate["person"]["rows"], most);
            let statement = certificate["person"]["statement"].as_str().unwrap();
            assert!(statement.contains("equally likely tables is right at most"), "{statement}");
            assert!((certificate["person"]["epsilon"].as_f64().unwrap() - 0.5 * most as f64).abs() < 1e-9);
            assert_eq!(certificate["rows"], left.len());
            let unprotected = certificate["not_protected"].to_string();
            assert!(unprotected.contains(&format!("up to {most} of each")), "{unprotected}");
            folder.ok(&format!("verify {name}"));
            for file in folder.names().iter().filter(|file| file.starts_with(&name)) {
                let bytes = std::fs::read(folder.path(file)).unwrap();
                assert!(!bytes.windows(3).any(|window| window == b"WHO"), "{file}");
            }
        }
    }
    // A statement that promises more than the rows carry does not verify.
    let path = folder.path("3-a.npy.certificate.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"rows\": 3,", "\"rows\": 2,")).unwrap();
    folder.fails("verify 3-a.npy", 1);
}

/// With one key the same rows stay, whatever their values; without, the choice is a new one.
#[test]
fn values_have_no_part_in_the_choice() {
    let folder = Folder::new();
    folder.ok("keygen --sticky --out s.key");
    let words = format!("release x.csv {RELEASE} --id id --person who --rows-per-person 2");
    let sticky = format!("{words} --sticky-key s.key --ledger l.db --dataset d --budget 9");
    csv(&folder, 0);
    folder.ok(&format!("{sticky} --out a.npy"));
    folder.ok(&format!("{sticky} --out again.npy"));
    csv(&folder, 1);
    folder.ok(&format!("{sticky} --out b.npy"));
    assert_eq!(ids(&folder, "a.npy"), ids(&folder, "b.npy"));
    assert_eq!(std::fs::read(folder.path("a.npy")).unwrap(), std::fs::read(folder.path("again.npy")).unwrap());
    let spent = folder.json("ledger show l.db")["accounts"][0]["spent"].as_f64().unwrap();
    assert_eq!(spent, 1.0, "two contents of each row, and nothing for the same again");
    let fresh: Vec<_> = (0..4)
        .map(|turn| {
            folder.ok(&format!("{words} --out f{turn}.npy"));
            ids(&folder, &format!("f{turn}.npy"))
        })
        .collect();
    assert!(fresh.iter().any(|ids| *ids != fresh[0]));
}

#[test]
fn wrong_uses_are_refused() {
    let folder = Folder::new();
    csv(&folder, 0);
    npy_rows(&folder, "x.npy", 4, 4);
    folder.file("holes.csv", "who,a,b\np,1,2\n,1,2\n");
    let base = format!("{RELEASE} --out o.npy");
    for (words, says) in [
        (format!("release x.csv {base} --person who"), "--rows-per-person"),
        (format!("release x.csv {base} --rows-per-person 2"), "--person"),
        (format!("release x.csv {base} --person who --rows-per-person 0"), "at least 1"),
        (format!("release x.csv {base} --person nobody --rows-per-person 2"), "is called `nobody`"),
        (format!("release x.npy {base} --person who --rows-per-person 2"), "no columns that could be named"),
        (
            format!("release holes.csv {base} --person who --rows-per-person 2"),
            "row 1 (line 3), column 0: cell is empty",
        ),
        (format!("release x.csv {base} --person who --rows-per-person 2 --person-delta 1"), "delta"),
    ] {
        let line = folder.fails(&words, 2);
        assert!(line.contains(says), "{words}: {line}");
    }
    assert!(!folder.names().contains(&"o.npy".to_owned()));
}
