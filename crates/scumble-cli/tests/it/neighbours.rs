//! Neighbouring inputs of every format give releases that differ in nothing but the sketches and what is computed from them.
//!
//! Two tables that differ in one row are drawn, written in a format, and released with the same public parameters. All that
//! the two runs write is compared: certificates without the hashes, what is printed, names and sizes of files, headers,
//! schemas, row groups, ids and labels.

use crate::support::*;
use crate::tables::{self, Nesting};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

const ROWS: usize = 9;
const DIM: usize = 8;

/// A small repeatable generator (splitmix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Whole numbers and fractions, often 0 (absent where a format is sparse), sometimes outside the range.
    fn value(&mut self) -> f64 {
        match self.next() % 8 {
            0..=2 => 0.0,
            3 => 1.0,
            4 => 100.0,
            5 => 0.5,
            _ => (self.next() % 1000) as f64 / 1000.0,
        }
    }
}

/// Two tables that differ in one row: in one attribute, in the only entry of the last one (the largest index), or in all.
fn neighbours(draw: &mut Draw) -> [Vec<f64>; 2] {
    let mut one: Vec<f64> = (0..ROWS * DIM).map(|_| draw.value()).collect();
    let kind = draw.next() % 3;
    if kind == 0 {
        one.chunks_mut(DIM).for_each(|row| row[DIM - 1] = 0.0);
    }
    let mut other = one.clone();
    let row = &mut other[draw.next() as usize % ROWS * DIM..][..DIM];
    match kind {
        0 => row[DIM - 1] = 1.0,
        1 => row[draw.next() as usize % DIM] = draw.value(),
        _ => row.iter_mut().for_each(|x| *x = draw.value()),
    }
    [one, other]
}

/// One way to write a table: the file's name, the flags that go with it, and the bytes.
struct Format {
    name: &'static str,
    flags: &'static str,
    bytes: fn(&[f64]) -> Vec<u8>,
}

fn lines(table: &[f64], line: impl Fn(usize, &[f64]) -> String) -> Vec<u8> {
    table.chunks(DIM).enumerate().map(|(i, row)| line(i, row)).collect::<String>().into_bytes()
}

fn cells(row: &[f64], delimiter: &str) -> String {
    row.iter().map(f64::to_string).collect::<Vec<_>>().join(delimiter)
}

fn array<const N: usize>(descr: &str, table: &[f64], bytes: fn(f64) -> [u8; N]) -> Vec<u8> {
    npy(descr, &format!("({ROWS}, {DIM})"), &table.iter().flat_map(|&x| bytes(x)).collect::<Vec<_>>())
}

fn idx<const N: usize>(code: u8, table: &[f64], bytes: fn(f64) -> [u8; N]) -> Vec<u8> {
    let mut file = vec![0, 0, code, 2];
    [ROWS, DIM].iter().for_each(|&axis| file.extend((axis as u32).to_be_bytes()));
    file.extend(table.iter().flat_map(|&x| bytes(x)));
    file
}

fn parquet(nesting: Nesting, element: &str, table: &[f64]) -> Vec<u8> {
    let rows = tables::whole(ROWS, DIM, |i, j| table[i * DIM + j]);
    let names: Vec<String> = (0..ROWS).map(|i| format!("row {i}")).collect();
    let columns = [
        ("id", tables::texts(&names.iter().map(String::as_str).collect::<Vec<_>>())),
        ("label", tables::numbers("Int64", &(0..ROWS).map(|i| Some((i % 3) as f64)).collect::<Vec<_>>())),
        ("vector", tables::lists(nesting, element, &rows)),
    ];
    let file = tempfile::NamedTempFile::new().unwrap();
    tables::write_parquet(file.path(), &columns, 4, WriterProperties::builder().build());
    std::fs::read(file.path()).unwrap()
}

fn svm(table: &[f64]) -> Vec<u8> {
    lines(table, |i, row| {
        let entries = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
        let entries: Vec<_> = entries.map(|(j, x)| format!("{}:{x}", j + 1)).collect();
        format!("{} {}\n", i % 2, entries.join(" "))
    })
}

fn csv(table: &[f64]) -> Vec<u8> {
    let names: Vec<_> = (0..DIM).map(|j| format!("a{j}")).collect();
    let head = format!("id,label,{}\n", names.join(","));
    [head.into_bytes(), lines(table, |i, row| format!("row {i},{},{}\n", i % 3, cells(row, ",")))].concat()
}

const TABLE: &str = "--id id --label label";

