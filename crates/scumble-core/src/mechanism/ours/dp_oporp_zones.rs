//! Zones: publish, for each bin of OPORP, the zone it lies in, by randomized response over all zones.
//!
//! Ours, on \[LL23\] Algorithm 4. Symbols: `m` zones cut at public thresholds · `E = e^ε` · a zone stays with probability
//! `E/(E+m-1)` and becomes any other with `1/(E+m-1)` · `t` repetitions of ε/t.
//! A value on a threshold belongs to the zone nearer to zero; the thresholds `-0` and `0` cut out zero itself.
//! Holds for: one attribute moving by ANY amount (so also for β as large as the range), but one bin per attribute. Not
//! l1: eight touched bins cost 8ε.

use crate::error::{MechanismError, NoProof, ParameterError};
use crate::mechanism::parameters::{STEPS, Setup};
use crate::mechanism::perturbation::Classes;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::{Perturbation, Prior};
use crate::noise::{MOST_SYMBOLS, SymbolTable, response_weights};
use crate::privacy::{Promise, Unit};
use crate::vectors::Grid;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute], NoProof::TouchedBins)?;
    let projection = setup.projection(&["oporp"])?;
    let grid = setup.grid(STEPS)?;
    let each = setup.each(); // ε/t
    let perturbation = match &setup.parameters.thresholds[..] {
        [] => by_prior(setup, &grid, &each)?,
        given => {
            let cuts = integer_cuts(given, &grid)?;
            Perturbation::Symbols { table: response(cuts.len() + 1, &each)?, classes: Classes::Zones { cuts } }
        }
    };
    let Perturbation::Symbols { table, .. } = &perturbation else { unreachable!("made above") };
    if setup.parameters.symbols.is_some_and(|symbols| usize::from(symbols) != table.symbols()) {
        return Err(MechanismError::ZoneCount { thresholds: table.symbols() - 1, zones: table.symbols() }.into());
    }
    let promise = Promise::Private(setup.pure(&setup.in_every_repetition(table.worst_ratio())?)?);
    Ok(Recipe { grid, projection, perturbation, promise })
}

/// Randomized response over all zones: any two are neighbours.
fn response(zones: usize, each: &num_rational::BigRational) -> Result<SymbolTable, ParameterError> {
    SymbolTable::rounded(&response_weights(zones, each), zones, each)
}

/// Cuts in grid steps: `q >= cut` is the side away from zero of a positive threshold, and the near side of a negative.
fn integer_cuts(thresholds: &[f64], grid: &Grid) -> Result<Vec<i64>, ParameterError> {
    let fits = |t: &f64| (t / grid.step()).abs() < 1e15;
    if thresholds.len() >= MOST_SYMBOLS || !thresholds.iter().all(fits) {
        return Err(MechanismError::Thresholds { most: MOST_SYMBOLS - 1 }.into());
    }
    let cut = |&t: &f64| {
        let steps = t / grid.step();
        if t.is_sign_negative() { steps.ceil() as i64 } else { steps.floor() as i64 + 1 }
    };
    let cuts: Vec<i64> = thresholds.iter().map(cut).collect();
    match cuts.windows(2).all(|pair| pair[0] < pair[1]) {
        true => Ok(cuts),
        false => Err(MechanismError::ThresholdOrder.into()),
    }
}

/// How much less of a bin's energy than the best the zones of sparse rows may keep: the optimum is flat, and most
/// sparse rows differ in small values.
const SPARE: f64 = 0.1;

/// Zones around zero that keep most of a bin under the prior: three up to ε = 4, five above.
fn by_prior(setup: &Setup<'_>, grid: &Grid, each: &num_rational::BigRational) -> Result<Perturbation, ParameterError> {
    let epsilon = setup.epsilon.value() / setup.parameters.repeats as f64;
    let zones = setup.parameters.symbols.unwrap_or(if epsilon <= 4.0 { 3 } else { 5 });
    if !matches!(zones, 3 | 5) {
        return Err(MechanismError::Zones { zones }.into());
    }
    let prior = Prior::new(setup.parameters);
    let table = response(zones.into(), each)?;
    // Cuts in eighths of the prior's deviation, from zero itself to two deviations.
    let furthest = (i64::MAX >> 1) as f64; // a sample in other units may lie anywhere: its file is refused later
    let at = |eighths: u32| (f64::from(eighths) / 8.0 * prior.scale / grid.step()).round().min(furthest) as i64;
    let cut = |inner: u32, outer: u32| {
        let mut cuts = vec![-at(inner), at(inner) + 1];
        if zones == 5 {
            let outer = at(outer).max(at(inner) + 1);
            cuts = vec![-outer, cuts[0], cuts[1], outer + 1];
        }
        let found = Perturbation::Symbols { classes: Classes::Zones { cuts }, table: table.clone() };
        (found.posterior(&prior, grid.step()).map_or(0.0, |posterior| posterior.kept.max(0.0)), found)
    };
    let best_outer = |inner: u32| {
        let outer = if zones == 3 { inner..inner + 1 } else { inner + 1..26 };
        outer.map(|outer| cut(inner, outer)).max_by(|(a, _), (b, _)| a.total_cmp(b)).expect("at least one")
    };
    let found: Vec<_> = (0..=16).map(best_outer).collect();
    let most = found.iter().fold(0.0, |most: f64, (kept, _)| most.max(*kept));
    let enough = if prior.gaussian { most } else { (1.0 - SPARE) * most };
    let (_, lowest) = found.into_iter().find(|(kept, _)| *kept >= enough).expect("the best is enough");
    Ok(lowest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{Mechanism, MechanismId, Parameters, Required};
    use crate::projection::Seed;
    use crate::vectors::Range;

    /// Text-like rows are cut below a fifth of their bins' deviation, dense ones where most is kept.
    #[test]
    fn zones_of_sparse_rows_are_cut_low() {
        let inner = |epsilon: f64, density: f64| {
            let range = Range::new(0.0, 1.0).unwrap();
            let id = MechanismId::DpOporpZones;
            let parameters = Parameters::new(Required {
                mechanism: id,
                dim: 171_642,
                k: 1024,
                epsilon,
                beta: 1.0,
                range,
                seed: Seed([1; 32]),
            });
            let parameters = Parameters { norm: Some(3.5), density: Some(density), symbols: Some(3), ..parameters };
            let mechanism = Mechanism::new(parameters.clone()).unwrap();
            let Perturbation::Symbols { classes: Classes::Zones { cuts }, .. } = mechanism.perturbation() else {
                panic!("zones")
            };
            -cuts[0] as f64 * mechanism.grid().step() / Prior::new(&parameters).scale
        };
        for epsilon in [2.0, 3.0] {
            let (sparse, dense) = (inner(epsilon, 0.005), inner(epsilon, 0.1));
            assert!(sparse < 0.2 && dense > 1.5 * sparse, "{epsilon}: {sparse} {dense}");
        }
    }
}
