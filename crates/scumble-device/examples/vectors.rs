//! Writes packages/vectors.json: campaign, state, slot, vector, moment -> report, for every mechanism that a campaign may
//! have and every encoding. All clients, in every language, must give these bytes.
//!
//! `cargo run --release -p scumble-device --example vectors` writes the file; with `check` it compares instead.

use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
use scumble::certificate::SigningKey;
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, OutputKind, Parameters, Required};
use scumble::privacy::Unit;
use scumble::projection::{Bins, Origin, Partition, PublicTable, Seed, TableFile};
use scumble::vectors::{Range, Scalars};
use scumble_core::release::{Encoder, Encoding};
use scumble_device::{Client, Policy, State, Trust, Vector};
use serde_json::{Value, json};

const START: u64 = 1_800_000_000;
const DAY: u64 = 86_400;

#[allow(dead_code)] // the tests take `text` alone
fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/vectors.json");
    if std::env::args().nth(1).as_deref() != Some("check") {
        std::fs::write(path, text()).expect("packages/vectors.json can be written");
    } else if std::fs::read_to_string(path).ok() != Some(text()) {
        eprintln!("packages/vectors.json is not what this code gives");
        std::process::exit(1);
    }
}

/// The file's text.
pub fn text() -> String {
    let campaigns = campaigns();
    let vectors: Vec<Value> = campaigns.iter().enumerate().flat_map(|(at, campaign)| reports(at, campaign)).collect();
    let texts: Vec<String> = campaigns.iter().map(Campaign::to_json).collect();
    // The public file that a campaign names, or null.
    let files: Vec<Option<String>> =
        campaigns.iter().map(|campaign| campaign.file().map(|(_, content)| hexadecimal(&content))).collect();
    let all = json!({
        "about": "campaign, state, slot, vector, now -> report; written by scumble-device's example `vectors`",
        "signer": key().public().to_hex(), "policy": POLICY, "campaigns": texts, "files": files, "vectors": vectors,
    });
    // One vector a line: a change shows where it is.
    all.to_string().replace("},{\"campaign\"", "},\n{\"campaign\"").replace("}\\n\",\"", "}\\n\",\n\"") + "\n"
}

const POLICY: [f64; 5] = [1000.0, 1000.0, 1000.0, 1000.0, 0.5];

fn key() -> SigningKey {
    SigningKey::from_text(&format!("scumble-signing-key ed25519 {}", "5a".repeat(32))).expect("64 digits")
}

/// Every mechanism, unit and encoding once, over several dimensions.
fn campaigns() -> Vec<Campaign> {
    let mut all = Vec::new();
    for id in MechanismId::without_files().filter(|id| id.notion() != NotionKind::Individual) {
        let encodings = match id.output() {
            OutputKind::Values => vec![Encoding::F32, Encoding::I16, Encoding::B8, Encoding::B4, Encoding::B1],
            OutputKind::Bits | OutputKind::Symbols | OutputKind::Words => vec![],
        };
        all.push(campaign(parameters(id, 40, 16), None, Mode::Once));
        // Each further encoding with one mechanism of each family is enough: it comes after the noise.
        if matches!(id, MechanismId::DpOporpStaircase | MechanismId::RawGOpt) {
            all.extend(
                encodings[1..].iter().map(|&encoding| campaign(parameters(id, 24, 12), Some(encoding), Mode::Sticky)),
            );
        }
    }
    for symbols in [2, 3, 5, 16] {
        let lattice = Parameters { symbols: Some(symbols), ..parameters(MechanismId::DpOporpLattice, 30, 11) };
        all.push(campaign(lattice, None, Mode::Once));
    }
    for (id, unit) in [
        (MechanismId::DpOporpLaplace, Unit::L1),
        (MechanismId::DpOporp, Unit::L1),
        (MechanismId::DpOporp, Unit::L2),
        (MechanismId::RawGOpt, Unit::L2),
        (MechanismId::RawGOpt, Unit::Record),
    ] {
        let clip_norm = (unit == Unit::Record).then_some(1.0);
        all.push(campaign(Parameters { unit, clip_norm, ..parameters(id, 24, 8) }, None, Mode::Once));
    }
    for (id, dim, k) in [
        (MechanismId::DpSignoporpCeil, 384, 256),
        (MechanismId::DpOporpStaircase, 784, 256),
        (MechanismId::DpSignoporpCeil, 100_000, 64),
        (MechanismId::Privcube, 384, 64),
    ] {
        all.push(campaign(parameters(id, dim, k), None, Mode::Once));
    }
    all.extend(with_files().into_iter().map(|parameters| campaign(parameters, None, Mode::Once)));
    all
}

