//! Numeric arrays in a file: what `.npy` and IDX have in common once their headers are read.
//!
//! C order in a plain file is read batch by batch into buffers that are reused. Fortran order is
//! read in blocks of columns' pieces. Anything inside gzip is a stream.

use super::Source;
use super::batch::{Batch, Layout, Shared, Values};
use super::error::{ReadError, ReadErrorKind};
use super::input::{self, Pool, Stream};
use super::memory;
use crate::columns::Column;
use half::f16;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use zerocopy::{FromBytes, Immutable};

/// Fortran order inside gzip is held in memory up to this size: its first row ends where the file ends.
pub(super) const FORTRAN_GZIP_LIMIT: u64 = 256 << 20;

/// Bytes of a block of rows that is gathered from an array in Fortran order.
const FORTRAN_BLOCK: usize = 32 << 20;

/// The type of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

impl Element {
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Bytes to scalars, in place where alignment and byte order allow. Unsigned integers take the next wider signed
    /// type; `u64` above `i64::MAX` saturates, far outside every grid.
    pub(super) fn decode(self, bytes: Shared<u8>, big_endian: bool) -> Values {
        let swap = big_endian != cfg!(target_endian = "big");
        match self {
            Self::Bool => Values::U8(bytes.iter().map(|byte| u8::from(*byte != 0)).collect::<Vec<_>>().into()),
            Self::U8 => Values::U8(bytes),
            Self::I8 => Values::I8(Shared::cast(bytes)),
            Self::I16 => Values::I16(numbers(bytes, swap, i16::from_ne_bytes)),
            Self::I32 => Values::I32(numbers(bytes, swap, i32::from_ne_bytes)),
            Self::I64 => Values::I64(numbers(bytes, swap, i64::from_ne_bytes)),
            Self::F16 => Values::F16(numbers(bytes, swap, f16::from_ne_bytes)),
            Self::F32 => Values::F32(numbers(bytes, swap, f32::from_ne_bytes)),
            Self::F64 => Values::F64(numbers(bytes, swap, f64::from_ne_bytes)),
            Self::U16 => Values::I32(widened(&numbers(bytes, swap, u16::from_ne_bytes), i32::from)),
            Self::U32 => Values::I64(widened(&numbers(bytes, swap, u32::from_ne_bytes), i64::from)),
            Self::U64 => Values::I64(widened(&numbers(bytes, swap, u64::from_ne_bytes), saturate)),
        }
    }
}

pub(super) fn saturate(x: u64) -> i64 {
    i64::try_from(x).unwrap_or(i64::MAX)
}

fn widened<T: Copy, W: Send + Sync + 'static>(values: &[T], widen: fn(T) -> W) -> Shared<W> {
    values.iter().map(|x| widen(*x)).collect::<Vec<_>>().into()
}

fn numbers<T: FromBytes + Immutable + Send + Sync + 'static, const N: usize>(
    bytes: Shared<u8>,
    swap: bool,
    from: fn([u8; N]) -> T,
) -> Shared<T> {
    if !swap && bytes.as_ptr().align_offset(align_of::<T>()) == 0 {
        return Shared::cast(bytes);
    }
    let number = |chunk: &[u8]| {
        let mut number: [u8; N] = chunk.try_into().expect("chunks of N");
        if swap {
            number.reverse();
        }
        from(number)
    };
    bytes.chunks_exact(N).map(number).collect::<Vec<_>>().into()
}

/// An array whose header has been read: `body` begins with its first element.
pub(super) struct Array {
    pub(super) path: PathBuf,
    pub(super) element: Element,
    pub(super) big_endian: bool,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
    pub(super) body: Body,
}

/// Where the elements are.
pub(super) enum Body {
    File { file: File, offset: u64 },
    Gzip(Stream),
}

