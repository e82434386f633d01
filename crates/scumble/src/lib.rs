//! scumble releases vectors under differential privacy and keeps them searchable, comparable and trainable.
//!
//! **Begin with [`guide`]**: a first page for owners of a table, for teams that collect from devices, for consumers of a
//! release, and for reviewers.
//!
//! # The map
//! The core ([`scumble_core`], re-exported here) takes a private row and gives released bytes. This crate is what
//! operators and consumers embed. Modules, in the order of their imports: a module uses those above it and never one
//! below; a test reads the `use` lines and enforces this.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | what can go wrong, and its sentences |
//! | [`words`] | words and numbers as people read them |
//! | [`columns`] | ids and labels that travel beside the rows |
//! | [`accounting`] | how losses add up |
//! | [`certificate`] | the claim that travels with the data: certificate, signature, statement, content hashes |
//! | [`release`] | a finished release, the only thing that consumers' modules accept |
//! | [`ledger`] | the SQLite file that keeps count |
//! | [`files`] | formats in and out |
//! | [`structure`] | public structure learned from a public sample: bins, components, books |
//! | [`estimate`] | inner product, norm, distance, cosine, angle: value, variance, interval |
//! | [`search`] | the nearest released rows |
//! | [`decode`] | what the whole table tells about each row |
//! | [`statistics`] | means, shares, covariances, drift of a release, with intervals |
//! | [`recall`] | how much of the truth a search finds, on rows that may be looked at |
//! | [`training`] | what a classifier learns from rows that may be looked at |
//! | [`plan`] | what to expect, before anything is spent |
//! | [`campaign`] | the signed description of a collection from devices |
//! | [`guide`] | a first page for each kind of user |
//!
//! **The wall**: private values exist only to the left of [`release`]. [`estimate`] and [`search`] take a
//! [`release::Release`], which holds a certificate and encoded bytes, so privacy can be checked by reading imports.
//! Everything to the left is integers up to the noise; floats appear after it. What is promised, and what is not:
//! `docs/guarantees.md`; which item of the paper is where: `docs/paper-map.md`; a slow second version of every
//! mechanism: `reference/`.
//!
//! # A whole example
//! ```
//! use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
//! use scumble::projection::Seed;
//! use scumble::certificate::Certificate;
//! use scumble::release::{Release, Releaser};
//! use scumble::search::{ExactQueries, Queries, search};
//! use scumble::vectors::{Range, Rows, Scalars};
//! use scumble::{estimate, privacy::Unit};
//!
//! // 40 private rows of 256 attributes in [0, 1]: row i has a bright band of its own.
//! let (n, p) = (40, 256);
//! let pixel = |row: usize, at: usize| if (at + 256 - 6 * row) % 256 < 48 { 1.0 } else { 0.0 };
//! let values: Vec<f32> = (0..n * p).map(|i| pixel(i / p, i % p)).collect();
//! let rows = Rows::dense(Scalars::F32(&values), p);
//!
//! // Every number below is public. Construction checks the promise on the integers that will run, or refuses.
//! let mechanism = MechanismId::DpOporpStaircase;
//! let range = Range::new(0.0, 1.0)?;
//! let required = Required { mechanism, dim: p, k: 128, epsilon: 8.0, beta: 1.0, range, seed: Seed([7; 32]) };
//! let mechanism = Mechanism::new(Parameters::new(required))?;
//! let guarantee = mechanism.promise().guarantee().expect("differentially private");
//! assert_eq!(guarantee.unit, Unit::Attribute); // ONE attribute moves by at most beta: not a whole record
//! assert!(guarantee.checked_epsilon <= 8.0);
//!
//! // The wall: private rows in, released bytes and a certificate out.
//! let releaser = Releaser::new(mechanism, None)?;
//! let release = Release::from_rows(&releaser, rows)?;
//!
//! // A certificate is text that anyone can check: its noise parameters are recomputed from what it claims.
//! let text = release.certificate().to_json();
//! let (certificate, _) = Certificate::parse(&text)?;
//! assert_eq!((certificate.rows, certificate.guarantee.epsilon), (40, Some(8.0)));
//!
//! // Search with a query of one's own, which stays exact.
//! let query: Vec<f32> = (0..p).map(|at| pixel(17, at)).collect();
//! let queries = ExactQueries::project(release.mechanism(), Rows::dense(Scalars::F32(&query), p))?;
//! let hits = search(&release, Queries::Exact(&queries), 5, None)?;
//! assert!(hits[0].iter().any(|hit| hit.row == 17));
//!
//! // Similarities come with their uncertainty. Rows 17 and 18 have 42 bright attributes in common.
//! let row = |i| estimate::RowRef::new(&release, i);
//! let shared = estimate::inner_product(row(17)?, row(18)?)?;
//! assert!((shared.value - 42.0).abs() < 8.0 * shared.variance.sqrt());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod accounting;
pub mod campaign;
pub mod certificate;
pub mod columns;
pub mod decode;
pub mod error;
pub mod estimate;
pub mod files;
pub mod guide;
pub mod ledger;
pub mod plan;
pub mod recall;
pub mod release;
pub mod search;
pub mod statistics;
pub mod structure;
pub mod training;
pub mod words;

pub use scumble_core::{entropy, mechanism, parallel, privacy, projection, vectors};

/// The secret key of keyed noise: a row that did not change is released with the same noise as before.
pub mod noise {
    pub use scumble_core::noise::NoiseKey;
}
