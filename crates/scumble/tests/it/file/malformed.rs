//! Every way in which a file can be wrong has its own variant, the right place, and one line without the value.

use super::support::*;
use super::tables::{self, Cells, Data, Nesting, flat, numbers, texts};
use ReadErrorKind as Kind;
use scumble::files::{self, Format, ReadErrorKind, ReadOptions};
use std::path::PathBuf;

/// What a reader must say about a file.
struct Case {
    path: PathBuf,
    options: ReadOptions,
    kind: Kind,
    row: Option<u64>,
    column: Option<&'static str>,
}

struct Cases {
    folder: Folder,
    all: Vec<Case>,
}

impl Cases {
    fn new() -> Self {
        Self { folder: Folder::new(), all: Vec::new() }
    }

    fn add(&mut self, name: &str, bytes: impl AsRef<[u8]>, kind: Kind) -> &mut Case {
        let path = self.folder.write(&format!("{}/{name}", self.all.len()), bytes);
        self.add_path(path, kind)
    }

    fn add_path(&mut self, path: PathBuf, kind: Kind) -> &mut Case {
        let dim = path.to_string_lossy().contains(".svm").then_some(9);
        let options = ReadOptions { dim, ..ReadOptions::default() };
        self.all.push(Case { path, options, kind, row: None, column: None });
        self.all.last_mut().unwrap()
    }

    fn add_parquet(&mut self, columns: Vec<(&str, Cells)>, kind: Kind) -> &mut Case {
        let name = format!("{}/x.parquet", self.all.len());
        let path = self.folder.parquet(&name, &columns, 2);
        self.add_path(path, kind)
    }

    fn check(self) -> usize {
        for case in &self.all {
            let error = read(&case.path, &case.options).expect_err(&format!("{} {:?}", case.path.display(), case.kind));
            let line = error.to_string();
            assert_eq!(error.kind, case.kind, "{line}");
            assert_eq!(error.row, case.row, "{line}");
            assert_eq!(error.column.as_deref(), case.column, "{line}");
            assert!(!line.contains('\n') && line.len() < 600, "{line}");
            let name = case.path.file_name().unwrap().to_str().unwrap();
            assert!(line.contains(name), "{line}");
            assert!(!line.contains("s3cret") && !line.contains("98765"), "{line}");
        }
        self.all.len()
    }
}

impl Case {
    fn at(&mut self, row: u64) -> &mut Self {
        self.row = Some(row);
        self
    }

    fn column(&mut self, column: &'static str) -> &mut Self {
        self.column = Some(column);
        self
    }

    fn id(&mut self, name: &str) -> &mut Self {
        self.options.id = Some(name.into());
        self
    }

    fn label(&mut self, name: &str) -> &mut Self {
        self.options.label = Some(name.into());
        self
    }
}

fn corrupt(text: &str) -> Kind {
    Kind::Corrupt(text.to_owned())
}

