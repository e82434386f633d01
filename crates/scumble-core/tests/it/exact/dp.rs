//! Every DP mechanism, small cases, every neighbour pair, every output, in exact rationals from its own integers.
//!
//! Coordinates are independent given the projected row, so the worst ratio over output vectors is the product of the
//! worst ratios of the coordinates; for an approximate guarantee the hockey-stick divergence is summed over all
//! outputs of the coordinates that differ.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use scumble_core::exact;
use scumble_core::mechanism::{Mechanism, MechanismId, OutputKind, Parameters, Required};
use scumble_core::privacy::{Notion, Promise, Unit};
use scumble_core::projection::{Bins, Origin, Partition, Seed};
use scumble_core::vectors::{PrivateRow, Range};
use std::collections::HashMap;

/// A small case: values are the integers -top..=top, beta = B steps.
#[derive(Clone, Copy)]
struct Case {
    p: usize,
    k: usize,
    top: i32,
    steps: i32,
    repeats: usize,
}

fn parameters(id: MechanismId, case: Case, epsilon: f64, delta: Option<f64>) -> Parameters {
    let range = Range::new(f64::from(-case.top), f64::from(case.top)).unwrap();
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: case.p,
        k: case.k,
        epsilon,
        beta: f64::from(case.steps),
        range,
        seed: Seed([case.p as u8 * 16 + case.k as u8; 32]),
    });
    parameters.repeats = case.repeats;
    parameters.grid_exponent = Some(0);
    parameters.delta = delta;
    parameters.i_understand_this_is_not_dp = true;
    parameters
}

/// Every row of -top..=top in p attributes.
fn rows(case: Case) -> Vec<Vec<i32>> {
    (0..case.p).fold(vec![vec![]], |rows, _| {
        rows.into_iter().flat_map(|row| (-case.top..=case.top).map(move |v| [row.clone(), vec![v]].concat())).collect()
    })
}

fn project(mechanism: &Mechanism, u: &[i32]) -> Vec<i64> {
    let mut x = vec![0; mechanism.k()];
    mechanism.projection().apply(PrivateRow::Dense(u), &mut x);
    x
}

/// The outputs of one coordinate that can matter: both bits, or a window around the two projected values.
fn outputs(mechanism: &Mechanism, x: i64, moved: i64, window: i64) -> std::ops::RangeInclusive<i64> {
    match mechanism.id().output() {
        OutputKind::Values => {
            let (mut a, mut b) = (vec![x], vec![moved]);
            for v in [&mut a, &mut b] {
                if let scumble_core::mechanism::Perturbation::Noise { shift, .. } = mechanism.perturbation() {
                    v[0] >>= shift;
                }
            }
            a[0].min(b[0]) - window..=a[0].max(b[0]) + window
        }
        OutputKind::Symbols => 0..=mechanism.symbol_values().len() as i64 - 1,
        OutputKind::Bits => 0..=1,
        OutputKind::Words => unreachable!("words are enumerated by their own test"),
    }
}

/// The worst ratio between neighbours, or `None` when an output is possible from one and impossible from the other.
fn worst_ratio(mechanism: &Mechanism, case: Case, window: i64) -> Option<BigRational> {
    worst_ratio_by(mechanism, case, window, &|u| project(mechanism, u))
}

/// The same with another projection than the mechanism's own: for planted faults.
fn worst_ratio_by(
    mechanism: &Mechanism,
    case: Case,
    window: i64,
    project: &dyn Fn(&[i32]) -> Vec<i64>,
) -> Option<BigRational> {
    let mut worst = BigRational::one();
    let mut seen: HashMap<(usize, i64, i64), Option<BigRational>> = HashMap::new();
    let individual = matches!(mechanism.promise(), Promise::NotPrivate(_));
    for u in rows(case) {
        let x = project(&u);
        for i in 0..case.p {
            for move_by in -case.steps..=case.steps {
                let mut v = u.clone();
                v[i] += move_by;
                if v[i].abs() > case.top {
                    continue;
                }
                let y = project(&v);
                let mut ratio = BigRational::one();
                for j in 0..case.k {
                    if x[j] == y[j] && !individual {
                        continue;
                    }
                    let key = (j, x[j], y[j]);
                    let coordinate = || {
                        let mut worst = BigRational::zero();
                        for out in outputs(mechanism, x[j], y[j], window) {
                            let (a, b) = (
                                mechanism.perturbation().probability(&x, j, out),
                                mechanism.perturbation().probability(&y, j, out),
                            );
                            if b.is_zero() {
                                if a.is_zero() {
                                    continue;
                                }
                                return None;
                            }
                            worst = worst.max(a / b);
                        }
                        Some(worst)
                    };
                    let coordinate =
                        if individual { coordinate() } else { seen.entry(key).or_insert_with(coordinate).clone() };
                    ratio *= coordinate?;
                }
                worst = worst.max(ratio);
            }
        }
    }
    Some(worst)
}

