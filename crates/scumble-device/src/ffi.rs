//! The C ABI, and the exports of the WASM module: the very same functions.
//!
//! Ownership, one rule for all: a pointer that goes in is read during the call and not kept; a pointer that comes out
//! points into the client and holds until the next call with that client. A client is made by `scumble_device_open` and
//! ended by `scumble_device_close`, which wipes it. A client must not be used by two threads at once.
//!
//! Every function that can refuse returns a code: 0 is done, the others are those of [`Refusal`].
#![allow(unsafe_code)]
// What a pointer must be is said once, above, and the header says it again.
#![allow(clippy::missing_safety_doc)]

use crate::campaign::Trust;
use crate::client::{Client, Vector};
use crate::policy::Policy;
use crate::refusal::Refusal;
use scumble_core::privacy::Unit;
use scumble_core::vectors::Scalars;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use zeroize::{Zeroize, Zeroizing};

/// A client, with the bytes that its last call gave out.
pub struct ScumbleDevice {
    client: Client,
    out: Zeroizing<Vec<u8>>,
}

/// Version of this ABI. A change of meaning gets a new number.
#[unsafe(no_mangle)]
pub extern "C" fn scumble_device_abi() -> u32 {
    1
}

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

/// Opens a client: checks the campaign's signature and numbers, the policy, and the stored state.
///
/// `campaign`: the campaign's text. `signer`: 32 bytes of the ed25519 key that must have signed, or null. `digest`: 32
/// bytes of the campaign's name, or null; one of both is needed. `policy`: five doubles: the most epsilon for attribute,
/// l1, l2 and record, and the most delta. `state`: what was stored last, or null on a new device. `client`: receives the
/// client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_open(
    campaign: *const u8,
    campaign_length: usize,
    signer: *const u8,
    digest: *const u8,
    policy: *const f64,
    state: *const u8,
    state_length: usize,
    client: *mut *mut ScumbleDevice,
) -> i32 {
    guard(|| {
        if client.is_null() {
            return Err(Refusal::BadArgument);
        }
        // SAFETY: pointers are null or hold so many values.
        let (campaign, signer, digest, policy, state) = unsafe {
            (
                view(campaign, campaign_length).ok_or(Refusal::BadArgument)?,
                view(signer, 32).and_then(<[u8]>::first_chunk).copied(),
                view(digest, 32).and_then(<[u8]>::first_chunk).copied(),
                view(policy, 5).ok_or(Refusal::BadArgument)?,
                view(state, state_length),
            )
        };
        let text = str::from_utf8(campaign).map_err(|_| Refusal::NotACampaign)?;
        let policy = Policy { attribute: policy[0], l1: policy[1], l2: policy[2], record: policy[3], delta: policy[4] };
        let opened = Client::open(text, Trust { signer, digest }, policy, state, crate::entropy::host)?;
        let device = Box::new(ScumbleDevice { client: opened, out: Zeroizing::default() });
        // SAFETY: not null, and the caller's to write.
        unsafe { *client = Box::into_raw(device) };
        Ok(())
    })
}

/// Ends a client and wipes it. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_close(client: *mut ScumbleDevice) {
    if !client.is_null() {
        // SAFETY: made by `scumble_device_open` and not closed before.
        drop(unsafe { Box::from_raw(client) });
    }
}

/// Takes up the state that is stored now; null when nothing is stored. A change that was prepared is abandoned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_reload(
    client: *mut ScumbleDevice,
    state: *const u8,
    state_length: usize,
) -> i32 {
    with(client, |device| {
        // SAFETY: null, or so many bytes.
        device.client.reload(unsafe { view(state, state_length) })
    })
}

/// Prepares the report of a vector. Then: store what `scumble_device_state` gives, and call `scumble_device_commit`.
///
/// `slot`: a name in UTF-8. `kind` of `values`: 0 float, 1 double, 2 int16_t, 3 uint8_t. `index`: null for a dense vector
/// of `count` values; else `count` attributes, strictly increasing, of a vector of `dim`. `now`: seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_prepare(
    client: *mut ScumbleDevice,
    slot: *const u8,
    slot_length: usize,
    kind: u32,
    values: *const c_void,
    count: usize,
    index: *const u32,
    dim: usize,
    now: u64,
) -> i32 {
    with(client, |device| {
        // SAFETY: pointers are null or hold so many values of the stated kind.
        let (slot, values, index) =
            unsafe { (view(slot, slot_length), scalars(kind, values, count), view(index, count)) };
        let slot = slot.and_then(|slot| str::from_utf8(slot).ok()).ok_or(Refusal::BadSlot)?;
        let values = values.ok_or(Refusal::BadArgument)?;
        let vector = match index {
            None => Vector::Dense(values),
            Some(index) => Vector::Sparse { dim, index, values },
        };
        device.client.prepare(slot, vector, now)
    })
}

/// The state to store: that of the prepared change, else the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_state(
    client: *mut ScumbleDevice,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    with(client, |device| {
        device.out = device.client.state();
        // SAFETY: null is refused; else the caller's to write.
        unsafe { give(&device.out, bytes, length) }
    })
}

