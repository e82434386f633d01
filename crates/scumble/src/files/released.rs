//! Reading a release back, with the hashes of what is really there.

use super::array::{Array, Body, Element};
use super::error::{ReadError, ReadErrorKind};
use super::parquet::{self, Found, Opened, SketchBlock, SketchPiece, Sketches};
use super::public::add_public;
use super::writer::{CERTIFICATE_KEY, place_beside, sidecar};
use super::{Format, folder, npy};
use crate::certificate::{ColumnLayout, Content, ContentHasher, ContentHashes, hex};
use crate::columns::{Column, ElementType};
use crate::error::{Fault, Kind, LibraryError};
use crate::release::Release;
use rayon::prelude::*;
use scumble_core::mechanism::{Beside, Mechanism};
use scumble_core::parallel;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A release as stored on disk. What its bytes mean is in the certificate.
#[derive(Clone, PartialEq)]
pub struct ReleasedFile {
    /// The certificate, JSON as it was written.
    pub certificate: String,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of one sketch.
    pub bytes_per_row: usize,
    /// All sketches, little-endian.
    pub bytes: Vec<u8>,
    /// Ids, if the release has any.
    pub ids: Option<Column>,
    /// Labels, if the release has any.
    pub labels: Option<Column>,
    /// Computed from the above.
    pub hashes: ContentHashes,
}

impl fmt::Debug for ReleasedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleasedFile({} x {} bytes)", self.rows, self.bytes_per_row)
    }
}

/// Reads a release: `.npy` with its sidecars, `.parquet`, or a folder of Parquet files with `certificate.json` in it
/// (or `FOLDER.certificate.json` beside it), as Spark writes them.
pub fn read_release(path: &Path) -> Result<ReleasedFile, ReadError> {
    match super::format(path, None)? {
        Format::Npy => read_npy(path),
        Format::Parquet => read_parquet(path),
        _ => Err(ReadError::new(path, ReadErrorKind::NotARelease)),
    }
}

/// Opens a release for use. Its certificate must follow from its parameters, and its data must be what the certificate
/// was made for: nothing else is ever handed out.
pub fn open_release(path: &Path) -> Result<Release, OpenError> {
    open_release_with(path, &Beside::default())
}

/// The same with public files that the certificate names by their hash and that are not stored beside the release.
pub fn open_release_with(path: &Path, given: &Beside) -> Result<Release, OpenError> {
    let ReleasedFile { certificate, bytes, ids, labels, hashes, .. } = read_release(path)?;
    let at = |fault| OpenError::Release { path: path.to_owned(), fault };
    let beside = beside_release(path, given)?;
    let release = Release::from_parts_with(&certificate, &beside, bytes, ids, labels);
    let release = release.map_err(|error| at(ReleaseFault::Certificate(error)))?;
    match altered(&release.certificate().content, &hashes) {
        None => Ok(release),
        Some(what) => Err(at(ReleaseFault::Altered(what))),
    }
}

/// The public files that are stored beside a release or a campaign, and those that were given.
pub fn beside_release(path: &Path, given: &Beside) -> Result<Beside, ReadError> {
    let mut beside = given.clone();
    for kind in ["bins", "components", "book"] {
        let place = place_beside(path, kind);
        if place.is_file() {
            add_public(&place, &mut beside)?;
        }
    }
    Ok(beside)
}

/// The first column whose hash is not the stated one.
pub(crate) fn altered(stated: &Content, found: &ContentHashes) -> Option<&'static str> {
    if stated.sketch != found.sketch {
        Some("sketches")
    } else if stated.ids != found.ids {
        Some("ids")
    } else if stated.labels != found.labels {
        Some("labels")
    } else if stated.layout != found.layout {
        Some("columns")
    } else {
        None
    }
}

/// Why a release cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It can, but it is not what it says.
    #[error("{}: {fault}", path.display())]
    Release {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: ReleaseFault,
    },
}

