//! ChaCha20 as a stream that can be read from any word: the library's, or a compact one where space is short.

#[cfg(any(test, target_arch = "wasm32"))]
mod compact;

#[cfg(target_arch = "wasm32")]
pub(crate) use compact::ChaCha20Rng;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use rand_chacha::ChaCha20Rng;
