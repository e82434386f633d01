//! Reports by a plan: no campaign is read, no signature checked, no law derived, nothing charged and nothing stored.
//!
//! For a host that has done all that by other means (a service that opens the campaign with the whole client and hands its
//! devices the plan, with what it lets them spend). The bytes are those of [`Client`](crate::Client) for the same key, slot,
//! vector and period. The plan is the campaign's name and the integers of its law ([`Client::plan`](crate::Client::plan)).
//!
//! What is left to the host: who made the plan; the device's key, 32 secret bytes made once and never given away; whether
//! the policy allows this report; which contents a slot has reported; the period. A vector that is reported under two
//! plans, or two vectors in one slot, cost what they cost whether or not the host counts it.

use crate::client::{Offsets, Vector, fault, report_id, slot_id};
use crate::refusal::Refusal;
use scumble_core::noise::NoiseKey;
use scumble_core::release::{Plan, Report, Writer};

/// A plan bound to a device's key.
pub struct Encoder {
    campaign: [u8; 32],
    key: NoiseKey,
    writer: Writer,
}

impl Encoder {
    /// Reads a plan; refuses one whose numbers do not fit each other, and a key of zeros.
    pub fn open(plan: &[u8], key: [u8; 32]) -> Result<Self, Refusal> {
        let (campaign, plan) = plan.split_first_chunk().ok_or(Refusal::NotAPlan)?;
        let plan = Plan::read(plan).ok_or(Refusal::NotAPlan)?;
        if key == [0; 32] {
            return Err(Refusal::NoEntropy);
        }
        let writer = plan.keyed(NoiseKey::from_bytes(key));
        Ok(Self { campaign: *campaign, key: NoiseKey::from_bytes(key), writer })
    }

    /// The report of a vector.
    pub fn report(&self, slot: &str, vector: Vector<'_>, period: u32) -> Result<Vec<u8>, Refusal> {
        let id = slot_id(&self.campaign, slot)?;
        let rows = Offsets::new(vector);
        let (print, row) = self.writer.write(rows.rows(self.writer.plan().dim())?, &id).map_err(fault)?;
        let campaign = *self.campaign.first_chunk().expect("32 bytes have 8");
        Ok(Report { campaign, period, id: report_id(&self.key, &self.campaign, print, period), row: &row }.to_bytes())
    }
}

#[cfg(feature = "encode")]
pub use exports::*;

/// The module's exports. Pointers are as in `ffi`: what goes in is read and not kept, what comes out is valid until the
/// next call with that encoder.
#[cfg(feature = "encode")]
#[allow(unsafe_code, clippy::missing_safety_doc)]
mod exports {
    use super::*;
    use crate::memory::{give, guard, scalars, view};
    use std::ffi::c_void;

    /// An encoder, with the report that its last call returned.
    pub struct ScumbleEncoder {
        encoder: Encoder,
        out: Vec<u8>,
    }

    /// Opens an encoder: `plan` as `scumble_device_plan` gives it, `key` of 32 bytes.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn scumble_encoder_open(
        plan: *const u8,
        plan_length: usize,
        key: *const u8,
        encoder: *mut *mut ScumbleEncoder,
    ) -> i32 {
        guard(|| {
            // SAFETY: pointers are null or hold this many values.
            let (plan, key) = unsafe { (view(plan, plan_length), view(key, 32)) };
            let key = key.and_then(<[u8]>::first_chunk).filter(|_| !encoder.is_null()).ok_or(Refusal::BadArgument)?;
            let opened = Encoder::open(plan.ok_or(Refusal::BadArgument)?, *key)?;
            // SAFETY: not null, and the caller's to write.
            unsafe { *encoder = Box::into_raw(Box::new(ScumbleEncoder { encoder: opened, out: Vec::new() })) };
            Ok(())
        })
    }

    /// Closes an encoder and wipes its key. Null is fine.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn scumble_encoder_close(encoder: *mut ScumbleEncoder) {
        if !encoder.is_null() {
            // SAFETY: made by `scumble_encoder_open` and not closed before.
            drop(unsafe { Box::from_raw(encoder) });
        }
    }

    /// The report of a vector, given as to `scumble_device_prepare`, for a period.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn scumble_encoder_report(
        encoder: *mut ScumbleEncoder,
        slot: *const u8,
        slot_length: usize,
        kind: u32,
        values: *const c_void,
        count: usize,
        index: *const u32,
        dim: usize,
        period: u32,
        bytes: *mut *const u8,
        length: *mut usize,
    ) -> i32 {
        guard(|| {
            // SAFETY: null, or an encoder that is open; the others null or this many values of the stated kind.
            let (encoder, slot, values, index) = unsafe {
                (encoder.as_mut(), view(slot, slot_length), scalars(kind, values, count), view(index, count))
            };
            let encoder = encoder.ok_or(Refusal::BadArgument)?;
            let slot = slot.and_then(|slot| str::from_utf8(slot).ok()).ok_or(Refusal::BadSlot)?;
            let vector = Vector::new(values.ok_or(Refusal::BadArgument)?, index, dim);
            encoder.out = encoder.encoder.report(slot, vector, period)?;
            // SAFETY: null is refused; else the caller's to write.
            unsafe { give(&encoder.out, bytes, length) }
        })
    }
}
