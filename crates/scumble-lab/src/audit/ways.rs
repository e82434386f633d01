//! Every way in: neighbour pairs pass through real files and arrays, not only through dense rows in memory.
//!
//! A [`Way`] writes both rows of a pair as a file of its kind, lets the library release that file with its whole protocol,
//! and reads the output back. What is published beside the rows counts too: the certificate, except for its hashes, is
//! one more column of the outcome, so a shape or a sentence that depends on the rows is found like a biased bit.

use super::{AuditError, Target, read_row};
use scumble::certificate::Certificate;
use scumble::files::{self, Format, Job, JobError, ReadOptions, ReleaseWriter, ReleasedBlock};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Encoding, Release, Releaser};
use scumble::vectors::{Range, Rows, Scalars};
use scumble_core::noise::NoiseKey;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

/// How rows get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `.npy` of this type.
    Npy(Type),
    /// The same, column by column.
    NpyFortran,
    /// The same, compressed.
    NpyGzip,
    /// Text with a header.
    Csv,
    /// Tabs.
    Tsv,
    /// Sparse text; zeros are left out.
    Libsvm,
    /// Sparse text; zeros are written.
    LibsvmWithZeros,
    /// Bytes as MNIST has them.
    Idx,
    /// A list column.
    Parquet,
    /// Sparse rows in memory, zeros left out.
    Sparse,
    /// Floats in memory.
    Floats,
    /// Text with ids, noise from a kept key.
    Keyed,
}

/// Types of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Type {
    F64,
    F32,
    BigF32,
    I16,
    U8,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Npy(Type::F64),
        Self::Npy(Type::F32),
        Self::Npy(Type::BigF32),
        Self::Npy(Type::I16),
        Self::Npy(Type::U8),
        Self::NpyFortran,
        Self::NpyGzip,
        Self::Csv,
        Self::Tsv,
        Self::Libsvm,
        Self::LibsvmWithZeros,
        Self::Idx,
        Self::Parquet,
        Self::Sparse,
        Self::Floats,
        Self::Keyed,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy(Type::F64) => "npy f64",
            Self::Npy(Type::F32) => "npy f32",
            Self::Npy(Type::BigF32) => "npy f32, big-endian",
            Self::Npy(Type::I16) => "npy i16",
            Self::Npy(Type::U8) => "npy u8",
            Self::NpyFortran => "npy, Fortran order",
            Self::NpyGzip => "npy.gz",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Libsvm => "libsvm, zeros absent",
            Self::LibsvmWithZeros => "libsvm, zeros written",
            Self::Idx => "idx",
            Self::Parquet => "parquet",
            Self::Sparse => "sparse rows in memory",
            Self::Floats => "f32 rows in memory",
            Self::Keyed => "csv with ids, keyed noise",
        }
    }

    /// Integers need a range of integers.
    fn is_integer(self) -> bool {
        matches!(self, Self::Npy(Type::I16 | Type::U8) | Self::Idx)
    }

    /// A value as this form can hold it.
    fn seen(self, value: f64) -> f64 {
        match self {
            Self::Npy(Type::I16) => value.round().clamp(-32768.0, 32767.0),
            Self::Npy(Type::U8) | Self::Idx => value.round().clamp(0.0, 255.0),
            Self::Npy(Type::F64)
            | Self::NpyFortran
            | Self::Csv
            | Self::Tsv
            | Self::Libsvm
            | Self::LibsvmWithZeros
            | Self::Keyed => value,
            Self::Npy(Type::F32 | Type::BigF32) | Self::NpyGzip | Self::Parquet | Self::Sparse | Self::Floats => {
                f64::from(value as f32)
            }
        }
    }
}

/// One way in, with the mechanism that is claimed to run behind it.
#[derive(Debug)]
pub struct Way {
    form: Form,
    mechanism: Mechanism,
    encoding: Option<Encoding>,
    folder: tempfile::TempDir,
}

impl Way {
    /// A way for a mechanism. Private data never pass it: the pairs are made up.
    pub fn new(form: Form, mechanism: Mechanism, encoding: Option<Encoding>) -> Result<Self, AuditError> {
        Ok(Self { form, mechanism, encoding, folder: tempfile::tempdir()? })
    }

    /// Its name, with the mechanism.
    pub fn name(&self) -> String {
        format!("{}: {}", self.form.name(), self.mechanism.id())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{:?}-{name}", std::thread::current().id()).replace(['(', ')'], ""))
    }