impl Fault for OpenError {
    fn kind(&self) -> Kind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Release { .. } => Kind::Certificate,
        }
    }
}

/// What is wrong with a release.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseFault {
    /// The certificate is inconsistent, or does not fit the data.
    #[error(transparent)]
    Certificate(LibraryError),
    /// The data are not those that the certificate was made for.
    #[error("the {0} are not those that the certificate was made for; get the file again from its source")]
    Altered(&'static str),
}

fn assemble(
    path: &Path,
    certificate: String,
    (element, bytes_per_row): (ElementType, usize),
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
) -> Result<ReleasedFile, ReadError> {
    let rows = bytes.len() / bytes_per_row;
    check_text(path, ids.as_ref(), labels.as_ref())?;
    let mut hasher = ContentHasher::new(ColumnLayout::sketch(element, bytes_per_row / element.size()));
    hasher.update(rows, &bytes, ids.as_ref(), labels.as_ref());
    Ok(ReleasedFile { certificate, rows: rows as u64, bytes_per_row, bytes, ids, labels, hashes: hasher.finish() })
}

/// An entry ends at a line break in its hash, so one within an entry would move a border unseen.
fn check_text(path: &Path, ids: Option<&Column>, labels: Option<&Column>) -> Result<(), ReadError> {
    for (name, column) in [("id", ids), ("label", labels)] {
        if let Some(Column::Text(texts)) = column
            && let Some(row) = texts.iter().position(|text| text.contains(['\n', '\0']))
        {
            return Err(ReadError::new(path, ReadErrorKind::ReleasedText).at_row(row as u64).at_column(name));
        }
    }
    Ok(())
}

/// Reads the certificate of a release alone, without its data.
pub fn read_certificate(path: &Path) -> Result<String, ReadError> {
    let missing = || ReadError::new(path, ReadErrorKind::NoCertificate);
    match super::format(path, None)? {
        Format::Npy => beside(&[sidecar(path, ".certificate.json")])?.ok_or_else(missing),
        Format::Parquet => {
            let certificate = beside(&[path.join("certificate.json"), sidecar(path, ".certificate.json")])?;
            let first = folder::files(path)?.remove(0);
            let inside = Opened::new(&first)?.metadata(CERTIFICATE_KEY);
            let certificate = if path.is_dir() { certificate.or(inside) } else { inside.or(certificate) };
            certificate.ok_or_else(missing)
        }
        _ => Err(ReadError::new(path, ReadErrorKind::NotARelease)),
    }
}

/// The first of these files that exists.
fn beside(places: &[PathBuf]) -> Result<Option<String>, ReadError> {
    match places.iter().find(|place| place.exists()) {
        Some(place) => std::fs::read_to_string(place).map(Some).map_err(|e| ReadError::io(place, &e)),
        None => Ok(None),
    }
}

/// The array of sketches, the type of its elements, its rows and all its bytes.
fn open_npy(path: &Path) -> Result<(Array, ElementType, u64, u64), ReadError> {
    let array = npy::open(path)?;
    let little = !array.big_endian || array.element.size() == 1;
    if !matches!(array.element, Element::F32 | Element::I16 | Element::I8 | Element::U8) || !little || array.fortran {
        return Err(ReadError::new(path, ReadErrorKind::NotARelease));
    }
    let [rows, width] = array.shape[..] else { unreachable!("a matrix") };
    if rows == 0 || width == 0 {
        let kind = if rows == 0 { ReadErrorKind::NoRows } else { ReadErrorKind::NoColumns };
        return Err(ReadError::new(path, kind));
    }
    let (descr, element) = match array.element {
        Element::F32 => ("<f4", ElementType::Float32),
        Element::I16 => ("<i2", ElementType::Int16),
        Element::I8 => ("|i1", ElementType::Int8),
        _ => ("|u1", ElementType::Bytes),
    };
    if !npy::is_ours(path, descr, &array.shape) {
        return Err(ReadError::new(path, ReadErrorKind::NotARelease));
    }
    let total = super::array::total_bytes(path, &array.shape, array.element.size())?;
    Ok((array, element, rows, total))
}

