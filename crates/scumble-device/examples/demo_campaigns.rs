//! Writes packages/demo-page/campaigns.json: what the demonstration page offers, signed with a key that everyone knows.
//!
//! `cargo run --release -p scumble-device --example demo_campaigns`

use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
use scumble::certificate::SigningKey;
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::vectors::Range;
use scumble_core::release::Encoder;
use serde_json::json;

const EPSILONS: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

fn main() {
    let mut all = Vec::new();
    for (input, dim, k) in [("profile", 8, 8), ("sentence", 64, 64)] {
        for (kind, id) in [
            ("values", MechanismId::RawStaircase),
            ("bits", MechanismId::DpSignoporpCeil),
            ("record", MechanismId::Privcube),
        ] {
            for epsilon in EPSILONS {
                all.push(json!({ "input": input, "kind": kind, "epsilon": epsilon, "campaign": campaign(id, input, dim, k, epsilon) }));
            }
        }
    }
    let text = json!({ "signer": key().public().to_hex(), "campaigns": all }).to_string() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/demo-page/campaigns.json");
    std::fs::write(path, text).expect("packages/demo-page/campaigns.json can be written");
}

/// Nobody may trust it: it is written here.
fn key() -> SigningKey {
    SigningKey::from_text(&format!("scumble-signing-key ed25519 {}", "5a".repeat(32))).expect("64 digits")
}

fn campaign(id: MechanismId, input: &str, dim: usize, k: usize, epsilon: f64) -> String {
    let range = Range { lo: 0.0, hi: 1.0 };
    let parameters =
        Parameters::new(Required { mechanism: id, dim, k, epsilon, beta: 1.0, range, seed: Seed([7; 32]) });
    let mechanism = Mechanism::new(parameters).expect("parameters of a mechanism");
    let encoder = Encoder::new(&mechanism, None).expect("its own encoding");
    let terms = Terms {
        name: format!("demonstration: {input}, {id}, epsilon {epsilon}"),
        statement: "A demonstration. Nothing is collected unless you run a collector on this machine yourself.".into(),
        collector: "http://127.0.0.1:8080".into(),
        input: Input { layout: Layout::Dense, description: format!("the {input} on the page"), model: None },
        periods: Periods { first: 1_700_000_000, seconds: 86_400, count: 36_500 },
        longitudinal: Longitudinal { mode: Mode::Once, contents: 1_000_000 },
        min_reports: 1,
        retention_days: 2,
    };
    Campaign::new(&mechanism, &encoder, terms).expect("private").signed(&key()).to_json()
}
