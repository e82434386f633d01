//! Writing a release: Parquet, or `.npy` with sidecars. Only released bytes come here.
//!
//! Parquet: columns `id` (row numbers from 0 if the input has none), `label` if there are labels, `sketch`; the
//! certificate in the footer under [`CERTIFICATE_KEY`], the digest of the whole file under [`SEAL_KEY`]. `OUT.npy`: the
//! sketches; beside it `OUT.npy.certificate.json` and, if the input has them, `OUT.npy.ids.npy` and
//! `OUT.npy.labels.npy`.

use super::atomic::{self, Pending};
use super::error::WriteError;
use super::npy;
use super::parquet::{FileWriter, Sketch};
use super::seal::{BLANK, SEAL_KEY, Sealing};
use crate::certificate::{Certificate, ColumnLayout, Content, ContentHasher, ContentHashes};
use crate::columns::{Column, ColumnKind};
use crate::release::Release;
use crate::words::is_unseen;
use scumble_core::parallel;
use scumble_core::release::Encoding;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where the certificate is in a Parquet file's metadata.
pub const CERTIFICATE_KEY: &str = "scumble.certificate";

/// Rows after the wall: encoded, little-endian, `bytes_per_row` each.
#[derive(Clone, Copy)]
pub struct ReleasedBlock<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Their sketches.
    pub bytes: &'a [u8],
    /// Their ids, if the input has any: integers or text.
    pub ids: Option<&'a Column>,
    /// Their labels, if the input has any.
    pub labels: Option<&'a Column>,
}

impl fmt::Debug for ReleasedBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleasedBlock({} rows, {} bytes)", self.rows, self.bytes.len())
    }
}

/// Rows that are handed to the writer at a time.
const SAVED_ROWS: usize = 1 << 16;

/// Writes a release that is in memory, a few rows at a time, complete or not at all.
pub fn write_release(path: &Path, release: &Release) -> Result<(), WriteError> {
    let encoder = release.encoder();
    let beside = release.mechanism().parameters().beside();
    let mut writer = ReleaseWriter::create(path, encoder.k(), encoder.encoding())?.with_beside(beside)?;
    for start in (0..release.len()).step_by(SAVED_ROWS) {
        let rows = start..release.len().min(start + SAVED_ROWS);
        let [ids, labels] = [release.ids(), release.labels()].map(|column| column.map(|c| c.slice(rows.clone())));
        let width = encoder.bytes_per_row();
        let bytes = &release.bytes()[rows.start * width..rows.end * width];
        writer.write(ReleasedBlock { rows: rows.len(), bytes, ids: ids.as_ref(), labels: labels.as_ref() })?;
    }
    let own = release.certificate();
    if own.signature.is_some() && own.content != Content::from(writer.hashes()) {
        return Err(WriteError::SignatureLost(path.to_owned()));
    }
    writer.finish(|hashes| {
        let (rows, content) = (hashes.rows, Content::from(hashes));
        if own.content == content {
            return own.to_json(); // with its signature, if it has one
        }
        // Parquet numbers rows that have no ids, and the hashes tell.
        Certificate::new(release.mechanism(), encoder, rows, content).like(own).to_json()
    })
}

/// Writes a release. Until [`finish`](Self::finish) has succeeded there is no output; dropping the writer leaves none.
pub struct ReleaseWriter {
    path: PathBuf,
    k: usize,
    encoding: Encoding,
    hasher: ContentHasher,
    rows: u64,
    kinds: Option<[Option<ColumnKind>; 2]>,
    sink: Sink,
    beside: Vec<Pending>,
}

impl fmt::Debug for ReleaseWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleaseWriter({}, {} rows)", self.path.display(), self.rows)
    }
}

enum Sink {
    Start, // a Parquet file whose columns are not known yet
    Parquet(Box<FileWriter<Sealing>>),
    Npy { sketches: BufWriter<Pending>, certificate: Pending, columns: Box<[Option<NpyColumn>; 2]> },
}

/// Bytes of a block that one thread hashes and writes faster than two.
const ALONE: usize = 1 << 18;

