//! Public projections: seeded, data-free, equal on every machine. Specified in `docs/projection-format.md`.

mod seed;

pub use seed::Seed;
