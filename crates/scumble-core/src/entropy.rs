//! The one place where entropy enters: secret streams, kept keys and fresh public seeds all ask here.
//!
//! With the feature `os-entropy` (on by default) it is the operating system's. Without it there is none: anyone who
//! embeds the core brings their own key ([`NoiseKey::from_bytes`](crate::noise::NoiseKey::from_bytes)), and fresh
//! noise is refused. There is no fallback.

/// No entropy was available: nothing can be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no entropy; nothing was released")]
pub struct NoEntropy;

/// Fills `bytes` with secret random bytes.
#[cfg(feature = "os-entropy")]
pub fn fill(bytes: &mut [u8]) -> Result<(), NoEntropy> {
    getrandom::fill(bytes).map_err(|_| NoEntropy)
}

/// This build has no source of entropy.
#[cfg(not(feature = "os-entropy"))]
pub fn fill(_: &mut [u8]) -> Result<(), NoEntropy> {
    Err(NoEntropy)
}