impl Body {
    /// Opens a file and hands its beginning to `header`; the elements begin where that stopped reading.
    pub(super) fn open<H>(
        path: &Path,
        header: impl FnOnce(&mut dyn Read) -> Result<H, ReadError>,
    ) -> Result<(H, Self), ReadError> {
        if input::is_gz(path) {
            let mut stream = input::open_stream(path)?;
            let header = header(&mut stream)?;
            return Ok((header, Self::Gzip(stream)));
        }
        let mut file = input::open_file(path)?;
        let header = header(&mut file)?;
        let offset = file.stream_position().map_err(|e| ReadError::io(path, &e))?;
        Ok((header, Self::File { file, offset }))
    }

    /// All `bytes` of the elements, and not one more.
    pub(super) fn read_whole(self, path: &Path, bytes: u64) -> Result<Vec<u8>, ReadError> {
        let mut all = Vec::new();
        match self {
            Self::File { file, .. } => {
                check_length(path, &file, None, bytes)?;
                all.reserve_exact(bytes as usize);
                memory::in_huge_pages(&mut all);
                read_up_to(path, &file, bytes, &mut all)?;
            }
            Self::Gzip(mut stream) => {
                read_up_to(path, &mut stream, bytes, &mut all)?;
                check_end(path, &mut stream)?;
            }
        }
        Ok(all)
    }

    /// The same, piece by piece.
    pub(super) fn pieces(self, path: &Path, bytes: u64) -> Result<Pieces<'_>, ReadError> {
        if let Self::File { file, .. } = &self {
            check_length(path, file, None, bytes)?;
        }
        Ok(Pieces { body: self, path })
    }
}

/// The elements of an array, piece by piece.
pub(super) struct Pieces<'a> {
    body: Body,
    path: &'a Path,
}

impl Pieces<'_> {
    /// The next `bytes` bytes.
    pub(super) fn next(&mut self, bytes: u64) -> Result<Vec<u8>, ReadError> {
        let mut out = Vec::new();
        match &mut self.body {
            Body::File { file, .. } => {
                out.reserve_exact(bytes as usize);
                read_up_to(self.path, &*file, bytes, &mut out)?;
            }
            Body::Gzip(stream) => read_up_to(self.path, stream, bytes, &mut out)?,
        }
        Ok(out)
    }

    /// Nothing may follow.
    pub(super) fn end(self) -> Result<(), ReadError> {
        match self.body {
            Body::File { .. } => Ok(()), // its length was checked
            Body::Gzip(mut stream) => check_end(self.path, &mut stream),
        }
    }
}

/// Reads the beginning of a header into `out`.
pub(super) fn read_header(path: &Path, stream: &mut dyn Read, out: &mut [u8]) -> Result<(), ReadError> {
    stream.read_exact(out).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::new(path, ReadErrorKind::HeaderTruncated),
        _ => ReadError::io(path, &e),
    })
}

/// Appends `bytes` bytes. Space grows with what is really there, so a false header cannot claim memory.
fn read_up_to(path: &Path, stream: impl Read, bytes: u64, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let found = stream.take(bytes).read_to_end(out).map_err(|e| ReadError::io(path, &e))? as u64;
    if found < bytes {
        return Err(ReadError::new(path, ReadErrorKind::Truncated { expected: bytes, found }));
    }
    Ok(())
}

fn check_end(path: &Path, stream: &mut Stream) -> Result<(), ReadError> {
    match stream.read(&mut [0]).map_err(|e| ReadError::io(path, &e))? {
        0 => Ok(()),
        _ => Err(ReadError::new(path, ReadErrorKind::TrailingBytes)),
    }
}

/// The elements of a plain file, from `offset` (or the current position) to its end, must take `bytes`.
fn check_length(path: &Path, mut file: &File, offset: Option<u64>, bytes: u64) -> Result<(), ReadError> {
    let fault = |e: &io::Error| ReadError::io(path, e);
    let offset = offset.map_or_else(|| file.stream_position().map_err(|e| fault(&e)), Ok)?;
    let found = file.metadata().map_err(|e| fault(&e))?.len().saturating_sub(offset);
    match found.cmp(&bytes) {
        std::cmp::Ordering::Less => Err(ReadError::new(path, ReadErrorKind::Truncated { expected: bytes, found })),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(ReadError::new(path, ReadErrorKind::TrailingBytes)),
    }
}

