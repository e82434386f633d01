//! A certificate carries its own check: it round-trips, and any altered number or byte is found.

use crate::support::Draw;
use scumble::certificate::{Certificate, ColumnLayout, ContentHasher};
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::Encoder;
use scumble::vectors::Range;

fn certificate(id: MechanismId) -> Certificate {
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: 64,
        k: 16,
        epsilon: 2.0,
        beta: 1.0,
        range: Range::new(-1.0, 1.0).unwrap(),
        seed: Seed([5; 32]),
    });
    if matches!(id.notion(), NotionKind::Approximate | NotionKind::Individual) {
        parameters.delta = Some(1e-6);
    }
    parameters.i_understand_this_is_not_dp = true;
    let mechanism = Mechanism::new(parameters).unwrap();
    let encoder = Encoder::new(&mechanism, None).unwrap();
    let hasher = ContentHasher::new(ColumnLayout::encoded(encoder.encoding(), encoder.k()));
    Certificate::new(&mechanism, &encoder, 10, hasher.finish().into())
}

#[test]
fn every_mechanism_round_trips() {
    for id in MechanismId::without_files() {
        let text = certificate(id).to_json();
        let (parsed, mechanism) = Certificate::parse(&text).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(parsed.to_json(), text);
        assert_eq!(mechanism.id(), id);
    }
}

#[test]
fn individual_dp_states_no_epsilon() {
    let certificate = certificate(MechanismId::IdpSignrpRr);
    assert_eq!(certificate.guarantee.notion, "individual");
    assert_eq!(certificate.guarantee.epsilon, None);
}

#[test]
fn a_claim_that_the_numbers_do_not_carry_is_found() {
    let honest = certificate(MechanismId::DpOporpLaplace);
    let altered: [fn(&mut Certificate); 6] = [
        |c| c.guarantee.epsilon = Some(1.0),
        |c| c.guarantee.checked_epsilon = Some(0.5),
        |c| c.beta = 2.0,
        |c| c.grid_exponent -= 1,
        |c| c.noise["law"]["ratio"] = "1".into(),
        |c| c.not_protected.clear(),
    ];
    for alter in altered {
        let mut certificate = honest.clone();
        alter(&mut certificate);
        certificate.digest = certificate.compute_digest(); // even a forger who mends the digest
        assert!(certificate.check().is_err());
    }
}

#[test]
fn any_changed_byte_is_found() {
    let text = certificate(MechanismId::DpSignoporpCeil).to_json();
    let mut draw = Draw::new(11);
    for _ in 0..500 {
        let mut bytes = text.clone().into_bytes();
        let at = draw.next() as usize % bytes.len();
        bytes[at] ^= 1 << (draw.next() % 7);
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        assert!(Certificate::parse(&changed).is_err(), "byte {at}");
    }
}
