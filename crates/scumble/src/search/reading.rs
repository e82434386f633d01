//! How values are read before they are compared.

use super::Queries;
use crate::release::Release;
use scumble_core::mechanism::{Mechanism, OutputKind};

/// The least and the largest value that each coordinate of a row can have.
#[derive(Debug, Clone)]
pub(crate) struct Bounds(Vec<[f32; 2]>);

impl Bounds {
    /// `None` where they are not known.
    pub(crate) fn of(mechanism: &Mechanism) -> Option<Self> {
        Some(Self(mechanism.value_bounds()?.into_iter().map(|ends| ends.map(|end| end as f32)).collect()))
    }

    /// Moves each value to the nearest one within.
    pub(crate) fn apply(&self, row: &mut [f32]) {
        row.iter_mut().zip(&self.0).for_each(|(value, [lo, hi])| *value = value.clamp(*lo, *hi));
    }
}

/// How values are read before they are compared, by public numbers. Those of a public partition are moved to the nearest
/// value that a row can have, which takes no row away from the truth, and then count by the size of their bin.
#[derive(Default)]
pub(crate) struct Reading {
    bounds: Option<Bounds>,
    weights: Option<Vec<f32>>,
}

impl Reading {
    /// Of released rows; bits count alike.
    pub(crate) fn of_rows(mechanism: &Mechanism) -> Self {
        let reading = Self::of_exact(mechanism);
        match mechanism.id().output() {
            OutputKind::Bits => Self::default(),
            _ if reading.weights.is_none() => reading,
            _ => Self { bounds: Bounds::of(mechanism), ..reading },
        }
    }

    /// Of vectors without noise.
    pub(crate) fn of_exact(mechanism: &Mechanism) -> Self {
        Self { bounds: None, weights: mechanism.projection().bin_weights() }
    }

    /// True if rows count as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.bounds.is_none() && self.weights.is_none()
    }

    /// What coordinate `j` counts as.
    pub(super) fn value(&self, j: usize, value: f32) -> f32 {
        let value = self.bounds.as_ref().map_or(value, |bounds| value.clamp(bounds.0[j][0], bounds.0[j][1]));
        value * self.weights.as_ref().map_or(1.0, |weights| weights[j])
    }

    /// What a whole row counts as.
    pub(crate) fn apply(&self, row: &mut [f32]) {
        if let Some(bounds) = &self.bounds {
            bounds.apply(row);
        }
        if let Some(weights) = &self.weights {
            row.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
        }
    }
}

/// Every query as values, read like the rows where it was released; an exact one always by the sizes of its bins.
pub(crate) fn query_values(mechanism: &Mechanism, queries: Queries<'_>) -> Vec<Vec<f32>> {
    let (mut values, reading): (Vec<Vec<f32>>, _) = match queries {
        Queries::Released(other) => {
            ((0..other.len()).map(|q| other.values(q)).collect(), Reading::of_rows(other.mechanism()))
        }
        Queries::Exact(exact) => {
            ((0..exact.len()).map(|q| exact.row(q).to_vec()).collect(), Reading::of_exact(mechanism))
        }
    };
    values.iter_mut().for_each(|query| reading.apply(query));
    values
}

/// All rows of a release as [`search`](super::search) compares them, one after another: for stores that rank by cosine.
pub fn compared_values(release: &Release) -> Vec<f32> {
    let (reading, mut values) = (Reading::of_rows(release.mechanism()), release.all_values());
    values.chunks_exact_mut(release.k()).for_each(|row| reading.apply(row));
    values
}
