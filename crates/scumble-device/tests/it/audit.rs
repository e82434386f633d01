//! The client attacked through the C ABI: a lower bound on epsilon from what it sends, and faults that must be found.
//!
//! Every device is new, so its key and its noise are. Two neighbouring vectors, one event of the reported row; exact
//! (Chernoff) bounds at alpha = 1e-6 a side, so that a bound above the claim is a fault and no accident.
#![allow(unsafe_code)]

use crate::ffi::Host;
use crate::support::{START, campaign, key, parameters, terms};
use scumble::campaign::Mode;
use scumble::mechanism::MechanismId;
use scumble_device::ffi::{scumble_device_commit, scumble_device_reload, scumble_device_state};
use scumble_device::{Refusal, State};

const ALPHA: f64 = 1e-6;
const DEVICES: u64 = 10_000;

/// Relative entropy of coins.
fn divergence(p: f64, q: f64) -> f64 {
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    term(p, q) + term(1.0 - p, 1.0 - q)
}

/// Chernoff's bound: the true share is above the least, but for a chance of ALPHA; `up` gives the bound from above.
fn bound(hits: u64, n: u64, up: bool) -> f64 {
    let share = hits as f64 / n as f64;
    let (mut near, mut far) = (share, f64::from(u8::from(up)));
    for _ in 0..60 {
        let middle = 0.5 * (near + far);
        if divergence(share, middle) * (n as f64) < -ALPHA.ln() { near = middle } else { far = middle }
    }
    far
}

