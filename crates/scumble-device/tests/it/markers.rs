//! Nothing private in anything that is printed: errors, debug output, messages.

use crate::support::{START, bits, dense, open};
use scumble::campaign::Mode;
use scumble_device::{Refusal, State};

#[test]
fn debug_output_and_sentences_hold_no_values_and_no_key() {
    let mut client = open(&bits(Mode::Once, 2), 9.0, None).unwrap();
    let marker = 0.123_456_79_f32;
    client.prepare("secret-slot", dense(&[marker; 4]), START).unwrap();
    let state = client.state();
    let key: String = state[12..44].iter().map(|byte| format!("{byte:02x}")).collect();
    client.commit().unwrap();
    let printed =
        format!("{client:?} {:?} {:?}", State::from_bytes(&state), client.prepare("", dense(&[marker]), START));
    for secret in ["0.1234", "secret-slot", &key, &key[..8]] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(Refusal::ALL.iter().all(|refusal| !refusal.to_string().contains(['{', '%'])));
}
