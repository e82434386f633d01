//! Every kind of input gives back the numbers that went in.

use super::support::*;
use super::tables::{Cells, List, Nesting, lists, numbers, texts, whole};
use half::f16;
use scumble::columns::Column;
use scumble::files::{self, Batch, Format, IdCheck, ReadErrorKind, ReadOptions};
use scumble::vectors::{Layout, Scalars};
use std::path::Path;

const ROWS: usize = 5;
const DIM: usize = 3;

/// Element (i, j) of the test matrix: fits every type but bool.
fn element(i: usize, j: usize) -> i32 {
    (i * DIM + j) as i32 * 7 % 100
}

fn matrix() -> Vec<Vec<f64>> {
    (0..ROWS).map(|i| (0..DIM).map(|j| f64::from(element(i, j))).collect()).collect()
}

/// The matrix as bytes in C or Fortran order, each element by `bytes`.
fn body(fortran: bool, bytes: impl Fn(i32) -> Vec<u8>) -> Vec<u8> {
    let order: Vec<(usize, usize)> = if fortran {
        (0..DIM).flat_map(|j| (0..ROWS).map(move |i| (i, j))).collect()
    } else {
        (0..ROWS).flat_map(|i| (0..DIM).map(move |j| (i, j))).collect()
    };
    order.into_iter().flat_map(|(i, j)| bytes(element(i, j))).collect()
}

type Encode = fn(i32) -> Vec<u8>;

#[test]
fn npy_of_every_type_byte_order_and_axis_order() {
    let folder = Folder::new();
    let types: [(&str, Encode); 21] = [
        ("|u1", |x| vec![x as u8]),
        ("|i1", |x| vec![x as u8]),
        ("<u2", |x| (x as u16).to_le_bytes().to_vec()),
        (">u2", |x| (x as u16).to_be_bytes().to_vec()),
        ("<i2", |x| (x as i16).to_le_bytes().to_vec()),
        (">i2", |x| (x as i16).to_be_bytes().to_vec()),
        ("<u4", |x| (x as u32).to_le_bytes().to_vec()),
        (">u4", |x| (x as u32).to_be_bytes().to_vec()),
        ("<i4", |x| x.to_le_bytes().to_vec()),
        (">i4", |x| x.to_be_bytes().to_vec()),
        ("<u8", |x| (x as u64).to_le_bytes().to_vec()),
        (">u8", |x| (x as u64).to_be_bytes().to_vec()),
        ("<i8", |x| i64::from(x).to_le_bytes().to_vec()),
        (">i8", |x| i64::from(x).to_be_bytes().to_vec()),
        ("<f2", |x| f16::from_f32(x as f32).to_le_bytes().to_vec()),
        (">f2", |x| f16::from_f32(x as f32).to_be_bytes().to_vec()),
        ("<f4", |x| (x as f32).to_le_bytes().to_vec()),
        (">f4", |x| (x as f32).to_be_bytes().to_vec()),
        ("<f8", |x| f64::from(x).to_le_bytes().to_vec()),
        (">f8", |x| f64::from(x).to_be_bytes().to_vec()),
        ("=f8", |x| f64::from(x).to_ne_bytes().to_vec()),
    ];
    for (descr, encode) in types {
        for fortran in [false, true] {
            let file = npy(descr, fortran, "(5, 3)", &body(fortran, encode));
            let plain = folder.write("x.npy", &file);
            assert_eq!(read(&plain, &ReadOptions::default()).unwrap(), matrix(), "{descr} fortran {fortran}");
            let packed = folder.write("x.npy.gz", gz(&file));
            assert_eq!(read(&packed, &ReadOptions::default()).unwrap(), matrix(), "{descr} gz, fortran {fortran}");
        }
    }
    let bits = folder.write("b.npy", npy("|b1", false, "(2, 2)", &[0, 1, 1, 0]));
    assert_eq!(read(&bits, &ReadOptions::default()).unwrap(), [[0.0, 1.0], [1.0, 0.0]]);
    // Above i64: saturates, far outside any grid.
    let huge = folder.write("h.npy", npy("<u8", false, "(1, 1)", &u64::MAX.to_le_bytes()));
    assert_eq!(read(&huge, &ReadOptions::default()).unwrap(), [[i64::MAX as f64]]);
}

