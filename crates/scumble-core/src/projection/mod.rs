//! Public projections: seeded, data-free, equal on every machine. Specified in `docs/projection-format.md`.
//!
//! A projection is a `p x k` matrix W of integers with a public real factor; a private row `q` becomes
//! `x_j = sum_i W_ij q_i`, exactly. W is a function of (kind, seed, p, k), and for bins also of a public file. Any row
//! of it can be computed alone, so sparse rows of millions of attributes need only what they touch.

mod bins;
mod blocks;
mod cache;
mod dense;
mod dense_blocks;
pub(crate) mod kernels;
mod kind;
mod matrix;
mod normal;
mod normal_table;
mod oporp;
mod seed;
mod spectral;
mod stream;
mod table;

pub use crate::error::{BinsError, TableError};
pub use bins::{Bins, BinsFile, ImageGrid, Origin, Partition};
pub(crate) use blocks::{BlockProjector, Room, Sketches};
pub(crate) use dense_blocks::pair_weights;
pub(crate) use kernels::LANES;
pub use kind::ProjectionKind;
pub use matrix::Projection;
pub(crate) use oporp::Oporp;
pub use oporp::Sum;
pub use seed::Seed;
pub use table::{PublicTable, TableFile, TableKind};
