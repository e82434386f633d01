//! Parquet as many writers make it: every encoding, level, codec and page version, and faults at every place of them.

use super::support::*;
use super::tables::{Cells, Data, List, Nesting, flat, lists, numbers, texts, whole};
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use scumble::columns::Column;
use scumble::files::{self, ReadErrorKind, ReadOptions};

const ROWS: usize = 700;
const DIM: usize = 37;

/// Few distinct values for dictionaries, or as many as there are places.
fn number(i: usize, j: usize, distinct: usize) -> f64 {
    ((i * DIM + j) * 31 % distinct) as f64
}

fn matrix(distinct: usize) -> Vec<Vec<f64>> {
    (0..ROWS).map(|i| (0..DIM).map(|j| number(i, j, distinct)).collect()).collect()
}

fn columns(nesting: Nesting, element: &str, distinct: usize) -> Vec<(&'static str, Cells)> {
    let names: Vec<String> = (0..ROWS).map(|i| format!("row {}", i * 7919 % 1000)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let labels: Vec<_> = (0..ROWS).map(|i| Some((i % 3) as f64)).collect();
    vec![
        ("id", texts(&names)),
        ("vector", lists(nesting, element, &whole(ROWS, DIM, |i, j| number(i, j, distinct)))),
        ("label", numbers("Int32", &labels)),
    ]
}

/// Small pages that do not end where rows end, several row groups of different sizes.
fn small_pages() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_data_page_size_limit(1 << 12).set_write_batch_size(1000)
}

fn check(
    folder: &Folder,
    columns: &[(&'static str, Cells)],
    properties: WriterPropertiesBuilder,
    distinct: usize,
    what: &str,
) {
    let path = folder.parquet_with("x.parquet", columns, 300, properties.build());
    assert_eq!(read_by(&path, &ReadOptions::default(), 97).unwrap(), matrix(distinct), "{what}");
    let named = ReadOptions { id: Some("id".into()), label: Some("label".into()), ..ReadOptions::default() };
    let all = files::read_all(&path, &named).unwrap();
    assert_eq!(rows_of(&all), matrix(distinct), "{what}");
    let names = (0..ROWS).map(|i| format!("row {}", i * 7919 % 1000)).collect();
    assert_eq!(all.ids(), Some(&Column::Text(names)), "{what}");
    assert_eq!(all.labels(), Some(&Column::Int((0..ROWS as i64).map(|i| i % 3).collect())), "{what}");
}

#[test]
fn every_codec_page_version_and_nesting() {
    let folder = Folder::new();
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for nesting in [Nesting::Nullable, Nesting::Required, Nesting::Two, Nesting::Bare] {
                for dictionary in [false, true] {
                    let properties = small_pages()
                        .set_compression(codec)
                        .set_writer_version(version)
                        .set_dictionary_enabled(dictionary);
                    let what = format!("{codec:?} {version:?} {nesting:?} {dictionary}");
                    let distinct = if dictionary { 300 } else { 100_000 };
                    check(&folder, &columns(nesting, "Float32", distinct), properties, distinct, &what);
                }
            }
        }
    }
}

#[test]
fn every_encoding_of_every_type() {
    let folder = Folder::new();
    for (element, encodings) in [
        ("Float16", &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_BYTE_ARRAY][..]),
        ("Float32", &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT]),
        ("Float64", &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT]),
        ("Int8", &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]),
        ("UInt16", &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED]),
        ("Int32", &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]),
        ("UInt32", &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED]),
        ("Int64", &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]),
    ] {
        for encoding in encodings {
            for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
                let vector = lists(Nesting::Nullable, element, &whole(ROWS, DIM, |i, j| number(i, j, 100)));
                let properties =
                    small_pages().set_dictionary_enabled(false).set_compression(codec).set_encoding(*encoding);
                let path = folder.parquet_with("x.parquet", &[("vector", vector)], 300, properties.build());
                let read = read_by(&path, &ReadOptions::default(), 97).unwrap();
                assert_eq!(read, matrix(100), "{element} {encoding:?} {codec:?}");
            }
        }
    }
}