#[test]
fn npy() {
    let mut cases = Cases::new();
    let good = super::support::npy("<f4", false, "(2, 2)", &[0; 16]);
    cases.add("empty.npy", "", Kind::HeaderTruncated);
    cases.add("magic.npy", "not an array at all", Kind::WrongMagic("an .npy"));
    cases.add("cut-magic.npy", &good[..5], Kind::HeaderTruncated);
    cases.add("cut-header.npy", &good[..50], Kind::HeaderTruncated);
    cases.add("cut-body.npy", &good[..good.len() - 1], Kind::Truncated { expected: 16, found: 15 });
    cases.add("no-body.npy", &good[..good.len() - 16], Kind::Truncated { expected: 16, found: 0 });
    cases.add("longer.npy", [&good[..], b"x"].concat(), Kind::TrailingBytes);
    cases.add("longer.npy.gz", gz([&good[..], b"x"].concat()), Kind::TrailingBytes);
    cases.add("version.npy", npy_with_header(4, "{}", &[]), Kind::Header("npy versions 1 to 3 are known"));
    let mut huge = npy_with_header(2, "", &[]);
    huge[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let limit = Kind::HeaderTooLarge { bytes: u64::from(u32::MAX), limit: 1 << 20 };
    cases.add("huge.npy", &huge, limit.clone());
    cases.add("huge.npy.gz", gz(&huge), limit);
    for (shape, kind) in [
        ("(4,)", Kind::NotAMatrix(1)),
        ("()", Kind::NotAMatrix(0)),
        ("(2, 1, 2)", Kind::NotAMatrix(3)),
        ("(0, 4)", Kind::NoRows),
        ("(4, 0)", Kind::NoColumns),
        ("(0, 0)", Kind::NoColumns),
        ("(9223372036854775807, 9223372036854775807)", Kind::TooLarge),
        ("(99999999999999999999999, 1)", Kind::TooLarge),
        ("(1000000000000, 4)", Kind::Truncated { expected: 16_000_000_000_000, found: 16 }),
        ("(-1, 4)", Kind::Header("shape is not a tuple of sizes")),
        ("[2, 2]", Kind::Header("not a dictionary as numpy writes it")),
    ] {
        cases.add("shape.npy", super::support::npy("<f4", false, shape, &[0; 16]), kind);
    }
    for (descr, name) in [
        ("<c8", "c8"),
        ("<f16", "f16"),
        ("|S4", "S4"),
        ("<U1", "U4"),
        ("|O", "object (a pickle)"),
        ("<M8[ns]", "<M8[ns]"),
        ("f4", "f4"),
        ("", ""),
        ("<", "<"),
    ] {
        let bytes = super::support::npy(descr, false, "(2, 2)", &[0; 16]);
        cases.add("type.npy", bytes, Kind::ElementType(name.to_owned()));
    }
    for (header, kind) in [
        (
            "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}",
            Kind::ElementType("with named fields".into()),
        ),
        ("{'descr': '<f4', 'shape': (2, 2)}", Kind::Header("descr, fortran_order or shape is missing")),
        ("{'descr': '<f4', 'descr': '<f4'}", Kind::Header("a key occurs twice")),
        ("{'descr': '<f4', 'other': 1}", Kind::Header("unknown key")),
        (
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2)}",
            Kind::Header("fortran_order is neither True nor False"),
        ),
        ("{'descr': '<f4", Kind::Header("a string is not closed")),
        ("{'descr': '<f4'} x", Kind::Header("text after the dictionary")),
        ("import os", Kind::Header("not a dictionary as numpy writes it")),
        ("", Kind::Header("not a dictionary as numpy writes it")),
    ] {
        cases.add("header.npy", npy_with_header(1, header, &[0; 16]), kind);
    }
    let not_utf8 = npy_with_header(3, "{'descr': '<f4'}", &[])
        .iter()
        .map(|b| if *b == b'd' { 0xFF } else { *b })
        .collect::<Vec<_>>();
    cases.add("utf8.npy", not_utf8, Kind::Header("not UTF-8"));
    let wide = super::support::npy("<f4", false, "(2, 3)", &[0; 24]);
    cases.add("dim.npy", wide, Kind::Dimension { found: 3, expected: 4 }).options.dim = Some(4);
    let fortran = super::support::npy("<f8", true, "(1000000, 100)", &[0; 16]);
    cases.add("f.npy.gz", gz(fortran), Kind::FortranGzip { bytes: 800_000_000, limit: 256 << 20 });
    // A false shape inside gzip must not claim memory before the bytes are there.
    let claim = super::support::npy("<f8", false, "(2, 1000000000000)", &[0; 16]);
    cases.add("claim.npy.gz", gz(claim), Kind::Truncated { expected: 16_000_000_000_000, found: 16 }).at(0);
    let fortran = super::support::npy("<f8", true, "(10, 10)", &[0; 16]);
    cases.add("f.npy.gz", gz(fortran), Kind::Truncated { expected: 800, found: 16 });
    assert!(cases.check() > 40);
}

