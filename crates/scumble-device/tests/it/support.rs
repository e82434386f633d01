//! Campaigns to open, and a host that stores.

use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
use scumble::certificate::SigningKey;
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required};
use scumble::projection::Seed;
use scumble::vectors::{Range, Scalars};
use scumble_core::release::Encoder;
use scumble_device::entropy::host;
use scumble_device::{Client, Policy, Refusal, Trust, Vector};

/// When the first period of [`terms`] begins.
pub const START: u64 = 1_800_000_000;
/// Seconds per period.
pub const DAY: u64 = 86_400;

pub fn terms(mode: Mode, contents: u32) -> Terms {
    Terms {
        name: "topics".into(),
        statement: "We count which topics people read.".into(),
        collector: "https://reports.example.org".into(),
        input: Input { layout: Layout::Dense, description: "topic scores".into(), model: None },
        periods: Periods { first: START, seconds: DAY, count: 30 },
        longitudinal: Longitudinal { mode, contents },
        min_reports: 100,
        retention_days: 90,
    }
}

pub fn parameters(id: MechanismId, dim: usize, k: usize, epsilon: f64) -> Parameters {
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim,
        k,
        epsilon,
        beta: 1.0,
        range: Range { lo: -1.0, hi: 1.0 },
        seed: Seed([3; 32]),
    });
    if id.notion() == NotionKind::Approximate {
        parameters.delta = Some(1e-6);
    }
    parameters
}

pub fn key() -> SigningKey {
    SigningKey::from_text(&format!("scumble-signing-key ed25519 {}", "5a".repeat(32))).unwrap()
}

pub fn signer() -> [u8; 32] {
    let hex = key().public().to_hex();
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

/// A signed campaign.
pub fn campaign(parameters: Parameters, terms: Terms) -> String {
    let mechanism = Mechanism::new(parameters).unwrap();
    let encoder = Encoder::new(&mechanism, None).unwrap();
    Campaign::new(&mechanism, &encoder, terms).unwrap().signed(&key()).to_json()
}

/// One bit for each of four attributes, epsilon 1.
pub fn bits(mode: Mode, contents: u32) -> String {
    campaign(parameters(MechanismId::DpSignoporpCeil, 4, 4, 1.0), terms(mode, contents))
}

pub fn trust() -> Trust {
    Trust { signer: Some(signer()), digest: None }
}

pub fn policy(epsilon: f64) -> Policy {
    Policy { attribute: epsilon, l1: epsilon, l2: epsilon, record: epsilon, delta: 1e-3 }
}

pub fn open(text: &str, epsilon: f64, state: Option<&[u8]>) -> Result<Client, Refusal> {
    Client::open(text, None, trust(), policy(epsilon), state, host)
}

pub fn dense(values: &[f32]) -> Vector<'_> {
    Vector::Dense(Scalars::F32(values))
}

/// Prepares, stores, commits: what every host does.
pub fn report(client: &mut Client, slot: &str, values: &[f32], now: u64) -> Result<Option<Vec<u8>>, Refusal> {
    client.prepare(slot, dense(values), now)?;
    client.commit()
}
