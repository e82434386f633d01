//! Decompression of pages.

use super::thrift::{Damaged, Result};
use std::io::{BufRead, Read};

/// How the pages of a chunk are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Snappy,
    Gzip,
    #[cfg(feature = "brotli")]
    Brotli,
    /// Blocks with Hadoop's lengths before them, a frame, or a bare block: all three were written under this name.
    #[cfg(feature = "lz4")]
    Lz4,
    #[cfg(feature = "zstd")]
    Zstd,
    /// A bare block.
    #[cfg(feature = "lz4")]
    Lz4Raw,
}

impl Codec {
    pub(super) fn new(code: i64) -> Result<Self> {
        Ok(match code {
            0 => Self::None,
            1 => Self::Snappy,
            2 => Self::Gzip,
            #[cfg(feature = "brotli")]
            4 => Self::Brotli,
            #[cfg(feature = "lz4")]
            5 => Self::Lz4,
            #[cfg(feature = "zstd")]
            6 => Self::Zstd,
            #[cfg(feature = "lz4")]
            7 => Self::Lz4Raw,
            #[cfg(not(all(feature = "brotli", feature = "lz4", feature = "zstd")))]
            4..=7 => {
                return Err(Damaged(
                    "this build lacks the compression: enable brotli, lz4 or zstd of the crate scumble",
                ));
            }
            3 => return Err(Damaged("LZO compression is not supported; write the file with snappy or zstd")),
            _ => return Err(Damaged("unknown compression")),
        })
    }

    /// True if `packed` bytes may become `plain` ones. Keeps a false header from claiming memory.
    pub(super) fn can_expand(self, packed: usize, plain: usize) -> bool {
        let most = match self {
            Self::None => 1,
            Self::Snappy => 32,
            #[cfg(feature = "lz4")]
            Self::Lz4 | Self::Lz4Raw => 256,
            Self::Gzip => 1040,
            #[cfg(feature = "brotli")]
            Self::Brotli => return true,
            #[cfg(feature = "zstd")]
            Self::Zstd => return true,
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
            #[cfg(feature = "brotli")]
            Self::Brotli => read_all(brotli_decompressor::Decompressor::new(packed, 1 << 16), out).ok_or(BAD)?,
            #[cfg(feature = "zstd")]
            Self::Zstd => zstd::bulk::decompress_to_buffer(packed, out).map_err(|_| BAD)?,
            #[cfg(feature = "lz4")]
            Self::Lz4Raw => lz4_flex::block::decompress_into(packed, out).map_err(|_| BAD)?,
            #[cfg(feature = "lz4")]
            Self::Lz4 => hadoop(packed, out)
                .or_else(|| read_all(lz4_flex::frame::FrameDecoder::new(packed), out))
                .or_else(|| lz4_flex::block::decompress_into(packed, out).ok())
                .ok_or(BAD)?,
        };
        if written == out.len() { Ok(()) } else { Err(BAD) }
    }
}

impl Codec {
    /// As [`decompress`](Self::decompress), without the compressed bytes in memory; `None` if a codec needs them whole.
    pub(super) fn decompress_stream(self, packed: impl BufRead, out: &mut [u8]) -> Option<Result<()>> {
        let written = match self {
            Self::Snappy => snappy(packed, out),
            Self::Gzip => read_all(flate2::bufread::MultiGzDecoder::new(packed), out),
            #[cfg(feature = "brotli")]
            Self::Brotli => read_all(brotli_decompressor::Decompressor::new(packed, 1 << 16), out),
            #[cfg(feature = "zstd")]
            Self::Zstd => {
                zstd::stream::read::Decoder::with_buffer(packed).ok().and_then(|stream| read_all(stream, out))
            }
            #[cfg(feature = "lz4")]
            Self::Lz4 | Self::Lz4Raw => return None,
            Self::None => return None,
        };
        Some(if written == Some(out.len()) { Ok(()) } else { Err(Damaged("a page does not decompress")) })
    }
}