#[test]
fn gzip() {
    let mut cases = Cases::new();
    let body: Vec<u8> = (0..200_000u64).map(|x| (x * x % 251) as u8).collect();
    let file = super::support::npy("|u1", false, "(2000, 100)", &body);
    let packed = gz(&file);
    cases.add("plain.npy.gz", &file, Kind::NotGzip);
    cases.add("empty.npy.gz", "", Kind::GzipTruncated);
    cases.add("cut.npy.gz", &packed[..packed.len() / 2], Kind::GzipTruncated).at(0);
    cases.add("cut-crc.npy.gz", &packed[..packed.len() - 3], Kind::GzipTruncated);
    let mut damaged = packed.clone();
    let end = damaged.len();
    damaged[end - 6] ^= 1;
    cases.add("crc.npy.gz", &damaged, Kind::GzipCorrupt);
    cases.add("garbage.npy.gz", [&packed[..], b"garbage"].concat(), Kind::GzipTrailing);
    cases.add("zeros.npy.gz", [&packed[..], &[0; 512]].concat(), Kind::GzipTrailing);
    let more = [&packed[..], &gz("x")].concat();
    cases.add("member.npy.gz", more, Kind::TrailingBytes);
    for (name, text) in [
        ("x.csv.gz", "a,b\n1,2\n3,4\n"),
        ("x.svm.gz", "1 1:2 2:3\n1 2:4\n"),
        ("x.idx.gz", "\0\0\x08\x02\0\0\0\x01\0\0\0\x01\x07"),
    ] {
        let packed = gz(text);
        cases.add(name, &packed[..packed.len() - 9], Kind::GzipTruncated);
        cases.add(name, [&packed[..], b"?"].concat(), Kind::GzipTrailing);
    }
    for case in &mut cases.all {
        // Where the fault is found depends on the kind of file: only the gzip fault itself matters here.
        if let Err(error) = files::read_all(&case.path, &case.options) {
            case.row = error.row;
        }
    }
    cases.add("x.parquet.gz", "", Kind::GzippedParquet);
    cases.check();
}

#[test]
fn csv() {
    let mut cases = Cases::new();
    cases.add("empty.csv", "", Kind::NoRows);
    cases.add("header.csv", "a,b\n", Kind::NoRows);
    cases.add("header.csv", "id,b\n", Kind::NoRows).id("id");
    cases.add("mixed.csv", "s3cret,98765\n3,4\n", Kind::MixedHeader);
    cases.add("mixed.tsv", "98765\ts3cret\t\n3\t4\t5\n", Kind::MixedHeader);
    cases.add("counting.csv", "0,1,2\n3,4,98765\n", Kind::CountingHeader);
    for unnamed in [",a,b\n0,98765,2\n", ",0,1\n0,98765,2\n", "a,,b\n1,2,3\n", " ,a\n1,2\n"] {
        cases.add("pandas.csv", unnamed, Kind::UnnamedColumn);
    }
    cases.add("pandas.csv", ",s3cret\n0,2\n", Kind::UnnamedColumn).options.header = Some(true);
    cases.add("pandas.csv", ",a\n0,2\n", Kind::MissingCell).at(0).column("0").options.header = Some(false);
    // A row that is taken for a header: its cells are nowhere in the message.
    cases.add("false.csv", "s3cret,98765\n1,x\n", Kind::NotANumber).at(0).column("1").options.header = Some(true);
    let missing = Kind::NoSuchName { name: "key".into(), columns: 2 };
    cases.add("false.csv", "s3cret,98765\n1,2\n", missing).id("key").options.header = Some(true);
    cases.add("text.csv", "s3cret,words\nmore,words\n", Kind::NotANumber).at(0).column("0");
    cases.add("missing.csv", "1,,3\n4,5,6\n", Kind::MissingCell).at(0).column("1");
    cases.add("only-id.csv", "id,label\n1,2\n", Kind::NoColumns);
    cases.add("short.csv", "a,b\n1,2\n3\n", Kind::Ragged { found: 1, expected: 2 }).at(1);
    cases.add("long.csv", "id,b\n1,2\n3,4,5\n", Kind::Ragged { found: 3, expected: 2 }).at(1);
    cases.add("text.csv", "a,b\n1,2\n3,s3cret\n", Kind::NotANumber).at(1).column("1");
    cases.add("text.tsv", "a\tb\n1\t98765x\n", Kind::NotANumber).at(0).column("1");
    cases.add("comma.csv", "a;b\n1;2\n", Kind::NotANumber).at(0).column("0");
    cases.add("empty-cell.csv", "a,b\n1,\n", Kind::MissingCell).at(0).column("1");
    cases.add("blank-cell.csv", "a,b\n1,  \n", Kind::MissingCell).at(0).column("1");
    cases.add("empty-id.csv", "id,b\n1,2\n,3\n", Kind::MissingCell).at(1).column("0").id("id");
    cases.add("latin.csv", b"a,b\n1,\xE9\n", Kind::NotUtf8).at(0).column("1");
    cases.add("latin-header.csv", b"a,\xE9\n1,2\n", Kind::NotUtf8);
    cases.add("utf16.csv", b"\xFF\xFEa\0,\0b\0\n\0", Kind::NotUtf8);
    cases.add("two-ids.csv", "id,id,x\n1,2,3\n", Kind::DuplicateColumn("id".into())).id("id");
    let missing = |name: &str| Kind::NoSuchName { name: name.into(), columns: 2 };
    cases.add("id.csv", "a,b\n1,2\n", missing("key")).id("key");
    cases.add("label.tsv", "a\tb\n1\t2\n", missing("class")).label("class");
    cases.add("id.csv", "5,6\n1,2\n", missing("2")).id("2");
    cases.add("dim.csv", "a,b\n1,2\n", Kind::Dimension { found: 2, expected: 3 }).options.dim = Some(3);
    cases.add("newline-in-name.csv", "\"a\nb\",c\nx,1\n", Kind::NotANumber).at(0).column("0");
    cases.add("x.txt", "a\n1\n", Kind::UnknownFormat);
    assert!(cases.check() > 20);
}

