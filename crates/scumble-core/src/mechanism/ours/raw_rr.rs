//! One bit per attribute: publish whether `u > b`, by randomized response, all p attributes, no projection.
//!
//! Warner's randomized response \[W65\] beside Raw-data-G-OPT of \[LL23\]. Symbols: `u` private, p integers on the grid ·
//! `b` public threshold · `ε` · flip `1/(1+e^ε)` at every value. All bits are flipped alike, so the share of rows above b
//! can be estimated for each attribute.
//! Holds for: one attribute moving by ANY amount. Not l1: eight touched attributes cost 8ε.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::{Recipe, flips};
use crate::noise::FlipTable;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    // One attribute enters one coordinate: one bit.
    let projection = setup.projection(&["none"])?;
    let least = setup.parameters.range.lo;
    flips::per_bin(setup, projection, FlipTable::randomized_response, |grid| flips::above(setup, grid, least))
}