/// The column beside the sketches, if there is one.
fn npy_column(path: &Path, ending: &str, rows: u64) -> Result<Option<Column>, ReadError> {
    let beside = sidecar(path, ending);
    if !beside.exists() {
        return Ok(None);
    }
    let column = npy::read_column(&beside)?;
    let longest = match &column {
        Column::Text(texts) => texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1),
        _ => 0,
    };
    if !npy::is_ours(&beside, &npy::column_descr(column.kind(), longest), &[column.len() as u64]) {
        return Err(ReadError::new(&beside, ReadErrorKind::NotARelease));
    }
    if column.len() as u64 != rows {
        let kind = ReadErrorKind::Count { found: column.len() as u64, expected: rows };
        return Err(ReadError::new(&beside, kind));
    }
    Ok(Some(column))
}

fn read_npy(path: &Path) -> Result<ReleasedFile, ReadError> {
    let (array, element, rows, total) = open_npy(path)?;
    let bytes = Body::read_whole(array.body, path, total)?;
    let [ids, labels] = [".ids.npy", ".labels.npy"].map(|ending| npy_column(path, ending, rows));
    let certificate = beside(&[sidecar(path, ".certificate.json")])?;
    let certificate = certificate.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoCertificate))?;
    assemble(path, certificate, (element, (total / rows) as usize), bytes, ids?, labels?)
}

/// Some rows of a release, in order; or ids and labels of rows that came before.
pub(crate) struct ReleasedPiece {
    pub(crate) rows: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) ids: Option<Column>,
    pub(crate) labels: Option<Column>,
}

/// Bytes of sketches that are read at a time.
const PIECE_BYTES: u64 = 4 << 20;

/// Hands over the rows of a release with the type of their elements, a few pieces at a time, without holding more of
/// them; gives the number of files. Columns, notes and texts follow the same rules as when a release is read whole.
/// Ids of an `.npy` come at the end.
pub(crate) fn read_pieces<E: From<ReadError>>(
    path: &Path,
    mut each: impl FnMut(ElementType, Vec<ReleasedPiece>) -> Result<(), Option<E>>,
) -> Result<u64, Option<E>> {
    let fault = |error: ReadError| Some(E::from(error));
    match super::format(path, None).map_err(fault)? {
        Format::Npy => {
            let (array, element, rows, total) = open_npy(path).map_err(fault)?;
            let (width, mut left) = (total / rows, rows);
            let mut body = array.body.pieces(path, total).map_err(fault)?;
            while left > 0 {
                let rows = (PIECE_BYTES / width).clamp(1, left);
                let bytes = body.next(rows * width).map_err(fault)?;
                each(element, vec![ReleasedPiece { rows: rows as usize, bytes, ids: None, labels: None }])?;
                left -= rows;
            }
            body.end().map_err(fault)?;
            let [ids, labels] = [".ids.npy", ".labels.npy"].map(|ending| npy_column(path, ending, rows));
            let (ids, labels) = (ids.map_err(fault)?, labels.map_err(fault)?);
            check_text(path, ids.as_ref(), labels.as_ref()).map_err(fault)?;
            each(element, vec![ReleasedPiece { rows: 0, bytes: Vec::new(), ids, labels }])?;
            Ok(1)
        }
        Format::Parquet => {
            if path.is_dir() {
                parquet::check_folder(path).map_err(fault)?;
            }
            let files = folder::files(path).map_err(fault)?;
            let (mut row, mut first) = (0, None);
            for file in &files {
                let opened = Opened::new(file).map_err(fault)?;
                let columns = opened.check_notes().and_then(|()| opened.released()).map_err(fault)?;
                if *first.get_or_insert(columns) != columns {
                    let kind = ReadErrorKind::SchemaDiffers("the first file".to_owned());
                    return Err(fault(ReadError::new(file, kind)));
                }
                let column = |name, is_id| opened.find(None, name)?.map(|at| opened.carried(at, is_id)).transpose();
                let (id, label) = (column("id", true).map_err(fault)?, column("label", false).map_err(fault)?);
                let mut sketches = Sketches::new(opened.clone(), id, label, row).map_err(fault)?;
                while let Some(blocks) = next_blocks(&mut sketches).map_err(fault)? {
                    for block in &blocks {
                        check_text(file, block.ids.as_ref(), block.labels.as_ref()).map_err(fault)?;
                        row += block.rows as u64;
                    }
                    let piece = |SketchBlock { rows, bytes, ids, labels }| ReleasedPiece { rows, bytes, ids, labels };
                    each(columns.sketch, blocks.into_iter().map(piece).collect())?;
                }
            }
            Ok(files.len() as u64)
        }
        _ => Err(fault(ReadError::new(path, ReadErrorKind::NotARelease))),
    }
}

