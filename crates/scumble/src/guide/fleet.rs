//! You collect vectors from people's devices.
//!
//! Each device applies the mechanism itself, and only the private result leaves it. A [`Campaign`](crate::campaign::Campaign)
//! is the signed, public description of one collection. Its SHA-256 is its name, and a device pins it. The device client is
//! the crate `scumble-device` (Rust, C, WASM); the service that takes reports is `scumble-collector`.
//!
//! ```
//! use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
//! use scumble::certificate::SigningKey;
//! use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
//! use scumble::projection::Seed;
//! use scumble::release::Releaser;
//! use scumble::vectors::Range;
//!
//! let range = Range::new(-1.0, 1.0)?;
//! let mechanism = MechanismId::DpSignoporpCeil;
//! let required = Required { mechanism, dim: 384, k: 256, epsilon: 4.0, beta: 2.0, range, seed: Seed([7; 32]) };
//! let releaser = Releaser::new(Mechanism::new(Parameters::new(required))?, None)?;
//!
//! let terms = Terms {
//!     name: "topics of interest".into(),
//!     statement: "We count which topics people read.".into(), // for the person whose device it is
//!     collector: "https://reports.example.org".into(),
//!     input: Input { layout: Layout::Dense, description: "topic scores".into(), model: None },
//!     periods: Periods { first: 1_800_000_000, seconds: 86_400, count: 30 },
//!     longitudinal: Longitudinal { mode: Mode::Once, contents: 3 },
//!     min_reports: 100,
//!     retention_days: 90,
//! };
//! let key = SigningKey::generate()?;
//! let campaign = Campaign::new(releaser.mechanism(), releaser.encoder(), terms)?.signed(&key);
//!
//! // Anyone who gets the text checks it: signature, and every number from the integers of the noise law.
//! let (received, mechanism, _) = Campaign::parse(&campaign.to_json())?;
//! assert_eq!(received.signer()?, Some(key.public()));
//! assert_eq!(received.digest(), campaign.digest());
//! assert!(mechanism.promise().guarantee().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The collector exports closed periods as ordinary releases: [`consumer`](super::consumer) continues from there.
