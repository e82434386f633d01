//! Secret randomness: a CSPRNG seeded by the operating system, refilled in blocks that stay in the L1 cache.
//!
//! AES-128 in counter mode where the CPU has AES instructions (several times faster than ChaCha there; with VAES twice
//! as fast again), ChaCha20 elsewhere. Seeds come from
//! [`entropy`](crate::entropy) or from a kept [`NoiseKey`]; only tests may choose one. The public seed of a projection,
//! [`Seed`], is another type.
//!
//! [`Seed`]: crate::projection::Seed

use super::words::Words;
use crate::entropy::{self, NoEntropy};
use aes::cipher::{KeyIvInit, StreamCipher};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

type AesCtr = ctr::Ctr128LE<aes::Aes128>;

/// Bytes drawn at a time: small enough to stay in L1 between refill and use.
pub(super) const BLOCK: usize = 4096;

enum Stream {
    #[cfg(target_arch = "x86_64")]
    Vaes(Box<super::kernels::aes::VaesCtr>),
    Aes(Box<AesCtr>),
    ChaCha(Box<ChaCha20Rng>),
}

/// On cache lines of its own.
#[repr(align(64))]
struct Buffer([u8; BLOCK]);

/// A stream of secret random bits. One per worker; never cloned, never printed, wiped when dropped.
pub struct SecretRng {
    stream: Stream,
    buffer: Box<Buffer>,
    used: usize,
    filled: usize,
    step: usize, // bytes drawn at a time, a divisor of BLOCK; the stream is the same for each
}

/// Bytes of a keyed stream that are drawn at a time: a row needs few, and every row has a stream of its own.
const KEYED_STEP: usize = 512;

impl fmt::Debug for SecretRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretRng(..)")
    }
}

impl Drop for SecretRng {
    fn drop(&mut self) {
        self.buffer.0.zeroize();
    }
}

/// Secret key of a keyed stream ([`SecretRng::keyed`]): a row's noise is then a function of key and context.
pub struct NoiseKey(Zeroizing<[u8; 32]>);

/// What begins the one line of a kept key; 64 hexadecimal digits follow.
const LABEL: &str = "scumble-sticky-key ";

impl fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoiseKey(..)")
    }
}

impl NoiseKey {
    /// A fresh key from the operating system.
    pub fn generate() -> Result<Self, NoEntropy> {
        let mut key = Zeroizing::new([0; 32]);
        entropy::fill(key.as_mut())?;
        Ok(Self(key))
    }

    /// A key that was kept by the caller.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A kept key: the one line that [`to_text`](Self::to_text) gives, or 32 bytes as they are. None of anything else.
    pub fn from_file(content: &[u8]) -> Option<Self> {
        if let Ok(bytes) = content.try_into() {
            return Some(Self::from_bytes(bytes));
        }
        let digits = std::str::from_utf8(content).ok()?.trim_end().strip_prefix(LABEL)?;
        let digits: &[u8; 64] = digits.as_bytes().try_into().ok()?;
        let mut key = Zeroizing::new([0; 32]);
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |i: usize| char::from(pair[i]).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(Self(key))
    }

    /// The key as one line, for the owner to keep.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(LABEL.len() + 65)); // never moved while it grows
        text.push_str(LABEL);
        for byte in self.0.iter() {
            text.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
        }
        text.push('\n');
        text
    }

    /// The public seed of projections for releases with this key, where none is given: the same every time.
    pub fn public_seed(&self) -> [u8; 32] {
        self.hash(&[b"public seed"])
    }

    /// A pseudo-random function of key and context.
    pub fn hash(&self, context: &[&[u8]]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in context {
            hasher.update(&(part.len() as u64).to_le_bytes()); // lengths keep ("ab","c") and ("a","bc") apart
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    }
}

impl SecretRng {
    /// A stream seeded by the operating system.
    pub fn from_os() -> Result<Self, NoEntropy> {
        let mut seed = Zeroizing::new([0; 32]);
        entropy::fill(seed.as_mut())?;
        Ok(Self::from_seed(&seed))
    }

    /// The stream of one row: a pseudo-random function of the key and the context, equal on every machine.
    ///
    /// A retried task, or a sticky release of an unchanged row, draws the same noise again. ChaCha20 always: the bytes
    /// must not depend on the CPU.
    pub fn keyed(key: &NoiseKey, context: &[&[u8]]) -> Self {
        let seed = Zeroizing::new(key.hash(context));
        let mut rng = Self::with_stream(Stream::ChaCha(Box::new(ChaCha20Rng::from_seed(*seed))));
        rng.step = KEYED_STEP;
        rng
    }

    /// Becomes the stream that [`keyed`](Self::keyed) gives, in the memory that is there.
    pub fn restart(&mut self, key: &NoiseKey, context: &[&[u8]]) {
        let seed = Zeroizing::new(key.hash(context));
        match &mut self.stream {
            Stream::ChaCha(chacha) => **chacha = ChaCha20Rng::from_seed(*seed),
            other => *other = Stream::ChaCha(Box::new(ChaCha20Rng::from_seed(*seed))),
        }
        (self.used, self.filled, self.step) = (0, 0, KEYED_STEP);
    }

    /// A repeatable stream, for tests only.
    #[cfg(any(test, feature = "testing"))]
    pub fn for_tests(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self::from_seed(&bytes)
    }

    fn from_seed(seed: &[u8; 32]) -> Self {
        Self::with_stream(if has_aes() {
            let (key, counter) = seed.split_at(16);
            wide_aes(key, counter).unwrap_or_else(|| Stream::Aes(Box::new(AesCtr::new(key.into(), counter.into()))))
        } else {
            Stream::ChaCha(Box::new(ChaCha20Rng::from_seed(*seed)))
        })
    }

