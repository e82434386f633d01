//! Released Parquet files whose values are untouched, but which a reader would load as something else.

use super::support::*;
use super::tables::{Cells, Data, Nesting, flat, lists, numbers, texts, whole};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use scumble::certificate::SigningKey;
use scumble::files::{self, FilesHasher, MECHANISM_KEY, ReadErrorKind, WriteError, verify, write_release};
use scumble::mechanism::{Beside, Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{Range, Rows, Scalars};
use std::path::Path;

/// Under this key Spark keeps its schema.
const SPARK: &str = "org.apache.spark.sql.parquet.row.metadata";

fn with_notes(notes: &[(&str, &str)]) -> WriterProperties {
    let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
    WriterProperties::builder().set_key_value_metadata(Some(notes)).build()
}

fn sketch() -> Cells {
    flat("optional binary {};", Data::Bytes(vec![vec![7, 1].into(), vec![8, 2].into()]), [true; 2].into_iter())
}

fn ids() -> Cells {
    numbers("Int64", &[Some(1.0), Some(2.0)])
}

#[test]
fn what_no_certificate_names_is_refused() {
    let folder = Folder::new();
    let certificate = ("scumble.certificate", "{}");
    let read = |columns: &[(&str, Cells)], notes: &[(&str, &str)]| {
        let path = folder.parquet_with("x.parquet", columns, 9, with_notes(notes));
        files::read_release(&path).map_err(|error| error.kind)
    };
    let honest = read(&[("id", ids()), ("sketch", sketch())], &[certificate]).unwrap();
    assert_eq!(honest.hashes.layout.words(), "id int64, sketch bytes x 2, in 1 file");
    let stranger = |name: &str| Err(ReadErrorKind::NotNamed(name.to_owned()));
    let exact = lists(Nesting::Nullable, "Float32", &whole(2, 3, |i, j| (i + j) as f64));
    assert_eq!(read(&[("id", ids()), ("sketch", sketch()), ("vector", exact)], &[certificate]), stranger("vector"));
    assert_eq!(read(&[("sketch", sketch()), ("id", ids())], &[certificate]), stranger("id"));
    assert_eq!(read(&[("id", ids()), ("sketch", sketch())], &[certificate, ("pandas", "{}")]), stranger("pandas"));
    let arrow = read(&[("id", ids()), ("sketch", sketch())], &[certificate, ("ARROW:schema", "AAAA")]);
    assert_eq!(arrow, stranger("ARROW:schema"));
    // Other types of the same values.
    let dates = flat("optional int64 {} (TIMESTAMP(MICROS,true));", Data::I64(vec![1, 2]), [true; 2].into_iter());
    for ids in [numbers("Int32", &[Some(1.0), Some(2.0)]), numbers("UInt64", &[Some(1.0), Some(2.0)]), dates] {
        assert_eq!(read(&[("id", ids), ("sketch", sketch())], &[certificate]), Err(ReadErrorKind::ReleasedType));
    }
    for element in ["Float64", "UInt8", "Int32", "UInt16"] {
        let sketch = lists(Nesting::Nullable, element, &whole(2, 2, |i, j| (i + j) as f64));
        assert_eq!(read(&[("id", ids()), ("sketch", sketch)], &[certificate]), Err(ReadErrorKind::ReleasedType));
    }
    let retyped =
        lists(Nesting::Nullable, "Int8", &[Some(vec![Some(7.0), Some(1.0)]), Some(vec![Some(8.0), Some(2.0)])]);
    let retyped = read(&[("id", ids()), ("sketch", retyped)], &[certificate]).unwrap();
    assert_eq!(retyped.hashes.sketch, honest.hashes.sketch, "the same bytes");
    assert_ne!(retyped.hashes.layout, honest.hashes.layout);
    // "r\ns\nt\n" under the hash, with the borders moved.
    let moved = read(&[("id", texts(&["r\ns", "t"])), ("sketch", sketch())], &[certificate]);
    assert_eq!(moved, Err(ReadErrorKind::ReleasedText));
}

fn mechanism(epsilon: f64) -> Mechanism {
    let range = Range::new(0.0, 1.0).unwrap();
    Mechanism::new(Parameters::new(Required {
        mechanism: MechanismId::DpSignoporpRr,
        dim: 16,
        k: 16,
        epsilon,
        beta: 1.0,
        range,
        seed: Seed([1; 32]),
    }))
    .unwrap()
}

#[test]
fn a_folder_holds_its_files_and_nothing_else() {
    let folder = Folder::new();
    let digest: String = mechanism(1.0).digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let spark = format!(r#"{{"fields":[{{"name":"sketch","metadata":{{"{MECHANISM_KEY}":"{digest}"}}}}]}}"#);
    let columns = [("id", ids()), ("sketch", sketch())];
    // One file as Spark notes the mechanism, one as pyarrow does.
    folder.parquet_with("set/part-0.parquet", &columns, 9, with_notes(&[(SPARK, &spark)]));
    folder.parquet_with("set/part-1.parquet", &columns, 1, with_notes(&[(MECHANISM_KEY, &digest)]));
    folder.write("set/certificate.json", "{}");
    folder.write("set/_SUCCESS", "");
    let release = files::read_release(&folder.path("set")).unwrap();
    assert_eq!((release.rows, release.hashes.layout.files), (4, 2));
    // The same hashes file by file, as a cluster that copies one at a time computes them.
    let mut hasher = FilesHasher::new(&mechanism(1.0));
    (0..2).for_each(|n| hasher.add(&folder.path(&format!("set/part-{n}.parquet"))).unwrap());
    assert_eq!(hasher.finish(), Some(release.hashes.clone()));
    // Rows of another mechanism are not certified by this one, nor rows that name none.
    let refused = |epsilon: f64, path: &Path| FilesHasher::new(&mechanism(epsilon)).add(path).unwrap_err().kind;
    for n in 0..2 {
        let path = folder.path(&format!("set/part-{n}.parquet"));
        assert_eq!(refused(2.0, &path), ReadErrorKind::OtherMechanism { named: true });
    }
    let unnamed = folder.parquet("unnamed.parquet", &columns, 9);
    assert_eq!(refused(1.0, &unnamed), ReadErrorKind::OtherMechanism { named: false });
    // Whatever a reader might take for a part of it is refused; so is a further file, by the count alone.
    for stranger in ["exact.csv", "part-2.parquet.gz", "_metadata", "_exact.parquet", ".exact.parquet", "part-2.pq"] {
        let path = folder.write(&format!("set/{stranger}"), "");
        let kind = files::read_release(&folder.path("set")).unwrap_err().kind;
        assert_eq!(kind, ReadErrorKind::NotNamed(stranger.to_owned()));
        std::fs::remove_file(path).unwrap();
    }
    let none =
        [("id", numbers("Int64", &[])), ("sketch", flat("optional binary {};", Data::Bytes(vec![]), [].into_iter()))];
    folder.parquet("set/part-2.parquet", &none, 9);
    assert_ne!(files::read_release(&folder.path("set")).unwrap().hashes, release.hashes, "an empty file is a file");
}

#[test]
fn a_signature_is_not_lost_without_a_word() {
    let releaser = Releaser::new(mechanism(1.0), None).unwrap();
    let rows = [0.5f32; 3 * 16];
    let rows = Rows::dense(Scalars::F32(&rows), 16);
    let key = SigningKey::generate().unwrap();
    let release = Release::from_rows(&releaser, rows).unwrap().signed(&key);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.parquet");
    // Parquet numbers rows that have no ids, and the signature covers ids.
    assert_eq!(write_release(&path, &release), Err(WriteError::SignatureLost(path.clone())));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let path = folder.path().join("release.npy");
    write_release(&path, &release).unwrap();
    let report = verify(&path, &Beside::default(), Some(&key.public())).unwrap();
    assert_eq!(report.failed(), None);
}