#[test]
fn an_unclosed_quote_does_not_fill_the_memory() {
    let folder = Folder::new();
    let path = folder.write("x.csv.gz", gz([b"a,b\n1,\"".to_vec(), vec![b'x'; 300 << 20]].concat()));
    let error = files::read_all(&path, &ReadOptions::default()).unwrap_err();
    assert_eq!((error.kind, error.row), (Kind::RowTooLong { limit: 256 << 20 }, Some(0)));
}

#[test]
fn libsvm() {
    let mut cases = Cases::new();
    cases.add("empty.svm", "", Kind::NoRows);
    cases.add("comments.svm", "# nothing\n\n", Kind::NoRows);
    cases.add("dim.svm", "1 1:.5 3:.25 7:1\n", Kind::NoDimension).options.dim = None;
    cases.add("featureless.svm", "1\n-1\n", Kind::NoDimension).options.dim = None;
    cases.add("id.svm", "1 1:1\n", Kind::NoNames).id("id");
    cases.add("zero.svm", "1 1:1\n1 0:2 3:1\n", Kind::IndexZero).at(1);
    cases.add("order.svm", "1 1:1\n1 3:1 2:98765\n", Kind::IndexOrder).at(1);
    cases.add("order.svm", "1 4:1\n1 3:1 2:98765\n", Kind::IndexOrder).at(1);
    cases.add("twice.svm", "1 3:1 3:1\n", Kind::IndexOrder).at(0);
    cases.add("label.svm", "# c\ns3cret 1:1\n", Kind::BadLabel).at(0);
    cases.add("no-label.svm", "1:1 2:1\n", Kind::BadLabel).at(0);
    cases.add("labels.svm", "1,2 1:1\n", Kind::BadLabel).at(0);
    cases.add("value.svm", "1 1:1\n1 1:s3cret\n", Kind::BadEntry).at(1);
    cases.add("qid.svm", "1 qid:3 1:1\n", Kind::BadEntry).at(0);
    cases.add("entry.svm", "1 1\n", Kind::BadEntry).at(0);
    cases.add("sign.svm", "1 +1:2\n", Kind::BadEntry).at(0);
    cases.add("negative.svm", "1 -1:2\n", Kind::BadEntry).at(0);
    let above = Kind::IndexOutOfRange { dim: 5 };
    cases.add("dim.svm", "1 1:1 98765:1\n", above).at(0).options.dim = Some(5);
    let above = Kind::IndexOutOfRange { dim: 4_294_967_295 };
    cases.add("huge.svm", "1 4294967296:1\n", above).at(0);
    cases.add("latin.svm", b"1 1:1 2:\xE9\n", Kind::NotUtf8).at(0);
    cases.add("dim0.svm", "1 1:1\n", Kind::NoColumns).options.dim = Some(0);
    cases.check();
}

