//! The similarities by name.

use super::{Estimate, EstimateError, RowRef, angle, cosine, inner_product, squared_distance, squared_norm};
use std::str::FromStr;

/// What a release may tell about two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // each is the function of this name
pub enum Quantity {
    InnerProduct,
    SquaredNorm,
    SquaredDistance,
    Cosine,
    Angle,
}

impl Quantity {
    /// All those about two rows.
    pub const OF_TWO: [Self; 4] = [Self::InnerProduct, Self::SquaredDistance, Self::Cosine, Self::Angle];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InnerProduct => "inner_product",
            Self::SquaredNorm => "squared_norm",
            Self::SquaredDistance => "squared_distance",
            Self::Cosine => "cosine",
            Self::Angle => "angle",
        }
    }

    /// Its estimate; the norm is that of the first row.
    pub fn of(self, a: RowRef<'_>, b: RowRef<'_>) -> Result<Estimate, EstimateError> {
        match self {
            Self::InnerProduct => inner_product(a, b),
            Self::SquaredNorm => squared_norm(a),
            Self::SquaredDistance => squared_distance(a, b),
            Self::Cosine => cosine(a, b),
            Self::Angle => angle(a, b),
        }
    }
}

/// A name that no quantity has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such estimator")]
pub struct UnknownQuantity;

impl FromStr for Quantity {
    type Err = UnknownQuantity;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = Self::OF_TWO.into_iter().chain([Self::SquaredNorm]);
        all.into_iter().find(|quantity| quantity.as_str() == name).ok_or(UnknownQuantity)
    }
}