/// Product of the axes times the size of an element, if any file could hold it.
pub(super) fn total_bytes(path: &Path, shape: &[u64], size: usize) -> Result<u64, ReadError> {
    let total = shape.iter().try_fold(size as u64, |total, axis| total.checked_mul(*axis));
    total.filter(|t| i64::try_from(*t).is_ok()).ok_or_else(|| ReadError::new(path, ReadErrorKind::TooLarge))
}

impl Array {
    /// Rows are the first axis; all further axes are flattened into columns.
    pub(super) fn into_source(self, dim: Option<usize>) -> Result<Box<dyn Source>, ReadError> {
        let fault = |kind| Err(ReadError::new(&self.path, kind));
        let bytes = total_bytes(&self.path, &self.shape, self.element.size())?;
        let rows = self.shape[0];
        let width = total_bytes(&self.path, &self.shape[1..], 1)? as usize; // checked by itself: no rows would hide it
        if width == 0 {
            return fault(ReadErrorKind::NoColumns);
        }
        if rows == 0 {
            return fault(ReadErrorKind::NoRows);
        }
        if let Some(expected) = dim.filter(|d| *d != width) {
            return fault(ReadErrorKind::Dimension { found: width as u64, expected: expected as u64 });
        }
        let state = match self.body {
            Body::File { file, offset } => {
                check_length(&self.path, &file, Some(offset), bytes)?;
                if self.fortran && rows > 1 && width > 1 {
                    State::Columns { file, offset, block: None }
                } else {
                    State::Plain { file, pool: Pool::default() }
                }
            }
            Body::Gzip(stream) if self.fortran && rows > 1 && width > 1 => {
                if bytes > FORTRAN_GZIP_LIMIT {
                    return fault(ReadErrorKind::FortranGzip { bytes, limit: FORTRAN_GZIP_LIMIT });
                }
                let all = Body::Gzip(stream).read_whole(&self.path, bytes)?;
                let values = self.element.decode(Shared::from(all), self.big_endian);
                State::Whole(FortranRows { values, first: 0, rows: rows as usize })
            }
            Body::Gzip(stream) => State::Stream(stream),
        };
        let shape = Shape { element: self.element, big_endian: self.big_endian, rows, dim: width };
        Ok(Box::new(ArraySource { path: self.path, shape, next: 0, state }))
    }

    /// A one-axis array (or one column) as labels or ids.
    pub(super) fn into_column(self) -> Result<Column, ReadError> {
        if self.shape.len() != 1 && (self.shape.len() != 2 || self.shape[1] != 1) {
            return Err(ReadError::new(&self.path, ReadErrorKind::NotAColumn(self.shape.len())));
        }
        let bytes = total_bytes(&self.path, &self.shape, self.element.size())?;
        let all = Shared::from(self.body.read_whole(&self.path, bytes)?);
        let column = match self.element.decode(all, self.big_endian) {
            Values::F16(v) => Column::Float(v.iter().map(|x| x.to_f64()).collect()),
            Values::F32(v) => Column::Float(v.iter().map(|x| f64::from(*x)).collect()),
            Values::F64(v) => Column::Float(v.to_vec()),
            Values::U8(v) => Column::Int(v.iter().map(|x| i64::from(*x)).collect()),
            Values::I8(v) => Column::Int(v.iter().map(|x| i64::from(*x)).collect()),
            Values::I16(v) => Column::Int(v.iter().map(|x| i64::from(*x)).collect()),
            Values::I32(v) => Column::Int(v.iter().map(|x| i64::from(*x)).collect()),
            Values::I64(v) => Column::Int(v.to_vec()),
        };
        if let (Element::U64, Column::Int(v)) = (self.element, &column)
            && let Some(row) = v.iter().position(|x| *x == i64::MAX)
        {
            return Err(ReadError::new(&self.path, ReadErrorKind::IntegerRange).at_row(row as u64));
        }
        Ok(column)
    }
}

struct ArraySource {
    path: PathBuf,
    shape: Shape,
    next: u64,
    state: State,
}

#[derive(Clone, Copy)]
struct Shape {
    element: Element,
    big_endian: bool,
    rows: u64,
    dim: usize,
}

