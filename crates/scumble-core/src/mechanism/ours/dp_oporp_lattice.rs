//! Lattice symbols: publish one of a few symbols per bin of OPORP, the cell of `J + n`.
//!
//! Ours, on \[LL23\] Algorithm 4. Symbols: `q` a bin's integer · `B` grid steps of β · `r` lattice points per β ·
//! `J = sign(q) ⌈|q| r/B - 1/2⌉`, the nearest lattice point, ties toward 0 · `n` discrete staircase \[GV15\] for
//! sensitivity r (for r = 1 two-sided geometric of ratio e^-ε) · `m` symbols, cells of `w` lattice points around 0, the
//! first and the last unbounded · `t` repetitions of ε/t.
//! `J` is not clamped before the noise: far from zero a symbol is nearly certain. Points so far out that their rounded
//! rows are equal share one row, which is a 1-Lipschitz map of J, so checking the rows that exist checks all integers.
//! Holds for: one attribute moving by at most β. Not l1: eight touched bins cost 8ε.

use crate::calibration::{Ratio, staircase};
use crate::error::{MechanismError, NoProof, ParameterError};
use crate::mechanism::parameters::{STEPS, Setup};
use crate::mechanism::perturbation::Classes;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::{Perturbation, Prior};
use crate::noise::{MOST_SYMBOLS, SymbolTable, staircase_weights};
use crate::privacy::{Promise, Unit};

/// Entries that a table may have before its far rows are merged, since the table travels in the certificate.
const MOST_ENTRIES: u64 = 6144;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute], NoProof::TouchedBins)?;
    let projection = setup.projection(&["oporp"])?;
    let grid = setup.grid(STEPS)?;
    let steps = setup.steps_l1(&grid)?; // B
    let symbols = setup.parameters.symbols.unwrap_or(3).into();
    if !(2..=MOST_SYMBOLS).contains(&symbols) {
        return Err(MechanismError::Symbols { symbols, most: MOST_SYMBOLS }.into());
    }
    let lattice = |r: u32| {
        let r = u64::from(r);
        if !(1..=64.min(steps)).contains(&r) {
            return Err(ParameterError::from(MechanismError::LatticeSteps { steps: r, most: 64.min(steps) }));
        }
        // No bin reaches a lattice point beyond this one.
        let bound = projection.bound(grid.largest()) as u128 * u128::from(r) / u128::from(steps) + 1;
        let (classes, table) = table(setup, steps, r, symbols, u64::try_from(bound).unwrap_or(u64::MAX))?;
        Ok(Perturbation::Symbols { classes, table })
    };
    let perturbation = match setup.parameters.lattice_steps {
        Some(r) => lattice(r)?,
        None => {
            // The lattice that keeps most of a bin under the prior; the coarser one if two keep the same amount.
            let prior = Prior::new(setup.parameters);
            let all: Vec<_> =
                [1, 2, 4, 8].into_iter().filter(|&r| u64::from(r) <= steps).map(lattice).collect::<Result<_, _>>()?;
            let kept =
                |perturbation: &Perturbation| perturbation.posterior(&prior, grid.step()).map_or(0.0, |p| p.kept);
            let best = |a: Perturbation, b| if kept(&b) > kept(&a) { b } else { a };
            all.into_iter().reduce(best).expect("r = 1 is always there")
        }
    };
    let Perturbation::Symbols { table, .. } = &perturbation else { unreachable!("made above") };
    let promise = Promise::Private(setup.pure(&setup.in_every_repetition(table.worst_ratio())?)?);
    Ok(Recipe { grid, projection, perturbation, promise })
}

/// The table of `r` lattice points per β; checks all |J-J'| ≤ r in integers.
fn table(
    setup: &Setup<'_>,
    steps: u64,
    r: u64,
    symbols: usize,
    bound: u64,
) -> Result<(Classes, SymbolTable), ParameterError> {
    let repeats = setup.parameters.repeats;
    let (each, epsilon) =
        (setup.epsilon.exact() / num_bigint::BigInt::from(repeats), setup.epsilon.value() / repeats as f64);
    let ratio = Ratio::from_exponent(epsilon);
    let high = staircase::optimal_r(ratio, r);
    let width = cell_width(setup, symbols, r, staircase::variance(ratio, r, high));
    // From here on the noise changes no entry by a unit: e^-24 < 2^-32, e^-48 < 2^-62.
    let unit = if (0.02..=8.0).contains(&epsilon) { 24.0 } else { 48.0 };
    let far = (r as f64 * (unit / epsilon + 2.0)) as u64;
    let far = far.saturating_add((symbols * width) as u64);
    let last = far.min(bound).min(MOST_ENTRIES / symbols as u64 / 2);
    let weights = staircase_weights(&each, (r as usize, high as usize), last as usize, (symbols, width));
    let (table, merged) = SymbolTable::rounded(&weights, r as usize, &each)?.trimmed();
    Ok((Classes::Lattice { steps, per_beta: r, last: last - merged as u64 }, table))
}

/// Lattice points per cell: one if there are few symbols; for many, a little wider than the uniform quantiser of least
/// error for the noisy bins (Max: 0.335 deviations for 16), because a prior that is too small costs more than one too large.
fn cell_width(setup: &Setup<'_>, symbols: usize, r: u64, noise_variance: f64) -> usize {
    if symbols < 8 {
        return 1;
    }
    let bins = Prior::new(setup.parameters).variance() / (setup.beta * setup.beta) * (r * r) as f64;
    let deviations = 4.5 * libm::exp(-0.83 * libm::log(symbols as f64)); // 4.5 symbols^-.83: `pow` is large
    ((deviations * (bins + noise_variance).sqrt()).round() as usize).clamp(1, 64)
}
