//! Estimators on random pairs: no bias that 8,000 pairs can see, 95% intervals that cover 93% to 97%.

use crate::support::{Draw, released};
use scumble::estimate::{self, Estimate, EstimateError, RowRef};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Encoding, Release, Releaser};
use scumble::search::ExactQueries;
use scumble::vectors::{Range, Rows, Scalars};

const P: usize = 128;
const PAIRS: usize = 8000;
/// Projections that the pairs are spread over: the draw of the projection is part of every variance.
const SEEDS: usize = 40;

/// Pairs of correlated rows in [-1, 1], as rows 2i and 2i+1.
fn pairs(seed: u64) -> Vec<f32> {
    let mut draw = Draw::new(seed);
    let mut rows = Vec::with_capacity(2 * PAIRS * P);
    for _ in 0..PAIRS {
        let u: Vec<f32> = (0..P).map(|_| (draw.uniform() * 2.0 - 1.0) as f32).collect();
        let v: Vec<f32> = u.iter().map(|x| 0.6 * x + 0.4 * (draw.uniform() * 2.0 - 1.0) as f32).collect();
        rows.extend(u);
        rows.extend(v);
    }
    rows
}

fn truth(u: &[f32], v: &[f32]) -> (f64, f64, f64) {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    (dot(u, u), dot(v, v), dot(u, v))
}

/// Releases the pairs under several projections and compares with the truth.
fn check(
    id: MechanismId,
    epsilon: f64,
    encoding: Option<Encoding>,
    estimator: fn(RowRef<'_>, RowRef<'_>) -> Result<Estimate, EstimateError>,
    target: fn(f64, f64, f64) -> f64,
    adjust: fn(&mut Parameters),
) {
    let rows = pairs(7);
    let (mut errors, mut covered, mut defined) = (Vec::new(), 0, 0);
    for seed in 0..SEEDS {
        let mut parameters = Parameters::new(Required {
            mechanism: id,
            dim: P,
            k: 64,
            epsilon,
            beta: 2.0,
            range: Range::new(-1.0, 1.0).unwrap(),
            seed: Seed([seed as u8; 32]),
        });
        if parameters.mechanism.notion() == scumble::mechanism::NotionKind::Approximate {
            parameters.delta = Some(1e-6);
        }
        adjust(&mut parameters);
        let mechanism = Mechanism::new(parameters).unwrap();
        let per_seed = PAIRS / SEEDS;
        let rows = &rows[2 * seed * per_seed * P..2 * (seed + 1) * per_seed * P];
        let release = released(&mechanism, encoding, seed as u8, Rows::dense(Scalars::F32(rows), P));
        for pair in 0..per_seed {
            let got = estimator(RowRef::new(&release, 2 * pair).unwrap(), RowRef::new(&release, 2 * pair + 1).unwrap())
                .unwrap();
            if got.value.is_nan() {
                continue;
            }
            let (u, v) = rows[2 * pair * P..2 * (pair + 1) * P].split_at(P);
            let (a, b, g) = truth(u, v);
            let target = target(a, b, g);
            defined += 1;
            errors.push(got.value - target);
            covered += usize::from((got.interval.0..=got.interval.1).contains(&target));
        }
    }
    let n = defined as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let spread = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / n).sqrt();
    let coverage = covered as f64 / n;
    if id == MechanismId::DpSignrpRr {
        // Angles are cut to [0, pi]: that moves their mean, and the interval of an angle near an end is on the wide side.
        return assert!(coverage >= 0.93, "{id} at {epsilon}: coverage {coverage}");
    }
    assert!(mean.abs() <= 3.0 * spread / n.sqrt(), "{id} at {epsilon}: bias {mean} +- {}", spread / n.sqrt());
    assert!((0.93..=0.97).contains(&coverage), "{id} at {epsilon}: coverage {coverage}");
}

#[test]
fn inner_products_of_every_value_mechanism() {
    for &id in MechanismId::ALL.iter().filter(|id| id.output() == scumble::mechanism::OutputKind::Values) {
        check(id, 8.0, None, estimate::inner_product, |_, _, g| g, |_| ());
    }
}