#[test]
fn npy_versions_and_odd_alignment() {
    let folder = Folder::new();
    let values = body(false, |x| (x as f32).to_le_bytes().to_vec());
    for version in [1, 2, 3] {
        // Headers of every length mod 4: an unaligned body must be copied, not refused.
        for pad in 0..4 {
            let header = format!("{{'descr':'<f4','fortran_order':False,'shape':(5,3)}}{}\n", " ".repeat(pad));
            let path = folder.write("x.npy", npy_with_header(version, &header, &values));
            assert_eq!(read(&path, &ReadOptions::default()).unwrap(), matrix());
        }
    }
}

#[test]
fn fortran_order_in_many_blocks() {
    let folder = Folder::new();
    // 2^21 x 5 f64 = 80 MiB: three blocks of 32 MiB.
    let (rows, dim) = (1 << 21, 5usize);
    let bytes: Vec<u8> = (0..dim * rows).flat_map(|at| (at as f64).to_le_bytes()).collect();
    let path = folder.write("x.npy", npy("<f8", true, &format!("({rows}, {dim})"), &bytes));
    let mut source = files::open(&path, &ReadOptions::default()).unwrap();
    let mut next = 0;
    while let Some(batch) = source.next_batch(100_000).unwrap() {
        let view = batch.rows();
        let mut row = vec![0.0; dim];
        for i in 0..view.len() {
            view.row_f64(i, &mut row);
            assert!(row.iter().enumerate().all(|(j, x)| *x == (j * rows + next) as f64), "row {next}");
            next += 1;
        }
    }
    assert_eq!(next, rows);
}

