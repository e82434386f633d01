//! You must check what was promised.
//!
//! A release carries a certificate: who is a neighbour of whom (the **unit**), epsilon, delta, the integers of the noise
//! law, the assumptions, and what is NOT protected. [`verify`](crate::files::verify) checks every byte against the hashes
//! and recomputes every number of the certificate from its parameters, in exact integers. It returns its checks as values.
//! Without the owner's public key it finds accidents; with it, forgeries too.
//!
//! ```
//! use scumble::certificate::{PublicKey, SigningKey};
//! use scumble::files::{Outcome, verify, write_release};
//! use scumble::mechanism::{Beside, Mechanism, MechanismId, Parameters, Required};
//! use scumble::privacy::Unit;
//! use scumble::projection::Seed;
//! use scumble::release::{Release, Releaser};
//! use scumble::vectors::{Range, Rows, Scalars};
//!
//! # let mechanism = MechanismId::DpSignoporpCeil;
//! # let range = Range::new(0.0, 1.0)?;
//! # let required = Required { mechanism, dim: 16, k: 8, epsilon: 2.0, beta: 0.5, range, seed: Seed([7; 32]) };
//! # let releaser = Releaser::new(Mechanism::new(Parameters::new(required))?, None)?;
//! # let private = vec![0.25f32; 5 * 16];
//! # let key = SigningKey::generate()?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("release.parquet");
//! # let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&private), 16))?;
//! # let ids = scumble::columns::Column::Int((0..5).collect());
//! # write_release(&path, &Release::new(&releaser, release.bytes().to_vec(), Some(ids), None).signed(&key))?;
//! # let owner: PublicKey = key.public();
//! // `path` is the release, `owner` the public key that its owner gave you by another way.
//! let report = verify(&path, &Beside::default(), Some(&owner))?;
//! for check in &report.checks {
//!     println!("{:?} {}: {}", check.outcome, check.name, check.detail);
//! }
//! assert!(report.failed().is_none());
//!
//! // The claim, in numbers and in words.
//! let certificate = report.certificate.expect("it was verified");
//! assert_eq!(certificate.claim().guarantee.map(|promised| promised.unit), Some(Unit::Attribute));
//! println!("{}", certificate.statement());
//!
//! // One altered byte is found.
//! let mut bytes = std::fs::read(&path)?;
//! bytes[8] ^= 1;
//! std::fs::write(&path, bytes)?;
//! let report = verify(&path, &Beside::default(), Some(&owner))?;
//! assert_eq!(report.failed().map(|check| check.outcome), Some(Outcome::Failed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - `verify` shows that the noise law fits the claim. It cannot show that the owner drew the noise: for that you trust the
//!   owner, or read and run the code. `scumble_lab::audit` measures epsilon from outside, on the code that runs.
//! - [`Ledger`](crate::ledger::Ledger) adds up all releases of a data set; its
//!   [`Statement`](crate::ledger::Statement) can be checked without the ledger.
