//! iDP-SignRP: publish the signs of a projection, perturbing only those that a neighbour of THIS row could change.
//!
//! \[LL23\] Algorithms 9, 10, 11 and section 6.2. Symbols: `x_j` unscaled · `B_j = B max_i |W_ij|` · `A = {j : |x_j| ≤ B_j}` ·
//! `|A|` shares the budget: ε' = ε/|A|, or σ* for Δ₂ = β √(|A|/k).
//! NOT differential privacy: A depends on the data, so a neighbour has another set, and a bit outside A goes out
//! unchanged with certainty. p=2, k=1, W=(1,1), β=1, u=(1,.5), u'=(0,.5): Pr[-1] is 0 for u and positive for u'.
//! Departures: the numbers are called nominal; there is no guarantee to put in a ledger. On OPORP, where one attribute
//! touches one bin per repetition, min(|A|, t) bits share the budget. The noise is √|A| times a rounded Gaussian.

use crate::error::{NoProof, ParameterError, Refusal};
use crate::mechanism::MechanismId;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::mechanism::perturbation::{IndividualNoise, Perturbation};
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::flips::steps_per_output;
use crate::noise::FlipTable;
use crate::privacy::{Individual, Promise, Unit};
use num_bigint::BigInt;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let id = setup.parameters.mechanism;
    if !setup.parameters.i_understand_this_is_not_dp || cfg!(not(feature = "host")) {
        return Err(Refusal::Individual { mechanism: id.as_str() }.into());
    }
    setup.allow_units(&[Unit::Attribute], NoProof::OneAttribute)?;
    let oporp = matches!(id, MechanismId::IdpSignoporpG | MechanismId::IdpSignoporpRr);
    // Algorithms 9 and 11, line 1: x = Wᵀu
    let projection = setup.projection(if oporp { &["oporp"] } else { &["rademacher"] })?;
    let gaussian = matches!(id, MechanismId::IdpSignrpG | MechanismId::IdpSignoporpG);
    let grid = setup.grid(STEPS)?;
    // Algorithms 9 and 11, line 2: I_j by Algorithm 10, for every row at run time
    //   Algorithm 10, line 1: I_j = 0
    //   line 2: if B_j ≥ |x_j|, both unscaled (there: β/√k ≥ |z|)
    //   line 3: I_j = 1
    //   line 4: end if
    let steps = steps_per_output(setup, &projection, &grid)?;
    // Algorithms 9 and 11, line 3: A and |A|, also at run time. One attribute enters all of A if dense, in OPORP one bin
    // per repetition.
    let touched = if oporp { setup.parameters.repeats } else { setup.parameters.k };
    let inner = if gaussian {
        // Algorithm 9, line 4: Δ₂ = β √(|A|/k), which is B √|A| unscaled
        // line 5: σ* for it: that of one coordinate, times √|A|
        // line 6: s~_j, the sign of x_j + G in A and of x_j outside
        // line 7: s~
        let largest = *steps.iter().max().expect("k is positive") as f64;
        IndividualNoise::Gaussian(setup.optimal_gaussian(largest)?.0)
    } else {
        // Algorithm 11, line 4: s~_j, flipped in A with 1/(1+e^{ε'}), ε' = ε/|A|; the sign of x_j outside
        // line 5: s~
        let table = |shared: usize| FlipTable::randomized_response(&(setup.epsilon.exact() / BigInt::from(shared)));
        IndividualNoise::Flips((1..=touched).map(table).collect::<Result<_, _>>()?)
    };
    let promise = Promise::NotPrivate(Individual {
        nominal_epsilon: setup.epsilon.value(),
        nominal_delta: setup.parameters.delta.unwrap_or(0.0),
    });
    Ok(Recipe { grid, projection, perturbation: Perturbation::Individual { steps, touched, inner }, promise })
}