#[test]
fn idx_of_every_type() {
    let folder = Folder::new();
    let types: [(u8, Encode); 6] = [
        (0x08, |x| vec![x as u8]),
        (0x09, |x| vec![x as u8]),
        (0x0B, |x| (x as i16).to_be_bytes().to_vec()),
        (0x0C, |x| x.to_be_bytes().to_vec()),
        (0x0D, |x| (x as f32).to_be_bytes().to_vec()),
        (0x0E, |x| f64::from(x).to_be_bytes().to_vec()),
    ];
    for (code, encode) in types {
        let file = idx(code, &[5, 3], &body(false, encode));
        let path = folder.write("x.idx", &file);
        assert_eq!(read(&path, &ReadOptions::default()).unwrap(), matrix(), "code {code:#x}");
        let path = folder.write("x-idx2-int.gz", gz(&file));
        assert_eq!(read(&path, &ReadOptions::default()).unwrap(), matrix(), "code {code:#x}");
    }
    let images = folder.write("train-images-idx3-ubyte", idx(8, &[2, 2, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
    let expected = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]];
    assert_eq!(read(&images, &ReadOptions::default()).unwrap(), expected);
}

#[test]
fn csv_and_tsv() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let path = folder.write(
        "x.csv",
        "\u{feff}id,a,\"b, quoted\",label,c\r\n7,1, 2.5 ,cat,-3e-1\r\n8,\"4\",5,\"a \"\"dog\"\"\",6\r\n",
    );
    assert_eq!(read(&path, &options).unwrap(), [[1.0, 2.5, -0.3], [4.0, 5.0, 6.0]]);
    let batch = files::read_all(&path, &options).unwrap();
    assert_eq!((batch.ids(), batch.labels()), (None, None), "nobody asked for them");
    let batch = files::read_all(&path, &with_names()).unwrap();
    assert_eq!(batch.rows().dim(), 3);
    assert_eq!(batch.ids(), Some(&Column::Int(vec![7, 8])));
    assert_eq!(batch.labels(), Some(&Column::Text(vec!["cat".into(), "a \"dog\"".into()])));

    let path = folder.write("x.tsv.gz", gz("x\tname\ty\n1\t007\t2\n3\t8\t4\n"));
    let named = ReadOptions { id: Some("name".into()), ..ReadOptions::default() };
    assert_eq!(read(&path, &named).unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
    // Leading zeros stay as they were.
    assert_eq!(files::read_all(&path, &named).unwrap().ids(), Some(&Column::Text(vec!["007".into(), "8".into()])));

    let path = folder.write("l.csv", "label,x\n1,5\n2.5,6\n");
    let labelled = ReadOptions { id: None, ..with_names() };
    assert_eq!(files::read_all(&path, &labelled).unwrap().labels(), Some(&Column::Float(vec![1.0, 2.5])));
    let path = folder.write("plain.csv", "a,b\n1,2");
    assert_eq!(read(&path, &options).unwrap(), [[1.0, 2.0]]);
}

/// A first line of numbers is a row, one of text is a header, unless the caller says otherwise.
#[test]
fn csv_headers_by_rule_and_by_word() {
    let folder = Folder::new();
    let said = |header| ReadOptions { header: Some(header), ..ReadOptions::default() };
    let rows = folder.write("rows.csv", "0.5,1\n2,3\n");
    assert_eq!(read(&rows, &ReadOptions::default()).unwrap(), [[0.5, 1.0], [2.0, 3.0]]);
    assert_eq!(files::open(&rows, &ReadOptions::default()).unwrap().header(), Some(false));
    assert_eq!(read(&rows, &said(false)).unwrap(), [[0.5, 1.0], [2.0, 3.0]]);
    assert_eq!(read(&rows, &said(true)).unwrap(), [[2.0, 3.0]]);
    let names = folder.write("names.tsv.gz", gz("a\tb\n0.5\t1\n"));
    assert_eq!(read(&names, &ReadOptions::default()).unwrap(), [[0.5, 1.0]]);
    assert_eq!(files::open(&names, &ReadOptions::default()).unwrap().header(), Some(true));
    // Columns without names are called by number.
    let named = ReadOptions { id: Some("0".into()), header: Some(false), ..ReadOptions::default() };
    let mixed = folder.write("mixed.csv", "x7,1,2\nx8,3,4\n");
    assert_eq!(read(&mixed, &named).unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(files::read_all(&mixed, &named).unwrap().ids(), Some(&Column::Text(vec!["x7".into(), "x8".into()])));
    let counted = folder.write("counted.csv", "0,1\n0.5,0.25\n"); // pandas' names of columns that have none
    assert_eq!(read(&counted, &said(true)).unwrap(), [[0.5, 0.25]]);
    assert_eq!(read(&counted, &said(false)).unwrap(), [[0.0, 1.0], [0.5, 0.25]]);
    let labels = folder.write("labels.csv", "3\n1\n");
    assert_eq!(files::read_labels(&labels).unwrap(), Column::Int(vec![3, 1]));
}

#[test]
fn libsvm_has_the_dimension_that_is_given() {
    let folder = Folder::new();
    let text = "# a comment\n+1 1:0.5 3:2 # note\n\n-1\n+1 2:-1e-2\r\n";
    let expected = vec![vec![0.5, 0.0, 2.0], vec![0.0; 3], vec![0.0, -0.01, 0.0]];
    for (name, bytes) in [("x.svm", text.as_bytes().to_vec()), ("x.libsvm.gz", gz(text))] {
        let path = folder.write(name, bytes);
        assert_eq!(read(&path, &with_dim(3)).unwrap(), expected);
        let batch = files::read_all(&path, &with_dim(10)).unwrap();
        assert_eq!((batch.rows().dim(), batch.labels()), (10, None));
        let labelled = ReadOptions { label: Some("label".into()), ..with_dim(10) };
        assert_eq!(files::read_all(&path, &labelled).unwrap().labels(), Some(&Column::Int(vec![1, -1, 1])));
        assert!(matches!(batch.rows().layout(), Layout::Sparse { index: [0, 2, 1], .. }));
    }
}

fn vectors(nesting: Nesting, element: &str) -> Cells {
    lists(nesting, element, &whole(ROWS, DIM, |i, j| f64::from(self::element(i, j))))
}

#[test]
fn parquet_of_every_list_and_element_type() {
    let folder = Folder::new();
    for nesting in [Nesting::Nullable, Nesting::Required, Nesting::Two, Nesting::Bare] {
        for element in NUMBERS {
            let path = folder.parquet("x.parquet", &[("vector", vectors(nesting, element))], 2);
            assert_eq!(read(&path, &ReadOptions::default()).unwrap(), matrix(), "{nesting:?} of {element}");
        }
    }
}

const NUMBERS: [&str; 11] =
    ["Float16", "Float32", "Float64", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"];

#[test]
fn parquet_ids_labels_and_columns_by_name() {
    let folder = Folder::new();
    let some = |values: [f64; 5]| values.map(Some);
    let batch = [
        ("other", numbers("Int64", &some([0.0, 1.0, 2.0, 3.0, 4.0]))),
        ("label", texts(&["x", "y", "x", "y", "x"])),
        ("embedding", vectors(Nesting::Required, "Float32")),
        ("id", numbers("UInt32", &some([10.0, 11.0, 12.0, 13.0, 14.0]))),
        ("name", texts(&["a", "b", "c", "d", "e"])),
        ("weight", numbers("Float32", &some([0.5; 5]))),
        ("flag", numbers("Boolean", &some([1.0, 0.0, 1.0, 1.0, 1.0]))),
    ];
    let path = folder.parquet("x.parquet", &batch, 3);
    let options = ReadOptions { column: "embedding".into(), ..ReadOptions::default() };
    assert_eq!(read(&path, &options).unwrap(), matrix());
    let all = files::read_all(&path, &options).unwrap();
    assert_eq!((all.ids(), all.labels()), (None, None), "nobody asked for them");
    let all = files::read_all(&path, &ReadOptions { column: "embedding".into(), ..with_names() }).unwrap();
    assert_eq!(all.ids(), Some(&Column::Int((10..15).collect())));
    assert_eq!(all.labels(), Some(&Column::Text(["x", "y", "x", "y", "x"].map(String::from).to_vec())));
    let named = ReadOptions { id: Some("name".into()), label: Some("weight".into()), ..options.clone() };
    let all = files::read_all(&path, &named).unwrap();
    assert_eq!(all.ids(), Some(&Column::Text(["a", "b", "c", "d", "e"].map(String::from).to_vec())));
    assert_eq!(all.labels(), Some(&Column::Float(vec![0.5; 5])));
    let flags = ReadOptions { label: Some("flag".into()), ..options };
    assert_eq!(files::read_all(&path, &flags).unwrap().labels(), Some(&Column::Int(vec![1, 0, 1, 1, 1])));
    assert_eq!(files::read_labels(&path).unwrap().len(), 5);
}

#[test]
fn parquet_folder_in_name_order() {
    let folder = Folder::new();
    let part = |ids: std::ops::Range<i64>| {
        let vectors: Vec<List> = ids.clone().map(|id| Some(vec![Some(id as f64), Some(-1.0)])).collect();
        let ids: Vec<_> = ids.map(|id| Some(id as f64)).collect();
        [("id", numbers("Int64", &ids)), ("vector", lists(Nesting::Required, "Float32", &vectors))]
    };
    folder.parquet("set/part-2.parquet", &part(7..9), 10);
    folder.parquet("set/part-0.parquet", &part(0..0), 10);
    folder.parquet("set/part-1.parquet", &part(0..7), 3);
    folder.write("set/_SUCCESS", "");
    folder.write("set/.part-1.parquet.crc", "x");
    folder.write("set/_metadata.parquet", "not read");
    let expected: Vec<_> = (0..9).map(|id| vec![f64::from(id), -1.0]).collect();
    assert_eq!(read(&folder.path("set"), &ReadOptions::default()).unwrap(), expected);
    let named = ReadOptions { id: Some("id".into()), ..ReadOptions::default() };
    assert_eq!(files::read_all(&folder.path("set"), &named).unwrap().ids(), Some(&Column::Int((0..9).collect())));
}

#[test]
fn labels_from_files_of_their_own() {
    let folder = Folder::new();
    let ints = Column::Int(vec![3, 1, 2]);
    let unicode: Vec<u8> = "ab\0ébc".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    for (name, bytes, expected) in [
        ("l.npy", npy("|u1", false, "(3,)", &[3, 1, 2]), ints.clone()),
        ("c.npy", npy("<i2", false, "(3, 1)", &[3, 0, 1, 0, 2, 0]), ints.clone()),
        ("l.npy.gz", gz(npy("|i1", false, "(3,)", &[3, 1, 2])), ints.clone()),
        ("u.npy", npy("<U3", false, "(2,)", &unicode), Column::Text(vec!["ab".into(), "ébc".into()])),
        ("f.npy", npy("<f4", false, "(1,)", &1.5f32.to_le_bytes()), Column::Float(vec![1.5])),
        ("train-labels-idx1-ubyte.gz", gz(idx(8, &[3], &[3, 1, 2])), ints.clone()),
        ("l.csv", b"class\n3\n1\n2\n".to_vec(), ints.clone()),
        ("l.tsv", b"row\tlabel\n0\tspam\n1\tham\n".to_vec(), Column::Text(vec!["spam".into(), "ham".into()])),
        ("l.svm", b"3 1:1\n1 1:1\n2\n".to_vec(), ints),
    ] {
        let path = folder.write(name, bytes);
        assert_eq!(files::read_labels(&path).unwrap(), expected, "{name}");
    }
}

#[test]
fn several_gzip_members_are_one_file() {
    let folder = Folder::new();
    let path = folder.write("x.csv.gz", [gz("a,b\n1,"), gz(""), gz("2\n3,4\n")].concat());
    assert_eq!(read(&path, &ReadOptions::default()).unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
}

#[test]
fn kind_by_name_and_by_override() {
    for (name, format) in [
        ("a.npy", Some(Format::Npy)),
        ("a.NPY.GZ", Some(Format::Npy)),
        ("a.parquet", Some(Format::Parquet)),
        ("a.csv.gz", Some(Format::Csv)),
        ("a.tsv", Some(Format::Tsv)),
        ("a.svm.gz", Some(Format::Libsvm)),
        ("a.libsvm", Some(Format::Libsvm)),
        ("a.idx", Some(Format::Idx)),
        ("t10k-images-idx3-ubyte.gz", Some(Format::Idx)),
        ("t10k-images.idx3-ubyte", Some(Format::Idx)),
        ("a.txt", None),
        ("idx", None),
    ] {
        assert_eq!(Format::detect(Path::new(name)), format, "{name}");
    }
    assert_eq!("libsvm".parse(), Ok(Format::Libsvm));
    assert!("xls".parse::<Format>().is_err());
    let folder = Folder::new();
    let path = folder.write("a.txt", "a\n1\n");
    let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    assert_eq!(read(&path, &options).unwrap(), [[1.0]]);
}

#[test]
fn the_same_id_twice_names_both_rows() {
    let mut check = IdCheck::new();
    let path = Path::new("x.csv");
    check.add(path, &Column::Int((0..1000).collect()), 0).unwrap();
    let error = check.add(path, &Column::Int(vec![1000, 1001, 17]), 1000).unwrap_err();
    assert_eq!((error.row, error.kind), (Some(1002), ReadErrorKind::DuplicateId { first: 17 }));
    let mut check = IdCheck::new();
    let error = check.add(path, &Column::Text(vec!["a".into(), "b".into(), "a".into()]), 5).unwrap_err();
    assert_eq!(error.to_string(), "x.csv: row 7, column id: id is the same as that of row 5; ids must be unique");
}

#[test]
fn nothing_private_is_printed() {
    let folder = Folder::new();
    let path = folder.write("x.csv", "id,a\nsecret,12345\n");
    let batch = files::read_all(&path, &ReadOptions { id: Some("id".into()), ..ReadOptions::default() }).unwrap();
    let printed = format!("{batch:?} {:?} {:?}", batch.ids(), batch.rows());
    assert!(!printed.contains("secret") && !printed.contains("12345"), "{printed}");
}

/// A buffer comes back when its batch is dropped, and not before.
#[test]
fn plain_npy_is_read_into_the_same_buffers() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..1 << 16).flat_map(|x| (x as f32).to_le_bytes()).collect();
    let path = folder.write("x.npy", npy("<f4", false, "(64, 1024)", &bytes));
    let mut source = files::open(&path, &ReadOptions::default()).unwrap();
    let mut next = || source.next_batch(16).unwrap().unwrap();
    let place = |batch: &Batch, first: f32| {
        let Layout::Dense { values: Scalars::F32(values), .. } = batch.rows().layout() else { panic!("f32 stays f32") };
        assert_eq!(values[0], first);
        values.as_ptr()
    };
    let (a, b) = (next(), next());
    let places = [place(&a, 0.0), place(&b, 16384.0)];
    assert_ne!(places[0], places[1]);
    drop(a);
    let c = next();
    assert_eq!(place(&c, 32768.0), places[0]);
    assert_eq!(place(&b, 16384.0), places[1]);
}

/// What another process cuts off is missed, not made up.
#[test]
fn a_file_that_shrinks_is_noticed() {
    let folder = Folder::new();
    let path = folder.write("x.npy", npy("<f4", false, "(64, 1024)", &[1; 4 << 16]));
    let mut source = files::open(&path, &ReadOptions::default()).unwrap();
    source.next_batch(16).unwrap().unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(128 + 4 * 16 * 1024 + 5000).unwrap();
    let error = source.next_batch(16).unwrap_err().to_string();
    assert!(error.contains("row 16") && error.contains("changed while it was read"), "{error}");
}

#[test]
fn shared_data_sets() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        return; // not part of the repository
    }
    let count = |name: &str| {
        let dim = name.contains("svm").then_some(171_642);
        let mut source = files::open(&data.join(name), &ReadOptions { dim, ..ReadOptions::default() }).unwrap();
        let (mut rows, mut sum) = (0, 0.0);
        while let Some(batch) = source.next_batch(10_000).unwrap() {
            rows += batch.rows().len();
            sum += match batch.rows().layout() {
                Layout::Dense { values, .. } | Layout::Sparse { values, .. } => {
                    (0..values.len()).map(|at| values.get(at)).sum::<f64>()
                }
            };
        }
        (rows, source.dim(), sum)
    };
    let (rows, dim, sum) = count("mnist/train-images-idx3-ubyte.gz");
    assert_eq!((rows, dim), (60_000, 784));
    assert!((sum / 47_040_000.0 - 33.3184).abs() < 1e-4);
    let (rows, dim, _) = count("minilm-clinc150/embeddings.npy");
    assert_eq!((rows, dim), (23_700, 384));
    assert_eq!(count("spamassassin-trigram/train.svm.gz").0, 2923);
    assert_eq!(files::read_labels(&data.join("mnist/train-labels-idx1-ubyte.gz")).unwrap().len(), 60_000);
    assert_eq!(files::read_labels(&data.join("cifar10-gray/labels.npy.gz")).unwrap().len(), 60_000);
}