#[test]
fn idx() {
    let mut cases = Cases::new();
    let idx = super::support::idx;
    cases.add("magic.idx", [1, 0, 8, 2, 0, 0, 0, 1], Kind::WrongMagic("an IDX"));
    cases.add("type.idx", idx(0x0A, &[1, 1], &[0]), Kind::WrongMagic("an IDX"));
    cases.add("empty.idx", "", Kind::HeaderTruncated);
    cases.add("cut-header.idx", &idx(8, &[1, 1], &[0])[..9], Kind::HeaderTruncated);
    cases.add("cut.idx", idx(8, &[2, 3], &[0; 5]), Kind::Truncated { expected: 6, found: 5 });
    cases.add("cut.idx.gz", gz(idx(8, &[2, 3], &[0; 5])), Kind::Truncated { expected: 6, found: 5 }).at(1);
    cases.add("long.idx", idx(8, &[2, 3], &[0; 7]), Kind::TrailingBytes);
    cases.add("labels-idx1-ubyte", idx(8, &[3], &[0; 3]), Kind::NotAMatrix(1));
    cases.add("axes.idx", idx(8, &[], &[]), Kind::NotAMatrix(0));
    cases.add("rows.idx", idx(8, &[0, 3], &[]), Kind::NoRows);
    cases.add("columns.idx", idx(8, &[3, 0], &[]), Kind::NoColumns);
    cases.add("huge.idx", idx(8, &[u32::MAX, u32::MAX, u32::MAX], &[]), Kind::TooLarge);
    cases.check();
}

fn lists(lengths: &[usize], valid: Option<Vec<bool>>, values: Vec<Option<f64>>) -> Cells {
    let (mut values, valid) = (values.into_iter(), valid.unwrap_or(vec![true; lengths.len()]));
    let row = |(length, valid): (&usize, bool)| valid.then(|| values.by_ref().take(*length).collect());
    tables::lists(Nesting::Nullable, "Float32", &lengths.iter().zip(valid).map(row).collect::<Vec<_>>())
}

fn fixed(dim: usize, valid: Option<Vec<bool>>, values: Vec<Option<f64>>) -> Cells {
    lists(&vec![dim; values.len() / dim], valid, values)
}

fn ints(values: &[Option<f64>]) -> Cells {
    numbers("Int64", values)
}

