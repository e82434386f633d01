//! Recipes: how noise and flips make values private, each once. An algorithm's file names a projection and a recipe.

pub(crate) mod flips;
pub(crate) mod gaussian;
pub(crate) mod laplace;
pub(crate) mod sensitivity;
pub(crate) mod staircase;

use super::Perturbation;
use crate::privacy::Promise;
use crate::projection::Projection;
use crate::vectors::Grid;

/// What an algorithm's file decides. [`Mechanism`](super::Mechanism) runs it: quantise, project, perturb.
pub(crate) struct Recipe {
    /// Makes rows integers.
    pub grid: Grid,
    /// Public.
    pub projection: Projection,
    /// What is done to the projected integers.
    pub perturbation: Perturbation,
    /// What may be claimed about the result.
    pub promise: Promise,
}