impl Sink {
    fn write(&mut self, rows: usize, bytes: &[u8], ids: Option<&Column>, labels: Option<&Column>) -> io::Result<()> {
        match self {
            Self::Start => unreachable!("started before"),
            Self::Parquet(writer) => {
                let columns: Vec<_> = [ids, labels].into_iter().flatten().collect();
                writer.write(rows, bytes, &columns)
            }
            Self::Npy { sketches, columns, .. } => {
                sketches.write_all(bytes)?;
                for (sidecar, column) in columns.iter_mut().zip([ids, labels]) {
                    if let (Some(sidecar), Some(column)) = (sidecar, column) {
                        sidecar.write(column)?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl ReleaseWriter {
    /// Refuses an output that exists, before any private row is read, and public files beside it, which it would seem to
    /// rest on. The kind is by extension.
    pub fn create(path: &Path, k: usize, encoding: Encoding) -> Result<Self, WriteError> {
        for kind in ["bins", "components", "book"] {
            Pending::create(&place_beside(path, kind))?;
        }
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let sink = match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("parquet") => {
                Pending::create(path)?; // fails now rather than after the first rows
                Sink::Start
            }
            Some("npy") => {
                for ending in [".ids.npy", ".labels.npy"] {
                    Pending::create(&sidecar(path, ending))?;
                }
                let certificate = Pending::create(&sidecar(path, ".certificate.json"))?;
                let mut sketches = BufWriter::with_capacity(1 << 16, Pending::create(path)?);
                sketches.write_all(&[0; npy::HEADER_BYTES]).map_err(|e| WriteError::io(path, &e))?;
                Sink::Npy { sketches, certificate, columns: Box::new([None, None]) }
            }
            _ => return Err(WriteError::Kind(path.to_owned())),
        };
        let hasher = ContentHasher::new(ColumnLayout::encoded(encoding, k));
        Ok(Self { path: path.to_owned(), k, encoding, hasher, rows: 0, kinds: None, sink, beside: Vec::new() })
    }

    /// Adds rows.
    pub fn write(&mut self, block: ReleasedBlock<'_>) -> Result<(), WriteError> {
        let numbers;
        let block = match (&self.sink, block.ids) {
            (Sink::Start | Sink::Parquet(_), None) => {
                numbers = Column::Int((self.rows..).take(block.rows).map(|row| row as i64).collect());
                ReleasedBlock { ids: Some(&numbers), ..block }
            }
            _ => block,
        };
        let kinds = self.check(&block)?;
        if self.kinds.is_none() {
            self.start(kinds)?;
        }
        let ReleasedBlock { rows, bytes, ids, labels } = block;
        let (sink, path, hasher) = (&mut self.sink, &self.path, &mut self.hasher);
        let mut put = || sink.write(rows, bytes, ids, labels).map_err(|e| WriteError::io(path, &e));
        let mut hash = || hasher.update(rows, bytes, ids, labels);
        if bytes.len() < ALONE {
            put()?;
            hash();
        } else {
            parallel::run(|| rayon::join(put, hash)).0?; // a file of Parquet hashes itself as well
        }
        self.rows += rows as u64;
        Ok(())
    }

    /// The same with public files beside it, `OUT.bins` and the like, that its certificate names by their hash.
    pub fn with_beside(mut self, files: Vec<(&'static str, Vec<u8>)>) -> Result<Self, WriteError> {
        for (kind, content) in files {
            let place = place_beside(&self.path, kind);
            let mut pending = Pending::create(&place)?;
            pending.write_all(&content).map_err(|e| WriteError::io(&place, &e))?;
            self.beside.push(pending);
        }
        Ok(self)
    }

    /// The hashes of the rows written so far.
    pub fn hashes(&self) -> ContentHashes {
        self.hasher.clone().finish()
    }

    /// Completes the output with the certificate made for these hashes, and gives it its name.
    pub fn finish(self, make_certificate: impl FnOnce(ContentHashes) -> String) -> Result<(), WriteError> {
        let Self { path, k, encoding, hasher, rows, sink, beside, .. } = self;
        let fault = |e: io::Error| WriteError::io(&path, &e);
        let files = match sink {
            Sink::Start => return Err(WriteError::Block("a release without rows")),
            Sink::Parquet(writer) => {
                let certificate = make_certificate(hasher.finish());
                let file = writer.finish(&[(CERTIFICATE_KEY, &certificate), (SEAL_KEY, BLANK)]).map_err(fault)?;
                vec![file.seal().map_err(fault)?]
            }
            Sink::Npy { sketches, mut certificate, columns } => {
                if rows == 0 {
                    return Err(WriteError::Block("a release without rows"));
                }
                certificate.write_all(make_certificate(hasher.finish()).as_bytes()).map_err(fault)?;
                let mut files = vec![certificate];
                for column in columns.into_iter().flatten() {
                    files.push(column.finish(rows).map_err(fault)?);
                }
                let (descr, width) = match encoding {
                    Encoding::F32 => ("<f4", k),
                    Encoding::I16 => ("<i2", k),
                    Encoding::B8 => ("|i1", k),
                    Encoding::B4 | Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => {
                        ("|u1", encoding.bytes_per_row(k))
                    }
                };
                files.push(with_header(sketches, &npy::header(descr, &[rows, width as u64])).map_err(fault)?);
                files
            }
        };
        atomic::publish(beside.into_iter().chain(files).collect())
    }

    /// The kinds of the ids and labels, which must stay the same from block to block.
    fn check(&self, block: &ReleasedBlock<'_>) -> Result<[Option<ColumnKind>; 2], WriteError> {
        if block.bytes.len() != block.rows * self.encoding.bytes_per_row(self.k) {
            return Err(WriteError::Block("bytes of a block do not fit its rows"));
        }
        for (column, name) in [(block.ids, "id"), (block.labels, "label")] {
            if column.is_some_and(|column| column.len() != block.rows) {
                return Err(WriteError::Block("ids or labels do not fit the rows"));
            }
            check_text(column, name, self.rows)?;
        }
        let kinds = [block.ids, block.labels].map(|column| column.map(Column::kind));
        if kinds[0] == Some(ColumnKind::Float) || self.kinds.is_some_and(|before| before != kinds) {
            return Err(WriteError::Block("ids or labels change their kind"));
        }
        Ok(kinds)
    }

    /// Opens what depends on the kinds of ids and labels.
    fn start(&mut self, kinds: [Option<ColumnKind>; 2]) -> Result<(), WriteError> {
        self.kinds = Some(kinds);
        match &mut self.sink {
            Sink::Npy { columns, .. } => {
                for ((column, kind), ending) in columns.iter_mut().zip(kinds).zip([".ids.npy", ".labels.npy"]) {
                    *column = kind.map(|kind| NpyColumn::create(&sidecar(&self.path, ending), kind)).transpose()?;
                }
            }
            Sink::Start => {
                let sketch = stored(self.encoding, self.k);
                let file = Sealing::new(Pending::create(&self.path)?);
                let writer = FileWriter::new(file, sketch, kinds).map_err(|e| WriteError::io(&self.path, &e))?;
                self.sink = Sink::Parquet(Box::new(writer));
            }
            Sink::Parquet(_) => unreachable!("started once"),
        }
        Ok(())
    }
}

/// Text that no id or label has: lines and strings of numpy end at some, terminals obey others, and a quote that a text
/// file did not close has swallowed the end of its line. The first row has this number.
pub(super) fn check_text(column: Option<&Column>, name: &'static str, first_row: u64) -> Result<(), WriteError> {
    let Some(Column::Text(texts)) = column else { return Ok(()) };
    match texts.iter().position(|text| text.contains(is_unseen)) {
        Some(at) => Err(WriteError::Text { row: first_row + at as u64, column: name }),
        None => Ok(()),
    }
}

/// How Parquet stores a sketch.
pub(super) fn stored(encoding: Encoding, k: usize) -> Sketch {
    match encoding {
        Encoding::F32 => Sketch::Floats(k),
        Encoding::I16 => Sketch::Integers(k, 2),
        Encoding::B8 => Sketch::Integers(k, 1),
        Encoding::B4 | Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => {
            Sketch::Bytes(encoding.bytes_per_row(k))
        }
    }
}

/// `OUT.npy` and `.x` give `OUT.npy.x`, and so does the name of a folder with a slash at its end.
pub(super) fn sidecar(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.components().as_path());
    name.push(ending);
    name.into()
}

/// Where the public file of a release or a campaign is: `PATH.book` and the like.
pub(crate) fn place_beside(path: &Path, kind: &str) -> PathBuf {
    sidecar(path, &format!(".{kind}"))
}

/// Fills in the header, now that the number of rows is known.
fn with_header(file: BufWriter<Pending>, header: &[u8]) -> io::Result<Pending> {
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(header)?;
    Ok(file)
}

/// Ids or labels beside an `.npy` release. numpy gives all strings of an array the width of the longest, which is
/// known at the end: until then they wait, one per line, in a file without a name.
struct NpyColumn {
    kind: ColumnKind,
    file: BufWriter<Pending>,
    texts: BufWriter<File>,
    longest: usize,
}

impl NpyColumn {
    fn create(path: &Path, kind: ColumnKind) -> Result<Self, WriteError> {
        let fault = |e: io::Error| WriteError::io(path, &e);
        let mut file = BufWriter::new(Pending::create(path)?);
        file.write_all(&[0; npy::HEADER_BYTES]).map_err(fault)?;
        let texts = BufWriter::new(tempfile::tempfile_in(atomic::folder(path)).map_err(fault)?);
        Ok(Self { kind, file, texts, longest: 1 })
    }

    fn write(&mut self, column: &Column) -> io::Result<()> {
        match column {
            Column::Int(v) => v.iter().try_for_each(|x| self.file.write_all(&x.to_le_bytes())),
            Column::Float(v) => v.iter().try_for_each(|x| self.file.write_all(&x.to_le_bytes())),
            Column::Text(v) => v.iter().try_for_each(|text| {
                self.longest = self.longest.max(text.chars().count());
                writeln!(self.texts, "{text}")
            }),
        }
    }

    fn finish(mut self, rows: u64) -> io::Result<Pending> {
        let mut texts = self.texts.into_inner().map_err(io::IntoInnerError::into_error)?;
        texts.seek(SeekFrom::Start(0))?;
        for text in BufReader::new(texts).split(b'\n') {
            let text = String::from_utf8(text?).map_err(io::Error::other)?;
            let padding = std::iter::repeat('\0');
            for c in text.chars().chain(padding).take(self.longest) {
                self.file.write_all(&u32::from(c).to_le_bytes())?;
            }
        }
        with_header(self.file, &npy::header(&npy::column_descr(self.kind, self.longest), &[rows]))
    }
}
