//! Input that cannot be released: exit status 2, one line that names the place, and no output.

use crate::support::*;
use crate::tables::{self, Cells, Nesting, numbers, texts};
use parquet::file::properties::WriterProperties;

const GOOD: &str = "--mechanism dp-oporp-laplace --epsilon 1 --range 0,1 -k 2";

fn lists(rows: &[Option<&[f32]>]) -> Cells {
    let row = |row: &Option<&[f32]>| row.map(|row| row.iter().map(|x| Some(f64::from(*x))).collect());
    tables::lists(Nesting::Nullable, "Float32", &rows.iter().map(row).collect::<Vec<_>>())
}

fn ids(ids: &[Option<f64>]) -> Cells {
    numbers("Int64", ids)
}

#[test]
fn every_fault_of_the_input_is_one_clear_line_and_leaves_nothing() {
    let folder = Folder::new();
    let body = f32_bytes(&rows(4, 4));
    let good = npy("<f4", "(4, 4)", &body);
    let with = |at: usize, value: f32| {
        let mut values = rows(4, 4);
        values[at] = value;
        npy("<f4", "(4, 4)", &f32_bytes(&values))
    };
    let mut wrong_magic = good.clone();
    wrong_magic[0] = b'x';
    let mut huge_header = b"\x93NUMPY\x02\x00".to_vec();
    huge_header.extend(u32::MAX.to_le_bytes());
    let gz = gzip(&good);
    let mut damaged_gz = gz.clone();
    let middle = damaged_gz.len() / 2;
    damaged_gz[middle] ^= 0x55;
    let head = "a,b,c,d\n";

    // (name, contents, what the line must say)
    let files: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty.npy", vec![], "x.npy: "),
        ("short.npy", good[..good.len() - 3].to_vec(), "cut short"),
        ("long.npy", [good.clone(), vec![0; 4]].concat(), "bytes follow"),
        ("magic.npy", wrong_magic, "does not begin like"),
        ("version.npy", [&b"\x93NUMPY\x09\x00"[..], &good[8..]].concat(), ".npy: "),
        ("huge.npy", huge_header, "header"),
        ("headercut.npy", good[..40].to_vec(), "header is cut short"),
        ("nonsense.npy", npy_with_header("{'shape': 'no'}", &body), "header is malformed"),
        ("rows0.npy", npy("<f4", "(0, 4)", b""), "no rows"),
        ("columns0.npy", npy("<f4", "(4, 0)", b""), "no columns"),
        ("axes1.npy", npy("<f4", "(16,)", &body), "axes"),
        ("axes3.npy", npy("<f4", "(4, 2, 2)", &body), "axes"),
        ("complex.npy", npy("<c8", "(2, 4)", &body), "type"),
        ("objects.npy", npy("|O", "(4, 4)", &body), "type"),
        ("overflow.npy", npy("<f4", "(4294967296, 4294967296)", &body), "too large"),
        ("nan.npy", with(6, f32::NAN), "row 1, column 2: value is NaN"),
        ("inf.npy", with(15, f32::INFINITY), "row 3, column 3: value is infinite"),
        ("cut.npy.gz", gz[..gz.len() - 9].to_vec(), "gz"),
        ("damaged.npy.gz", damaged_gz, ".gz: "),
        ("plain.npy.gz", good.clone(), "not gzip"),
        ("trailing.npy.gz", [gz.clone(), b"tail".to_vec()].concat(), "follow"),
        ("table.csv.parquet", b"a,b\n1,2\n".to_vec(), "parquet: "),
        ("empty.csv", vec![], "csv: "),
        ("headeronly.csv", head.into(), "no rows"),
        ("mixed.csv", b"id7,2,3,4\n5,6,7,8\n".to_vec(), "line 1: the first line mixes numbers and text"),
        ("counting.csv", b"0,1,2,3\n5,6,7,8\n".to_vec(), "line 1: the first line counts"),
        ("pandas.csv", b",a,b,c\n0,6,7,8\n".to_vec(), "line 1: a column has no name"),
        ("ragged.csv", format!("{head}1,2,3,4\n1,2,3\n").into(), "row 1"),
        ("words.csv", format!("{head}1,2,3,4\n1,2,x,4\n").into(), "row 1 (line 3), column 2: cell is not a number"),
        ("blank.csv", format!("{head}1,,3,4\n").into(), "column 1: cell is empty"),
        ("nan.csv", format!("{head}1,2,3,nan\n").into(), "row 0, column 3"),
        ("latin1.csv", b"a,b\n1,\xff\n".to_vec(), "UTF-8"),
        ("twice.csv", b"id,a,b\n7,1,2\n8,1,2\n7,1,2\n".to_vec(), "row 2, column id: id is the same as that of row 0"),
        ("columns.csv", b"id,id,a\n1,2,3\n".to_vec(), "several columns `id`"),
        // A quote that is not closed swallows rows, into an id that is released or a label that is not.
        ("quoted-id.csv", b"a,b,id\n.1,.2,\"x\n.3,.4,y\n".to_vec(), "a quote is not closed"),
        ("quoted.csv", b"a,b,label\n.1,.2,\"x\n.3,.4,y\n.5,.6,z\n".to_vec(), "a quote is not closed"),
        (
            "returns-id.csv",
            b"id,a,b\r1,.11,.12\r\"2,.21,.22\r3,.31,.32\r\"4,.41,.42\r5,.51,.52\r".to_vec(),
            "row 1: id contains a line break or another control character",
        ),
        ("order.svm", b"1 3:1 2:1\n".to_vec(), "increasing"),
        ("repeat.svm", b"1 2:1 2:1\n".to_vec(), "increasing"),
        ("zero.svm", b"1 0:1 2:1\n".to_vec(), "index 0"),
        ("entry.svm", b"1 2:1 3\n".to_vec(), "index:value"),
        ("label.svm", b"spam 2:1\n".to_vec(), "label"),
        ("nan.svm", b"1 1:0.5 2:nan\n".to_vec(), "svm: row 0"),
        ("empty.svm", vec![], "svm: "),
        ("magic.idx", b"\x01\x00\x08\x02".to_vec(), "idx: "),
        ("short.idx", b"\x00\x00\x08\x02\x00\x00\x00\x04\x00\x00\x00\x04abc".to_vec(), "cut short"),
        ("type.idx", b"\x00\x00\x07\x02\x00\x00\x00\x01\x00\x00\x00\x01a".to_vec(), "idx: "),
        ("unknown.bin", good.clone(), "kind not known"),
        ("text.parquet", b"PAR1 not really PAR1".to_vec(), "parquet: "),
    ];
    let mut count = files.len();
    for (name, contents, says) in &files {
        folder.file(name, contents);
        let more = match *name {
            name if name.ends_with(".svm") => "--dim 9",
            "twice.csv" | "columns.csv" => "--id id",
            name if name.contains("-id") => "--id id",
            _ => "",
        };
        let line = folder.fails(&format!("release {name} --out out.npy {GOOD} {more}"), 2);
        assert!(
            line.contains(&format!("scumble: {name}: ")) | name.starts_with("returns")
                && line.contains(&says.replace("x.npy", name)),
            "{name}: {line}"
        );
        std::fs::remove_file(folder.path(name)).unwrap();
        assert!(folder.names().is_empty(), "{name}: {:?}", folder.names());
    }

    let four: &[f32] = &[0.1, 0.2, 0.3, 0.4];
    #[allow(clippy::type_complexity)] // a table, read as one
    let tables: Vec<(&str, Vec<(&str, Cells)>, &str)> = vec![
        ("null.parquet", vec![("vector", lists(&[Some(four), None, Some(four)]))], "row 1, column vector: null"),
        (
            "dimension.parquet",
            vec![("vector", lists(&[Some(four), Some(four), Some(&four[..3])]))],
            "row 2, column vector: row has 3 attributes, expected 4",
        ),
        ("column.parquet", vec![("embedding", lists(&[Some(four)]))], "no column `vector`; there are: embedding"),
        ("text.parquet", vec![("vector", texts(&["a", "b"]))], "type"),
        (
            "ids.parquet",
            vec![("id", ids(&[Some(5.0), Some(6.0), Some(5.0)])), ("vector", lists(&[Some(four); 3]))],
            "row 2, column id: id is the same as that of row 0",
        ),
        (
            "nullid.parquet",
            vec![("id", ids(&[Some(5.0), None])), ("vector", lists(&[Some(four); 2]))],
            "row 1, column id: null",
        ),
        ("rows0.parquet", vec![("vector", lists(&[]))], "no rows"),
        ("nan.parquet", vec![("vector", lists(&[Some(four), Some(&[0.0, 1.0, f32::NAN, 0.0])]))], "row 1, column 2"),
    ];
    count += tables.len();
    for (name, fields, says) in tables {
        tables::write_parquet(&folder.path(name), &fields, 2, WriterProperties::builder().build());
        let more = if name.contains("id") { "--id id" } else { "" };
        let line = folder.fails(&format!("release {name} --out out.parquet {GOOD} {more}"), 2);
        assert!(line.contains(says), "{name}: {line}");
        std::fs::remove_file(folder.path(name)).unwrap();
        assert!(folder.names().is_empty(), "{name}: {:?}", folder.names());
    }
    assert!(count >= 40, "{count}");
}

