//! Nothing private in any file, log or message: markers are planted in the input, every verb runs on it, well and badly,
//! and everything that the runs wrote is searched for them.

use crate::support::*;
use crate::tables::{Nesting, lists, texts, whole, write_parquet};
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};

/// A value inside the range, one outside (it is clipped), one that breaks its line.
const INSIDE: f64 = 0.731_852_946_3;
const OUTSIDE: f64 = 31_337.424_25;
/// A label that is not asked for, and a name in a column that nobody named.
const LABEL: &str = "LABELMARK7F3A";
const NAME: &str = "NAMEMARK91C2";

/// Enough for a plan by trial.
const ROWS: usize = 60;

/// The markers in every form that a file or message could hold.
fn needles() -> Vec<(String, Vec<u8>)> {
    let mut needles = Vec::new();
    for text in [LABEL, NAME] {
        needles.push((text.to_owned(), text.as_bytes().to_vec()));
        needles.push((format!("{text} in UTF-32"), text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()));
    }
    for value in [INSIDE, OUTSIDE] {
        // As many digits as f32 and f64 share: fewer could come from the noise by chance.
        let text = if value < 1.0 { &value.to_string()[..9] } else { &value.to_string()[..7] };
        needles.push((format!("{value} as text"), text.as_bytes().to_vec()));
        for bytes in [value.to_le_bytes().to_vec(), value.to_be_bytes().to_vec()] {
            needles.push((format!("{value} as f64"), bytes));
        }
        for bytes in [(value as f32).to_le_bytes().to_vec(), (value as f32).to_be_bytes().to_vec()] {
            needles.push((format!("{value} as f32"), bytes));
        }
    }
    needles
}

/// The input as CSV, as LIBSVM, as npy and as Parquet; broken versions of the first two.
fn plant(folder: &Folder) {
    let rows: Vec<Vec<f64>> = (0..ROWS)
        .map(|i| {
            (0..4)
                .map(|j| {
                    if (i + j) % 3 == 0 {
                        INSIDE
                    } else if i == 5 {
                        OUTSIDE
                    } else {
                        0.5
                    }
                })
                .collect()
        })
        .collect();
    let cells = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let lines: String = rows.iter().enumerate().map(|(i, row)| format!("{i},{LABEL},{}\n", cells(row))).collect();
    let csv = format!("id,label,a,b,c,d\n{lines}");
    folder.file("ok.csv", &csv);
    folder.file("word.csv", format!("{csv}7,{LABEL},{INSIDE}x,0,0,0\n"));
    folder.file("ragged.csv", format!("{csv}7,{LABEL},{INSIDE}\n"));
    folder.file("twice.csv", format!("{csv}0,{LABEL},{INSIDE},0,0,0\n"));
    folder.file("nan.csv", format!("{csv}7,{LABEL},{INSIDE},nan,{OUTSIDE},0\n"));
    folder.file("head.csv", format!("{NAME},{OUTSIDE}\n0,1\n"));
    folder.file("cells.csv", format!("{NAME},{LABEL}\n{LABEL},1\n"));
    folder.file("named.csv", format!("id,user,a\n{NAME},{NAME},1\n"));
    folder.file("order.svm", format!("1 1:{INSIDE} 2:1\n1 2:{INSIDE} 1:{OUTSIDE}\n"));
    folder.file("entry.svm", format!("1 1:{INSIDE} 2:{INSIDE}:{OUTSIDE}\n"));
    let flat: Vec<f32> = rows.concat().iter().map(|&x| x as f32).collect();
    folder.file("ok.npy", npy("<f4", &format!("({ROWS}, 4)"), &f32_bytes(&flat)));
    let wide: Vec<u8> = rows.concat().iter().flat_map(|x| x.to_le_bytes()).collect();
    folder.file("wide.npy", npy("<f8", &format!("({ROWS}, 4)"), &wide));
    folder.file("short.npy", npy("<f4", &format!("({}, 4)", 10 * ROWS), &f32_bytes(&flat)));
    let columns = [
        ("vector", lists(Nesting::Required, "Float32", &whole(ROWS, 4, |i, j| rows[i][j]))),
        ("user", texts(&[NAME; ROWS])),
        ("label", texts(&[LABEL; ROWS])),
    ];
    write_parquet(&folder.path("ok.parquet"), &columns, ROWS, WriterProperties::builder().build());
    let whole = std::fs::read(folder.path("ok.parquet")).unwrap();
    folder.file("cut.parquet", &whole[..whole.len() / 2]);
}