/// Components, a book, and bins that are too large for the campaign's text.
pub fn with_files() -> Vec<Parameters> {
    let entry = |i: usize| ((i * 7919 + 31) % 2003) as i16 - 1001;
    let scale = 1.0 / 1024.0;
    let centre = (0..24).map(|i| f32::from(entry(i)) / 8192.0).collect();
    let components = PublicTable::components(centre, (0..24 * 16).map(entry).collect(), scale, Origin::Made);
    let components = TableFile::of(components.expect("components"));
    let book =
        TableFile::of(PublicTable::book(9, (0..9 * 24).map(entry).collect(), scale, Origin::Made).expect("a book"));
    let places: Vec<_> = (0..12_000).map(|i: u32| Some((i * 37 % 64, !i.is_multiple_of(3)))).collect();
    let bins = Partition::of(&Bins::new(&places, 64, Origin::Made).expect("bins"));
    let with = |id| Parameters { components: Some(components.clone()), ..parameters(id, 24, 16) };
    vec![
        with(MechanismId::Privcube),
        with(MechanismId::Signcap),
        Parameters { book: Some(book), ..parameters(MechanismId::Privbook, 24, 24) },
        Parameters { bins: Some(bins), ..parameters(MechanismId::DpSignoporpCeil, 12_000, 64) },
    ]
}

fn parameters(id: MechanismId, dim: usize, k: usize) -> Parameters {
    let range = Range { lo: -1.0, hi: 1.0 };
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim,
        k,
        epsilon: 2.0,
        beta: 1.0,
        range,
        seed: Seed(std::array::from_fn(|i| i as u8)),
    });
    parameters.delta = (id.notion() == NotionKind::Approximate).then_some(1e-6);
    parameters
}

fn campaign(parameters: Parameters, encoding: Option<Encoding>, mode: Mode) -> Campaign {
    let mechanism = Mechanism::new(parameters).expect("parameters of a mechanism");
    let encoder = Encoder::new(&mechanism, encoding).expect("an encoding of the mechanism");
    let terms = Terms {
        name: mechanism.id().to_string(),
        statement: "A campaign for tests.".into(),
        collector: "http://127.0.0.1:8080".into(),
        input: Input { layout: Layout::Dense, description: "made up".into(), model: None },
        periods: Periods { first: START, seconds: DAY, count: 365 },
        longitudinal: Longitudinal { mode, contents: 4 },
        min_reports: 1,
        retention_days: 30,
    };
    Campaign::new(&mechanism, &encoder, terms).expect("private").signed(&key())
}

/// The value of attribute j, in 64ths: exact in every language's numbers.
fn value(at: usize, j: usize) -> i64 {
    ((j * 7919 + at * 104_729 + 13) % 161) as i64 - 80 // beyond the range on both sides: clipped
}

fn reports(at: usize, campaign: &Campaign) -> Vec<Value> {
    let dim = campaign.parameters.dim;
    let sparse: Vec<u32> =
        (0..dim as u32).filter(|j| (j * 31 + at as u32).is_multiple_of(17.max(dim as u32 / 40))).collect();
    let mut all = Vec::new();
    if dim <= 1000 {
        all.push(report(at, campaign, "f32", None));
    }
    all.push(report(at, campaign, "f64", Some(&sparse)));
    if at.is_multiple_of(7) && dim <= 1000 {
        all.push(report(at, campaign, "i16", None));
        all.push(report(at, campaign, "u8", None));
    }
    all
}

fn report(at: usize, campaign: &Campaign, kind: &str, index: Option<&[u32]>) -> Value {
    let dim = campaign.parameters.dim;
    let places: Vec<usize> =
        index.map_or_else(|| (0..dim).collect(), |index| index.iter().map(|&j| j as usize).collect());
    let doubles: Vec<f64> = places.iter().map(|&j| value(at, j) as f64 / 64.0).collect();
    let floats: Vec<f32> = doubles.iter().map(|&value| value as f32).collect();
    let integers: Vec<i16> = places.iter().map(|&j| (value(at, j) / 40) as i16).collect();
    let bytes: Vec<u8> = integers.iter().map(|value| value.unsigned_abs() as u8).collect();
    let (values, written) = match kind {
        "f32" => (Scalars::F32(&floats), json!(floats)),
        "f64" => (Scalars::F64(&doubles), json!(doubles)),
        "i16" => (Scalars::I16(&integers), json!(integers)),
        _ => (Scalars::U8(&bytes), json!(bytes)),
    };
    let vector = match index {
        None => Vector::Dense(values),
        Some(index) => Vector::Sparse { dim, index, values },
    };
    let [attribute, l1, l2, record, delta] = POLICY;
    let policy = Policy { attribute, l1, l2, record, delta };
    let hex = key().public().to_hex();
    let signer = std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hexadecimal digits"));
    let state = State::new(|bytes| {
        bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = 200 - 3 * i as u8);
        Ok(())
    });
    let state = state.expect("entropy").to_bytes();
    let file = campaign.file().map(|(_, content)| content);
    let trust = Trust { signer: Some(signer), digest: None };
    let mut client =
        Client::open(&campaign.to_json(), file.as_deref(), trust, policy, Some(&state), scumble_device::entropy::host)
            .expect("opens");
    let now = START + DAY * (at as u64 % 300) + 77;
    client.prepare("profile", vector, now).expect("a fine vector");
    let next = client.state();
    let report = client.commit().expect("prepared").expect("new");
    let mut all = json!({ "campaign": at, "state": hexadecimal(&state), "slot": "profile", "kind": kind });
    if let Some(index) = index {
        all["index"] = json!(index);
        all["dim"] = json!(dim);
    }
    all["values"] = written;
    all["now"] = json!(now);
    all["report"] = json!(hexadecimal(&report));
    all["next"] = json!(hexadecimal(&next));
    all
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
