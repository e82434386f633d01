//! Public files that a campaign names by their hash: components, a book, large bins.

use crate::support::{START, key, policy, report, terms, trust};
use crate::vectors::with_files;
use scumble::campaign::{Campaign, Mode};
use scumble::mechanism::{Mechanism, Parameters};
use scumble::privacy::Unit;
use scumble_core::release::Encoder;
use scumble_device::entropy::host;
use scumble_device::{Client, Refusal};

fn campaign(parameters: Parameters) -> (String, Vec<u8>) {
    let mechanism = Mechanism::new(parameters).unwrap();
    let encoder = Encoder::new(&mechanism, None).unwrap();
    let campaign = Campaign::new(&mechanism, &encoder, terms(Mode::Once, 2)).unwrap().signed(&key());
    (campaign.to_json(), campaign.file().unwrap().1)
}

#[test]
fn a_device_takes_the_file_that_is_named_and_no_other() {
    for parameters in with_files() {
        let (dim, unit) = (parameters.dim, parameters.unit);
        let (text, file) = campaign(parameters);
        assert!(text.len() < 20_000, "the file does not travel in the text");
        let open = |file: Option<&[u8]>| Client::open(&text, file, trust(), policy(9.0), None, host);
        let mut client = open(Some(&file)).unwrap();
        assert_eq!(client.unit(), unit);
        let values: Vec<f32> = (0..dim).map(|i| ((i * 7) % 13) as f32 / 13.0).collect();
        let sent = report(&mut client, "profile", &values, START).unwrap().unwrap();
        assert_eq!(sent.len(), client.report_length());
        assert!(client.spent(unit).epsilon() > 0.0);

        assert_eq!(open(None).err(), Some(Refusal::NoFile));
        assert_eq!(open(Some(&[])).err(), Some(Refusal::WrongFile));
        for at in (0..file.len()).step_by(file.len() / 50 + 1) {
            let mut other = file.clone();
            other[at] ^= 1;
            assert_eq!(open(Some(&other)).err(), Some(Refusal::WrongFile), "byte {at}");
        }
    }
}

/// A file that no campaign asks for is a mistake of the host.
#[test]
fn a_file_that_is_not_named_is_refused() {
    let text = crate::support::bits(Mode::Once, 2);
    let opened = Client::open(&text, Some(b"scumble-book 1\n"), trust(), policy(9.0), None, host);
    assert_eq!(opened.err(), Some(Refusal::WrongFile));
}

/// The signer is believed as to which file it is, but not as to what it holds: the hash of a file of another kind, or of
/// no public file at all, gives no campaign.
#[test]
fn a_named_file_of_another_kind_is_refused() {
    use sha2::Digest;
    let [components, _, book, bins] = <[Parameters; 4]>::try_from(with_files()).unwrap();
    let other = |wanted: &Parameters, given: &[u8]| {
        let (text, file) = campaign(wanted.clone());
        let sha256 = |bytes: &[u8]| scumble_core::facts::hex(&sha2::Sha256::digest(bytes));
        let (parsed, ..) = {
            let mut beside = scumble::mechanism::Beside::default();
            beside.add(&file).unwrap();
            Campaign::parse_with(&text, &beside).unwrap()
        };
        let swapped = text.replace(&sha256(&file), &sha256(given));
        assert_ne!(swapped, text);
        // Signed anew by the same signer, who names another file.
        let body = swapped[..swapped.find(",\n  \"signature\"").unwrap()].to_owned() + "\n}\n";
        let digest = sha256(body.as_bytes());
        let signature = serde_json::to_string_pretty(&key().sign(&digest)).unwrap().replace('\n', "\n  ");
        let forged = format!("{},\n  \"signature\": {signature}\n}}\n", body.strip_suffix("\n}\n").unwrap());
        assert_eq!(parsed.parameters.unit, wanted.unit);
        Client::open(&forged, Some(given), trust(), policy(9.0), None, host).err()
    };
    let files: Vec<Vec<u8>> = [&components, &book, &bins].map(|it| campaign(it.clone()).1).into();
    for (at, wanted) in [&components, &book, &bins].into_iter().enumerate() {
        for (from, given) in files.iter().enumerate().filter(|(from, _)| *from != at) {
            let refusal = other(wanted, given);
            assert!(matches!(refusal, Some(Refusal::NotACampaign | Refusal::NotPrivate)), "{at} {from}: {refusal:?}");
        }
        assert_eq!(other(wanted, b"no public file"), Some(Refusal::NotACampaign));
    }
    assert_eq!((components.unit, bins.unit), (Unit::Record, Unit::Attribute));
}
