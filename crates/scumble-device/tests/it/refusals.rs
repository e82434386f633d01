//! Each refusal with its own code.

use crate::support::{DAY, START, bits, campaign, dense, open, parameters, policy, report, signer, terms, trust};
use scumble::campaign::{Campaign, Mode};
use scumble::certificate::SigningKey;
use scumble::mechanism::MechanismId;
use scumble::vectors::Scalars;
use scumble_device::entropy::host;
use scumble_device::{Client, Policy, Refusal, Trust, Vector};
use std::collections::HashSet;

const A: [f32; 4] = [0.5, -0.5, 1.0, 0.0];
const B: [f32; 4] = [0.5, -0.5, 1.0, 0.25];

#[test]
fn codes_and_sentences_are_unique_and_short() {
    let codes: HashSet<i32> = Refusal::ALL.iter().map(|refusal| *refusal as i32).collect();
    let sentences: HashSet<String> = Refusal::ALL.iter().map(ToString::to_string).collect();
    assert_eq!((codes.len(), sentences.len()), (Refusal::ALL.len(), Refusal::ALL.len()));
    assert!(sentences.iter().all(|sentence| sentence.ends_with('.') && sentence.len() < 120));
}

#[test]
fn another_signer_or_another_digest_is_refused() {
    let text = bits(Mode::Once, 2);
    let refused = |trust: Trust| Client::open(&text, None, trust, policy(9.0), None, host).err();
    assert_eq!(refused(trust()), None);
    assert_eq!(refused(Trust { signer: Some([1; 32]), digest: None }), Some(Refusal::WrongSigner));
    assert_eq!(refused(Trust { signer: None, digest: Some([1; 32]) }), Some(Refusal::WrongDigest));
    assert_eq!(refused(Trust::default()), Some(Refusal::BadArgument));
    // The digest alone is enough, signed or not; it names every word.
    let (parsed, ..) = Campaign::parse(&text).unwrap();
    let pinned = Trust { signer: None, digest: Some(parsed.digest_bytes()) };
    assert_eq!(refused(pinned), None);
    let bare = Campaign { signature: None, ..parsed }.to_json();
    assert!(Client::open(&bare, None, pinned, policy(9.0), None, host).is_ok());
    assert_eq!(Client::open(&bare, None, trust(), policy(9.0), None, host).err(), Some(Refusal::BadSignature));
}

/// Every byte of a campaign changed once: with a pinned signer each is a matter of trust, before anything is read.
#[test]
fn every_altered_byte_is_refused() {
    let text = bits(Mode::Once, 2);
    let mut seen = HashSet::new();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let altered = String::from_utf8(bytes).unwrap();
        let refusal = Client::open(&altered, None, trust(), policy(9.0), None, host).expect_err("altered");
        assert!(matches!(refusal, Refusal::BadSignature | Refusal::WrongSigner), "byte {at}: {refusal:?}");
        seen.insert(refusal as i32);
        let pinned = Trust { signer: None, digest: Some(Campaign::parse(&text).unwrap().0.digest_bytes()) };
        let by_digest = Client::open(&altered, None, pinned, policy(9.0), None, host).err();
        // The signature is not part of the name.
        let in_signature = at > text.find("\"signature\"").unwrap() - 5;
        assert!(in_signature || by_digest == Some(Refusal::WrongDigest), "byte {at}");
    }
    assert_eq!(seen.len(), 2);
}