#[test]
fn parquet() {
    let mut cases = Cases::new();
    let ok = |n: usize| vec![Some(1.0); n];
    let vectors = || lists(&[2, 2, 2], None, ok(6));
    let dimension = |found, expected| Kind::Dimension { found, expected };
    cases.add("empty.parquet", "", Kind::WrongMagic("a Parquet"));
    cases.add("magic.parquet", "some other file", Kind::WrongMagic("a Parquet"));
    cases.add("start.parquet", "PAR1", corrupt("no footer, the file is cut short"));
    cases.add("cut.parquet", "PAR1 and then nothing", corrupt("no footer, the file is cut short"));
    let scalar = numbers("Float32", &[Some(1.0)]);
    let missing = Kind::NoSuchColumn { name: "vector".into(), columns: "x".into() };
    cases.add_parquet(vec![("x", scalar.clone())], missing);
    cases.add_parquet(vec![("vector", scalar)], Kind::VectorType("Float32".into())).column("vector");
    let words = "optional group {} (LIST) { repeated binary array (UTF8); }";
    let words = flat(words, Data::Bytes(vec!["s3cret".into()]), [true].into_iter()).in_lists(2);
    cases.add_parquet(vec![("vector", words)], Kind::ElementType("Utf8".into())).column("vector");
    cases.add_parquet(vec![("vector", lists(&[], None, vec![]))], Kind::NoRows);
    cases.add_parquet(vec![("vector", lists(&[0, 0], None, vec![]))], Kind::NoColumns).at(0).column("vector");
    // The third row is in the second row group.
    cases.add_parquet(vec![("vector", lists(&[2, 2, 3], None, ok(7)))], dimension(3, 2)).at(2).column("vector");
    cases.add_parquet(vec![("vector", lists(&[2, 1], None, ok(3)))], dimension(1, 2)).at(1).column("vector");
    let null_row = lists(&[2, 0, 2], Some(vec![true, false, true]), ok(4));
    cases.add_parquet(vec![("vector", null_row)], Kind::Null).at(1).column("vector");
    let first_null = lists(&[0, 2], Some(vec![false, true]), ok(2));
    cases.add_parquet(vec![("vector", first_null)], Kind::Null).at(0).column("vector");
    let null_fixed = fixed(2, Some(vec![true, true, false]), ok(6));
    cases.add_parquet(vec![("vector", null_fixed)], Kind::Null).at(2).column("vector");
    let hole = |at: usize| (0..6).map(|i| (i != at).then_some(1.0)).collect::<Vec<_>>();
    cases.add_parquet(vec![("vector", lists(&[2, 2, 2], None, hole(5)))], Kind::Null).at(2).column("vector[1]");
    cases.add_parquet(vec![("vector", fixed(1, None, hole(3)))], Kind::Null).at(3).column("vector[0]");
    cases.add_parquet(vec![("vector", vectors())], dimension(2, 3)).options.dim = Some(3);

    let null_id = ints(&[Some(1.0), Some(2.0), None]);
    cases.add_parquet(vec![("id", null_id), ("vector", vectors())], Kind::Null).at(2).column("id").id("id");
    let big = numbers("UInt64", &[Some(1.0), Some(2f64.powi(64)), Some(3.0)]);
    cases.add_parquet(vec![("id", big), ("vector", vectors())], Kind::IntegerRange).at(1).column("id").id("id");
    let floats = numbers("Float64", &[Some(1.0), Some(2.0), Some(3.0)]);
    let columns = vec![("id", floats), ("vector", vectors())];
    cases.add_parquet(columns, Kind::IdType("Float64".into())).column("id").id("id");
    let dates = numbers("Date32", &[Some(1.0), Some(2.0), Some(3.0)]);
    let columns = vec![("label", dates), ("vector", vectors())];
    cases.add_parquet(columns, Kind::LabelType("Date32".into())).column("label").label("label");
    let missing = Kind::NoSuchColumn { name: "key".into(), columns: "vector".into() };
    cases.add_parquet(vec![("vector", vectors())], missing).id("key");

    let folder = Folder::new();
    std::fs::create_dir(folder.path("none")).unwrap();
    cases.add_path(folder.path("none"), Kind::NoParquetFiles);
    folder.parquet("nested/day=1/x.parquet", &[("vector", vectors())], 9);
    folder.parquet("dims/a.parquet", &[("vector", fixed(2, None, ok(4)))], 9);
    folder.parquet("dims/b.parquet", &[("vector", fixed(3, None, ok(6)))], 9);
    let options = ReadOptions::default();
    let error = read(&folder.path("dims"), &options).unwrap_err();
    assert_eq!((error.kind, error.row), (dimension(3, 2), Some(2)));
    assert!(error.path.ends_with("b.parquet"));
    let error = read(&folder.path("nested"), &options).unwrap_err();
    assert_eq!(error.kind, Kind::HivePartition);
    folder.parquet("deep/more/x.parquet", &[("vector", vectors())], 9);
    assert_eq!(read(&folder.path("deep"), &options).unwrap_err().kind, Kind::Subfolder);
    folder.parquet("types/a.parquet", &[("vector", fixed(2, None, ok(4)))], 9);
    let doubles = tables::lists(Nesting::Nullable, "Float64", &tables::whole(2, 2, |_, _| 1.0));
    folder.parquet("types/b.parquet", &[("vector", doubles)], 9);
    let error = read(&folder.path("types"), &options).unwrap_err();
    assert_eq!(error.kind, Kind::SchemaDiffers("a.parquet".into()));
    assert!(cases.check() > 20);
}

