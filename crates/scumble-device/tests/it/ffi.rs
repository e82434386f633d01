//! The C ABI as a host uses it, from Rust: pointers in, pointers out, codes.
#![allow(unsafe_code)]

use crate::support::{START, bits, signer};
use scumble::campaign::Mode;
use scumble_device::Refusal;
use scumble_device::ffi::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// A client behind the ABI.
pub struct Host(pub *mut ScumbleDevice);

impl Drop for Host {
    fn drop(&mut self) {
        unsafe { scumble_device_close(self.0) };
    }
}

impl Host {
    pub fn open(text: &str, epsilon: f64, state: Option<&[u8]>) -> Result<Self, i32> {
        let policy = [epsilon, epsilon, epsilon, epsilon, 1e-3];
        let (signer, mut client) = (signer(), null_mut());
        let (state, length) = state.map_or((null(), 0), |state| (state.as_ptr(), state.len()));
        let code = unsafe {
            scumble_device_open(
                text.as_ptr(),
                text.len(),
                null(),
                0,
                signer.as_ptr(),
                null(),
                policy.as_ptr(),
                state,
                length,
                &mut client,
            )
        };
        if code == 0 { Ok(Self(client)) } else { Err(code) }
    }

    pub fn prepare(&self, slot: &str, values: &[f32], now: u64) -> i32 {
        let (slot, values) = (slot.as_bytes(), (values.as_ptr().cast(), values.len()));
        unsafe { scumble_device_prepare(self.0, slot.as_ptr(), slot.len(), 0, values.0, values.1, null(), 0, now) }
    }

    pub fn bytes(&self, call: unsafe extern "C" fn(*mut ScumbleDevice, *mut *const u8, *mut usize) -> i32) -> Vec<u8> {
        let (mut bytes, mut length) = (null(), 0);
        assert_eq!(unsafe { call(self.0, &mut bytes, &mut length) }, 0);
        unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec()
    }
}

#[test]
fn a_report_through_pointers() {
    let host = Host::open(&bits(Mode::Once, 2), 9.0, None).ok().unwrap();
    assert_eq!(host.prepare("a", &[0.5, -0.5, 1.0, 0.0], START), 0);
    let state = host.bytes(scumble_device_state);
    let report = host.bytes(scumble_device_commit);
    assert_eq!((&report[..4], report.len()), (&b"scr1"[..], 33));
    let again = Host::open(&bits(Mode::Once, 2), 9.0, Some(&state)).ok().unwrap();
    let (mut bytes, mut length) = (null(), 0);
    assert_eq!(unsafe { scumble_device_pending(again.0, 0, &mut bytes, &mut length) }, 0);
    assert_eq!(unsafe { std::slice::from_raw_parts(bytes, length) }, report);
    assert_eq!(unsafe { scumble_device_pending(again.0, 1, &mut bytes, &mut length) }, 0);
    assert_eq!(length, 0);
    assert_eq!(unsafe { scumble_device_settle(again.0, report.as_ptr(), report.len()) }, 0);
    assert!(host.bytes(scumble_device_statement).starts_with(b"We count"));
    assert_eq!(host.bytes(scumble_device_collector), b"https://reports.example.org");
    assert_eq!(host.bytes(scumble_device_digest)[..8], report[4..12]);
    let mut numbers = [0.0; 8];
    assert_eq!(unsafe { scumble_device_numbers(host.0, numbers.as_mut_ptr()) }, 0);
    assert_eq!(numbers[..5], [0.0, 33.0, 1.0, 0.0, 1.0]);
    assert_eq!(unsafe { scumble_device_generation(host.0) }, 1);
}

#[test]
fn missing_pointers_are_refused() {
    let bad = Refusal::BadArgument as i32;
    unsafe {
        let mut client = null_mut();
        assert_eq!(scumble_device_open(null(), 0, null(), 0, null(), null(), null(), null(), 0, &mut client), bad);
        assert_eq!(scumble_device_reload(null_mut(), null(), 0), bad);
        assert_eq!(scumble_device_state(null_mut(), null_mut(), null_mut()), bad);
        assert_eq!(scumble_device_generation(null()), 0);
        scumble_device_close(null_mut());
        scumble_device_free(null_mut(), 5);
    }
    let host = Host::open(&bits(Mode::Once, 2), 9.0, None).ok().unwrap();
    unsafe {
        let slot = b"a";
        for kind in [0, 9] {
            assert_eq!(scumble_device_prepare(host.0, slot.as_ptr(), 1, kind, null(), 4, null(), 0, START), bad);
        }
        assert_eq!(scumble_device_state(host.0, null_mut(), null_mut()), bad);
        let values = [0f32; 4];
        let slot_code = scumble_device_prepare(host.0, null(), 1, 0, values.as_ptr().cast(), 4, null(), 0, START);
        assert_eq!(slot_code, Refusal::BadSlot as i32);
    }
}

#[test]
fn messages_are_sentences() {
    for refusal in Refusal::ALL {
        let text = unsafe { CStr::from_ptr(scumble_device_message(*refusal as i32)) };
        assert_eq!(text.to_str().unwrap(), refusal.to_string());
    }
    assert_eq!(unsafe { CStr::from_ptr(scumble_device_message(0)) }.to_str(), Ok("Done."));
}

#[test]
fn room_is_aligned_and_given_back() {
    for length in [0, 1, 7, 8, 9, 4096] {
        let room = scumble_device_alloc(length);
        assert!(!room.is_null() && (room as usize).is_multiple_of(8));
        unsafe { scumble_device_free(room, length) };
    }
    assert!(scumble_device_alloc(usize::MAX - 64).is_null());
}