fn at_most(ratio: &BigRational, epsilon: f64) -> bool {
    let part = |n: &BigInt| -> BigUint { n.to_biguint().unwrap() };
    exact::at_most_exp(&part(ratio.numer()), &part(ratio.denom()), &exact::rational(epsilon))
}

fn ln(ratio: &BigRational) -> f64 {
    exact::ln_upper(&ratio.numer().to_biguint().unwrap(), &ratio.denom().to_biguint().unwrap())
}

/// The largest hockey-stick divergence `sum_y [P(y|u) - e^epsilon P(y|u')]_+` over neighbours, e^epsilon rounded down.
fn worst_delta(mechanism: &Mechanism, case: Case, epsilon: f64, window: i64) -> BigRational {
    let e = BigRational::new(exact::exp_floor(&exact::rational(epsilon), 64), BigInt::one() << 64);
    let mut worst = BigRational::zero();
    let mut seen = HashMap::new();
    for u in rows(case) {
        let x = project(mechanism, &u);
        for i in 0..case.p {
            for move_by in [-case.steps, case.steps, 1] {
                let mut v = u.clone();
                v[i] += move_by;
                if v[i].abs() > case.top {
                    continue;
                }
                let y = project(mechanism, &v);
                let key: Vec<(usize, i64, i64)> =
                    (0..case.k).filter(|&j| x[j] != y[j]).map(|j| (j, x[j], y[j])).collect();
                let delta = seen.entry(key.clone()).or_insert_with(|| {
                    let laws: Vec<Vec<(BigRational, BigRational)>> = key
                        .iter()
                        .map(|&(j, a, b)| {
                            outputs(mechanism, a, b, window)
                                .map(|out| {
                                    let p = mechanism.perturbation();
                                    (p.probability(&x, j, out), p.probability(&y, j, out))
                                })
                                .collect()
                        })
                        .collect();
                    hockey_stick(&laws, &e, BigRational::one(), BigRational::one())
                });
                worst = worst.max(delta.clone());
            }
        }
    }
    worst
}

fn hockey_stick(
    laws: &[Vec<(BigRational, BigRational)>],
    e: &BigRational,
    a: BigRational,
    b: BigRational,
) -> BigRational {
    match laws.split_first() {
        None => (a - e * b).max(BigRational::zero()),
        Some((law, rest)) => law
            .iter()
            .filter(|(p, _)| p.is_positive())
            .map(|(p, q)| hockey_stick(rest, e, &a * p, &b * q))
            .fold(BigRational::zero(), |sum, part| sum + part),
    }
}

/// Pure mechanisms: the worst ratio is at most e^epsilon, and at least 95% of epsilon is used.
fn check_pure(id: MechanismId, case: Case, epsilons: &[f64], adjust: impl Fn(&mut Parameters)) {
    for &epsilon in epsilons {
        let mut parameters = parameters(id, case, epsilon, None);
        adjust(&mut parameters);
        let mechanism = Mechanism::new(parameters).unwrap();
        let guarantee = mechanism.promise().guarantee().unwrap().clone();
        assert_eq!((guarantee.notion, guarantee.unit), (Notion::Pure, Unit::Attribute));
        assert!(guarantee.checked_epsilon <= epsilon);
        let worst = worst_ratio(&mechanism, case, 3 * i64::from(case.steps)).expect("no output may be impossible");
        assert!(at_most(&worst, epsilon), "{id} at {epsilon}: loss {}", ln(&worst));
        assert!(ln(&worst) >= 0.95 * epsilon, "{id} at {epsilon} wastes budget: {}", ln(&worst));
    }
}

const EPSILONS: [f64; 3] = [0.1, 1.0, 6.0];
const OPORP: Case = Case { p: 4, k: 2, top: 1, steps: 2, repeats: 1 };

#[test]
fn raw_and_oporp_laplace() {
    check_pure(MechanismId::RawLaplace, Case { p: 2, k: 2, top: 3, steps: 3, repeats: 1 }, &EPSILONS, |_| ());
    check_pure(MechanismId::DpOporpLaplace, OPORP, &EPSILONS, |_| ());
    check_pure(MechanismId::DpOporpLaplace, Case { p: 4, k: 4, top: 1, steps: 2, repeats: 2 }, &EPSILONS, |_| ());
}