/// A signer who lies about the numbers: the device derives them itself.
#[test]
fn a_signed_lie_is_refused() {
    let key = crate::support::key();
    let lie = |change: fn(&mut Campaign)| {
        let (mut campaign, ..) = Campaign::parse(&bits(Mode::Once, 2)).unwrap();
        change(&mut campaign);
        open(&campaign.signed(&key).to_json(), 9.0, None).err()
    };
    assert_eq!(lie(|_| {}), None);
    assert_eq!(lie(|campaign| campaign.guarantee.epsilon = Some(0.5)), Some(Refusal::NotDerived));
    assert_eq!(lie(|campaign| campaign.parameters.epsilon = 2.0), Some(Refusal::NotDerived));
    assert_eq!(lie(|campaign| campaign.grid_exponent += 1), Some(Refusal::NotDerived));
    assert_eq!(lie(|campaign| campaign.report_length += 1), Some(Refusal::NotDerived));
    assert_eq!(lie(|campaign| campaign.projection_version += 1), Some(Refusal::NotDerived));
    assert_eq!(lie(|campaign| campaign.noise["steps"][0] = 1.into()), Some(Refusal::NotDerived));
    assert_eq!(lie(|campaign| campaign.parameters.epsilon = -1.0), Some(Refusal::NotPrivate));
    assert_eq!(lie(|campaign| campaign.schema = "scumble-campaign/9".into()), Some(Refusal::NotACampaign));
    assert_eq!(lie(|campaign| campaign.terms.periods.seconds = 0), Some(Refusal::NotACampaign));
    // Not DP, and signed: the consent that the core asks for is no field that a device reads.
    assert_eq!(
        lie(|campaign| {
            campaign.parameters.mechanism = MechanismId::IdpSignoporpRr;
            campaign.parameters.i_understand_this_is_not_dp = true;
        }),
        Some(Refusal::NotACampaign)
    );
    assert_eq!(lie(|campaign| campaign.parameters.mechanism = MechanismId::IdpSignoporpRr), Some(Refusal::NotPrivate));
}

#[test]
fn policy_and_budget_hold_over_campaigns_and_life() {
    let text = bits(Mode::Once, 5);
    assert_eq!(open(&text, 0.99, None).err(), Some(Refusal::AbovePolicy));
    assert_eq!(open(&text, f64::NAN, None).err(), Some(Refusal::BadPolicy));
    let mut client = open(&text, 2.0, None).unwrap();
    assert!(report(&mut client, "a", &A, START).unwrap().is_some());
    let state = client.state();
    // Another campaign of the same unit on the same device: the same purse.
    let other = campaign(parameters(MechanismId::DpSignoporpRr, 4, 4, 1.5), terms(Mode::Once, 5));
    let mut second = open(&other, 2.0, Some(&state)).unwrap();
    assert_eq!(report(&mut second, "a", &A, START), Err(Refusal::BudgetSpent));
    // Another unit has its own.
    let record = campaign(parameters(MechanismId::Signcap, 4, 4, 1.5), terms(Mode::Once, 5));
    let mut third = open(&record, 2.0, Some(&state)).unwrap();
    assert!(report(&mut third, "a", &A, START).unwrap().is_some());
    assert_eq!(report(&mut client, "a", &B, START).map(|report| report.is_some()), Ok(true));
    assert_eq!(report(&mut client, "b", &B, START), Err(Refusal::BudgetSpent));
    // What was charged stays free.
    assert_eq!(report(&mut client, "a", &A, START).map(|report| report.is_some()), Ok(true));
}

#[test]
fn approximate_losses_charge_their_delta() {
    let text = campaign(parameters(MechanismId::DpOporp, 4, 4, 1.0), terms(Mode::Once, 9));
    let policy = Policy { attribute: 100.0, delta: 2.5e-6, ..Policy::default() };
    let mut client = Client::open(&text, None, trust(), policy, None, host).unwrap();
    assert!(report(&mut client, "a", &A, START).is_ok());
    assert!(report(&mut client, "b", &A, START).is_ok());
    assert_eq!(report(&mut client, "c", &A, START), Err(Refusal::BudgetSpent));
}

#[test]
fn a_slot_has_so_many_contents() {
    let mut client = open(&bits(Mode::Once, 2), 9.0, None).unwrap();
    for (values, fine) in [(A, true), (B, true), (A, true), ([0.0; 4], false), (B, true)] {
        let refused = report(&mut client, "a", &values, START).err();
        assert_eq!(refused, (!fine).then_some(Refusal::ContentsSpent));
    }
    assert!(report(&mut client, "b", &[0.0; 4], START).is_ok());
}