/// Keys that no two devices share, from a counter: the tests' own entropy.
fn state(device: u64) -> Vec<u8> {
    thread_local!(static KEY: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    KEY.set(device + 1);
    let state = State::new(|bytes| {
        bytes[..8].copy_from_slice(&KEY.get().to_le_bytes());
        Ok(())
    });
    let mut state = state.unwrap();
    state.generation = 16 * device; // a client takes no state that is older than what it has seen
    state.to_bytes().to_vec()
}

/// How often the event happens over new devices that report this vector.
fn hits(host: &Host, values: &[f32], slots: &[&str], event: &dyn Fn(&[Vec<u8>]) -> bool, from: u64) -> u64 {
    let one = |device: u64| {
        let state = state(from + device + 1);
        assert_eq!(unsafe { scumble_device_reload(host.0, state.as_ptr(), state.len()) }, 0);
        let rows: Vec<Vec<u8>> = slots
            .iter()
            .map(|slot| {
                assert_eq!(host.prepare(slot, values, START), 0);
                host.bytes(scumble_device_state);
                host.bytes(scumble_device_commit)[32..].to_vec()
            })
            .collect();
        u64::from(event(&rows))
    };
    (0..DEVICES).map(one).sum()
}

/// The lower bound on epsilon that an event shows between two vectors.
fn measured(text: &str, a: &[f32], b: &[f32], event: &dyn Fn(&[u8]) -> bool) -> f64 {
    let count = |values: &[f32], from: u64| {
        let host = Host::open(text, 99.0, Some(&state(0))).ok().unwrap();
        hits_of_new_devices(&host, values, event, from)
    };
    let (p, q) = (count(a, 0), count(b, DEVICES));
    (bound(p, DEVICES, false) / bound(q, DEVICES, true)).ln()
}

fn hits_of_new_devices(host: &Host, values: &[f32], event: &dyn Fn(&[u8]) -> bool, from: u64) -> u64 {
    hits(host, values, &["a"], &|rows| event(&rows[0]), from)
}

fn value(row: &[u8]) -> f32 {
    f32::from_le_bytes(row[..4].try_into().unwrap())
}

/// A campaign for one value in [-1, 1], where any value may become any other.
fn one_value(id: MechanismId, epsilon: f64) -> String {
    let mut parameters = parameters(id, 1, 1, epsilon);
    parameters.beta = 2.0;
    campaign(parameters, terms(Mode::Once, 1))
}

/// What devices send shows nearly the claim, and never more.
fn bits_show_the_claim(epsilon: f64) {
    let bit = |row: &[u8]| row[0] >> 7 == 1;
    for id in [MechanismId::DpSignoporpRr, MechanismId::DpSignoporpCeil, MechanismId::Signcap] {
        let text = one_value(id, epsilon);
        let up = measured(&text, &[1.0], &[-1.0], &bit);
        let down = measured(&text, &[-1.0], &[1.0], &bit); // the projection's sign may turn it round
        let loss = up.max(down);
        assert!(loss < epsilon && loss > 0.85 * epsilon, "{id} at {epsilon}: {loss}");
    }
}

#[test]
fn bits_show_nearly_an_epsilon_of_1_and_never_more() {
    bits_show_the_claim(1.0);
}

#[test]
fn bits_show_nearly_an_epsilon_of_2_and_never_more() {
    bits_show_the_claim(2.0);
}

#[test]
fn bits_show_nearly_an_epsilon_of_4_and_never_more() {
    bits_show_the_claim(4.0);
}

#[test]
fn values_show_nearly_the_claim_and_never_more() {
    for id in [MechanismId::RawLaplace, MechanismId::RawStaircase] {
        let loss = measured(&one_value(id, 2.0), &[1.0], &[-1.0], &|row| value(row) >= 1.0);
        assert!(loss < 2.0 && loss > 0.85 * 2.0, "{id}: {loss}");
    }
}

/// Planted fault: one key for all devices of a fleet. The noise is then one draw, and one event tells all.
#[test]
fn a_key_that_all_devices_share_is_found() {
    let text = campaign(parameters(MechanismId::DpSignoporpRr, 1, 1, 1.0), terms(Mode::Once, 1));
    let rows: std::collections::HashSet<Vec<u8>> = (0..64)
        .map(|_| {
            let host = Host::open(&text, 9.0, Some(&state(7))).ok().unwrap();
            assert_eq!(host.prepare("a", &[1.0], START), 0);
            host.bytes(scumble_device_commit)
        })
        .collect();
    assert_eq!(rows.len(), 1); // what a shared key looks like: the audit above would measure ln(1/0)
    let fresh: std::collections::HashSet<Vec<u8>> = (0..64)
        .map(|device| {
            let host = Host::open(&text, 9.0, Some(&state(device))).ok().unwrap();
            assert_eq!(host.prepare("a", &[1.0], START), 0);
            host.bytes(scumble_device_commit)
        })
        .collect();
    assert_eq!(fresh.len(), 64);
}

/// Noise that slots share would fall out of the difference of two reports. Each slot has its own: the bits of two slots
/// with one vector agree as two draws do. The planted fault, one slot read twice, agrees always and is found.
#[test]
fn slots_do_not_share_noise() {
    let text = campaign(parameters(MechanismId::DpSignoporpRr, 1, 1, 1.0), terms(Mode::Once, 1));
    let host = Host::open(&text, 99.0, Some(&state(0))).ok().unwrap();
    let agree = |rows: &[Vec<u8>]| rows.iter().all(|row| *row == rows[0]);
    let two = hits(&host, &[1.0], &["a", "b"], &agree, 0) as f64 / DEVICES as f64;
    let keep = 1.0 / (1.0 + (-1.0f64).exp());
    let expected = keep * keep + (1.0 - keep) * (1.0 - keep);
    let tolerance = (-ALPHA.ln() / (2.0 * DEVICES as f64)).sqrt(); // Hoeffding
    assert!((two - expected).abs() < tolerance, "{two} {expected}");
    let fault = hits(&host, &[1.0], &["a"], &agree, DEVICES) as f64 / DEVICES as f64;
    assert!((fault - expected).abs() > tolerance);
}

/// Planted fault: a host that takes bytes before it stores finds its charge gone after a restart. The client cannot stop a
/// host that lies about storing, but it gives no bytes before it was asked for the state and told of the commit.
#[test]
fn bytes_come_after_the_state() {
    let text = campaign(parameters(MechanismId::DpSignoporpRr, 1, 1, 1.0), terms(Mode::Once, 1));
    let host = Host::open(&text, 9.0, None).ok().unwrap();
    let (mut bytes, mut length) = (std::ptr::null(), 0);
    let code = unsafe { scumble_device_commit(host.0, &mut bytes, &mut length) };
    assert_eq!(code, Refusal::NotPrepared as i32);
    assert_eq!(host.prepare("a", &[1.0], START), 0);
    let code = unsafe { scumble_device::ffi::scumble_device_pending(host.0, 0, &mut bytes, &mut length) };
    assert_eq!((code, length), (0, 0)); // prepared, not committed: nothing waits
    assert!(key().public().to_hex().len() == 64);
}
