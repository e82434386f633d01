//! Memory that crosses the border, for both modules: what is lent, what is given out, and codes with their sentences.
#![allow(unsafe_code)]
// The rules for pointers are stated once, in `ffi`.
#![allow(clippy::missing_safety_doc)]

use crate::refusal::Refusal;
use scumble_core::vectors::Scalars;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use zeroize::Zeroize;

/// The sentence of a code: static, ends in a zero byte, holds nothing private.
#[unsafe(no_mangle)]
pub extern "C" fn scumble_device_message(code: i32) -> *const c_char {
    let known = Refusal::ALL.iter().find(|refusal| **refusal as i32 == code);
    known.map_or(c"Done.", |refusal| refusal.sentence()).as_ptr()
}

/// Room for `length` bytes, for hosts that have no memory of their own to share (WASM). Null when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn scumble_device_alloc(length: usize) -> *mut u8 {
    let mut room = Vec::<u64>::new(); // aligned for every kind of number
    if room.try_reserve_exact(length.div_ceil(8).max(1)).is_err() {
        return std::ptr::null_mut();
    }
    room.resize(length.div_ceil(8).max(1), 0);
    Box::into_raw(room.into_boxed_slice()).cast()
}

/// Wipes and gives back what `scumble_device_alloc` gave, of the same length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_free(pointer: *mut u8, length: usize) {
    if pointer.is_null() {
        return;
    }
    let room = std::ptr::slice_from_raw_parts_mut(pointer.cast::<u64>(), length.div_ceil(8).max(1));
    // SAFETY: the pointer and the length are those of `scumble_device_alloc`.
    unsafe { Box::from_raw(room) }.zeroize();
}

/// Calls `run`; a panic becomes a code and never crosses the border.
pub(crate) fn guard(run: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => 0,
        Ok(Err(refusal)) => refusal as i32,
        Err(_) => Refusal::Internal as i32,
    }
}

/// This many values from a pointer; `None` for null.
pub(crate) unsafe fn view<'a, T>(pointer: *const T, length: usize) -> Option<&'a [T]> {
    let aligned =
        pointer.is_aligned() && length.checked_mul(size_of::<T>()).is_some_and(|size| size < isize::MAX as usize);
    // SAFETY: the caller vouches for this many values.
    (!pointer.is_null() && aligned).then(|| unsafe { slice::from_raw_parts(pointer, length) })
}

pub(crate) unsafe fn scalars<'a>(kind: u32, values: *const c_void, count: usize) -> Option<Scalars<'a>> {
    // SAFETY: the caller vouches for this many values of this kind; a pointer that is not aligned for it is refused.
    unsafe {
        match kind {
            0 => view(values.cast(), count).map(Scalars::F32),
            1 => view(values.cast(), count).map(Scalars::F64),
            2 => view(values.cast(), count).map(Scalars::I16),
            3 => view(values.cast(), count).map(Scalars::U8),
            _ => None,
        }
    }
}

pub(crate) unsafe fn give(from: &[u8], bytes: *mut *const u8, length: *mut usize) -> Result<(), Refusal> {
    if bytes.is_null() || length.is_null() {
        return Err(Refusal::BadArgument);
    }
    // SAFETY: not null, and the caller's to write.
    unsafe { (*bytes, *length) = (from.as_ptr(), from.len()) };
    Ok(())
}
