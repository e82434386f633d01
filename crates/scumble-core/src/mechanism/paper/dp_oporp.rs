//! DP-OPORP: publish `x~ = OPORP(u) + G`, G Gaussian.
//!
//! \[LL23\] Algorithms 4 and 5. Symbols: `u` private, p integers on the grid · `Π`, `w` permutation and signs, public ·
//! `β` the most one attribute may move, `B` grid steps of it · `k` bins, `t` repetitions · `σ*` of Theorem 3.5 · `ε`, `δ`.
//! Departures: values outside the public range are clipped; the noise is an integer; bins may have unequal sizes.
//! Holds for: attribute, l1, l2, record (clipped).

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::gaussian::{Sigma, gaussian};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    // line 1: x = OPORP(u), by Algorithm 4 in `projection/oporp.rs`
    //   Algorithm 4, line 1: Π permutes the attributes
    //   line 2: k bins of consecutive positions
    //   line 3: w, a sign for each attribute
    //   line 4: x_i, the signed sum of bin i
    let oporp = setup.projection(&["oporp"])?;
    // line 2: Δ₂ = β. One attribute enters one bin of each repetition with weight ±1: √t B in steps
    // line 3: G, with σ* of Theorem 3.5
    // line 4: x~ = x + G
    gaussian(setup, oporp, (setup.parameters.repeats as f64).sqrt(), Sigma::Optimal)
}
