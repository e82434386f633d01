//! Where a new device key comes from: the operating system, or the one import of the WASM module. There is no fallback.

use crate::refusal::Refusal;

/// A source of secret random bytes.
pub type Entropy = fn(&mut [u8]) -> Result<(), Refusal>;

/// The host's entropy.
#[cfg(not(target_arch = "wasm32"))]
pub fn host(bytes: &mut [u8]) -> Result<(), Refusal> {
    getrandom::fill(bytes).map_err(|_| Refusal::NoEntropy)
}

/// The host's entropy.
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
pub fn host(bytes: &mut [u8]) -> Result<(), Refusal> {
    #[link(wasm_import_module = "scumble")]
    unsafe extern "C" {
        /// Fills `length` bytes from `pointer` with entropy; 0 when it did.
        fn entropy(pointer: *mut u8, length: usize) -> i32;
    }
    // SAFETY: the host writes inside the slice, whose bounds it is given.
    let status = unsafe { entropy(bytes.as_mut_ptr(), bytes.len()) };
    if status == 0 { Ok(()) } else { Err(Refusal::NoEntropy) }
}