#[test]
fn raw_and_oporp_staircase() {
    check_pure(MechanismId::RawStaircase, Case { p: 2, k: 2, top: 3, steps: 5, repeats: 1 }, &EPSILONS, |_| ());
    check_pure(MechanismId::DpOporpStaircase, OPORP, &EPSILONS, |_| ());
    check_pure(MechanismId::DpOporpStaircase, Case { p: 4, k: 4, top: 2, steps: 3, repeats: 2 }, &EPSILONS, |_| ());
}

#[test]
fn sketch_clip_lowers_the_sensitivity_and_stays_private() {
    for id in [MechanismId::DpOporpLaplace, MechanismId::DpOporpStaircase] {
        check_pure(id, Case { p: 3, k: 2, top: 3, steps: 6, repeats: 1 }, &EPSILONS, |p| p.sketch_clip = Some(2.0));
    }
}

#[test]
fn dense_laplace() {
    for projection in ["gaussian", "uniform", "rademacher", "very-sparse:2"] {
        let kind = projection.parse().unwrap();
        // Dropping the weights' fraction bits costs k/B of the budget, so B must not be tiny here.
        for epsilon in [0.5, 2.0] {
            let case = Case { p: 2, k: 2, top: 32, steps: 64, repeats: 1 };
            let mut parameters = parameters(MechanismId::DpRpL, case, epsilon, None);
            parameters.projection = Some(kind);
            let mechanism = Mechanism::new(parameters).unwrap();
            let mut worst = BigRational::one();
            for u in [[-32, -32], [32, -32], [-32, 32], [32, 32], [-15, 5]] {
                for (i, to) in [(0, -32), (0, 32), (1, -32), (1, 32)] {
                    let mut v = u;
                    v[i] = to;
                    let (x, y) = (project(&mechanism, &u), project(&mechanism, &v));
                    let mut ratio = BigRational::one();
                    for j in 0..2 {
                        let p = mechanism.perturbation();
                        let range = outputs(&mechanism, x[j], y[j], 3);
                        let of = |out: i64| p.probability(&x, j, out) / p.probability(&y, j, out);
                        // The ratio of two Laplace laws is largest at the ends of the interval between the two values.
                        ratio *= range.clone().step_by(8).chain([*range.end()]).map(of).max().unwrap();
                    }
                    worst = worst.max(ratio);
                }
            }
            assert!(at_most(&worst, epsilon), "{projection} {epsilon}: {}", ln(&worst));
            assert!(ln(&worst) >= 0.9 * epsilon, "{projection} {epsilon} wastes: {}", ln(&worst));
        }
    }
}

/// A beta as large as the range, and a threshold.
#[test]
fn raw_randomized_response() {
    check_pure(MechanismId::RawRr, Case { p: 2, k: 2, top: 3, steps: 6, repeats: 1 }, &EPSILONS, |_| ());
    check_pure(MechanismId::RawRr, Case { p: 3, k: 3, top: 2, steps: 1, repeats: 1 }, &EPSILONS, |p| {
        p.thresholds = vec![1.0];
    });
    check_pure(MechanismId::RawRr, Case { p: 2, k: 2, top: 2, steps: 1, repeats: 1 }, &EPSILONS, |p| {
        p.thresholds = vec![-1.0];
    });
}

#[test]
fn sign_oporp() {
    for id in [MechanismId::DpSignoporpRr, MechanismId::DpSignoporpRrSmooth, MechanismId::DpSignoporpCeil] {
        check_pure(id, Case { p: 4, k: 2, top: 3, steps: 2, repeats: 1 }, &EPSILONS, |_| ());
        check_pure(id, Case { p: 4, k: 4, top: 2, steps: 2, repeats: 2 }, &EPSILONS, |_| ());
    }
    check_pure(MechanismId::DpSignoporpCeil, OPORP, &EPSILONS, |p| p.thresholds = vec![1.0]);
}

/// Bins of three, one and one attributes, signs mixed; attribute 4 is left to the seed.
const BINS: Case = Case { p: 5, k: 3, top: 1, steps: 2, repeats: 1 };

fn bins(case: Case) -> Partition {
    let places = [Some((0, true)), Some((1, false)), Some((0, false)), Some((0, true)), None];
    let mut places = places[..case.p].to_vec();
    places[case.p - 2] = Some((case.k as u32 - 1, true)); // no bin is empty
    Partition::of(&Bins::new(&places, case.k, Origin::Made).unwrap())
}