/// Every verb; the word before the colon says how it must end.
const RUNS: &[&str] = &[
    "0: keygen --out sign.key",
    "0: keygen --sticky --out sticky.key",
    "0: plan --dim 4 --epsilon 1 --range 0,1 --mechanism dp-oporp-laplace -k 2",
    "0: release ok.csv --out o1.parquet M --sign sign.key --ledger l.db --dataset d --budget 2",
    "0: release ok.csv --out o2.npy M --json",
    "0: release ok.csv --out o3.npy M --id id --sticky-key sticky.key --ledger l.db --dataset d",
    "0: release ok.npy --out o4.parquet M",
    "0: release wide.npy --out o7.npy M",
    "0: release ok.parquet --out o5.parquet M",
    "0: release ok.parquet --out o6.npy --epsilon 1 --range 0,1 --mechanism dp-signoporp-ceil -k 4",
    "1: release ok.csv --out e.npy M --ledger l.db --dataset d --json",
    "1: release ok.npy --out e.npy M --sticky-key sticky.key",
    "1: release ok.csv --out e.npy --epsilon 1 --range 0,1 --mechanism dp-oporp-laplace --unit record -k 2",
    "2: release ok.csv --out o1.parquet M",
    "2: release word.csv --out e.npy M",
    "2: release ragged.csv --out e.npy M",
    "2: release twice.csv --out e.parquet M --id id",
    "2: release nan.csv --out e.npy M --ledger l.db --dataset e --budget 4",
    "2: release nan.csv --out e.npy M --id id --sticky-key sticky.key --ledger l.db --dataset e --budget 4",
    "2: release head.csv --out e.npy M",
    "2: release head.csv --out e.npy M --header yes --id id",
    "2: release head.csv --out e.npy M --header no",
    "2: release cells.csv --out e.npy M",
    "2: release named.csv --out e.npy M --id user",
    "2: release named.csv --out e.npy M",
    "2: release order.svm --out e.npy M",
    "2: release order.svm --dim 2 --out e.npy --epsilon 1 --range 0,1 --mechanism dp-oporp-laplace -k 1",
    "2: release entry.svm --dim 2 --out e.npy --epsilon 1 --range 0,1 --mechanism dp-oporp-laplace -k 1",
    "2: release short.npy --out e.npy M",
    "2: release cut.parquet --out e.npy M",
    "2: release ok.csv --id label --out e.npy M",
    "2: release ok.parquet --column user --out e.npy M",
    "2: release ok.parquet --column label --out e.npy M --json",
    "0: inspect o1.parquet",
    "0: inspect o2.npy --json",
    "0: inspect o3.npy --statement",
    "2: inspect ok.parquet",
    "0: verify o1.parquet --key sign.key.pub",
    "1: verify ok.parquet",
    "1: verify ok.npy",
    "0: compare o1.parquet --rows 0,1",
    "1: compare o6.npy --rows 0,1",
    "2: compare ok.parquet --rows 0,1",
    "0: search o1.parquet --queries ok.csv --exact-queries --top 3 --out hits.csv",
    "0: search o4.parquet --queries ok.npy --exact-queries --top 3 --json",
    "2: search o1.parquet --queries nan.csv --exact-queries",
    "0: plan --sample ok.csv --epsilon 1 --range 0,1 --mechanism dp-oporp-laplace -k 2",
    "0: evaluate ok.npy --range 0,1 --mechanisms auto,dp-oporp-laplace --epsilons 1 -k 2 --query-count 2 --out report.html",
    "2: evaluate nan.csv --range 0,1 --mechanisms dp-oporp-laplace --epsilons 1 -k 2 --out bad.html",
    "0: ledger show l.db",
    "0: ledger show l.db --json",
    "0: ledger export l.db --out budget.md",
    "0: ledger export l.db --json --out budget.json",
    "0: ledger check budget.json",
    "2: ledger show ok.csv",
];

fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, into) } else { into.push(path) }
    }
}

#[test]
fn no_marker_comes_out_anywhere() {
    let folder = Folder::new();
    plant(&folder);
    let mut inputs = Vec::new();
    walk(&folder.path(""), &mut inputs);
    let (temporary, home) = (folder.path("tmp"), folder.path("home"));
    [&temporary, &home].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let (mut written, mut surprises) = (Vec::new(), Vec::new());
    for run in RUNS {
        let (exit, words) = run.split_once(": ").unwrap();
        let words = words.replace(" M", " --epsilon 1 --range 0,1 --mechanism dp-oporp-laplace -k 4");
        let mut command = folder.command(&words);
        let output =
            command.env("TMPDIR", &temporary).env("HOME", &home).env("RUST_BACKTRACE", "full").output().unwrap();
        if output.status.code() != exit.parse().ok() {
            surprises.push(format!("{words}: {:?} {}", output.status.code(), stderr(&output)));
        }
        written.push((words.clone(), output.stdout));
        written.push((words, output.stderr));
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    let mut files = Vec::new();
    walk(&folder.path(""), &mut files);
    files.retain(|file| !inputs.contains(file));
    assert!(files.len() > 15, "{files:?}");
    written.extend(files.iter().map(|file| (file.display().to_string(), std::fs::read(file).unwrap())));
    let needles = needles();
    for (from, bytes) in &written {
        for (what, needle) in &needles {
            assert!(!bytes.windows(needle.len()).any(|window| window == needle), "{from} shows {what}");
        }
    }
    // The search itself finds what is there: both words, both values as text, as f32 and as f64.
    let input: Vec<u8> = inputs.iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    let found = needles.iter().filter(|(_, needle)| input.windows(needle.len()).any(|window| window == needle)).count();
    assert!(found >= 8, "only {found} needles are in the input");
}