/// The next blocks of a file, decoded on all cores; none at its end.
fn next_blocks(sketches: &mut Sketches) -> Result<Option<Vec<SketchBlock>>, ReadError> {
    let mut pieces = Vec::new();
    while pieces.len() < 2 * parallel::threads()
        && let Some(piece) = sketches.next()?
    {
        pieces.push(piece);
    }
    let decode = || pieces.into_par_iter().map(SketchPiece::decode).collect::<Result<Vec<_>, _>>();
    let blocks = parallel::run(decode)?;
    Ok((!blocks.is_empty()).then_some(blocks))
}

/// The releases that a path stands for: itself, or those in a folder that is not one release.
pub(crate) fn released_files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let one = [path.join("certificate.json"), sidecar(path, ".certificate.json")].iter().any(|place| place.exists());
    if one || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let fault = |e: std::io::Error| ReadError::io(path, &e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fault)? {
        let file = entry.map_err(fault)?.path();
        let is = |ending: &str| file.to_string_lossy().ends_with(ending);
        if is(".parquet") || is(".npy") && !is(".ids.npy") && !is(".labels.npy") {
            found.push(file);
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(ReadError::new(path, ReadErrorKind::NotARelease)),
        false => Ok(found),
    }
}

fn read_parquet(path: &Path) -> Result<ReleasedFile, ReadError> {
    if path.is_dir() {
        parquet::check_folder(path)?;
    }
    let files = folder::files(path)?;
    let mut certificate = beside(&[path.join("certificate.json"), sidecar(path, ".certificate.json")])?;
    let mut rows = Rows::default();
    for file in &files {
        let opened = Opened::new(file)?;
        // What travels inside a single file is bound to it more closely than what is stored beside it.
        if let Some(inside) = opened.metadata(CERTIFICATE_KEY).filter(|_| !path.is_dir() || certificate.is_none()) {
            certificate = Some(inside);
        }
        rows.read(file, opened, |_| ())?;
    }
    let certificate = certificate.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoCertificate))?;
    let (sketch, width) = rows.sketch(path)?;
    let mut file = assemble(path, certificate, (sketch, width), rows.bytes, rows.ids, rows.labels)?;
    file.hashes.layout.files = files.len() as u64;
    if !path.is_dir() {
        Opened::new(path)?.check_arrow_schema(&file.hashes.layout.columns)?;
    }
    Ok(file)
}

/// Hashes released Parquet files, one after the other in the order in which they will be read, for one certificate of all.
pub struct FilesHasher {
    mechanism: String,
    rows: Rows,
    hasher: Option<ContentHasher>,
    files: u64,
}

impl fmt::Debug for FilesHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilesHasher({} files)", self.files)
    }
}

impl FilesHasher {
    /// For files whose rows this mechanism has made: they carry its digest under [`MECHANISM_KEY`](super::MECHANISM_KEY).
    pub fn new(mechanism: &Mechanism) -> Self {
        Self { mechanism: hex(&mechanism.digest()), rows: Rows::default(), hasher: None, files: 0 }
    }