const FORMATS: &[Format] = &[
    Format { name: "x.npy", flags: "", bytes: |t| array("|b1", t, |x| [u8::from(x != 0.0)]) },
    Format { name: "x.npy", flags: "", bytes: |t| array("|u1", t, |x| [x as u8]) },
    Format { name: "x.npy", flags: "", bytes: |t| array("|i1", t, |x| [x as u8]) },
    Format { name: "x.npy", flags: "", bytes: |t| array("<u2", t, |x| (x as u16).to_le_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array(">i2", t, |x| (x as i16).to_be_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array("<u4", t, |x| (x as u32).to_le_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array("<i4", t, |x| (x as i32).to_le_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array(">u8", t, |x| (x as u64).to_be_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array("<i8", t, |x| (x as i64).to_le_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array("<f2", t, |x| half::f16::from_f64(x).to_le_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array("<f4", t, |x| (x as f32).to_le_bytes()) },
    Format { name: "x.npy", flags: "", bytes: |t| array(">f8", t, f64::to_be_bytes) },
    Format { name: "x.npy.gz", flags: "", bytes: |t| gzip(&array("<f8", t, f64::to_le_bytes)) },
    Format { name: "x.idx", flags: "", bytes: |t| idx(8, t, |x| [x as u8]) },
    Format { name: "x.idx", flags: "", bytes: |t| idx(0x0D, t, |x| (x as f32).to_be_bytes()) },
    Format { name: "x.csv", flags: TABLE, bytes: csv },
    Format { name: "x.csv.gz", flags: "", bytes: |t| gzip(&csv(t)) },
    Format { name: "x.tsv", flags: "--header no", bytes: |t| lines(t, |_, row| cells(row, "\t") + "\n") },
    Format { name: "x.svm", flags: "--dim 8 --label label", bytes: svm },
    Format { name: "x.svm.gz", flags: "--dim 8", bytes: |t| gzip(&svm(t)) },
    Format { name: "x.parquet", flags: TABLE, bytes: |t| parquet(Nesting::Nullable, "Float32", t) },
    Format { name: "x.parquet", flags: "", bytes: |t| parquet(Nesting::Two, "Float64", t) },
    Format { name: "x.parquet", flags: "--id id", bytes: |t| parquet(Nesting::Required, "Int32", t) },
];

const RELEASES: &[(&str, &str)] = &[
    ("o.npy", "--mechanism dp-oporp-laplace -k 3"),
    ("o.npy", "--mechanism dp-signoporp-ceil -k 8"),
    ("o.npy", "--mechanism raw-staircase --encoding i16"),
    ("o.parquet", "--mechanism dp-rp-l -k 4"),
    ("o.parquet", "--mechanism signcap -k 16 --unit record"),
    ("o.parquet", "--mechanism dp-oporp-lattice -k 4 --symbols 3"),
    ("o.parquet", "--mechanism dp-oporp-staircase -k 4 --encoding b8 --norm 2"),
];

/// The certificate without what is computed from the sketches.
fn bare(certificate: &Value) -> Value {
    let mut bare = certificate.clone();
    bare["content"].as_object_mut().unwrap().remove("sketch").unwrap();
    for field in ["digest", "signature"] {
        bare.as_object_mut().unwrap().remove(field);
    }
    bare
}

/// All that a run writes, but for the sketches and what is computed from them.
fn written(format: &Format, table: &[f64], (out, release): (&str, &str)) -> (String, Vec<(String, Value)>) {
    let folder = Folder::new();
    folder.file(format.name, (format.bytes)(table));
    let (input, flags) = (format.name, format.flags);
    let words = format!("release {input} {flags} --out {out} {release} --epsilon 1 --range 0,1 --seed {SEED}");
    let output = folder.run(&words);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    let said = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
    std::fs::remove_file(folder.path(format.name)).unwrap();
    let names = folder.names();
    let certificate = folder.json(&format!("inspect {out}"));
    let mut all = vec![("certificate".to_owned(), bare(&certificate))];
    for name in names {
        let bytes = std::fs::read(folder.path(&name)).unwrap();
        let facts = if name == "o.npy" {
            serde_json::json!([bytes.len(), bytes[..128]])
        } else if name.ends_with(".npy") {
            serde_json::json!(bytes) // ids and labels, byte by byte
        } else if name.ends_with(".json") {
            serde_json::json!(bytes.len())
        } else {
            parquet_facts(bytes, release.contains("b8"))
        };
        all.push((name, facts));
    }
    (said, all)
}

/// Schema, metadata, row groups, and every column but the sketch in full; where sketches are not packed, their size too.
fn parquet_facts(bytes: Vec<u8>, packed: bool) -> Value {
    let size = bytes.len();
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let metadata = file.metadata();
    let schema = format!("{:?}", metadata.file_metadata().schema());
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    let keys: Vec<_> = pairs.iter().map(|pair| (pair.key.clone(), pair.value.as_ref().map(String::len))).collect();
    let groups: Vec<_> = metadata
        .row_groups()
        .iter()
        .map(|group| {
            let columns = group.columns().iter().filter(|column| !column.column_path().string().starts_with("sketch"));
            let columns: Vec<_> = columns.map(|column| format!("{:?}", column.statistics())).collect();
            (group.num_rows(), columns)
        })
        .collect();
    serde_json::json!([(!packed).then_some(size), schema, keys, groups])
}

#[test]
fn all_that_is_written_but_the_sketches_is_equal() {
    let mut draw = Draw(7);
    for format in FORMATS {
        for turn in 0..2 {
            let [one, other] = neighbours(&mut draw);
            let release = RELEASES[draw.next() as usize % RELEASES.len()];
            let (a, b) = (written(format, &one, release), written(format, &other, release));
            assert_eq!(a.0, b.0, "{} {} {release:?}, turn {turn}: what is said", format.name, format.flags);
            assert_eq!(a.1, b.1, "{} {} {release:?}, turn {turn}: what is written", format.name, format.flags);
        }
    }
}

/// The breach of before: the largest index of private rows made the shape of the release.
#[test]
fn neighbours_in_libsvm_give_no_release_of_a_shape_of_their_own() {
    let folder = Folder::new();
    for (rows, text) in [("seven", "1 1:.5 3:.25 7:1\n"), ("five", "1 1:.5 3:.25 5:0\n")] {
        folder.file(&format!("{rows}.svm"), text);
        let line = folder.fails(&format!("release {rows}.svm --out {rows}.npy --epsilon 1 --range 0,1 -k 2"), 2);
        assert!(line.contains("give --dim"), "{line}");
        folder.ok(&format!("release {rows}.svm --dim 9 --out {rows}.npy --epsilon 1 --range 0,1 -k 2 --seed {SEED}"));
    }
    let [a, b] = ["seven", "five"].map(|rows| bare(&folder.json(&format!("inspect {rows}.npy"))));
    assert_eq!(a, b);
    assert_eq!(a["projection"]["p"], 9);
}