#[test]
fn ids_and_labels_of_every_type_and_encoding() {
    let folder = Folder::new();
    let vectors = || lists(Nesting::Nullable, "Float32", &whole(ROWS, 2, |_, _| 0.5));
    let values: Vec<_> = (0..ROWS).map(|i| Some((i * 13 % 100) as f64)).collect();
    let ints = Column::Int(values.iter().map(|x| x.unwrap() as i64).collect());
    let floats = Column::Float(values.iter().map(|x| x.unwrap()).collect());
    let bits = Column::Int(values.iter().map(|x| i64::from(x.unwrap() != 0.0)).collect());
    let words: Vec<String> = (0..ROWS).map(|i| "é".repeat(i % 5) + &(i % 17).to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = Column::Text(words.iter().map(|word| (*word).to_owned()).collect());
    let numbers_of = |element: &str| numbers(element, &values);
    for (cells, expected, encodings) in [
        (numbers_of("Int8"), &ints, &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED][..]),
        (numbers_of("UInt32"), &ints, &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED]),
        (numbers_of("Int64"), &ints, &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]),
        (numbers_of("UInt64"), &ints, &[Encoding::PLAIN]),
        (numbers_of("Float16"), &floats, &[Encoding::PLAIN]),
        (numbers_of("Float32"), &floats, &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT]),
        (numbers_of("Float64"), &floats, &[Encoding::PLAIN]),
        (numbers_of("Boolean"), &bits, &[Encoding::PLAIN, Encoding::RLE]),
        (texts(&words), &text, &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]),
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for encoding in encodings.iter().map(Some).chain([None]) {
                let mut properties =
                    WriterProperties::builder().set_data_page_size_limit(512).set_writer_version(version);
                properties = properties.set_write_batch_size(64).set_compression(Compression::SNAPPY);
                properties = match encoding {
                    Some(encoding) => {
                        properties.set_dictionary_enabled(false).set_column_encoding("label".into(), *encoding)
                    }
                    None => properties.set_dictionary_enabled(true),
                };
                let columns = [("label", cells.clone()), ("vector", vectors())];
                let path = folder.parquet_with("x.parquet", &columns, 300, properties.build());
                let named = ReadOptions { label: Some("label".into()), ..ReadOptions::default() };
                let found = files::read_all(&path, &named).unwrap();
                assert!(found.labels() == Some(expected), "{encoding:?} {version:?} {expected:?}");
                assert!(files::read_labels(&path).unwrap() == *expected, "{encoding:?} {version:?} {expected:?}");
            }
        }
    }
}

/// A null or a list of another length in any row is found and named, wherever pages and row groups end.
#[test]
fn faults_are_named_with_their_row() {
    let folder = Folder::new();
    for nesting in [Nesting::Nullable, Nesting::Two, Nesting::Bare] {
        for row in [0, 1, 299, 300, 401, ROWS - 1] {
            let fault = |change: &dyn Fn(&mut List)| {
                let mut rows = whole(ROWS, DIM, |i, j| number(i, j, 100));
                change(&mut rows[row]);
                let vector = lists(nesting, "Float32", &rows);
                let path = folder.parquet_with("x.parquet", &[("vector", vector)], 300, small_pages().build());
                let options = ReadOptions { dim: Some(DIM), ..ReadOptions::default() };
                let error = read_by(&path, &options, 64).unwrap_err();
                assert_eq!(read_by(&path, &options, 1000), Err(error.clone()));
                (error.row, error.column.as_deref().map(str::to_owned), error.kind)
            };
            let named = |column: &str, kind| (Some(row as u64), Some(column.to_owned()), kind);
            let length = |found| ReadErrorKind::Dimension { found, expected: DIM as u64 };
            if row > 0 {
                assert_eq!(fault(&|list| *list = Some(vec![])), named("vector", length(0)));
                assert_eq!(fault(&|list| list.as_mut().unwrap().truncate(5)), named("vector", length(5)));
                let longer = fault(&|list| list.as_mut().unwrap().extend([Some(1.0); 3]));
                assert_eq!(longer, named("vector", length(DIM as u64 + 3)));
                let much_longer = fault(&|list| list.as_mut().unwrap().extend([Some(1.0); 5000]));
                assert_eq!(much_longer, named("vector", length(DIM as u64 + 5000)));
            }
            if nesting == Nesting::Nullable {
                let hole = fault(&|list| list.as_mut().unwrap()[9] = None);
                assert_eq!(hole, named("vector[9]", ReadErrorKind::Null));
            }
            if nesting != Nesting::Bare {
                assert_eq!(fault(&|list| *list = None), named("vector", ReadErrorKind::Null));
            }
        }
    }
}