    /// Writes the rows as a file of this form.
    fn write(&self, rows: Rows<'_>) -> Result<PathBuf, AuditError> {
        let (n, dim) = (rows.len(), rows.dim());
        let mut row = vec![0.0; dim];
        let mut all = Vec::with_capacity(n * dim);
        for i in 0..n {
            rows.row_f64(i, &mut row);
            all.extend(row.iter().map(|&value| self.form.seen(value)));
        }
        let (ending, bytes) = match self.form {
            Form::Npy(kind) => ("x.npy", npy(kind, false, n, dim, &all)),
            Form::NpyFortran => {
                let turned: Vec<f64> = (0..dim * n).map(|at| all[at % n * dim + at / n]).collect();
                ("x.npy", npy(Type::F64, true, n, dim, &turned))
            }
            Form::NpyGzip => ("x.npy.gz", gzip(&npy(Type::F32, false, n, dim, &all))?),
            Form::Csv => ("x.csv", table(&all, dim, ',', false)),
            Form::Keyed => ("x.csv", table(&all, dim, ',', true)),
            Form::Tsv => ("x.tsv", table(&all, dim, '\t', false)),
            Form::Libsvm => ("x.svm", libsvm(&all, dim, false)),
            Form::LibsvmWithZeros => ("x.svm", libsvm(&all, dim, true)),
            Form::Idx => {
                let mut bytes = vec![0, 0, 8, 2];
                bytes.extend([n as u32, dim as u32].iter().flat_map(|size| size.to_be_bytes()));
                bytes.extend(all.iter().map(|&value| value as u8));
                ("x.idx", bytes)
            }
            Form::Parquet => return self.write_parquet(&all, dim),
            Form::Sparse | Form::Floats => unreachable!("rows in memory have no file"),
        };
        let path = self.path(ending);
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// The writer of releases makes a list column like any other.
    fn write_parquet(&self, all: &[f64], dim: usize) -> Result<PathBuf, AuditError> {
        let path = self.path("x.parquet");
        let _ = std::fs::remove_file(&path);
        let bytes: Vec<u8> = all.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect();
        let mut writer = ReleaseWriter::create(&path, dim, Encoding::F32).map_err(JobError::from)?;
        let block = ReleasedBlock { rows: all.len() / dim, bytes: &bytes, ids: None, labels: None };
        writer.write(block).and_then(|()| writer.finish(|_| "{}".into())).map_err(JobError::from)?;
        Ok(path)
    }

    /// The file's whole way through the library.
    fn through_file(&self, rows: Rows<'_>) -> Result<Release, AuditError> {
        let input = self.write(rows)?;
        let out = self.path("y.npy");
        for ending in ["", ".certificate.json", ".ids.npy"] {
            let _ = std::fs::remove_file(format!("{}{ending}", out.display()));
        }
        let keyed = self.form == Form::Keyed;
        let reading = ReadOptions {
            format: matches!(self.form, Form::Idx).then_some(Format::Idx),
            column: if self.form == Form::Parquet { "sketch".into() } else { ReadOptions::default().column },
            id: keyed.then(|| "id".to_owned()),
            dim: Some(rows.dim()),
            ..ReadOptions::default()
        };
        let job = Job { input, reading, out: out.clone(), ..Job::default() };
        files::release(&job, |_| -> Result<_, AuditError> {
            let releaser = Releaser::new(self.mechanism.clone(), self.encoding)?;
            Ok(if keyed { releaser.keyed(NoiseKey::generate()?) } else { releaser })
        })?;
        Ok(files::open_release(&out)?)
    }

    fn in_memory(&self, rows: Rows<'_>) -> Result<Release, AuditError> {
        let (n, dim) = (rows.len(), rows.dim());
        let releaser = Releaser::new(self.mechanism.clone(), self.encoding)?;
        let mut row = vec![0.0; dim];
        let (mut values, mut index, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for i in 0..n {
            rows.row_f64(i, &mut row);
            for (at, &value) in row.iter().enumerate() {
                if self.form == Form::Floats || value != 0.0 {
                    values.push(value as f32);
                    index.push(at as u32);
                }
            }
            ends.push(values.len());
        }
        let rows = match self.form {
            Form::Floats => Rows::dense(Scalars::F32(&values), dim),
            _ => Rows::sparse(&ends, &index, Scalars::F32(&values), dim),
        };
        Ok(Release::from_rows(&releaser, rows)?)
    }
}

impl Target for Way {
    fn claim(&self) -> &Mechanism {
        &self.mechanism
    }

    fn width(&self) -> usize {
        self.mechanism.k() + 1
    }

    /// Each is a file of its own.
    fn most_releases(&self) -> usize {
        32
    }

    fn seen(&self, row: &[f64]) -> Vec<f64> {
        row.iter().map(|&value| self.form.seen(value)).collect()
    }

    fn release(&self, rows: Rows<'_>) -> Result<Vec<f32>, AuditError> {
        let release = match self.form {
            Form::Sparse | Form::Floats => self.in_memory(rows)?,
            _ => self.through_file(rows)?,
        };
        Ok(outcome(&release))
    }
}

/// What a reader of a release has: k numbers per row, and the certificate except for the hashes.
pub fn outcome(release: &Release) -> Vec<f32> {
    let (encoder, k) = (release.encoder(), release.k());
    let beside = public_part(release.certificate());
    let mut values = vec![0.0; k];
    let mut all = Vec::with_capacity(release.len() * (k + 1));
    for i in 0..release.len() {
        read_row(encoder, release.row(i), &mut values);
        all.extend_from_slice(&values);
        all.push(beside);
    }
    all
}

/// A number for everything in a certificate except what is made from the released bytes.
fn public_part(certificate: &Certificate) -> f32 {
    let mut value = serde_json::to_value(certificate).unwrap_or(Value::Null);
    if let Some(fields) = value.as_object_mut() {
        for made_of_bytes in ["content", "digest", "signature"] {
            fields.remove(made_of_bytes);
        }
    }
    let hash = value
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 40) as f32 // 24 bits: exact in a float
}

/// One way for each form, unit by unit where a form takes any, with repeats and clips among them.
pub fn ways(epsilon: f64, seed: Seed) -> Result<Vec<Way>, AuditError> {
    let mut all = Vec::new();
    for (at, form) in Form::ALL.into_iter().enumerate() {
        let ids = [MechanismId::DpOporpStaircase, MechanismId::DpSignoporpCeil, MechanismId::DpOporpZones];
        let (range, beta) = if form.is_integer() { ((0.0, 16.0), 4.0) } else { ((-1.0, 1.0), 0.5) };
        let range = Range::new(range.0, range.1)?;
        let mut parameters =
            Parameters::new(Required { mechanism: ids[at % ids.len()], dim: 8, k: 4, epsilon, beta, range, seed });
        if at % 4 == 3 {
            parameters.repeats = 2;
        }
        all.push(Way::new(form, Mechanism::new(parameters)?, None)?);
    }
    Ok(all)
}

fn npy(kind: Type, fortran: bool, rows: usize, dim: usize, values: &[f64]) -> Vec<u8> {
    let descr = match kind {
        Type::F64 => "<f8",
        Type::F32 => "<f4",
        Type::BigF32 => ">f4",
        Type::I16 => "<i2",
        Type::U8 => "|u1",
    };
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({rows}, {dim}), }}");
    header.push_str(&" ".repeat((64 - (11 + header.len()) % 64) % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for &value in values {
        match kind {
            Type::F64 => bytes.extend(value.to_le_bytes()),
            Type::F32 => bytes.extend((value as f32).to_le_bytes()),
            Type::BigF32 => bytes.extend((value as f32).to_be_bytes()),
            Type::I16 => bytes.extend((value as i16).to_le_bytes()),
            Type::U8 => bytes.push(value as u8),
        }
    }
    bytes
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn table(values: &[f64], dim: usize, comma: char, ids: bool) -> Vec<u8> {
    let mut names: Vec<String> = (0..dim).map(|at| format!("a{at}")).collect();
    if ids {
        names.insert(0, "id".into());
    }
    let mut text = names.join(&comma.to_string()) + "\n";
    for (at, row) in values.chunks_exact(dim).enumerate() {
        let mut cells: Vec<String> = row.iter().map(f64::to_string).collect();
        if ids {
            cells.insert(0, at.to_string());
        }
        text.push_str(&cells.join(&comma.to_string()));
        text.push('\n');
    }
    text.into_bytes()
}

fn libsvm(values: &[f64], dim: usize, zeros: bool) -> Vec<u8> {
    let mut text = String::new();
    for row in values.chunks_exact(dim) {
        text.push('0');
        for (at, value) in row.iter().enumerate().filter(|(_, value)| zeros || **value != 0.0) {
            let _ = write!(text, " {}:{value}", at + 1);
        }
        text.push('\n');
    }
    text.into_bytes()
}
