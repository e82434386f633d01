//! The C ABI, and the exports of the WASM module: the very same functions.
//!
//! Ownership, one rule for all: a pointer that goes in is read during the call and not kept; a pointer that comes out
//! points into the client and is valid until the next call with that client. A client is made by `scumble_device_open`
//! and closed by `scumble_device_close`, which wipes it. A client must not be used by two threads at once.
//!
//! Every function that can refuse returns a code: 0 means done, the others are those of [`Refusal`].
#![allow(unsafe_code)]
// The rules for pointers are stated once, above, and again in the header.
#![allow(clippy::missing_safety_doc)]

use crate::campaign::Trust;
use crate::client::{Client, Vector};
use crate::memory::{give, guard, scalars, view};
pub use crate::memory::{scumble_device_alloc, scumble_device_free, scumble_device_message};
use crate::policy::Policy;
use crate::refusal::Refusal;
use scumble_core::privacy::Unit;
use std::ffi::c_void;
use std::slice;
use zeroize::Zeroizing;

/// A client, with the bytes that its last call returned.
pub struct ScumbleDevice {
    client: Client,
    out: Zeroizing<Vec<u8>>,
}

/// Version of this ABI. A change of meaning gets a new number.
#[unsafe(no_mangle)]
pub extern "C" fn scumble_device_abi() -> u32 {
    2
}

/// Opens a client: checks the campaign's signature and numbers, the policy, and the stored state.
///
/// `campaign`: the campaign's text. `file`: the public file that it names (bins, components or a book), or null when it
/// names none. `signer`: 32 bytes of the ed25519 key that must have signed, or null. `digest`: 32
/// bytes of the campaign's name, or null; at least one of the two is needed. `policy`: five doubles: the most epsilon
/// for attribute, l1, l2 and record, and the most delta. `state`: what was stored last, or null on a new device.
/// `client`: receives the client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_open(
    campaign: *const u8,
    campaign_length: usize,
    file: *const u8,
    file_length: usize,
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
        // SAFETY: pointers are null or hold this many values.
        let (campaign, file, signer, digest, policy, state) = unsafe {
            (
                view(campaign, campaign_length).ok_or(Refusal::BadArgument)?,
                view(file, file_length),
                view(signer, 32).and_then(<[u8]>::first_chunk).copied(),
                view(digest, 32).and_then(<[u8]>::first_chunk).copied(),
                view(policy, 5).ok_or(Refusal::BadArgument)?,
                view(state, state_length),
            )
        };
        let text = str::from_utf8(campaign).map_err(|_| Refusal::NotACampaign)?;
        let policy = Policy { attribute: policy[0], l1: policy[1], l2: policy[2], record: policy[3], delta: policy[4] };
        let opened = Client::open(text, file, Trust { signer, digest }, policy, state, crate::entropy::host)?;
        let device = Box::new(ScumbleDevice { client: opened, out: Zeroizing::default() });
        // SAFETY: not null, and the caller's to write.
        unsafe { *client = Box::into_raw(device) };
        Ok(())
    })
}

/// Closes a client and wipes it. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_close(client: *mut ScumbleDevice) {
    if !client.is_null() {
        // SAFETY: made by `scumble_device_open` and not closed before.
        drop(unsafe { Box::from_raw(client) });
    }
}

/// Loads the state that is stored now; null when nothing is stored. A change that was prepared is abandoned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_reload(
    client: *mut ScumbleDevice,
    state: *const u8,
    state_length: usize,
) -> i32 {
    with(client, |device| {
        // SAFETY: null, or this many bytes.
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
        // SAFETY: pointers are null or hold this many values of the stated kind.
        let (slot, values, index) =
            unsafe { (view(slot, slot_length), scalars(kind, values, count), view(index, count)) };
        let slot = slot.and_then(|slot| str::from_utf8(slot).ok()).ok_or(Refusal::BadSlot)?;
        let values = values.ok_or(Refusal::BadArgument)?;
        device.client.prepare(slot, Vector::new(values, index, dim), now)
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

/// The prepared state is stored: it takes effect, and here is the report. Length 0: there is nothing to send.
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

/// The prepared state was not stored: it is discarded.
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
        // SAFETY: null is refused; else this many bytes.
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

/// The plan for the encoding-only module: the campaign's name and the integers of its law, all checked here. Refused for
/// mechanisms other than bits and symbols of OPORP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_plan(
    client: *mut ScumbleDevice,
    bytes: *mut *const u8,
    length: *mut usize,
) -> i32 {
    with(client, |device| {
        device.out = Zeroizing::new(device.client.plan()?);
        // SAFETY: as above.
        unsafe { give(&device.out, bytes, length) }
    })
}

/// How often the state has changed. A host that keeps this number elsewhere notices a restored backup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scumble_device_generation(client: *const ScumbleDevice) -> u64 {
    // SAFETY: null, or a client that is open.
    unsafe { client.as_ref() }.map_or(0, |device| device.client.generation())
}

fn with(client: *mut ScumbleDevice, run: impl FnOnce(&mut ScumbleDevice) -> Result<(), Refusal>) -> i32 {
    // SAFETY: null, or a client that is open and not in use.
    guard(|| run(unsafe { client.as_mut() }.ok_or(Refusal::BadArgument)?))
}

// The header names these numbers.
const _: () = assert!(Unit::Attribute as u32 == 0 && Unit::Record as u32 == 3);