    fn with_stream(stream: Stream) -> Self {
        Self { stream, buffer: Box::new(Buffer([0; BLOCK])), used: 0, filled: 0, step: BLOCK }
    }

    /// Makes sure of so many bytes after those used.
    #[cold]
    fn refill(&mut self, bytes: usize) {
        if self.used + bytes > BLOCK {
            self.fill_to(BLOCK); // what is left of a block is dropped, in every step alike
            (self.used, self.filled) = (0, 0);
        }
        self.fill_to(self.used + bytes);
    }

    fn fill_to(&mut self, bytes: usize) {
        while self.filled < bytes {
            match &mut self.stream {
                #[cfg(target_arch = "x86_64")]
                Stream::Vaes(aes) => aes.fill(&mut self.buffer.0), // never keyed: always a whole block
                Stream::Aes(aes) => {
                    self.buffer.0.fill(0);
                    aes.apply_keystream(&mut self.buffer.0);
                }
                Stream::ChaCha(chacha) => {
                    chacha.fill_bytes(&mut self.buffer.0[self.filled..self.filled + self.step]);
                }
            }
            self.filled += self.step;
        }
    }

    /// Fresh random bytes.
    #[inline]
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= BLOCK) }
        if self.used + N > self.filled {
            self.refill(N);
        }
        let out = self.buffer.0[self.used..self.used + N].try_into().expect("length N");
        self.used += N;
        out
    }

    /// So many fresh random bytes, at most [`BLOCK`], in place: no copy is made of them.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> &[u8] {
        if self.used + bytes > self.filled {
            self.refill(bytes);
        }
        self.used += bytes;
        &self.buffer.0[self.used - bytes..self.used]
    }

    /// 64 fresh random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// 32 fresh random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// A uniform integer below `bound`, exactly: a rejected draw is drawn again.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        Words::below(self, bound)
    }
}

/// AES two blocks at a time, where the processor can: the same bytes.
#[cfg(target_arch = "x86_64")]
fn wide_aes(key: &[u8], counter: &[u8]) -> Option<Stream> {
    if crate::simd::level() == crate::simd::Level::Scalar {
        return None;
    }
    let aes = super::kernels::aes::VaesCtr::new(key.as_array()?, counter.as_array()?)?;
    Some(Stream::Vaes(Box::new(aes)))
}

#[cfg(not(target_arch = "x86_64"))]
fn wide_aes(_: &[u8], _: &[u8]) -> Option<Stream> {
    None
}

fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[allow(unreachable_code)]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_streams_never_agree() {
        let (mut a, mut b) = (SecretRng::from_os().unwrap(), SecretRng::from_os().unwrap());
        assert_ne!(a.bytes::<32>(), b.bytes::<32>());
    }

    #[test]
    fn keyed_stream_is_a_function_of_key_and_context() {
        let key = NoiseKey::from_bytes([7; 32]);
        let mut first = SecretRng::keyed(&key, &[b"row", b"1"]);
        let mut again = SecretRng::keyed(&key, &[b"row", b"1"]);
        let mut moved = SecretRng::keyed(&key, &[b"ro", b"w1"]);
        let bytes = first.bytes::<64>();
        assert_eq!(bytes, again.bytes::<64>());
        assert_ne!(bytes, moved.bytes::<64>());
    }

    /// Draws of 4, 8 and 64 bytes across many blocks, from whole blocks and from steps, in new memory and in used memory.
    #[test]
    fn steps_do_not_change_the_stream() {
        let key = NoiseKey::from_bytes([3; 32]);
        let draw = |rng: &mut SecretRng| -> Vec<u64> {
            let one = |i: u64, rng: &mut SecretRng| match i % 3 {
                0 => rng.next_u64(),
                1 => rng.next_u32().into(),
                _ => rng.take(64 + 100 * (i as usize % 7)).iter().map(|&b| u64::from(b)).sum(),
            };
            (0..500).map(|i| one(i, rng)).collect()
        };
        let mut whole = SecretRng::keyed(&key, &[b"row"]);
        whole.step = BLOCK;
        let wanted = draw(&mut whole);
        assert_eq!(draw(&mut SecretRng::keyed(&key, &[b"row"])), wanted);
        for mut used in [SecretRng::for_tests(1), whole] {
            used.next_u32();
            used.restart(&key, &[b"row"]);
            assert_eq!(draw(&mut used), wanted);
        }
    }

    #[test]
    fn a_kept_key_is_the_same_key() {
        let key = NoiseKey::from_bytes(std::array::from_fn(|i| 7 * i as u8));
        for content in [key.to_text().as_bytes(), key.0.as_slice(), key.to_text().trim_end().as_bytes()] {
            assert_eq!(NoiseKey::from_file(content).unwrap().0, key.0);
        }
        for wrong in ["", "scumble-sticky-key 00", "scumble-signing-key", &key.to_text().replace("00", "0x")] {
            assert!(NoiseKey::from_file(wrong.as_bytes()).is_none());
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        assert_eq!(format!("{:?}", SecretRng::for_tests(1)), "SecretRng(..)");
        assert_eq!(format!("{:?}", NoiseKey::from_bytes([9; 32])), "NoiseKey(..)");
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = SecretRng::for_tests(3);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[rng.below(7) as usize] += 1);
        // Chi-square with 6 degrees of freedom, alpha = 1e-6: critical value 38.
        let chi: i64 = counts.iter().map(|&c| (i64::from(c) - 10_000).pow(2)).sum::<i64>() / 10_000;
        assert!(chi < 38, "{counts:?}");
    }
}
