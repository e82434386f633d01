//! Reading a release back, with the hashes of what is really there.

use super::array::{Array, Body, Element};
use super::error::{ReadError, ReadErrorKind};
use super::parquet::{self, Opened, SketchBlock, Sketches};
use super::writer::{CERTIFICATE_KEY, sidecar};
use super::{Format, npy};
use crate::certificate::{Content, ContentHasher, ContentHashes};
use crate::columns::{Column, Kind};
use crate::release::Release;
use rayon::prelude::*;
use scumble_core::error::ParameterError;
use std::fmt;
use std::path::{Path, PathBuf};

/// A release as it lies on disk. What its bytes mean is in the certificate.
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
    let ReleasedFile { certificate, bytes, ids, labels, hashes, .. } = read_release(path)?;
    let at = |fault| OpenError::Release { path: path.to_owned(), fault };
    let release = Release::from_parts(&certificate, bytes, ids, labels);
    let release = release.map_err(|error| at(ReleaseFault::Certificate(error)))?;
    match altered(&release.certificate().content, &hashes) {
        None => Ok(release),
        Some(what) => Err(at(ReleaseFault::Altered(what))),
    }
}

/// The first column whose hash is not the stated one.
pub(crate) fn altered(stated: &Content, found: &ContentHashes) -> Option<&'static str> {
    if stated.sketch != found.sketch {
        Some("sketches")
    } else if stated.ids != found.ids {
        Some("ids")
    } else if stated.labels != found.labels {
        Some("labels")
    } else {
        None
    }
}

/// Why a release cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
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

/// What is wrong with a release.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReleaseFault {
    /// The certificate is inconsistent, or does not fit the data.
    #[error(transparent)]
    Certificate(ParameterError),
    /// The data are not those that the certificate was made for.
    #[error("the {0} are not those that the certificate was made for; get the file again from its source")]
    Altered(&'static str),
}

fn assemble(
    certificate: String,
    bytes_per_row: usize,
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
) -> ReleasedFile {
    let rows = bytes.len() / bytes_per_row;
    let mut hasher = ContentHasher::default();
    hasher.update(rows, &bytes, ids.as_ref(), labels.as_ref());
    ReleasedFile { certificate, rows: rows as u64, bytes_per_row, bytes, ids, labels, hashes: hasher.finish() }
}

/// Reads the certificate of a release alone, without its data.
pub fn read_certificate(path: &Path) -> Result<String, ReadError> {
    let missing = || ReadError::new(path, ReadErrorKind::NoCertificate);
    match super::format(path, None)? {
        Format::Npy => beside(&[sidecar(path, ".certificate.json")])?.ok_or_else(missing),
        Format::Parquet => {
            let certificate = beside(&[path.join("certificate.json"), sidecar(path, ".certificate.json")])?;
            let first = parquet::files(path)?.remove(0);
            let inside = Opened::new(&first)?.metadata(CERTIFICATE_KEY);
            let certificate = if path.is_dir() { certificate.or(inside) } else { inside.or(certificate) };
            certificate.ok_or_else(missing)
        }
        _ => Err(ReadError::new(path, ReadErrorKind::NotARelease)),
    }
}

/// The first of these files that is there.
fn beside(places: &[PathBuf]) -> Result<Option<String>, ReadError> {
    match places.iter().find(|place| place.exists()) {
        Some(place) => std::fs::read_to_string(place).map(Some).map_err(|e| ReadError::io(place, &e)),
        None => Ok(None),
    }
}

/// The array of sketches, its rows and all its bytes.
fn open_npy(path: &Path) -> Result<(Array, u64, u64), ReadError> {
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
    let descr = match array.element {
        Element::F32 => "<f4",
        Element::I16 => "<i2",
        Element::I8 => "|i1",
        _ => "|u1",
    };
    if !npy::is_ours(path, descr, &array.shape) {
        return Err(ReadError::new(path, ReadErrorKind::NotARelease));
    }
    let total = super::array::total_bytes(path, &array.shape, array.element.size())?;
    Ok((array, rows, total))
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
    let (array, rows, total) = open_npy(path)?;
    let bytes = Body::read_whole(array.body, path, total)?;
    let [ids, labels] = [".ids.npy", ".labels.npy"].map(|ending| npy_column(path, ending, rows));
    let certificate = beside(&[sidecar(path, ".certificate.json")])?;
    let certificate = certificate.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoCertificate))?;
    Ok(assemble(certificate, (total / rows) as usize, bytes, ids?, labels?))
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