    /// Takes in the next file, a batch at a time.
    pub fn add(&mut self, path: &Path) -> Result<(), ReadError> {
        let hasher = &mut self.hasher;
        let mut fault = None;
        let opened = Opened::new(path)?;
        opened.check_mechanism(&self.mechanism)?;
        self.rows.read(path, opened, |rows| {
            let hashed = rows.sketch(path).and_then(|(element, width)| {
                check_text(path, rows.ids.as_ref(), rows.labels.as_ref())?;
                let layout = ColumnLayout::sketch(element, width / element.size());
                let hasher = hasher.get_or_insert_with(|| ContentHasher::new(layout));
                hasher.update(rows.bytes.len() / width, &rows.bytes, rows.ids.as_ref(), rows.labels.as_ref());
                Ok(())
            });
            fault = fault.take().or(hashed.err());
            rows.clear();
        })?;
        self.files += 1;
        fault.map_or(Ok(()), Err)
    }

    /// The hashes of all rows; `None` if there were none.
    pub fn finish(self) -> Option<ContentHashes> {
        let mut hashes = self.hasher?.finish();
        hashes.layout.files = self.files;
        Some(hashes)
    }
}

/// Rows read so far.
#[derive(Default)]
struct Rows {
    columns: Option<Found>,
    len: u64,
    width: Option<usize>,
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
}

impl Rows {
    /// Adds all rows of a file, a few pieces at a time on all cores; `each` is called after every few.
    fn read(&mut self, file: &Path, opened: Arc<Opened>, mut each: impl FnMut(&mut Self)) -> Result<(), ReadError> {
        opened.check_notes()?;
        let columns = opened.released()?;
        if self.columns.is_some_and(|first| first != columns) {
            return Err(ReadError::new(file, ReadErrorKind::SchemaDiffers("the first file".to_owned())));
        }
        if self.columns.replace(columns).is_none() {
            let empty = |element: Option<ElementType>| element.and_then(Column::empty);
            (self.ids, self.labels) = (empty(columns.ids), empty(columns.labels));
        }
        let id = opened.find(None, "id")?.map(|column| opened.carried(column, true)).transpose()?;
        let label = opened.find(None, "label")?.map(|column| opened.carried(column, false)).transpose()?;
        let mut sketches = Sketches::new(opened, id, label, self.len)?;
        while let Some(blocks) = next_blocks(&mut sketches)? {
            blocks.into_iter().try_for_each(|block| self.add(file, block))?;
            each(self);
        }
        Ok(())
    }

    /// Type of the sketch's elements, and its bytes per row.
    fn sketch(&self, path: &Path) -> Result<(ElementType, usize), ReadError> {
        let sketch = self.columns.map(|columns| columns.sketch).zip(self.width);
        sketch.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoRows))
    }

    /// Forgets the rows, but not what they are.
    fn clear(&mut self) {
        self.bytes.clear();
        for column in [&mut self.ids, &mut self.labels].into_iter().flatten() {
            *column = column.slice(0..0);
        }
    }

    fn add(&mut self, path: &Path, block: SketchBlock) -> Result<(), ReadError> {
        let SketchBlock { rows, bytes, ids, labels } = block;
        let found = bytes.len() / rows;
        let width = *self.width.get_or_insert(found);
        if width != found {
            let kind = ReadErrorKind::Dimension { found: found as u64, expected: width as u64 };
            return Err(ReadError::new(path, kind).at_row(self.len).at_column("sketch"));
        }
        self.bytes.extend(bytes);
        for (all, more) in [(&mut self.ids, ids), (&mut self.labels, labels)] {
            if let (Some(all), Some(more)) = (all, more) {
                assert!(all.append(more), "kinds were compared");
            }
        }
        self.len += rows as u64;
        Ok(())
    }
}