/// Every OPORP law, unchanged: one attribute still touches one bin with weight 1.
#[test]
fn bins_of_a_public_partition() {
    use MechanismId::*;
    for id in [DpOporpLaplace, DpOporpStaircase, DpOporpLattice, DpOporpZones] {
        check_pure(id, BINS, &EPSILONS, |p| p.bins = Some(bins(BINS)));
    }
    for id in [DpSignoporpRr, DpSignoporpRrSmooth, DpSignoporpCeil] {
        check_pure(id, BINS, &EPSILONS, |p| p.bins = Some(bins(BINS)));
    }
    check_pure(DpOporpLaplace, Case { p: 4, k: 2, ..BINS }, &EPSILONS, |p| p.bins = Some("grid:2x2".parse().unwrap()));
    let case = Case { p: 4, k: 2, top: 4, steps: 8, repeats: 1 };
    let spent = check_approximate(DpOporp, case, 1.0, 1e-6, |p| p.bins = Some(bins(case)));
    assert!(spent > 0.5e-6, "spends only {spent}");
}

/// The group claim where it is tight: all n attributes of one bin move by beta together, and the loss is n epsilon.
#[test]
fn a_whole_bin_moved_costs_its_attributes() {
    use MechanismId::*;
    let (epsilon, noise) = (0.5, [DpOporpLaplace, DpOporpStaircase]);
    let coarse = [DpOporpLattice, DpOporpZones, DpSignoporpRr, DpSignoporpRrSmooth, DpSignoporpCeil];
    for id in noise.into_iter().chain(coarse) {
        let mut parameters = parameters(id, BINS, epsilon, None);
        parameters.bins = Some(bins(BINS));
        let mechanism = Mechanism::new(parameters).unwrap();
        let signs = mechanism.projection().bin_signs().unwrap();
        let bin = (0..BINS.k).max_by_key(|&bin| signs[bin].iter().sum::<u64>()).unwrap();
        let group = signs[bin].iter().sum::<u64>() as f64;
        let reach = i64::from(BINS.top) * group as i64;
        let (low, high) = (vec![-reach; BINS.k], vec![reach; BINS.k]);
        let loss = outputs(&mechanism, -reach, reach, 6).map(|y| {
            let p = |x: &[i64]| mechanism.perturbation().probability(x, bin, y);
            ln(&(p(&low) / p(&high))).max(ln(&(p(&high) / p(&low))))
        });
        let worst = loss.fold(0.0, f64::max);
        assert!(group >= 2.0 && worst <= group * epsilon, "{id}: {worst}");
        // Few symbols blur a long way; one attribute's share is lost in any case.
        let least = if noise.contains(&id) { 0.9 * group * epsilon } else { 0.5 * epsilon };
        assert!(worst > least, "{id} is not tight: {worst}");
    }
}

/// Planted faults: an attribute in two bins, and a sign of 2. No file can say either; the enumeration finds both.
#[test]
fn an_attribute_in_two_bins_or_with_weight_2_is_found() {
    for id in [MechanismId::DpOporpLaplace, MechanismId::DpOporpStaircase, MechanismId::DpSignoporpCeil] {
        let case = Case { p: 3, k: 2, top: 2, steps: 2, repeats: 1 };
        let mut parameters = parameters(id, case, 1.0, None);
        parameters.bins = Some(Partition::of(
            &Bins::new(&[Some((0, true)), Some((0, true)), Some((1, true))], 2, Origin::Made).unwrap(),
        ));
        let mechanism = Mechanism::new(parameters).unwrap();
        let honest = |u: &[i32]| vec![i64::from(u[0] + u[1]), i64::from(u[2])];
        let twice = |u: &[i32]| vec![i64::from(u[0] + u[1]), i64::from(u[2] + u[1])];
        let double = |u: &[i32]| vec![i64::from(u[0] + 2 * u[1]), i64::from(u[2])];
        let private = |project: &dyn Fn(&[i32]) -> Vec<i64>| {
            worst_ratio_by(&mechanism, case, 8, project).is_some_and(|worst| at_most(&worst, 1.0))
        };
        assert!(private(&honest) && honest(&[1, 2, 2]) == project(&mechanism, &[1, 2, 2]));
        assert!(!private(&twice) && !private(&double), "{id}");
    }
}

#[test]
fn sign_dense_pure() {
    for id in [MechanismId::DpSignrpRr, MechanismId::DpSignrpRrSmooth, MechanismId::DpSignrpCeil] {
        // One sign of a Rademacher pair of attributes may change, and all k = 2 do for the worst row.
        check_pure(id, Case { p: 2, k: 2, top: 2, steps: 4, repeats: 1 }, &EPSILONS, |p| {
            p.projection = Some("rademacher".parse().unwrap());
        });
    }
}