/// The prepared state is stored: it holds now, and here is the report. Length 0: there is nothing to send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_commit(
    client: *mut ScumbleDevice,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    with(client, |device| {
        device.out = Zeroizing::new(device.client.commit()?.unwrap_or_default());
        // SAFETY: as above.
        unsafe { give(&device.out, bytes, length) }
    })
}

/// The prepared state was not stored: it never was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_abandon(client: *mut ScumbleDevice) -> i32 {
    with(client, |device| {
        device.client.abandon();
        Ok(())
    })
}

/// A stored report of this campaign that waits to be sent, counted from 0. Length 0: there are no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_pending(
    client: *mut ScumbleDevice,
    at: usize,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    with(client, |device| {
        let report = device.client.pending().nth(at).map(<[u8]>::to_vec);
        device.out = Zeroizing::new(report.unwrap_or_default());
        // SAFETY: as above.
        unsafe { give(&device.out, bytes, length) }
    })
}

/// Prepares to forget a report that the collector has, or will never take. Then store and commit as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_settle(
    client: *mut ScumbleDevice,
    report: *const u8,
    report_length: usize,
) -> i32 {
    with(client, |device| {
        // SAFETY: null is refused; else so many bytes.
        let report = unsafe { view(report, report_length) };
        device.client.settle(report.ok_or(Refusal::BadArgument)?)
    })
}

/// What the person should read, in UTF-8 without a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_statement(
    client: *mut ScumbleDevice,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    // SAFETY: as above.
    with(client, |device| unsafe { give(device.client.statement().as_bytes(), bytes, length) })
}

/// Where reports go: the collector's address, in UTF-8 without a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_collector(
    client: *mut ScumbleDevice,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    // SAFETY: as above.
    with(client, |device| unsafe { give(device.client.collector().as_bytes(), bytes, length) })
}

/// The campaign's name: 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_digest(
    client: *mut ScumbleDevice,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    // SAFETY: as above.
    with(client, |device| unsafe { give(device.client.digest(), bytes, length) })
}

/// Numbers: `numbers` receives 8 doubles: unit (0 attribute, 1 l1, 2 l2, 3 record), bytes per report, epsilon and delta
/// of one content, epsilon and delta that this device has spent in that unit, and the most that it may spend.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_numbers(client: *mut ScumbleDevice, numbers: *mut f64) -> i32 {
    with(client, |device| {
        let client = &device.client;
        let unit = client.unit();
        let (loss, spent, limit) = (client.loss(), client.spent(unit), client.limit(unit));
        let all = [
            f64::from(crate::policy::place(unit) as u8),
            client.report_length() as f64,
            loss.epsilon(),
            loss.delta(),
            spent.epsilon(),
            spent.delta(),
            limit.epsilon(),
            limit.delta(),
        ];
        if numbers.is_null() {
            return Err(Refusal::BadArgument);
        }
        // SAFETY: not null, and room for 8.
        unsafe { slice::from_raw_parts_mut(numbers, all.len()) }.copy_from_slice(&all);
        Ok(())
    })
}

/// How often the state has changed. A host that keeps this number elsewhere notices a restored backup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_generation(client: *const ScumbleDevice) -> u64 {
    // SAFETY: null, or a client that is open.
    unsafe { client.as_ref() }.map_or(0, |device| device.client.generation())
}

/// Runs; a panic becomes a code and never crosses the border.
fn guard(run: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => 0,
        Ok(Err(refusal)) => refusal as i32,
        Err(_) => Refusal::Internal as i32,
    }
}

fn with(client: *mut ScumbleDevice, run: impl FnOnce(&mut ScumbleDevice) -> Result<(), Refusal>) -> i32 {
    // SAFETY: null, or a client that is open and not in use.
    guard(|| run(unsafe { client.as_mut() }.ok_or(Refusal::BadArgument)?))
}

/// So many values from a pointer; `None` for null.
unsafe fn view<'a, T>(pointer: *const T, length: usize) -> Option<&'a [T]> {
    let aligned =
        pointer.is_aligned() && length.checked_mul(size_of::<T>()).is_some_and(|size| size < isize::MAX as usize);
    // SAFETY: the caller vouches for so many values.
    (!pointer.is_null() && aligned).then(|| unsafe { slice::from_raw_parts(pointer, length) })
}

unsafe fn scalars<'a>(kind: u32, values: *const c_void, count: usize) -> Option<Scalars<'a>> {
    // SAFETY: the caller vouches for so many values of this kind; a pointer that is not aligned for it is refused.
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

unsafe fn give(from: &[u8], bytes: *mut *const u8, length: *mut usize) -> Result<(), Refusal> {
    if bytes.is_null() || length.is_null() {
        return Err(Refusal::BadArgument);
    }
    // SAFETY: not null, and the caller's to write.
    unsafe { (*bytes, *length) = (from.as_ptr(), from.len()) };
    Ok(())
}

// The header names these numbers.
const _: () = assert!(Unit::Attribute as u32 == 0 && Unit::Record as u32 == 3);
