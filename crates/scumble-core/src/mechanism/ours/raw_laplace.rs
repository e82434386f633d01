//! Raw data with Laplace noise: publish `u~ = u + n`, all p attributes, no projection.
//!
//! Ours, beside Raw-data-G-OPT of \[LL23\]. Symbols: `u` private, p integers on the grid · `B` grid steps of β · `ε`.
//! Holds for: attribute, l1; pure.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::laplace::laplace;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    // One attribute enters one coordinate with weight 1: B.
    laplace(setup, setup.projection(&["none"])?)
}