#[test]
fn damaged_and_rolled_back_states_are_refused() {
    let text = bits(Mode::Once, 9);
    let mut client = open(&text, 9.0, None).unwrap();
    report(&mut client, "a", &A, START).unwrap();
    let old = client.state();
    report(&mut client, "a", &B, START).unwrap();
    let new = client.state();
    assert_eq!(client.reload(Some(&old)), Err(Refusal::RolledBackState));
    assert_eq!(client.reload(None), Err(Refusal::RolledBackState));
    assert_eq!(client.reload(Some(&new)), Ok(()));
    // After a restart nothing remembers: a restored backup is taken, and gives the same bytes for the same vectors.
    let mut restored = open(&text, 9.0, Some(&old)).unwrap();
    let again = report(&mut restored, "a", &B, START).unwrap();
    assert!(client.pending().any(|pending| Some(pending) == again.as_deref()));
    let mut damaged = new.to_vec();
    damaged[20] ^= 1;
    assert_eq!(client.reload(Some(&damaged)), Err(Refusal::DamagedState));
    assert_eq!(open(&text, 9.0, Some(&damaged)).err(), Some(Refusal::DamagedState));
    assert_eq!(open(&text, 9.0, Some(&[])).err(), Some(Refusal::DamagedState));
}

#[test]
fn without_entropy_there_is_no_device() {
    let text = bits(Mode::Once, 9);
    let failing = Client::open(&text, None, trust(), policy(9.0), None, |_| Err(Refusal::NoEntropy));
    assert_eq!(failing.err(), Some(Refusal::NoEntropy));
    let silent = Client::open(&text, None, trust(), policy(9.0), None, |_| Ok(()));
    assert_eq!(silent.err(), Some(Refusal::NoEntropy));
}

#[test]
fn vectors_that_are_none_are_refused() {
    let mut client = open(&bits(Mode::Once, 9), 9.0, None).unwrap();
    let mut refused = |slot: &str, vector: Vector<'_>, now: u64| client.prepare(slot, vector, now).err();
    assert_eq!(refused("a", dense(&[0.0, f32::NAN, 0.0, 0.0]), START), Some(Refusal::NotFinite));
    assert_eq!(refused("a", dense(&[0.0, f32::INFINITY, 0.0, 0.0]), START), Some(Refusal::NotFinite));
    assert_eq!(refused("a", dense(&[0.0; 3]), START), Some(Refusal::WrongDimension));
    assert_eq!(refused("a", dense(&[0.0; 8]), START), Some(Refusal::WrongDimension));
    let sparse = |dim, index, values| Vector::Sparse { dim, index, values: Scalars::F32(values) };
    assert_eq!(refused("a", sparse(4, &[1, 1], &[0.5, 0.5]), START), Some(Refusal::WrongIndex));
    assert_eq!(refused("a", sparse(4, &[1, 4], &[0.5, 0.5]), START), Some(Refusal::WrongIndex));
    assert_eq!(refused("a", sparse(5, &[1], &[0.5]), START), Some(Refusal::WrongDimension));
    assert_eq!(refused("a", sparse(4, &[1], &[0.5, 1.0]), START), Some(Refusal::WrongDimension));
    assert_eq!(refused("", dense(&A), START), Some(Refusal::BadSlot));
    assert_eq!(refused(&"a".repeat(65), dense(&A), START), Some(Refusal::BadSlot));
    assert_eq!(refused("a", dense(&A), START - 1), Some(Refusal::ClosedPeriod));
    assert_eq!(refused("a", dense(&A), START + 30 * DAY), Some(Refusal::ClosedPeriod));
    assert_eq!(refused("a", dense(&A), START + 30 * DAY - 1), None);
    assert_eq!(client.prepare("a", dense(&A), START), Err(Refusal::NotCommitted));
    assert!(client.commit().is_ok());
    assert_eq!(client.commit(), Err(Refusal::NotPrepared));
}