enum State {
    Plain { file: File, pool: Pool }, // stands at the next row
    Columns { file: File, offset: u64, block: Option<FortranRows> },
    Whole(FortranRows),
    Stream(Stream),
}

/// Rows in Fortran order: column j is at `j*rows`.
struct FortranRows {
    values: Values,
    first: u64,
    rows: usize,
}

impl FortranRows {
    fn end(&self) -> u64 {
        self.first + self.rows as u64
    }

    fn batch(&self, first_row: u64, max_rows: usize, dim: usize) -> Batch {
        let start = (first_row - self.first) as usize;
        let len = max_rows.min(self.rows - start);
        let values = self.values.slice(start, self.rows * dim - start);
        let layout = Layout::Dense { row_stride: 1, column_stride: self.rows };
        Batch { first_row, len, dim, values, layout, ids: None, labels: None, persons: None }
    }
}

impl Shape {
    fn row_bytes(&self) -> usize {
        self.dim * self.element.size()
    }

    fn decode(&self, bytes: Shared<u8>) -> Values {
        self.element.decode(bytes, self.big_endian)
    }

    /// Gathers a block of rows from `first` on, one piece of every column.
    fn gather(&self, mut file: &File, offset: u64, first: u64) -> io::Result<FortranRows> {
        let rows = (FORTRAN_BLOCK / self.row_bytes()).max(1).min((self.rows - first) as usize);
        let size = self.element.size();
        let mut bytes = vec![0; rows * self.row_bytes()];
        for (j, piece) in bytes.chunks_exact_mut(rows * size).enumerate() {
            let at = offset + (j as u64 * self.rows + first) * size as u64;
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(piece)?;
        }
        Ok(FortranRows { values: self.decode(Shared::from(bytes)), first, rows })
    }
}

impl Source for ArraySource {
    fn dim(&self) -> usize {
        self.shape.dim
    }

    fn rows_hint(&self) -> Option<u64> {
        Some(self.shape.rows)
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>, ReadError> {
        let Self { path, shape, next: first, state } = self;
        let (first, left) = (*first, shape.rows - *first);
        if left == 0 {
            return Ok(None);
        }
        let max_rows = max_rows.max(1);
        let row_bytes = shape.row_bytes();
        let len = input::batch_rows(max_rows, row_bytes).min(usize::try_from(left).unwrap_or(usize::MAX));
        let fault = |e: &io::Error| ReadError::io(path, e).at_row(first);
        let batch = match state {
            State::Plain { file, pool } => {
                let bytes = pool.read(&*file, len * row_bytes).map_err(|e| match e.kind() {
                    io::ErrorKind::UnexpectedEof => ReadError::new(path, ReadErrorKind::Changed).at_row(first),
                    _ => fault(&e),
                })?;
                Batch::dense(first, shape.dim, shape.decode(bytes))
            }
            State::Stream(stream) => {
                let mut bytes = Vec::with_capacity((len * row_bytes).min(input::BATCH_BYTES));
                read_up_to(path, &mut *stream, (len * row_bytes) as u64, &mut bytes).map_err(|mut e| {
                    let at = first * row_bytes as u64 + bytes.len() as u64;
                    if let ReadErrorKind::Truncated { expected, found } = &mut e.kind {
                        (*expected, *found) = (shape.rows * row_bytes as u64, at);
                    }
                    e.at_row(at / row_bytes as u64)
                })?;
                if len as u64 == left {
                    check_end(path, stream)?;
                }
                Batch::dense(first, shape.dim, shape.decode(Shared::from(bytes)))
            }
            State::Whole(block) => block.batch(first, max_rows, shape.dim),
            State::Columns { file, offset, block } => {
                if block.as_ref().is_none_or(|block| block.end() == first) {
                    *block = None; // frees it before the next one is made
                    *block = Some(shape.gather(file, *offset, first).map_err(|e| fault(&e))?);
                }
                block.as_ref().expect("gathered above").batch(first, max_rows, shape.dim)
            }
        };
        self.next += batch.len as u64;
        Ok(Some(batch))
    }
}
