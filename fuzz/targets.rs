//! One function a decoder: bytes in, a word about the outcome out. Never a panic, a hang or more than 1 GiB.
//!
//! `crates/scumble/tests/it/file/fuzz.rs` runs them; another driver (libFuzzer, AFL) can take the same functions.

use scumble::certificate::{Certificate, PublicKey, SigningKey};
use scumble::files::{self, ReadError, ReadOptions};
use scumble::ledger::{Ledger, Statement};
use scumble::projection::{Partition, TableFile};
use std::path::Path;

/// A decoder under test. The folder is empty scratch space for files that need a name.
pub struct Target {
    /// Name, and folder of its seeds.
    pub name: &'static str,
    /// Feeds it.
    pub run: fn(&[u8], &Path) -> String,
}

/// All decoders.
pub const TARGETS: &[Target] = &[
    Target { name: "npy", run: |bytes, folder| table(bytes, folder, "x.npy") },
    Target { name: "parquet", run: |bytes, folder| table(bytes, folder, "x.parquet") + &release(folder, "x.parquet") },
    Target { name: "csv", run: |bytes, folder| table(bytes, folder, "x.csv") },
    Target { name: "libsvm", run: |bytes, folder| table(bytes, folder, "x.svm") },
    Target { name: "idx", run: |bytes, folder| table(bytes, folder, "x.idx") },
    Target { name: "gzip", run: |bytes, folder| table(bytes, folder, "x.csv.gz") },
    Target { name: "release", run: npy_release },
    Target { name: "certificate", run: certificate },
    Target { name: "statement", run: statement },
    Target { name: "ledger", run: ledger },
    Target { name: "bins", run: public },
    Target { name: "table", run: public },
];

fn write(bytes: &[u8], folder: &Path, name: &str) {
    std::fs::write(folder.join(name), bytes).expect("scratch space");
}

/// A private table, all of it, and the same file as labels.
fn table(bytes: &[u8], folder: &Path, name: &str) -> String {
    write(bytes, folder, name);
    let path = folder.join(name);
    let dim = (name == "x.svm").then_some(1 << 20);
    let read = |named: Option<[&str; 2]>| -> Result<u64, ReadError> {
        let [id, label] = [0, 1].map(|i| named.map(|names| names[i].to_owned()));
        let mut source = files::open(&path, &ReadOptions { dim, id, label, ..ReadOptions::default() })?;
        let mut rows = 0;
        while let Some(batch) = source.next_batch(1000)? {
            assert!(!batch.rows().is_empty() && batch.rows().dim() == source.dim());
            assert!(batch.ids().is_none_or(|ids| ids.len() == batch.rows().len()));
            rows += batch.rows().len() as u64;
        }
        Ok(rows)
    };
    let rows = outcome(read(None)) + &outcome(read(Some(["id", "label"])));
    rows + &outcome(files::read_labels(&path).map(|labels| labels.len() as u64))
}

/// A release with the certificate inside.
fn release(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    let certificate = outcome(files::read_certificate(&path).map(|text| text.len() as u64));
    let seal = files::check_seal(&path).map_or_else(|_| "unreadable".into(), |seal| format!("{seal:?}"));
    certificate + &outcome(files::read_release(&path).map(|file| file.rows)) + &seal
}

/// The ids beside a release; the release itself is sound.
fn npy_release(bytes: &[u8], folder: &Path) -> String {
    const SKETCHES: &[u8] = include_bytes!("sketches.npy");
    write(SKETCHES, folder, "y.npy");
    write(b"{}", folder, "y.npy.certificate.json");
    write(bytes, folder, "y.npy.ids.npy");
    outcome(files::read_release(&folder.join("y.npy")).map(|file| file.rows))
}

/// A certificate as it is, and one whose forger has mended the digest.
fn certificate(bytes: &[u8], _: &Path) -> String {
    let text = String::from_utf8_lossy(bytes);
    let _ = (PublicKey::from_text(&text), SigningKey::from_text(&text));
    let parsed = Certificate::parse(&text).map(|(certificate, _)| certificate.statement().len());
    let mended = serde_json::from_str::<Certificate>(&text).map(|mut certificate| {
        certificate.signature = None;
        certificate.digest = certificate.compute_digest();
        let check = certificate.check();
        check.map_or_else(|error| letters(&error.to_string()), |_| "sound".into())
    });
    format!("{}{}", parsed.is_ok(), mended.unwrap_or_else(|error| letters(&error.to_string())))
}

fn statement(bytes: &[u8], _: &Path) -> String {
    match Statement::parse(&String::from_utf8_lossy(bytes)) {
        Ok(statement) => format!("sound {}", statement.to_markdown().len().min(1)),
        Err(error) => letters(&error.to_string()),
    }
}

/// Bins, components or a book: what parses has one form, and is read back as it was.
fn public(bytes: &[u8], _: &Path) -> String {
    let bins = Partition::from_file(bytes).map(|partition| partition.name().len());
    let table = TableFile::from_file(bytes).map(|file| file.name().len());
    let words = |result: Result<usize, scumble::error::ParameterError>| {
        result.map_or_else(|error| letters(&error.to_string()), |_| "sound".into())
    };
    words(bins) + &words(table)
}

/// A ledger that someone else wrote.
fn ledger(bytes: &[u8], folder: &Path) -> String {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(folder.join(format!("l.db{ending}")));
    }
    write(bytes, folder, "l.db");
    match Ledger::open(&folder.join("l.db")) {
        Ok(mut ledger) => {
            let accounts = ledger.accounts().map(|accounts| accounts.len() as u64);
            format!("{} {}", ledger.check().is_ok(), accounts.is_ok())
        }
        Err(error) => letters(&error.to_string()),
    }
}

/// What kind of outcome it was, without the numbers in it.
fn outcome(result: Result<u64, ReadError>) -> String {
    match result {
        Ok(_) => "read ".into(),
        Err(error) => letters(&error.kind.to_string()),
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').take(60).collect()
}
