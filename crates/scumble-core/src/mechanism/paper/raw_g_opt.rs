//! Raw-data-G-OPT: publish `u~ = u + G`, all p attributes, no projection.
//!
//! \[LL23\] section 3.6. Symbols: `u` private, p integers on the grid · `β` the most one attribute may move, `B` grid
//! steps of it · `σ*` of Theorem 3.5 · `ε`, `δ`.
//! Departures: values outside the public range are clipped; the noise is an integer.
//! Holds for: attribute, l1, l2, record (clipped to a radius).

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::gaussian::{Sigma, gaussian};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    // One attribute enters one coordinate with weight 1: Δ₂ = B.
    gaussian(setup, setup.projection(&["none"])?, 1.0, Sigma::Optimal)
}
