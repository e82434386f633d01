//! Decompression of pages.

use super::thrift::{Damaged, Result};
use std::io::Read;

/// How the pages of a chunk are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Snappy,
    Gzip,
    Brotli,
    /// Blocks with Hadoop's lengths before them, a frame, or a bare block: all three were written under this name.
    Lz4,
    Zstd,
    /// A bare block.
    Lz4Raw,
}

impl Codec {
    pub(super) fn new(code: i64) -> Result<Self> {
        Ok(match code {
            0 => Self::None,
            1 => Self::Snappy,
            2 => Self::Gzip,
            4 => Self::Brotli,
            5 => Self::Lz4,
            6 => Self::Zstd,
            7 => Self::Lz4Raw,
            3 => return Err(Damaged("LZO compression is not supported; write the file with snappy or zstd")),
            _ => return Err(Damaged("unknown compression")),
        })
    }

    /// True if `packed` bytes may become `plain` ones. Keeps a false header from claiming memory.
    pub(super) fn can_expand(self, packed: usize, plain: usize) -> bool {
        let most = match self {
            Self::None => 1,
            Self::Snappy => 32,
            Self::Lz4 | Self::Lz4Raw => 256,
            Self::Gzip => 1040,
            Self::Brotli | Self::Zstd => return true,
        };
        plain <= packed.saturating_mul(most)
    }

    /// Fills `out`, exactly.
    pub(super) fn decompress(self, packed: &[u8], out: &mut [u8]) -> Result<()> {
        const BAD: Damaged = Damaged("a page does not decompress");
        let written = match self {
            Self::None => {
                out.copy_from_slice(packed.get(..out.len()).ok_or(BAD)?);
                packed.len()
            }
            Self::Snappy => {
                if snap::raw::decompress_len(packed).map_err(|_| BAD)? != out.len() {
                    return Err(BAD);
                }
                snap::raw::Decoder::new().decompress(packed, out).map_err(|_| BAD)?
            }
            Self::Gzip => read_all(flate2::read::MultiGzDecoder::new(packed), out).ok_or(BAD)?,
            Self::Brotli => read_all(brotli_decompressor::Decompressor::new(packed, 1 << 16), out).ok_or(BAD)?,
            Self::Zstd => zstd::bulk::decompress_to_buffer(packed, out).map_err(|_| BAD)?,
            Self::Lz4Raw => lz4_flex::block::decompress_into(packed, out).map_err(|_| BAD)?,
            Self::Lz4 => hadoop(packed, out)
                .or_else(|| read_all(lz4_flex::frame::FrameDecoder::new(packed), out))
                .or_else(|| lz4_flex::block::decompress_into(packed, out).ok())
                .ok_or(BAD)?,
        };
        if written == out.len() { Ok(()) } else { Err(BAD) }
    }
}

/// A stream that must hold exactly `out`.
fn read_all(mut stream: impl Read, out: &mut [u8]) -> Option<usize> {
    stream.read_exact(out).ok()?;
    (stream.read(&mut [0]).ok()? == 0).then_some(out.len())
}

/// Blocks, each after its plain and its packed length in 4 big-endian bytes.
fn hadoop(mut packed: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut written = 0usize;
    while !packed.is_empty() {
        let (lengths, rest) = packed.split_at_checked(8)?;
        let length = |at: usize| u32::from_be_bytes(lengths[at..at + 4].try_into().expect("4 bytes")) as usize;
        let (block, rest) = rest.split_at_checked(length(4))?;
        let room = out.get_mut(written..written.checked_add(length(0))?)?;
        (lz4_flex::block::decompress_into(block, room).ok()? == room.len()).then_some(())?;
        written += room.len();
        packed = rest;
    }
    Some(written)
}