#[test]
fn ids_in_a_file_of_their_own() {
    let folder = Folder::new();
    let numbers: Vec<u8> = [7i64, 9].iter().flat_map(|id| id.to_le_bytes()).collect();
    let ids = folder.write("ids.npy", npy("<i8", false, "(2,)", &numbers));
    let named =
        |ids: &Path| ReadOptions { id: Some(ids.display().to_string()), dim: Some(2), ..ReadOptions::default() };
    for (name, content) in [
        ("x.npy", npy("|u1", false, "(2, 2)", &[1, 0, 0, 4])),
        ("x.svm", b"1 1:1\n0 2:4\n".to_vec()),
        ("x.idx", idx(8, &[2, 2], &[1, 0, 0, 4])),
    ] {
        let path = folder.write(name, content);
        assert_eq!(files::read_all(&path, &named(&ids)).unwrap().ids(), Some(&Column::Int(vec![7, 9])), "{name}");
        assert_eq!(read(&path, &named(&ids)).unwrap(), [[1.0, 0.0], [0.0, 4.0]], "{name}");
        // Each batch has the ids of its own rows.
        let mut source = files::open(&path, &named(&ids)).unwrap();
        source.next_piece(1).unwrap().unwrap();
        assert_eq!(source.next_piece(1).unwrap().unwrap().ids(), Some(&Column::Int(vec![9])), "{name}");
        let refused = |ids: &Path| files::open(&path, &named(ids)).err().unwrap().kind;
        let three = folder.write("three.npy", npy("<i8", false, "(3,)", &[0; 24]));
        assert_eq!(refused(&three), ReadErrorKind::Count { found: 3, expected: 2 });
        let floats = folder.write("floats.npy", npy("<f8", false, "(2,)", &[0; 16]));
        assert_eq!(refused(&floats), ReadErrorKind::IdType("float".into()));
        assert_eq!(refused(Path::new("id")), ReadErrorKind::NoNames);
    }
}
