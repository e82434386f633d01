//! Releases read back as they were written, appear complete or not at all, and fail with one clear line.

use super::support::*;
use super::tables::{Data, Nesting, flat, lists, numbers};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::printer::print_schema;
use scumble::certificate::ContentHashes;
use scumble::columns::Column;
use scumble::files::{self, ReadErrorKind, ReleaseWriter, ReleasedBlock, WriteError};
use scumble::release::Encoding;
use std::path::Path;

const K: usize = 11;
const ENCODINGS: [Encoding; 9] = [
    Encoding::F32,
    Encoding::I16,
    Encoding::B8,
    Encoding::B4,
    Encoding::B1,
    Encoding::Symbols { count: 2 },
    Encoding::Symbols { count: 3 },
    Encoding::Symbols { count: 5 },
    Encoding::Symbols { count: 16 },
];

fn text(words: &[&str]) -> Column {
    Column::Text(words.iter().map(|word| (*word).to_owned()).collect())
}

fn bytes_of(rows: usize, encoding: Encoding) -> Vec<u8> {
    (0..rows * encoding.bytes_per_row(K)).map(|at| (at * 37 % 251) as u8).collect()
}

/// Writes five rows in blocks of three and two; gives the hashes that the certificate was made from.
fn write(
    path: &Path,
    encoding: Encoding,
    ids: Option<&Column>,
    labels: Option<&Column>,
) -> Result<ContentHashes, WriteError> {
    let bytes = bytes_of(5, encoding);
    let width = encoding.bytes_per_row(K);
    let mut writer = ReleaseWriter::create(path, K, encoding)?;
    for (start, end) in [(0, 3), (3, 5)] {
        let [ids, labels] = [ids, labels].map(|column| column.map(|column| column.slice(start..end)));
        let bytes = &bytes[start * width..end * width];
        writer.write(ReleasedBlock { rows: end - start, bytes, ids: ids.as_ref(), labels: labels.as_ref() })?;
    }
    let mut stated = None;
    writer.finish(|hashes| {
        stated = Some(hashes);
        "{\"schema\": \"é\"}".to_owned()
    })?;
    Ok(stated.unwrap())
}

#[test]
fn every_encoding_and_column_reads_back() {
    let folder = Folder::new();
    let columns = [
        None,
        Some(Column::Int(vec![5, -1, 7, 3, i64::MAX])),
        Some(text(&["a", "", "déjà vu", "日本", "e"])),
        Some(Column::Float(vec![0.5, -0.0, f64::NAN, 1e300, 2.0])),
    ];
    for extension in ["parquet", "npy"] {
        for encoding in ENCODINGS {
            for ids in &columns[..3] {
                for labels in &columns {
                    let path = folder.path(&format!("out.{extension}"));
                    let stated = write(&path, encoding, ids.as_ref(), labels.as_ref()).unwrap();
                    let read = files::read_release(&path).unwrap();
                    assert_eq!(read.certificate, "{\"schema\": \"é\"}");
                    assert_eq!((read.rows, read.bytes_per_row), (5, encoding.bytes_per_row(K)));
                    assert_eq!(read.bytes, bytes_of(5, encoding));
                    let numbers = Column::Int((0..5).collect());
                    let expected = ids.as_ref().or((extension == "parquet").then_some(&numbers));
                    assert_eq!(read.ids.as_ref(), expected);
                    assert_eq!(read.labels.is_some(), labels.is_some());
                    // Hashes, because NaN is not equal to itself.
                    assert_eq!(read.hashes, stated);
                    assert_eq!(stated.labels.is_some(), labels.is_some());
                    assert_eq!(stated.ids.is_some(), expected.is_some());
                    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
                        std::fs::remove_file(entry.unwrap().path()).unwrap();
                    }
                }
            }
        }
    }
}