/// Approximate mechanisms: the hockey-stick of all outputs is at most delta.
fn check_approximate(id: MechanismId, case: Case, epsilon: f64, delta: f64, adjust: impl Fn(&mut Parameters)) -> f64 {
    let mut parameters = parameters(id, case, epsilon, Some(delta));
    adjust(&mut parameters);
    let mechanism = Mechanism::new(parameters).unwrap();
    assert_eq!(mechanism.promise().guarantee().unwrap().notion, Notion::Approximate);
    let window = match mechanism.noise_moments() {
        Some(noise) => (14.0 * (noise.variance.sqrt() / mechanism.value_unit())).ceil() as i64 + 2,
        None => 0,
    };
    let worst = worst_delta(&mechanism, case, epsilon, window);
    assert!(worst <= exact::rational(delta), "{id}: {} > {delta}", worst.to_f64().unwrap());
    worst.to_f64().unwrap()
}

#[test]
fn gaussian_noise_on_one_touched_bin() {
    for (epsilon, delta) in [(0.5, 1e-3), (1.0, 1e-6), (5.0, 1e-6)] {
        for id in [MechanismId::RawGOpt, MechanismId::DpOporp] {
            let case = Case { p: 2, k: 2, top: 4, steps: 8, repeats: 1 };
            let spent = check_approximate(id, case, epsilon, delta, |_| ());
            assert!(spent > 0.5 * delta, "{id} spends only {spent} of {delta}");
        }
    }
}

#[test]
fn gaussian_noise_on_dense_projections() {
    let case = Case { p: 2, k: 2, top: 1, steps: 2, repeats: 1 };
    for id in [MechanismId::DpRpGOptB, MechanismId::DpRpGOpt, MechanismId::DpRpG, MechanismId::DpRpGAnalytic] {
        check_approximate(id, case, 6.0, 1e-2, |_| ());
    }
    check_approximate(MechanismId::SignDpRpGOptB, Case { p: 3, k: 3, top: 1, steps: 2, repeats: 1 }, 1.0, 1e-3, |_| ());
}

#[test]
fn composed_sign_bits() {
    let case = Case { p: 3, k: 4, top: 2, steps: 2, repeats: 1 };
    for (epsilon, delta) in [(0.5, 1e-2), (2.0, 1e-4)] {
        check_approximate(MechanismId::DpSignrpCeil, case, epsilon, delta, |p| {
            p.projection = Some("rademacher".parse().unwrap());
        });
    }
}

#[test]
fn individual_dp_fails_this_check() {
    for id in [MechanismId::IdpSignrpRr, MechanismId::IdpSignoporpRr] {
        let mechanism =
            Mechanism::new(parameters(id, Case { p: 3, k: 2, top: 3, steps: 2, repeats: 1 }, 0.1, None)).unwrap();
        assert_eq!(worst_ratio(&mechanism, Case { p: 3, k: 2, top: 3, steps: 2, repeats: 1 }, 0), None, "{id}");
    }
    for id in [MechanismId::IdpSignrpG, MechanismId::IdpSignoporpG] {
        let case = Case { p: 3, k: 2, top: 3, steps: 2, repeats: 1 };
        let mechanism = Mechanism::new(parameters(id, case, 0.1, Some(1e-6))).unwrap();
        assert!(worst_delta(&mechanism, case, 0.1, 0) > exact::rational(0.01), "{id}");
    }
}

#[test]
fn the_counterexample_of_section_6() {
    // p=2, k=1, W=(1,1), beta=1, u=(1,.5), u'=(0,.5): minus is impossible from u and likely from u'.
    let case = Case { p: 2, k: 1, top: 4, steps: 2, repeats: 1 };
    let with_equal_signs = (0..64u8).find_map(|seed| {
        let mut parameters = parameters(MechanismId::IdpSignrpRr, case, 0.1, None);
        parameters.seed = Seed([seed; 32]);
        let mechanism = Mechanism::new(parameters).unwrap();
        (project(&mechanism, &[1, 1]) == [2]).then_some(mechanism)
    });
    let mechanism = with_equal_signs.expect("a quarter of all seeds");
    let (x, y) = (project(&mechanism, &[2, 1]), project(&mechanism, &[0, 1]));
    assert!(mechanism.perturbation().probability(&x, 0, 0).is_zero());
    let minus = mechanism.perturbation().probability(&y, 0, 0).to_f64().unwrap();
    assert!((minus - 0.475).abs() < 1e-3, "{minus}");
}
