//! Opening a file, plain or through gzip, and reading it into buffers that are reused.

use super::batch::Shared;
use super::error::{ReadError, ReadErrorKind};
use flate2::bufread::GzDecoder;
use scumble_core::simd::Aligned;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A forward-only stream of a file's contents.
pub(super) type Stream = Box<dyn Read + Send>;

/// Most bytes that a batch takes in memory, unless a single row is larger.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// Most bytes of one row of a text file.
pub(super) const ROW_LIMIT: u64 = 256 << 20;

/// Rows of `row_bytes` that go into one batch.
pub(super) fn batch_rows(max_rows: usize, row_bytes: usize) -> usize {
    max_rows.min(BATCH_BYTES / row_bytes.max(1)).max(1)
}

pub(super) fn is_gz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Opens a regular file.
pub(super) fn open_file(path: &Path) -> Result<File, ReadError> {
    let io = |e| ReadError::io(path, &e);
    let is_file = |metadata: Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(ReadError::new(path, ReadErrorKind::NotAFile)),
    };
    is_file(std::fs::metadata(path).map_err(io)?)?; // to open a pipe would wait for whoever writes it
    let file = File::open(path).map_err(io)?;
    is_file(file.metadata().map_err(io)?)?;
    Ok(file)
}

/// The contents from the beginning, decompressed if the name ends in `.gz`.
pub(super) fn open_stream(path: &Path) -> Result<Stream, ReadError> {
    let file = open_file(path)?;
    Ok(if is_gz(path) { Box::new(Gzip::new(file)) } else { Box::new(file) })
}

/// Reads exactly `out`, from a place of its own: many can read one file at once.
pub(super) fn read_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, out, at);
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < out.len() {
            match std::os::windows::fs::FileExt::seek_read(file, &mut out[done..], at + done as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => done += read,
            }
        }
        Ok(())
    }
}

/// Buffers that files are read into, reused once nobody needs their content: fresh pages cost more than the reading
/// itself, and a buffer that was just filled is still in the cache when its rows are taken.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool(Arc<Mutex<Vec<Aligned<u8>>>>);

/// A buffer on loan. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lent {
    bytes: Aligned<u8>,
    home: Pool,
}

impl Lent {
    /// The bytes for all who need them; the buffer goes back when the last is done.
    pub(super) fn share(self) -> Shared<u8> {
        Shared::new(self)
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Deref for Lent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // One page or batch per thread and a few more are in use at a time. Of the large ones, at most one is kept.
        if let Ok(mut free) = self.home.0.lock()
            && (free.is_empty() || free.len() < MOST_FREE && self.bytes.len() <= LARGEST_FREE)
        {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Most buffers that wait to be reused, and the most bytes of each.
const MOST_FREE: usize = 64;
const LARGEST_FREE: usize = 16 << 20;

impl Pool {
    /// A buffer of `len` bytes; its content is unspecified.
    pub(super) fn lend(&self, len: usize) -> Lent {
        let free = self.0.lock().ok().and_then(|mut free| free.pop());
        let mut lent = Lent { bytes: free.unwrap_or_default(), home: self.clone() };
        lent.bytes.resize(len);
        lent
    }

    /// The next `len` bytes of a stream.
    pub(super) fn read(&self, mut stream: impl Read, len: usize) -> io::Result<Shared<u8>> {
        let mut lent = self.lend(len);
        stream.read_exact(&mut lent)?;
        Ok(lent.share())
    }
}

/// All members of a gzip file. Faults come out as [`ReadErrorKind`] inside an [`io::Error`], so that a stream that ends
/// early is never taken for the end of the data.
struct Gzip {
    member: Option<GzDecoder<BufReader<File>>>,
    first: bool,
}

impl Gzip {
    fn new(file: File) -> Self {
        Self { member: Some(GzDecoder::new(BufReader::with_capacity(1 << 16, file))), first: true }
    }
}

impl Read for Gzip {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(out) {
                Ok(0) if !out.is_empty() => {
                    let mut rest = self.member.take().expect("checked above").into_inner();
                    if !rest.fill_buf()?.is_empty() {
                        self.member = Some(GzDecoder::new(rest));
                        self.first = false;
                    }
                }
                Err(e) => {
                    let fault = match e.kind() {
                        _ if member.header().is_none() && !self.first => ReadErrorKind::GzipTrailing,
                        io::ErrorKind::UnexpectedEof => ReadErrorKind::GzipTruncated,
                        _ if member.header().is_none() => ReadErrorKind::NotGzip,
                        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => ReadErrorKind::GzipCorrupt,
                        _ => return Err(e),
                    };
                    return Err(io::Error::other(fault));
                }
                read => return read,
            }
        }
        Ok(0)
    }
}

/// Stops a reader that needs more than [`ROW_LIMIT`] bytes for one row: an unclosed quote must not fill the memory.
pub(super) struct RowLimited {
    stream: Stream,
    used: Arc<AtomicU64>,
    quotes: Arc<AtomicU64>,
}

/// Tells a [`RowLimited`] stream that a row is complete.
pub(super) struct RowDone {
    used: Arc<AtomicU64>,
    quotes: Arc<AtomicU64>,
}

impl RowLimited {
    pub(super) fn new(stream: Stream) -> (Self, RowDone) {
        let (used, quotes) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        (Self { stream, used: used.clone(), quotes: quotes.clone() }, RowDone { used, quotes })
    }
}

impl RowDone {
    pub(super) fn reset(&self) {
        self.used.store(0, Ordering::Relaxed);
    }

    /// Are quotes open? Those that open and those that close come in pairs, and so do those inside a cell.
    pub(super) fn quote_is_open(&self) -> bool {
        !self.quotes.load(Ordering::Relaxed).is_multiple_of(2)
    }
}

impl Read for RowLimited {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used.load(Ordering::Relaxed) > ROW_LIMIT {
            return Err(io::Error::other(ReadErrorKind::RowTooLong { limit: ROW_LIMIT }));
        }
        let read = self.stream.read(out)?;
        self.used.fetch_add(read as u64, Ordering::Relaxed);
        let quotes = out[..read].iter().filter(|&&byte| byte == b'"').count();
        self.quotes.fetch_add(quotes as u64, Ordering::Relaxed);
        Ok(read)
    }
}
