//! You received a release and want to use it.
//!
//! [`open_release`](crate::files::open_release) compares the hashes and recomputes the certificate's numbers before it
//! hands out a [`Release`](crate::release::Release). Everything here is post-processing: it costs no privacy.
//!
//! ```
//! use scumble::estimate::{RowRef, inner_product};
//! use scumble::files::{open_release, write_release};
//! use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
//! use scumble::projection::Seed;
//! use scumble::release::{Release, Releaser};
//! use scumble::search::{ExactQueries, Queries, search};
//! use scumble::statistics::{self, Options};
//! use scumble::vectors::{Range, Rows, Scalars};
//!
//! # let mechanism = MechanismId::DpOporpStaircase;
//! # let range = Range::new(0.0, 1.0)?;
//! # let required = Required { mechanism, dim: 64, k: 64, epsilon: 8.0, beta: 1.0, range, seed: Seed([7; 32]) };
//! # let releaser = Releaser::new(Mechanism::new(Parameters::new(required))?, None)?;
//! # let private: Vec<f32> = (0..30 * 64).map(|i| if i % 64 / 2 == i / 64 { 1.0 } else { 0.1 }).collect();
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("release.parquet");
//! # write_release(&path, &Release::from_rows(&releaser, Rows::dense(Scalars::F32(&private), 64))?)?;
//! // `path` is a file that somebody sent. Row i has its light at attributes 2i and 2i + 1.
//! let release = open_release(&path)?;
//!
//! // Your own query stays exact: it is projected as the release was, and gets no noise.
//! let query: Vec<f32> = (0..64).map(|at| if at / 2 == 12 { 1.0 } else { 0.1 }).collect();
//! let queries = ExactQueries::project(release.mechanism(), Rows::dense(Scalars::F32(&query), 64))?;
//! let nearest = search(&release, Queries::Exact(&queries), 3, None)?;
//! assert_eq!(nearest[0][0].row, 12);
//!
//! // Estimates come with their variance; where a release cannot tell, it says so instead.
//! let product = inner_product(RowRef::new(&release, 3)?, RowRef::new(&release, 4)?)?;
//! println!("{} +- {}", product.value, product.variance.sqrt());
//!
//! // Figures about all rows, each with a 95% interval.
//! for (name, told) in statistics::of(&release, &Options::default())?.families() {
//!     println!("{name}: {}", told.family().map_or("not told", |_| "told"));
//! }
//!
//! // Values for a model or a vector store of yours.
//! assert_eq!(release.all_values().len(), 30 * 64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - Rows are compared in the units of the projection, not of the attributes; [`ExactQueries`](crate::search::ExactQueries)
//!   are in the same units.
//! - [`decode`](crate::decode) uses what the whole table says about each row.
//! - Rows with the same seed can be compared across releases ([`Release::together`](crate::release::Release::together)).