#[test]
fn every_wrong_use_is_one_clear_line_and_leaves_nothing() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 4);
    folder.file("exists.npy", b"mine");
    folder.file("stale.npy.bins", b"of another release");
    folder.file("x.svm", "1 1:0.5 3:1\n1 2:0.25\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    // A pipe that nobody writes into: to open it would wait for ever.
    assert!(std::process::Command::new("mkfifo").arg(folder.path("pipe.npy")).status().unwrap().success());
    let before = folder.names();
    let base = "release x.npy --out o.npy --range 0,1";
    let cases = [
        ("release none.npy --out o.npy --epsilon 1 --range 0,1", "none.npy: "),
        ("release empty --out o.npy --epsilon 1 --range 0,1", "no Parquet file in this folder"),
        ("release x.npy --out exists.npy --epsilon 1 --range 0,1 -k 2", "exists.npy: exists already"),
        ("release x.npy --out x.npy --epsilon 1 --range 0,1 -k 2", "input and output are the same file"),
        ("release empty --out empty/o.npy --epsilon 1 --range 0,1 -k 2", "inside the input folder"),
        ("release x.npy --out o.txt --epsilon 1 --range 0,1 -k 2", "must end in .parquet or .npy"),
        ("release x.npy --out no/such/o.npy --epsilon 1 --range 0,1 -k 2", "no/such/o.npy"),
        ("release x.npy --out o.npy --epsilon 1", "--range"),
        ("release x.npy --epsilon 1 --range 0,1", "--out"),
        (base, "--epsilon"),
        ("release pipe.npy --out o.npy --epsilon 1 --range 0,1 -k 2", "pipe.npy: "),
        ("release x.npy --out stale.npy --epsilon 1 --range 0,1 -k 2", "stale.npy.bins: exists already"),
        (
            "release x.npy --out o.npy --epsilon 1 --range 0,1 --mechanism raw-laplace --norm-bound 2",
            "raw-laplace does not take --norm-bound",
        ),
        (
            "release x.npy --out o.npy --epsilon 1 --range 0,1 --mechanism dp-signrp-rr -k 2 --beta .1 --delta 1e-6 --norm-bound nan",
            "--norm-bound must be positive and finite, got NaN",
        ),
        (
            "release x.npy --out o.npy --epsilon 1 --range 0,1 --mechanism raw-laplace --sketch-clip inf",
            "--sketch-clip must be positive and finite, got inf",
        ),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 --mechanism raw-rr --thresholds inf", "must be finite"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1e20 --mechanism raw-laplace", "scale the data"),
        ("release x.npy --out o.npy --epsilon 0 --range 0,1 -k 2", "epsilon must be greater than 0"),
        ("release x.npy --out o.npy --epsilon -1 --range 0,1 -k 2", "epsilon must be greater than 0"),
        ("release x.npy --out o.npy --epsilon nan --range 0,1 -k 2", "epsilon"),
        ("release x.npy --out o.npy --epsilon 1 --range 1,0 -k 2", "range"),
        ("release x.npy --out o.npy --epsilon 1 --range 0 -k 2", "LO,HI"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,inf -k 2", "range"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 5 --mechanism dp-oporp-staircase", "k"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 0 --mechanism dp-oporp-staircase", "k must be"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 3 --mechanism raw-laplace", "leave k out"),
        (
            "release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --beta 0 --mechanism dp-oporp-laplace",
            "beta must be",
        ),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --mechanism dp-oporp", "needs --delta"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --mechanism dp-oporp --delta 1", "delta must lie"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --mechanism no-such", "no-such"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --seed 12", "64 hexadecimal digits"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --dim 5", "attributes"),
        ("release x.svm --out o.npy --epsilon 1 --range 0,1 -k 2", "x.svm: the file does not say how many attributes"),
        ("release x.svm --out o.npy --epsilon 1 --range 1,2 -k 2 --dim 4", "sparse rows need a range that contains 0"),
        ("plan --sample x.svm --epsilon 1 --range 0,1", "give --dim"),
        ("evaluate x.svm --range 0,1", "give --dim"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --id id", "no columns that could be named"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --repeats 3 --mechanism dp-oporp-laplace", "repeats"),
        (
            "release x.npy --out o.npy --epsilon 1 --range 0,1 -k 2 --mechanism dp-signoporp-rr --encoding f32",
            "cannot be written as f32",
        ),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 --unit l1", "needs beta"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 --bytes 0", "bytes"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 --no-such", "--no-such"),
        ("release x.npy --out o.npy --epsilon 1 --range 0,1 --threads 0", "--threads"),
        ("plan --epsilon 1 --range 0,1", "--dim"),
        ("inspect x.npy", "x.npy: no certificate"),
        ("inspect none.parquet", "none.parquet: "),
        ("verify none.parquet", "none.parquet: "),
        ("compare x.npy --rows 0,1", "x.npy: "),
        ("search x.npy --queries x.npy", "x.npy: "),
        ("nonsense", "nonsense"),
        ("release x.npy", "not provided: --out <FILE>, --epsilon <E>, --range <LO,HI> (see --help)"),
        ("relase x.npy", "'relase'; tip: a similar subcommand exists: 'release' (see --help)"),
    ];
    for (words, says) in cases {
        let line = folder.fails(words, 2);
        assert!(line.contains(says), "{words}: {line}");
        assert_eq!(folder.names(), before, "{words}");
    }
    assert_eq!(std::fs::read(folder.path("exists.npy")).unwrap(), b"mine");
}