/// One page with more values than fit a batch, from a dictionary of one entry: decoded piece by piece.
#[test]
fn a_page_of_many_equal_values_takes_little() {
    let folder = Folder::new();
    let vector = lists(Nesting::Required, "Float32", &whole(60_000, 64, |_, _| 0.25));
    let properties =
        WriterProperties::builder().set_data_page_size_limit(1 << 30).set_data_page_row_count_limit(1 << 30);
    let path = folder.parquet_with("x.parquet", &[("vector", vector)], 60_000, properties.build());
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
    let mut source = files::open(&path, &ReadOptions::default()).unwrap();
    let mut rows = 0;
    while let Some(batch) = source.next_batch(1000).unwrap() {
        assert!(rows_of(&batch).iter().flatten().all(|x| *x == 0.25));
        rows += batch.rows().len();
    }
    assert_eq!(rows, 60_000);
}

/// Nobody's vectors: structures, maps and lists of them are refused by their type.
#[test]
fn other_shapes_are_refused_by_name() {
    let folder = Folder::new();
    let one = || Data::F32(vec![1.0]);
    for (schema, level, name, is_element) in [
        ("optional group {} { optional float x; }", 2, "Struct", false),
        (
            "optional group {} (LIST) { repeated group list { optional group element { optional float x; } } }",
            4,
            "Struct",
            true,
        ),
        ("optional group {} (LIST) { repeated group array { optional float x; } }", 3, "Struct", true),
        ("optional group {} (LIST) { repeated group vector_tuple { optional float x; } }", 3, "Struct", true),
    ] {
        let cells = flat(schema, one(), [true].into_iter());
        let cells = if is_element { cells.in_lists(level) } else { cells.at_level(level) };
        let path = folder.parquet("x.parquet", &[("vector", cells)], 9);
        let error = files::open(&path, &ReadOptions::default()).err().unwrap();
        let kind = if is_element { ReadErrorKind::ElementType } else { ReadErrorKind::VectorType };
        assert_eq!(error.kind, kind(name.to_owned()), "{schema}");
    }
}

/// The workers of a release decode pieces in any order, each on a thread of its own.
#[test]
fn pieces_are_decoded_on_any_thread_in_any_order() {
    let folder = Folder::new();
    let properties = small_pages().set_compression(Compression::SNAPPY).build();
    let path = folder.parquet_with("x.parquet", &columns(Nesting::Nullable, "Float32", 100_000), 300, properties);
    let mut source = files::open(&path, &ReadOptions::default()).unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = source.next_piece(53).unwrap() {
        pieces.push(piece);
    }
    let threads: Vec<_> =
        pieces.into_iter().rev().map(|piece| std::thread::spawn(|| piece.decode().unwrap())).collect();
    let batches: Vec<_> = threads.into_iter().rev().map(|thread| thread.join().unwrap()).collect();
    let all: Vec<_> = batches.iter().flat_map(rows_of).collect();
    assert_eq!(all, matrix(100_000));
    assert!(
        batches.iter().zip(batches.iter().skip(1)).all(|(a, b)| a.first_row() + a.rows().len() as u64 == b.first_row())
    );
}
