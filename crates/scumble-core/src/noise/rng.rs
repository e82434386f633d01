//! Secret randomness: a CSPRNG seeded by the operating system, refilled in blocks that stay in the L1 cache.
//!
//! AES-128 in counter mode where the CPU has AES instructions (several times faster than ChaCha there; with VAES twice
//! as fast again), ChaCha20 elsewhere. Seeds come from
//! [`entropy`](crate::entropy) or from a kept [`NoiseKey`]; only tests may choose one. The public seed of a projection,
//! [`Seed`], is another type.
//!
//! [`Seed`]: crate::projection::Seed

use super::cipher::Cipher;
use super::words::Words;
use crate::chacha::ChaCha20Rng;
use crate::entropy::{self, NoEntropy};
use rand_core::{Rng, SeedableRng};
use std::fmt;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Bytes drawn at a time: small enough to stay in L1 between refill and use.
pub(super) const BLOCK: usize = 4096;

enum Stream {
    Aes { cipher: Arc<Cipher>, counter: u128 },
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

/// Bytes of a keyed stream that are drawn at a time: a tie needs few.
const KEYED_STEP: usize = 256;

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

/// Secret key of noise that is a function of the row (`Keyed`).
pub struct NoiseKey(Zeroizing<[u8; 32]>);

/// The start of the one line of a kept key; 64 hexadecimal digits follow.
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

    /// A kept key: the one line that [`to_text`](Self::to_text) gives. `None` for all else: 32 bytes of some other file
    /// would be a key that others have.
    pub fn from_file(content: &[u8]) -> Option<Self> {
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
        *self.hasher(context).finalize().as_bytes()
    }

    /// The same, for as many bytes as there is room.
    pub(super) fn expand(&self, context: &[&[u8]], out: &mut [u8]) {
        self.hasher(context).finalize_xof().fill(out);
    }

    fn hasher(&self, context: &[&[u8]]) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in context {
            hasher.update(&(part.len() as u64).to_le_bytes()); // lengths keep ("ab","c") and ("a","bc") apart
            hasher.update(part);
        }
        hasher
    }
}

impl SecretRng {
    /// A stream seeded by the operating system.
    pub fn from_os() -> Result<Self, NoEntropy> {
        let mut seed = Zeroizing::new([0; 32]);
        entropy::fill(seed.as_mut())?;
        Ok(Self::from_seed(&seed))
    }

    /// Pieces of keyed streams, from the place that [`seek`](Self::seek) sets.
    pub(super) fn of(cipher: Arc<Cipher>) -> Self {
        let mut rng = Self::with_stream(Stream::Aes { cipher, counter: 0 });
        rng.step = KEYED_STEP;
        rng
    }

    /// Continues from the block of this counter.
    pub(super) fn seek(&mut self, to: u128) {
        let Stream::Aes { counter, .. } = &mut self.stream else { unreachable!("keyed streams are AES") };
        (*counter, self.used, self.filled) = (to, 0, 0);
    }

    /// A repeatable stream that is the same on every processor, for tests only.
    #[cfg(any(test, feature = "testing"))]
    pub fn keyed(key: &NoiseKey, context: &[&[u8]]) -> Self {
        Self::with_stream(Stream::ChaCha(Box::new(ChaCha20Rng::from_seed(key.hash(context)))))
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
            let [key, counter] = [0, 1].map(|half| seed.as_chunks::<16>().0[half]);
            Stream::Aes { cipher: Arc::new(Cipher::new(&key)), counter: u128::from_le_bytes(counter) }
        } else {
            Stream::ChaCha(Box::new(ChaCha20Rng::from_seed(*seed)))
        })
    }

    fn with_stream(stream: Stream) -> Self {
        Self { stream, buffer: Box::new(Buffer([0; BLOCK])), used: 0, filled: 0, step: BLOCK }
    }

    /// Ensures that this many bytes follow those used.
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
                Stream::Aes { cipher, counter } => {
                    cipher.fill(*counter, &mut self.buffer.0[self.filled..self.filled + self.step]);
                    *counter = counter.wrapping_add((self.step / 16) as u128);
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

    /// This many fresh random bytes, at most [`BLOCK`], in place: they are not copied.
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
    fn a_key_gives_a_function_of_the_context() {
        let key = NoiseKey::from_bytes([7; 32]);
        let (mut long, mut short) = ([0; 100], [0; 40]);
        key.expand(&[b"row", b"1"], &mut long);
        key.expand(&[b"row", b"1"], &mut short);
        assert_eq!(long[..40], short);
        assert_eq!(long[..32], key.hash(&[b"row", b"1"]));
        assert_ne!(key.hash(&[b"ro", b"w1"]), key.hash(&[b"row", b"1"]));
    }

    /// Draws of 4, 8 and more bytes across many blocks, from whole blocks and from steps, in new memory and in used memory.
    #[test]
    fn steps_do_not_change_the_stream() {
        let cipher = Arc::new(Cipher::new(&[3; 16]));
        let draw = |rng: &mut SecretRng| -> Vec<u64> {
            let one = |i: u64, rng: &mut SecretRng| match i % 3 {
                0 => rng.next_u64(),
                1 => rng.next_u32().into(),
                _ => rng.take(64 + 100 * (i as usize % 7)).iter().map(|&b| u64::from(b)).sum(),
            };
            (0..500).map(|i| one(i, rng)).collect()
        };
        let mut whole = SecretRng::of(cipher.clone());
        whole.step = BLOCK;
        whole.seek(9);
        let wanted = draw(&mut whole);
        for mut used in [SecretRng::of(cipher), whole] {
            used.next_u32();
            used.seek(9);
            assert_eq!(draw(&mut used), wanted);
        }
    }

    #[test]
    fn a_kept_key_is_the_same_key() {
        let key = NoiseKey::from_bytes(std::array::from_fn(|i| 7 * i as u8));
        for content in [key.to_text().as_bytes(), key.to_text().trim_end().as_bytes()] {
            assert_eq!(NoiseKey::from_file(content).unwrap().0, key.0);
        }
        for wrong in ["", "scumble-sticky-key 00", "scumble-signing-key", &key.to_text().replace("00", "0x")] {
            assert!(NoiseKey::from_file(wrong.as_bytes()).is_none());
        }
        assert!(NoiseKey::from_file(key.0.as_slice()).is_none(), "any file of 32 bytes would do");
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