#[test]
fn a_changed_byte_changes_a_hash() {
    let folder = Folder::new();
    for extension in ["parquet", "npy"] {
        let path = folder.path(&format!("out.{extension}"));
        let labels = text(&["u", "v", "w", "x", "y"]);
        let stated = write(&path, Encoding::B4, Some(&Column::Int((0..5).collect())), Some(&labels)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let bytes = bytes_of(5, Encoding::B4);
        let at = whole.windows(bytes.len()).position(|window| window == bytes).expect("stored plainly");
        let mut changed = whole.clone();
        changed[at + 7] ^= 1;
        std::fs::write(&path, changed).unwrap();
        assert_ne!(files::read_release(&path).unwrap().hashes, stated);
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(files::read_release(&path).is_err());
    }
}

#[test]
fn npy_layout_is_what_numpy_expects() {
    let folder = Folder::new();
    let path = folder.path("out.npy");
    write(&path, Encoding::I16, Some(&text(&["a", "bc", "d", "e", "f"])), None).unwrap();
    let file = std::fs::read(&path).unwrap();
    assert!(
        file.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, 'shape': (5, 11), }  ")
    );
    assert_eq!(file[127], b'\n');
    assert_eq!(file[128..], bytes_of(5, Encoding::I16));
    let ids = std::fs::read(folder.path("out.npy.ids.npy")).unwrap();
    assert!(ids[10..].starts_with(b"{'descr': '<U2', 'fortran_order': False, 'shape': (5,), }"));
    assert_eq!(ids[128..144], *b"a\0\0\0\0\0\0\0b\0\0\0c\0\0\0");
    assert!(!folder.path("out.npy.labels.npy").exists());
}

#[test]
fn an_existing_output_is_refused_first_and_last() {
    let folder = Folder::new();
    for (output, existing) in [
        ("out.parquet", "out.parquet"),
        ("out.npy", "out.npy"),
        ("out.npy", "out.npy.certificate.json"),
        ("out.npy", "out.npy.ids.npy"),
        ("out.npy", "out.npy.labels.npy"),
    ] {
        let path = folder.path(output);
        let mut late = ReleaseWriter::create(&path, K, Encoding::B8).unwrap();
        let (ids, bytes) = (Column::Int(vec![1]), [0; K]);
        let labels = text(&["x"]);
        late.write(ReleasedBlock { rows: 1, bytes: &bytes, ids: Some(&ids), labels: Some(&labels) }).unwrap();
        folder.write(existing, "mine");
        let error = ReleaseWriter::create(&path, K, Encoding::B8).unwrap_err();
        assert_eq!(error, WriteError::Exists(folder.path(existing)));
        assert_eq!(late.finish(|_| "{}".to_owned()), Err(WriteError::Exists(folder.path(existing))));
        // Nothing of ours is left, and what was there is untouched.
        let names: Vec<_> =
            std::fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, [existing]);
        assert_eq!(std::fs::read(folder.path(existing)).unwrap(), b"mine");
        std::fs::remove_file(folder.path(existing)).unwrap();
    }
}

#[test]
fn no_output_without_finish() {
    let folder = Folder::new();
    for extension in ["parquet", "npy"] {
        let path = folder.path(&format!("out.{extension}"));
        let mut writer = ReleaseWriter::create(&path, K, Encoding::B8).unwrap();
        let block = ReleasedBlock { rows: 1, bytes: &[0; K], ids: Some(&text(&["a"])), labels: None };
        writer.write(block).unwrap();
        drop(writer);
        let empty = ReleaseWriter::create(&path, K, Encoding::B8).unwrap();
        assert!(matches!(empty.finish(|_| String::new()), Err(WriteError::Block(_))));
    }
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
}