#[test]
fn inner_products_with_an_exact_query() {
    let rows = pairs(5);
    for id in [MechanismId::RawStaircase, MechanismId::DpOporpLaplace, MechanismId::DpOporp, MechanismId::DpRpGOptB] {
        let (mut covered, per_seed) = (0, PAIRS / SEEDS);
        for seed in 0..SEEDS {
            let mut parameters = Parameters::new(Required {
                mechanism: id,
                dim: P,
                k: 64,
                epsilon: 8.0,
                beta: 2.0,
                range: Range::new(-1.0, 1.0).unwrap(),
                seed: Seed([seed as u8; 32]),
            });
            parameters.delta = (id.notion() == scumble::mechanism::NotionKind::Approximate).then_some(1e-6);
            let mechanism = Mechanism::new(parameters).unwrap();
            let values = &rows[2 * seed * per_seed * P..2 * (seed + 1) * per_seed * P];
            let rows = Rows::dense(Scalars::F32(values), P);
            let (release, exact) =
                (released(&mechanism, None, seed as u8, rows), ExactQueries::project(&mechanism, rows).unwrap());
            for pair in 0..per_seed {
                let (u, v) = values[2 * pair * P..2 * (pair + 1) * P].split_at(P);
                let (_, _, target) = truth(u, v);
                let got = estimate::inner_product_with_query(
                    RowRef::new(&release, 2 * pair).unwrap(),
                    exact.row(2 * pair + 1),
                );
                let (from, to) = got.unwrap().interval;
                covered += usize::from((from..=to).contains(&target));
            }
        }
        let coverage = covered as f64 / PAIRS as f64;
        assert!((0.93..=0.97).contains(&coverage), "{id}: coverage {coverage}");
    }
}

#[test]
fn squared_distance_and_norm() {
    for id in [MechanismId::RawStaircase, MechanismId::DpOporpLaplace, MechanismId::DpOporp, MechanismId::DpRpGOptB] {
        check(id, 8.0, None, estimate::squared_distance, |a, b, g| a + b - 2.0 * g, |_| ());
        check(id, 8.0, None, |u, _| estimate::squared_norm(u), |a, _, _| a, |_| ());
    }
}

#[test]
fn cosine_covers_where_norms_are_well_known() {
    for (id, epsilon) in [(MechanismId::RawStaircase, 10.0), (MechanismId::RawLaplace, 20.0)] {
        check(id, epsilon, None, estimate::cosine, |a, b, g| g / (a * b).sqrt(), |_| ());
    }
}

#[test]
fn encodings_keep_the_estimate() {
    for encoding in [Encoding::I16, Encoding::B8] {
        check(
            MechanismId::DpOporpStaircase,
            5.0,
            Some(encoding),
            estimate::inner_product,
            |_, _, g| g,
            |p| p.norm = Some(6.5),
        );
    }
}

#[test]
fn angle_from_randomized_response() {
    check(
        MechanismId::DpSignrpRr,
        40.0,
        None,
        estimate::angle,
        |a, b, g| (g / (a * b).sqrt()).acos(),
        |p| p.projection = Some("gaussian".parse().unwrap()),
    );
}

#[test]
fn what_is_not_identifiable_is_refused() {
    let rows = pairs(1);
    for id in [MechanismId::DpSignoporpCeil, MechanismId::DpSignoporpRrSmooth, MechanismId::DpSignrpCeil] {
        let parameters = Parameters::new(Required {
            mechanism: id,
            dim: P,
            k: 32,
            epsilon: 3.0,
            beta: 2.0,
            range: Range::new(-1.0, 1.0).unwrap(),
            seed: Seed([1; 32]),
        });
        let releaser = Releaser::new(Mechanism::new(parameters).unwrap(), None).unwrap();
        let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&rows[..2 * P]), P)).unwrap();
        let (a, b) = (RowRef::new(&release, 0).unwrap(), RowRef::new(&release, 1).unwrap());
        assert!(matches!(estimate::angle(a, b), Err(EstimateError::NotIdentifiable(_))), "{id}");
        assert!(matches!(estimate::inner_product(a, b), Err(EstimateError::NotIdentifiable(_))), "{id}");
        assert!(RowRef::new(&release, 2).is_err());
    }
}