/// Dense and sparse, and every kind of number, are one content.
#[test]
fn one_vector_in_every_form_is_one_report() {
    let text = campaign(parameters(MechanismId::DpOporpStaircase, 4, 4, 1.0), terms(Mode::Once, 1));
    let mut client = open(&text, 9.0, None).unwrap();
    let doubles = [1.0f64, 0.0, -1.0, 0.0];
    let floats = doubles.map(|value| value as f32);
    let integers = doubles.map(|value| value as i16);
    let forms = [
        Vector::Dense(Scalars::F64(&doubles)),
        Vector::Dense(Scalars::F32(&floats)),
        Vector::Dense(Scalars::I16(&integers)),
        Vector::Sparse { dim: 4, index: &[0, 2], values: Scalars::F32(&[1.0, -1.0]) },
        Vector::Sparse { dim: 4, index: &[0, 1, 2], values: Scalars::F64(&[1.0, 0.0, -1.0]) },
    ];
    let mut reports = HashSet::new();
    for form in forms {
        client.prepare("a", form, START).unwrap();
        reports.insert(client.commit().unwrap());
    }
    assert_eq!(reports.len(), 1);
    assert_eq!(client.spent(client.unit()).epsilon(), 1.0);
}

#[test]
fn once_is_once_and_sticky_is_every_period() {
    let today = |client: &mut Client, day: u64| report(client, "a", &A, START + day * DAY).unwrap();
    let settle = |client: &mut Client, report: &[u8]| {
        client.settle(report).unwrap();
        client.commit().unwrap();
    };
    let mut once = open(&bits(Mode::Once, 9), 9.0, None).unwrap();
    let first = today(&mut once, 0).unwrap();
    assert_eq!(today(&mut once, 0), Some(first.clone())); // a retry
    settle(&mut once, &first);
    assert_eq!((today(&mut once, 0), today(&mut once, 1)), (None, None));
    let mut sticky = open(&bits(Mode::Sticky, 9), 9.0, None).unwrap();
    let days: Vec<Vec<u8>> = (0..3)
        .map(|day| {
            let report = today(&mut sticky, day).unwrap();
            settle(&mut sticky, &report);
            assert_eq!(today(&mut sticky, day), None);
            report
        })
        .collect();
    assert!(days.windows(2).all(|pair| pair[0][32..] == pair[1][32..] && pair[0][16..32] != pair[1][16..32]));
    assert_eq!(sticky.spent(sticky.unit()).epsilon(), 1.0);
    // A clock that went back sends nothing.
    assert_eq!(today(&mut sticky, 1), None);
}

#[test]
fn reports_of_closed_periods_are_dropped() {
    let mut client = open(&bits(Mode::Sticky, 9), 9.0, None).unwrap();
    for day in 0..5 {
        report(&mut client, "a", &A, START + day * DAY).unwrap();
        assert_eq!(client.pending().count(), (day as usize + 1).min(2));
    }
}

#[test]
fn who_signs_is_in_the_key_not_in_the_text() {
    let (parsed, ..) = Campaign::parse(&bits(Mode::Once, 1)).unwrap();
    let other = SigningKey::generate().unwrap();
    let text = parsed.signed(&other).to_json();
    assert_eq!(Client::open(&text, None, trust(), policy(9.0), None, host).err(), Some(Refusal::WrongSigner));
    // A foreign signature under the trusted key's name does not hold.
    let forged = text.replace(&other.public().to_hex(), &crate::support::key().public().to_hex());
    assert_eq!(Client::open(&forged, None, trust(), policy(9.0), None, host).err(), Some(Refusal::BadSignature));
    assert_eq!(signer().len(), 32);
}
