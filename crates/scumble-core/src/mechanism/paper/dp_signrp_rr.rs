//! DP-SignRP-RR: publish the signs of `Wᵀu`, each flipped with probability `1/(1+e^{ε'})`.
//!
//! \[LL23\] Algorithm 6. Symbols: `W` p x k Gaussian, public, drawn independently of the data · `m` lower bound on every
//! row's norm · `q` probability that one sign differs between a fixed pair of neighbours · `N₊` number of signs that
//! may differ · `ε' = ε/N₊`.
//! Departures: Lemma 4.3 (independence is the worst case) is false, so N₊ of Proposition 4.5 is not a proof. Mode `tight` uses
//! the law of the number of changed signs for a fixed pair, Binomial(k, q) with `q = 2 asin(β/2m)/π`, and the largest
//! ε' whose mixed delta is at most δ. Mode `paper` keeps ε/N₊ and is refused unless that, too, is within the tight
//! bound. Without δ, or with Rademacher W (whose normal approximation is no bound), N₊ = k: pure.
//! Holds for: attribute, rows of norm at least m, data that do not depend on W. Without δ: attribute, l1, record, any W.
//! Record (a baseline, with or without δ): every sign may change.

use crate::calibration::{composition::kov_epsilon0, signs};
use crate::error::{MechanismError, NoProof, ParameterError, Refusal};
use crate::exact;
use crate::mechanism::parameters::{STEPS, Setup, SignrpMode};
use crate::mechanism::perturbation::{Perturbation, Side};
use crate::mechanism::recipe::{Recipe, flips};
use crate::noise::FlipTable;
use crate::privacy::{Promise, Unit};
use crate::projection::ProjectionKind;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute, Unit::L1, Unit::Record], NoProof::EverySign)?;
    let projection = setup.projection(&["gaussian", "rademacher", "uniform", "very-sparse"])?; // line 1: x = Wᵀu
    let grid = setup.grid(STEPS)?;
    let k = setup.parameters.k;
    let epsilon = setup.epsilon.value();
    // line 2: N₊, or what takes its place
    let (table, promise) = match (setup.parameters.delta, setup.parameters.norm_bound) {
        (None, _) => {
            // N₊ = k: every sign may change, whatever W and the data are.
            let each = setup.epsilon.exact() / num_bigint::BigInt::from(k);
            let table = FlipTable::randomized_response(&each)?;
            let guarantee = setup.pure(&table.worst_ratio().repeated(k as u64)?)?;
            (table, guarantee)
        }
        (Some(_), _) if cfg!(not(feature = "host")) => {
            return Err(Refusal::ProjectionUsedOnce.into());
        }
        (Some(_), _) if setup.parameters.unit == Unit::Record => {
            // Every sign may change: k-fold optimal composition, as a baseline for privcube and signcap.
            let delta = setup.parameters.needed_delta()?;
            let table = FlipTable::randomized_response(&exact::rational(kov_epsilon0(k as u64, epsilon, delta)?))?;
            let guarantee = flips::composed(setup, &table)?;
            (table, guarantee)
        }
        (Some(_), _) if projection.kind() != ProjectionKind::Gaussian => {
            return Err(Refusal::ChangedSigns { projection: projection.kind().into() }.into());
        }
        (Some(_), None) => {
            return Err(MechanismError::NoNormBound.into());
        }
        (Some(_), Some(m)) => {
            let delta = setup.parameters.needed_delta()?;
            if setup.parameters.unit != Unit::Attribute {
                return Err(Refusal::AngleOfL1.into());
            }
            let bound = grid.whole_steps(m)?; // what a row is checked against
            let moved = setup.steps_l1(&grid)?;
            if bound < moved {
                return Err(Refusal::NormBoundBelowBeta { norm_bound: m, beta: setup.beta }.into());
            }
            let q = exact::sign_change_upper(moved, bound) + fixed_point_slack(setup.parameters.dim);
            let q = q.min(BigRational::one());
            let tight = signs::tight_epsilon_prime(k as u64, exact::to_f64(&q), epsilon, delta)?;
            let each = match setup.parameters.signrp_mode {
                SignrpMode::Tight => tight,
                SignrpMode::Paper => {
                    let n_plus =
                        signs::n_plus(moved as f64 / bound as f64, setup.parameters.dim as u64, k as u64, delta)?;
                    let paper = epsilon / n_plus;
                    if paper > tight {
                        return Err(Refusal::PaperSpendsMore.into());
                    }
                    paper
                }
            };
            let table = FlipTable::randomized_response(&exact::rational(each))?;
            // The mixed delta of what the rounded table really does, in integers rounded up.
            let worst = table.worst_ratio();
            let shown = exact::mixed_delta_upper(&worst.num, &worst.den, k as u64, &q, setup.epsilon.exact());
            let guarantee = setup.approximate(delta, &shown)?;
            (table, guarantee)
        }
    };
    // line 3: s~_j, flipped with 1/(1+e^{ε'}). The level does not count: any sign but zero is level 1
    // line 4: s~
    let perturbation = Perturbation::Flips { steps: vec![u64::MAX], table, side: Side::CoinAtZero };
    Ok(Recipe { grid, projection, perturbation, promise: Promise::Private(promise) })
}

/// What fixed-point weights add to the probability that a sign changes between a fixed pair.
///
/// Each weight is within 1 of 2^16 z with an odd, independent error, so by Hoeffding `|sum e_i q_i| <= s |q|` but for
/// `2 e^{-s^2/2}`, and a normal of deviation 2^16 |q| is that near zero with probability below `0.8 s / 2^16`. Twice,
/// for the two rows, with s = 6; the deep tail of the 63-bit quantile adds p 2^-60.
fn fixed_point_slack(dim: usize) -> BigRational {
    let over = |numerator: BigInt, bits: u32| BigRational::new(numerator, BigInt::one() << bits);
    let near_zero = over(24.into(), 16) / BigInt::from(5); // 0.8 s / 2^16
    let beyond = over(exact::exp_ceil(&exact::rational(-18.0), 128), 127); // 2 e^{-s^2/2}
    (near_zero + beyond) * BigInt::from(2) + over(dim.into(), 60)
}