#[test]
fn refusals_exit_1_and_say_what_to_do_instead() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 20, 16);
    let before = folder.names();
    let base = "release x.npy --out o.npy --range 0,1 --epsilon 1 -k 4";
    for (words, says) in [
        ("--mechanism dp-oporp-staircase --unit l1 --beta 1", "dp-oporp-laplace"),
        ("--mechanism dp-signoporp-rr --unit l1 --beta 1", "Instead: "),
        ("--mechanism dp-oporp-laplace --unit l2 --beta 1", "Gaussian"),
        ("--mechanism dp-oporp-staircase --unit record", "privcube"),
        ("--mechanism idp-signrp-rr", "--i-understand-this-is-not-dp"),
        ("--mechanism idp-signoporp-g --delta 1e-6", "--i-understand-this-is-not-dp"),
        ("--mechanism dp-signrp-rr --projection rademacher --delta 1e-6 --norm-bound 2", "Instead: "),
    ] {
        let line = folder.fails(&format!("{base} {words}"), 1);
        assert!(line.contains("refused: ") && line.contains(says), "{words}: {line}");
        assert_eq!(folder.names(), before, "{words}");
    }
}

/// In a file of one column an empty line is an empty cell: a row must not go missing.
#[test]
fn an_empty_line_of_one_column_is_no_row_that_may_be_lost() {
    let folder = Folder::new();
    let release = "release x.csv --out o.npy --mechanism raw-laplace --epsilon 1 --range 0,1";
    for (text, row) in [("a\n0.5\n\n0.7\n", 1), ("0.5\n0.6\n\n\n0.7\n", 2), ("a\r\n\r\n0.5\r\n0.7\r\n", 0)] {
        folder.file("x.csv", text);
        let line = folder.fails(release, 2);
        assert!(line.contains(&format!("row {row}, column 0: cell is empty")), "{text:?}: {line}");
        assert_eq!(folder.names(), ["x.csv"], "{text:?}");
    }
    // At the end it is the end; among several columns it holds no cell at all.
    for (text, rows) in [("\n\na\n0.5\n0.7\n\n\n", 2), ("a\n\"0.5\n\"\n0.7", 2), ("a,b\n0,1\n\n1,0\n", 2)] {
        folder.file("x.csv", text);
        assert_eq!(folder.json(release)["certificate"]["rows"], rows, "{text:?}");
        for name in ["o.npy", "o.npy.certificate.json"] {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
    }
}

/// Odd public numbers are refused before anything is charged; a release that there is can be verified.
#[test]
fn what_is_released_verifies_whatever_the_guesses() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 40, 16);
    let account = "--ledger l.db --dataset d --budget 99";
    for guess in ["--norm=nan", "--norm=inf", "--norm=0", "--norm=1e300", "--density=nan", "--density=0", "--density=2"]
    {
        for mechanism in ["dp-oporp-zones", "dp-oporp-lattice", "privcube", "auto"] {
            let words = format!("--mechanism {mechanism} -k 4 --epsilon 1 --range 0,1 {guess}");
            let line = folder.fails(&format!("release x.npy --out o.npy {words} {account}"), 2);
            assert!(line.contains(if guess.contains("norm") { "--norm" } else { "--density" }), "{words}: {line}");
            assert_eq!(folder.names(), ["x.npy"], "{words}");
        }
    }
    for (dim, says) in [("0", "dim must be between"), ("4294967297", "dim must be between")] {
        let line = folder.fails(&format!("plan --dim {dim} --epsilon 1 --range 0,1"), 2);
        assert!(line.contains(says), "{line}");
    }
    // Dense sums that are wider than the signs taken of them.
    for mechanism in ["dp-signrp-rr", "dp-signrp-ceil"] {
        let words =
            format!("--mechanism {mechanism} -k 4 --epsilon 1 --range 0,1 --grid-exponent 0 --out {mechanism}.npy");
        folder.ok(&format!("release x.npy {words}"));
        folder.ok(&format!("verify {mechanism}.npy"));
    }
}

/// A mechanism that was chosen by trying it on the private rows is not private, whether or not it holds what was learned.
#[test]
fn the_rows_to_release_are_no_public_sample() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 80, 16);
    for unit in ["attribute", "record"] {
        for like in ["", "--mechanism signcap -k 16 --unit record"] {
            let words =
                format!("release x.npy --out o.npy --epsilon 2 --range 0,1 --unit {unit} --public-sample x.npy");
            let words = if like.is_empty() { words } else { words.replace(&format!("--unit {unit}"), like) };
            let line = folder.fails(&words, 1);
            assert!(line.contains("learned from the very rows"), "{words}: {line}");
            assert_eq!(folder.names(), ["x.npy"], "{words}");
        }
    }
}
