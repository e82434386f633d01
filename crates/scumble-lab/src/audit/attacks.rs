//! Two attacks that everyone should see once: individual DP between neighbours, and averaging over fresh releases.

use super::{AuditError, Target};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::recall::Fixed;
use scumble::release::Releaser;
use scumble::vectors::{Range, Rows, Scalars};
use scumble::words::grouped;
use serde::Serialize;
use std::fmt;

/// The paper's individual DP run on two neighbours: what one of them never gives, the other gives half of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counterexample {
    /// Which mechanism.
    pub mechanism: MechanismId,
    /// The number that the paper's section 6 would print.
    pub nominal_epsilon: f64,
    /// Neighbours: one attribute moves by beta = 1.
    pub rows: [[f64; 2]; 2],
    /// Releases of each row.
    pub releases: usize,
    /// How often the one released bit was minus.
    pub minus: [usize; 2],
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mechanism, nominal_epsilon, rows: [u, v], minus, .. } = self;
        let releases = grouped(self.releases as u64);
        writeln!(
            f,
            "{mechanism} at \"epsilon = {nominal_epsilon}\", weights (1, 1), beta = 1, {releases} releases each:"
        )?;
        write!(f, "from u  = ({}, {}) the bit is minus {} times; ", u[0], u[1], minus[0])?;
        write!(f, "from u' = ({}, {}), a neighbour, {} times", v[0], v[1], minus[1])
    }
}

/// p = 2, k = 1, W = (1, 1), beta = 1, u = (1, .5), u' = (0, .5), at a nominal epsilon of 0.1.
pub fn counterexample() -> Result<Counterexample, AuditError> {
    const RELEASES: usize = 2000;
    let rows = [[1.0, 0.5], [0.0, 0.5]];
    let range = Range { lo: 0.0, hi: 1.0 };
    let equal_signs = |seed: u8| -> Option<Result<Mechanism, AuditError>> {
        let mut parameters = Parameters::new(Required {
            mechanism: MechanismId::IdpSignrpRr,
            dim: 2,
            k: 1,
            epsilon: 0.1,
            beta: 1.0,
            range,
            seed: Seed([seed; 32]),
        });
        parameters.i_understand_this_is_not_dp = true;
        let mechanism = match Mechanism::new(parameters) {
            Ok(mechanism) => mechanism,
            Err(error) => return Some(Err(error.into())),
        };
        let mut weights = [0, 0];
        (0..2).for_each(|i| mechanism.projection().weights(i, &mut weights[i..=i]));
        (weights == [1, 1]).then_some(Ok(mechanism))
    };
    let mechanism = (0..=255).find_map(equal_signs).expect("a quarter of all seeds")?;
    let (id, releaser) = (mechanism.id(), Releaser::new(mechanism, None)?);
    let mut minus = [0; 2];
    for (row, minus) in rows.iter().zip(&mut minus) {
        let bits = Target::release(&releaser, Rows::strided(Scalars::F64(row), RELEASES, 2, 0, 1))?;
        *minus = bits.iter().filter(|bit| **bit == 0.0).count();
    }
    Ok(Counterexample { mechanism: id, nominal_epsilon: 0.1, rows, releases: RELEASES, minus })
}

/// What the mean of many fresh releases of the same row says about one attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Averaging {
    /// Which mechanism.
    pub mechanism: MechanismId,
    /// Epsilon of ONE release.
    pub epsilon: f64,
    /// Width of the attribute's range: guessing its middle errs by a quarter of this on average.
    pub width: f64,
    /// More and more releases.
    pub steps: Vec<AveragingStep>,
}

/// One number of releases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AveragingStep {
    /// Releases averaged.
    pub releases: usize,
    /// Mean absolute error of the recovered attribute.
    pub error: f64,
    /// What this many releases cost together, by adding up.
    pub epsilon_spent: f64,
}

/// An attacker who knows all attributes of a row but one averages up to 1,000 fresh releases of it.
pub fn averaging() -> Result<Averaging, AuditError> {
    const ROWS: usize = 128; // rows attacked, so that the error is a mean
    const DIM: usize = 16;
    let (id, epsilon, range) = (MechanismId::DpOporpStaircase, 1.0, Range { lo: 0.0, hi: 1.0 });
    let mechanism = Mechanism::new(Parameters::new(Required {
        mechanism: id,
        dim: DIM,
        k: 4,
        epsilon,
        beta: 1.0,
        range,
        seed: Seed([21; 32]),
    }))?;
    let mut weights = vec![0; 4];
    mechanism.projection().weights(0, &mut weights);
    let bin = weights.iter().position(|w| *w != 0).expect("every attribute has a bin");
    let known: Vec<f64> = (1..DIM)
        .map(|i| {
            let mut weights = vec![0; 4];
            mechanism.projection().weights(i, &mut weights);
            f64::from(weights[bin])
        })
        .collect();
    let sign = f64::from(weights[bin]);
    let releaser = Releaser::new(mechanism, None)?;
    let mut random = Fixed::new(3);
    let checkpoints = [1usize, 10, 100, 1000];
    let mut errors = [0.0; 4];
    for _ in 0..ROWS {
        let row: Vec<f64> = (0..DIM).map(|_| random.uniform()).collect();
        let others: f64 = row[1..].iter().zip(&known).map(|(u, w)| u * w).sum();
        let mut sum = 0.0;
        for done in 1..=checkpoints[3] {
            // Each round is a release of its own, as if the table went out again.
            let released = Target::release(&releaser, Rows::dense(Scalars::F64(&row), DIM))?;
            sum += sign * (f64::from(released[bin]) - others);
            if let Some(at) = checkpoints.iter().position(|&checkpoint| checkpoint == done) {
                let recovered = (sum / done as f64).clamp(range.lo, range.hi);
                errors[at] += (recovered - row[0]).abs() / ROWS as f64;
            }
        }
    }
    let steps = checkpoints.iter().zip(errors).map(|(&releases, error)| AveragingStep {
        releases,
        error,
        epsilon_spent: releases as f64 * epsilon,
    });
    Ok(Averaging { mechanism: id, epsilon, width: range.width(), steps: steps.collect() })
}