#[test]
fn bad_blocks_and_names() {
    let folder = Folder::new();
    let create = |name: &str| ReleaseWriter::create(&folder.path(name), K, Encoding::B8);
    assert!(matches!(create("out.csv"), Err(WriteError::Kind(_))));
    assert!(matches!(create("out"), Err(WriteError::Kind(_))));
    assert!(matches!(create("no/out.npy"), Err(WriteError::Io { .. })));
    let bytes = [0; 2 * K];
    let block = |ids, labels| ReleasedBlock { rows: 2, bytes: &bytes, ids, labels };
    let mut writer = create("out.npy").unwrap();
    assert!(matches!(writer.write(ReleasedBlock { rows: 3, ..block(None, None) }), Err(WriteError::Block(_))));
    let short = Column::Int(vec![1]);
    assert!(matches!(writer.write(block(Some(&short), None)), Err(WriteError::Block(_))));
    let floats = Column::Float(vec![1.0, 2.0]);
    assert!(matches!(writer.write(block(Some(&floats), None)), Err(WriteError::Block(_))));
    writer.write(block(None, None)).unwrap();
    assert!(matches!(writer.write(block(None, Some(&floats))), Err(WriteError::Block(_))));
    for ids in [text(&["fine", "line\nbreak"]), text(&["fine", "nul\0"])] {
        let block = ReleasedBlock { rows: 2, bytes: &bytes, ids: Some(&ids), labels: None };
        assert_eq!(writer.write(block), Err(WriteError::Text { row: 3, column: "id" }));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_gives_an_error_and_no_output() {
    // RLIMIT_FSIZE in a child makes write fail as a full disk does, without one. SIGXFSZ must be ignored for that.
    let folder = Folder::new();
    for extension in ["parquet", "npy"] {
        let path = folder.path(&format!("out.{extension}"));
        let child = std::process::Command::new("sh")
            .args([
                "-c",
                "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact file::write::child_writes_a_megabyte --nocapture",
            ])
            .arg(std::env::current_exe().unwrap())
            .env("SCUMBLE_TEST_OUTPUT", &path)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(printed.contains("nothing was written"), "{printed}");
        assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn kill_leaves_no_file() {
    let folder = Folder::new();
    let path = folder.path("out.npy");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "file::write::child_writes_a_megabyte", "--nocapture"])
        .env("SCUMBLE_TEST_OUTPUT", &path)
        .env("SCUMBLE_TEST_WAIT", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    use std::io::BufRead;
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("waiting")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
}

/// Runs in a process of its own for the two tests above; on its own it does nothing.
#[test]
fn child_writes_a_megabyte() {
    let Some(path) = std::env::var_os("SCUMBLE_TEST_OUTPUT") else { return };
    let result = (|| {
        let mut writer = ReleaseWriter::create(Path::new(&path), 8192, Encoding::B1)?;
        let (bytes, ids) = (vec![7; 1 << 20], Column::Int((0..1024).collect()));
        writer.write(ReleasedBlock { rows: 1024, bytes: &bytes, ids: Some(&ids), labels: None })?;
        if std::env::var_os("SCUMBLE_TEST_WAIT").is_some() {
            println!("waiting");
            let _ = std::io::read_to_string(std::io::stdin()); // ends with the parent: it is killed before
        }
        writer.finish(|_| "{}".to_owned())
    })();
    if let Err(error) = result {
        println!("{error}");
    }
}

#[test]
fn a_folder_as_spark_writes_it() {
    let folder = Folder::new();
    let part = |rows: std::ops::Range<i64>| {
        let sketches = rows.clone().map(|row| vec![row as u8, 255].into()).collect();
        let ids: Vec<_> = rows.clone().map(|row| Some(row as f64)).collect();
        [
            ("id", numbers("Int64", &ids)),
            ("sketch", flat("optional binary {};", Data::Bytes(sketches), rows.map(|_| true))),
        ]
    };
    folder.parquet("set/part-1.snappy.parquet", &part(2..5), 2);
    folder.parquet("set/part-0.snappy.parquet", &part(0..2), 2);
    folder.write("set/_SUCCESS", "");
    assert_eq!(files::read_release(&folder.path("set")).unwrap_err().kind, ReadErrorKind::NoCertificate);
    folder.write("set/certificate.json", "{}");
    let release = files::read_release(&folder.path("set")).unwrap();
    assert_eq!(release.bytes, [0, 255, 1, 255, 2, 255, 3, 255, 4, 255]);
    assert_eq!((release.rows, release.bytes_per_row, release.certificate.as_str()), (5, 2, "{}"));
    assert_eq!(release.ids, Some(Column::Int((0..5).collect())));

    // Spark hands fixed-size lists over as plain lists.
    let rows = [[1.0, -2.0], [0.5, 4.0]].map(|row| Some(row.map(Some).to_vec()));
    folder.parquet("floats/part-0.parquet", &[("sketch", lists(Nesting::Nullable, "Float32", &rows))], 9);
    folder.write("floats.certificate.json", "{}");
    let release = files::read_release(&folder.path("floats")).unwrap();
    let expected: Vec<u8> = [1.0f32, -2.0, 0.5, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!((release.bytes, release.ids), (expected, None));
}

#[test]
fn files_that_are_no_release() {
    let folder = Folder::new();
    let kind = |path: &Path| files::read_release(path).unwrap_err().kind;
    let plain = folder.write("x.npy", npy("<f8", false, "(1, 1)", &[0; 8]));
    assert_eq!(kind(&plain), ReadErrorKind::NotARelease);
    assert_eq!(kind(&folder.write("x.csv", "a\n1\n")), ReadErrorKind::NotARelease);
    let alone = folder.write("y.npy", npy("|u1", false, "(1, 2)", &[0; 2]));
    assert_eq!(kind(&alone), ReadErrorKind::NoCertificate);
    folder.write("y.npy.certificate.json", "{}");
    folder.write("y.npy.ids.npy", npy("<i8", false, "(2,)", &[0; 16]));
    assert_eq!(kind(&alone), ReadErrorKind::Count { found: 2, expected: 1 });
    let other = folder.parquet("z.parquet", &[("id", numbers("Int64", &[Some(1.0)]))], 1);
    assert_eq!(kind(&other), ReadErrorKind::NotARelease);
    let ragged = Data::Bytes(vec!["ab".into(), "a".into()]);
    let ragged = flat("optional binary {};", ragged, [true; 2].into_iter());
    let ragged = folder.parquet("r.parquet", &[("sketch", ragged)], 9);
    assert_eq!(kind(&ragged), ReadErrorKind::Dimension { found: 1, expected: 2 });
}

/// What another reader finds in a release: its schema, and its rows as text.
fn as_others_read(path: &Path) -> (String, Vec<String>) {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut schema = Vec::new();
    print_schema(&mut schema, reader.metadata().file_metadata().schema());
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    (String::from_utf8(schema).unwrap(), rows)
}

/// Columns follow each other in the file as they do in the schema: a reader that takes the place of the first for that of its
/// row group, as Spark does, would else find no rows.
fn assert_columns_in_order(path: &Path) {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut at = 4;
    for group in reader.metadata().row_groups() {
        assert_eq!(group.file_offset(), Some(at as i64));
        for column in group.columns() {
            let (start, length) = column.byte_range();
            assert_eq!(start, at, "{}", column.column_path());
            at = start + length;
        }
    }
}

#[test]
fn another_reader_finds_the_same_columns_and_values() {
    let folder = Folder::new();
    let labels = text(&["a", "b", "a", "b", "a"]);
    for (encoding, column) in [
        (Encoding::F32, "REQUIRED group sketch (LIST) {\n    REPEATED group list {\n      REQUIRED FLOAT item;"),
        (
            Encoding::I16,
            "REQUIRED group sketch (LIST) {\n    REPEATED group list {\n      REQUIRED INT32 item (INTEGER(16,true));",
        ),
        (
            Encoding::B8,
            "REQUIRED group sketch (LIST) {\n    REPEATED group list {\n      REQUIRED INT32 item (INTEGER(8,true));",
        ),
        (Encoding::B4, "REQUIRED FIXED_LEN_BYTE_ARRAY (6) sketch;"),
    ] {
        let path = folder.path(&format!("{encoding:?}.parquet"));
        write(&path, encoding, None, Some(&labels)).unwrap();
        assert_columns_in_order(&path);
        let (schema, rows) = as_others_read(&path);
        assert!(
            schema.contains("REQUIRED INT64 id;") && schema.contains("REQUIRED BYTE_ARRAY label (STRING);"),
            "{schema}"
        );
        assert!(schema.contains(column), "{schema}");
        let bytes = bytes_of(5, encoding);
        let width = encoding.bytes_per_row(K);
        for (i, row) in rows.iter().enumerate() {
            let sketch = &bytes[i * width..(i + 1) * width];
            let list: Vec<String> = match encoding {
                Encoding::F32 => {
                    sketch.chunks(4).map(|x| format!("{:?}", f32::from_le_bytes(x.try_into().unwrap()))).collect()
                }
                Encoding::I16 => sketch.chunks(2).map(|x| i16::from_le_bytes([x[0], x[1]]).to_string()).collect(),
                Encoding::B8 => sketch.iter().map(|x| (*x as i8).to_string()).collect(),
                _ => sketch.iter().map(u8::to_string).collect(),
            };
            let label = ["a", "b"][i % 2];
            let start = format!("{{id: {i}, label: \"{label}\", sketch: [");
            assert!(row.starts_with(&start), "{row}");
            if encoding != Encoding::F32 {
                assert!(row.contains(&format!("[{}]", list.join(", "))), "{row}, {list:?}");
            }
        }
        assert_eq!(rows.len(), 5);
    }
}

/// Wide ranges and narrow ones, one value and many, in one row group and in several.
#[test]
fn integers_of_every_range_read_back() {
    let folder = Folder::new();
    for (name, range, rows) in [("one", 1, 40), ("bit", 2, 3000), ("odd", 777, 3000), ("all", 65_536, 300_000)] {
        let path = folder.path(&format!("{name}.parquet"));
        let bytes: Vec<u8> = (0..rows * 64u32)
            .flat_map(|x| ((x.wrapping_mul(2_654_435_761) >> 7) as u16 % range.min(65_535) as u16).to_le_bytes())
            .collect();
        let mut writer = ReleaseWriter::create(&path, 64, Encoding::I16).unwrap();
        writer.write(ReleasedBlock { rows: rows as usize, bytes: &bytes, ids: None, labels: None }).unwrap();
        writer.finish(|_| "{}".to_owned()).unwrap();
        assert!(files::read_release(&path).unwrap().bytes == bytes, "{name}");
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), rows.div_ceil(1 << 17) as usize);
        assert_columns_in_order(&path);
    }
}

#[test]
fn small_integers_take_little_room() {
    let folder = Folder::new();
    let rows = 20_000;
    for (encoding, bytes_per_value) in [(Encoding::B8, 1), (Encoding::I16, 2), (Encoding::F32, 4)] {
        let path = folder.path(&format!("{encoding:?}.parquet"));
        let mut writer = ReleaseWriter::create(&path, 64, encoding).unwrap();
        let bytes: Vec<u8> = (0..rows * 64 * bytes_per_value).map(|x| (x * x * 31 % 65_521) as u8).collect();
        writer.write(ReleasedBlock { rows: rows as usize, bytes: &bytes, ids: None, labels: None }).unwrap();
        writer.finish(|_| "{}".to_owned()).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        let plain = rows * (64 * bytes_per_value + 8);
        assert!(size < plain + plain / 10 + (1 << 18), "{encoding:?}: {size} bytes, {plain} plainly");
        assert_eq!(files::read_release(&path).unwrap().bytes, bytes);
    }
}
