//! A digest of a whole Parquet file inside that file.
//!
//! The content hashes cover what a reader decodes; padding, page headers and statistics carry no content, and a changed
//! byte there would pass. So the footer holds the SHA-256 of the file, taken while the digest itself reads as zeros.

use super::atomic::Pending;
use super::error::ReadError;
use crate::certificate::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Where the digest is in a Parquet file's metadata.
pub const SEAL_KEY: &str = "scumble.file-sha256";

/// Hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// What stands in place of the digest while it is computed.
pub(super) const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What the digest says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// Every byte is as it was written.
    Intact,
    /// A byte was changed, or another program has written the file.
    Broken,
    /// There is no digest.
    Missing,
}

/// A file that hashes what goes through it.
pub(super) struct Sealing {
    file: Pending,
    hash: Sha256,
}

impl Sealing {
    pub(super) fn new(file: Pending) -> Self {
        Self { file, hash: Sha256::new() }
    }

    /// Replaces the blank in the footer by the digest of all that was written.
    pub(super) fn seal(mut self) -> io::Result<Pending> {
        let place = place(&mut self.file)?.ok_or_else(|| io::Error::other("the footer has no room for a digest"))?;
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(hex(&self.hash.finalize()).as_bytes())?;
        Ok(self.file)
    }
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Compares a Parquet file with the digest in it.
pub fn check_seal(path: &Path) -> Result<Seal, ReadError> {
    let check = || -> io::Result<Seal> {
        let mut file = File::open(path)?;
        let Some(place) = place(&mut file)? else { return Ok(Seal::Missing) };
        file.seek(SeekFrom::Start(0))?;
        let mut stream = BufReader::with_capacity(1 << 16, file);
        let mut hash = Sha256::new();
        io::copy(&mut (&mut stream).take(place), &mut hash)?;
        let mut stated = [0; DIGITS];
        stream.read_exact(&mut stated)?;
        hash.update(BLANK);
        io::copy(&mut stream, &mut hash)?;
        Ok(if stated == hex(&hash.finalize()).as_bytes() { Seal::Intact } else { Seal::Broken })
    };
    check().map_err(|e| ReadError::io(path, &e))
}

/// Where the digits begin: in the footer, right after the key and the mark of a string of 64 bytes.
fn place(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let end = file.seek(SeekFrom::End(0))?;
    let Some(tail) = end.checked_sub(8) else { return Ok(None) };
    file.seek(SeekFrom::Start(tail))?;
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    let Some(start) = tail.checked_sub(length) else { return Ok(None) };
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    let mark = [SEAL_KEY.as_bytes(), &[0x18, DIGITS as u8]].concat();
    let found = footer.windows(mark.len() + DIGITS).rposition(|window| window.starts_with(&mark));
    Ok(found.map(|at| start + (at + mark.len()) as u64))
}