/// No part is skipped silently, and none that a table's log may have removed is read.
#[test]
fn folders_are_read_whole_or_not_at_all() {
    let folder = Folder::new();
    let part = |name: &str| folder.parquet(name, &[("vector", lists(&[2], None, vec![Some(1.0); 2]))], 9);
    let rows = |name: &str| read(&folder.path(name), &ReadOptions::default()).map(|rows| rows.len());
    let fault = |name: &str| rows(name).unwrap_err();
    for name in
        ["whole/a.parquet", "whole/b.pq", "whole/c.parq", "whole/part-0000", "whole/d.PARQUET", "whole/e.snappy"]
    {
        part(name);
    }
    for name in
        ["_SUCCESS", "_metadata", "_common_metadata", ".a.parquet.crc", "_temporary/0/x.parquet", "certificate.json"]
    {
        folder.write(&format!("whole/{name}"), "x");
    }
    assert_eq!(rows("whole"), Ok(6));
    assert_eq!(rows("whole/b.pq"), Ok(1));

    for (name, bytes, kind) in [
        ("b.parquet.gz", gz("x"), Kind::GzippedParquet),
        ("b.gz", gz("x"), Kind::GzippedParquet),
        ("part-1", b"other".to_vec(), Kind::ForeignFile),
        ("b.csv", b"a,b\n1,2\n".to_vec(), Kind::ForeignFile),
        ("empty", Vec::new(), Kind::ForeignFile),
        ("b.parquet", b"other".to_vec(), Kind::WrongMagic("a Parquet")),
    ] {
        part("parts/a.parquet");
        let path = folder.write(&format!("parts/{name}"), bytes);
        let error = fault("parts");
        assert_eq!((&*error.path, error.kind), (&*path, kind));
        std::fs::remove_file(path).unwrap();
        assert_eq!(rows("parts"), Ok(1));
    }
    for (kind, log) in [
        ("Delta", "_delta_log/00000000000000000000.json"),
        ("Iceberg", "metadata/v1.metadata.json"),
        ("Hudi", ".hoodie/hoodie.properties"),
    ] {
        part(&format!("{kind}/a.parquet"));
        part(&format!("{kind}/data/day=1/a.parquet"));
        folder.write(&format!("{kind}/{log}"), "{}");
        for inside in ["", "/data", "/data/day=1"] {
            assert_eq!(fault(&format!("{kind}{inside}")).kind, Kind::TableFormat(kind), "{kind}{inside}");
        }
    }
    part("hive/day=1/a.parquet");
    assert_eq!(fault("hive").kind, Kind::HivePartition);
    assert_eq!(rows("hive/day=1"), Ok(1));
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = Folder::new();
    let error = read(&folder.path("absent.npy"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.kind, Kind::Io(_)) && error.to_string().contains("absent.npy: No such file"), "{error}");
    std::fs::create_dir(folder.path("folder.npy")).unwrap();
    let options = ReadOptions { format: Some(Format::Npy), ..ReadOptions::default() };
    assert_eq!(read(&folder.path("folder.npy"), &options).unwrap_err().kind, Kind::NotAFile);
    let error = files::read_labels(&folder.write("l.npy", super::support::npy("<f4", false, "(2, 2)", &[0; 16])));
    assert_eq!(error.unwrap_err().kind, Kind::NotAColumn(2));
    let error = files::read_labels(&folder.write("l.csv", "a,b\n1,2\n")).unwrap_err();
    assert_eq!(error.kind, Kind::NoLabel(2));
}

/// Any change of any byte gives numbers or an error, never a panic or a hang.
#[test]
fn damaged_files_never_panic() {
    let folder = Folder::new();
    let labels = texts(&["a", "b", "a"]);
    let ids = ints(&[Some(1.0), Some(2.0), Some(3.0)]);
    let columns = vec![("id", ids), ("label", labels), ("vector", lists(&[2, 2, 2], None, vec![Some(1.0); 6]))];
    let parquet = std::fs::read(folder.parquet("good.parquet", &columns, 2)).unwrap();
    let array = super::support::npy("<f4", true, "(3, 2)", &[1; 24]);
    let files: [(&str, Vec<u8>); 7] = [
        ("x.npy", array.clone()),
        ("x.npy.gz", gz(&array)),
        ("x.idx", super::support::idx(8, &[2, 2, 2], &[7; 8])),
        ("x.csv", b"id,label,a,\"b\"\n1,x,2,3\n2,y,4,5\n".to_vec()),
        ("x.csv.gz", gz("a,b\n2,3\n4,5\n")),
        ("x.svm", b"1 1:2 3:4\n-1 2:5 # c\n".to_vec()),
        ("x.parquet", parquet),
    ];
    for (name, good) in files {
        let path = folder.write(name, &good);
        let options = match name {
            "x.csv" | "x.parquet" => with_names(),
            "x.svm" => with_dim(3),
            _ => ReadOptions::default(),
        };
        read(&path, &options).unwrap();
        let step = (good.len() / 300).max(1);
        for at in (0..good.len()).step_by(step) {
            for change in [1, 0x80, 0xFF] {
                let mut bad = good.clone();
                bad[at] ^= change;
                std::fs::write(&path, bad).unwrap();
                if let Err(error) = files::read_all(&path, &options) {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
            std::fs::write(&path, &good[..at]).unwrap();
            let _ = files::read_all(&path, &options);
        }
    }
}