/// Snappy's raw format: its length, then literal bytes and copies of what came before. Literals go from the stream into
/// their place.
fn snappy(mut packed: impl BufRead, out: &mut [u8]) -> Option<usize> {
    let number = |packed: &mut dyn BufRead, bytes: usize| {
        let mut word = [0; 4];
        packed.read_exact(&mut word[..bytes]).ok()?;
        Some(u32::from_le_bytes(word) as usize)
    };
    let mut length = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = number(&mut packed, 1)? as u64;
        length |= (byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    if length != out.len() as u64 {
        return None;
    }
    let mut done = 0;
    while done < out.len() {
        let tag = number(&mut packed, 1)?;
        let (size, offset) = match tag & 3 {
            0 => {
                let size = match tag >> 2 {
                    short @ 0..60 => short + 1,
                    long => number(&mut packed, long - 59)? + 1,
                };
                packed.read_exact(out.get_mut(done..done.checked_add(size)?)?).ok()?;
                done += size;
                continue;
            }
            1 => (4 + (tag >> 2 & 7), tag >> 5 << 8 | number(&mut packed, 1)?),
            2 => (1 + (tag >> 2), number(&mut packed, 2)?),
            _ => (1 + (tag >> 2), number(&mut packed, 4)?),
        };
        if offset == 0 || offset > done || size > out.len() - done {
            return None;
        }
        for at in done..done + size {
            out[at] = out[at - offset];
        }
        done += size;
    }
    (packed.read(&mut [0]).ok()? == 0).then_some(done)
}

/// A stream that must hold exactly `out`.
fn read_all(mut stream: impl Read, out: &mut [u8]) -> Option<usize> {
    stream.read_exact(out).ok()?;
    (stream.read(&mut [0]).ok()? == 0).then_some(out.len())
}

/// Blocks, each after its plain and its packed length in 4 big-endian bytes.
#[cfg(feature = "lz4")]
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

#[cfg(all(test, feature = "brotli", feature = "lz4", feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn streams_and_whole_pages_are_the_same() {
        let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
        for (name, plain) in [
            ("empty", vec![]),
            ("equal", vec![7; 100_000]),
            ("noise", (0..200_000).map(noise).collect()),
            (
                "mixed",
                (0..200_000).map(|i| if i / 1000 % 2 == 0 { noise(i) } else { noise(i % 37) }).collect::<Vec<u8>>(),
            ),
        ] {
            let packed = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
            let mut out = vec![1; plain.len()];
            assert_eq!(Codec::Snappy.decompress_stream(&packed[..], &mut out), Some(Ok(())), "{name}");
            assert!(out == plain, "{name}");
            let packed = zstd::bulk::compress(&plain, 1).unwrap();
            let mut out = vec![1; plain.len()];
            assert_eq!(Codec::Zstd.decompress_stream(&packed[..], &mut out), Some(Ok(())), "{name}");
            assert!(out == plain, "{name}");
        }
    }

    /// Whatever the bytes, the crate's decoder and ours agree on what is damaged and on the rest.
    #[test]
    fn damaged_streams_end_like_damaged_pages() {
        let plain: Vec<u8> = (0..3000u32).map(|i| (i * i / 7) as u8 & 0x3F).collect();
        let packed = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
        for at in 0..packed.len() {
            for change in [1, 0x80, 0xFF] {
                let mut bad = packed.clone();
                bad[at] ^= change;
                let (mut a, mut b) = (vec![0; plain.len()], vec![0; plain.len()]);
                let (whole, stream) =
                    (Codec::Snappy.decompress(&bad, &mut a), Codec::Snappy.decompress_stream(&bad[..], &mut b));
                assert_eq!(whole.is_ok(), stream == Some(Ok(())), "byte {at}");
                assert!(whole.is_err() || a == b, "byte {at}");
            }
            let mut out = vec![0; plain.len()];
            assert!(Codec::Snappy.decompress_stream(&packed[..at], &mut out) != Some(Ok(())));
        }
    }
}