/// Hands the rows of a release over, a few pieces at a time, without holding more of them. Ids of an `.npy` come whole.
pub(crate) fn read_pieces<E: From<ReadError>>(
    path: &Path,
    mut each: impl FnMut(Vec<ReleasedPiece>) -> Result<(), Option<E>>,
) -> Result<(), Option<E>> {
    let fault = |error: ReadError| Some(E::from(error));
    match super::format(path, None).map_err(fault)? {
        Format::Npy => {
            let (array, rows, total) = open_npy(path).map_err(fault)?;
            let (width, mut left) = (total / rows, rows);
            let mut body = array.body.pieces(path, total).map_err(fault)?;
            while left > 0 {
                let rows = (PIECE_BYTES / width).clamp(1, left);
                let bytes = body.next(rows * width).map_err(fault)?;
                each(vec![ReleasedPiece { rows: rows as usize, bytes, ids: None, labels: None }])?;
                left -= rows;
            }
            body.end().map_err(fault)?;
            let [ids, labels] = [".ids.npy", ".labels.npy"].map(|ending| npy_column(path, ending, rows));
            let (ids, labels) = (ids.map_err(fault)?, labels.map_err(fault)?);
            each(vec![ReleasedPiece { rows: 0, bytes: Vec::new(), ids, labels }])
        }
        Format::Parquet => {
            let mut row = 0;
            for file in parquet::files(path).map_err(fault)? {
                let opened = Opened::new(&file).map_err(fault)?;
                let column = |name, is_id| opened.find(None, name)?.map(|at| opened.carried(at, is_id)).transpose();
                let (id, label) = (column("id", true).map_err(fault)?, column("label", false).map_err(fault)?);
                let mut sketches = Sketches::new(opened.clone(), id, label, row).map_err(fault)?;
                while let Some(blocks) = next_blocks(&mut sketches).map_err(fault)? {
                    row += blocks.iter().map(|block| block.rows as u64).sum::<u64>();
                    let piece = |SketchBlock { rows, bytes, ids, labels }| ReleasedPiece { rows, bytes, ids, labels };
                    each(blocks.into_iter().map(piece).collect())?;
                }
            }
            Ok(())
        }
        _ => Err(fault(ReadError::new(path, ReadErrorKind::NotARelease))),
    }
}

/// The next blocks of a file, decoded on all cores; none at its end.
fn next_blocks(sketches: &mut Sketches) -> Result<Option<Vec<SketchBlock>>, ReadError> {
    let mut pieces = Vec::new();
    while pieces.len() < 2 * rayon::current_num_threads()
        && let Some(piece) = sketches.next()?
    {
        pieces.push(piece);
    }
    let blocks = pieces.into_par_iter().map(|piece| piece.decode()).collect::<Result<Vec<_>, _>>()?;
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
    let files = parquet::files(path)?;
    let mut certificate = beside(&[path.join("certificate.json"), sidecar(path, ".certificate.json")])?;
    let mut rows = Rows::default();
    for (number, file) in files.iter().enumerate() {
        let opened = Opened::new(file)?;
        // What travels inside a single file is bound to it more closely than what lies beside it.
        if let Some(inside) = opened.metadata(CERTIFICATE_KEY).filter(|_| !path.is_dir() || certificate.is_none()) {
            certificate = Some(inside);
        }
        let id = opened.find(None, "id")?.map(|column| opened.carried(column, true)).transpose()?;
        let label = opened.find(None, "label")?.map(|column| opened.carried(column, false)).transpose()?;
        let kinds = [&id, &label].map(|column| column.as_ref().map(|column| column.kind));
        if number > 0 && rows.kinds() != kinds {
            let first = files[0].file_name().unwrap_or_default().to_string_lossy();
            return Err(ReadError::new(file, ReadErrorKind::SchemaDiffers(super::error::one_line(&first))));
        }
        if number == 0 {
            [rows.ids, rows.labels] = kinds.map(|kind| kind.map(Column::new));
        }
        rows.add_file(file, Sketches::new(opened, id, label, rows.len)?)?;
    }
    let certificate = certificate.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoCertificate))?;
    let width = rows.width.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoRows))?;
    Ok(assemble(certificate, width, rows.bytes, rows.ids, rows.labels))
}

/// Rows read so far.
#[derive(Default)]
struct Rows {
    len: u64,
    width: Option<usize>,
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
}

impl Rows {
    fn kinds(&self) -> [Option<Kind>; 2] {
        [&self.ids, &self.labels].map(|column| column.as_ref().map(Column::kind))
    }

    /// Adds all rows of a file, a few pieces at a time on all cores.
    fn add_file(&mut self, path: &Path, mut sketches: Sketches) -> Result<(), ReadError> {
        while let Some(blocks) = next_blocks(&mut sketches)? {
            blocks.into_iter().try_for_each(|block| self.add(path, block))?;
        }
        Ok(())
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
