//! What a release estimates: the mean of many releases of a row is `Mechanism::expected` of it, for every mechanism.

use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{Range, Rows, Scalars};
use scumble_core::noise::NoiseKey;

/// 20,000 releases of one row, the same in every run. Means lie within 5 standard errors of what is expected, over all
/// coordinates (alpha below 1e-4); the direction of records within a tenth, since their mean is one over rotations.
#[test]
fn the_mean_of_many_releases_is_what_is_expected() {
    let (dim, k, n) = (48, 24, 20_000);
    let row: Vec<f32> = (0..dim).map(|at| ((at * 37 % 19) as f32 - 9.0) / 10.0).collect();
    for id in MechanismId::without_files() {
        let mut parameters = Parameters::new(Required {
            mechanism: id,
            dim,
            k,
            epsilon: 3.0,
            beta: 1.0,
            range: Range::new(-1.0, 1.0).unwrap(),
            seed: Seed([8; 32]),
        });
        match id.notion() {
            NotionKind::Individual => continue, // a sign that is released as it is, or a coin: no law of its own
            NotionKind::Approximate => parameters.delta = Some(1e-3),
            NotionKind::Pure | NotionKind::Either => {}
        }
        let mechanism = Mechanism::new(parameters).unwrap();
        let k = mechanism.k();
        let expected = mechanism.expected_rows(Rows::dense(Scalars::F32(&row), dim)).unwrap();
        let releaser = Releaser::new(mechanism, None).unwrap().keyed(NoiseKey::from_bytes([3; 32]));
        let release = Release::from_rows(&releaser, Rows::strided(Scalars::F32(&row), n, dim, 0, 1)).unwrap();
        let (mut sums, mut squares) = (vec![0f64; k], vec![0f64; k]);
        for i in 0..n {
            for (j, &value) in release.values(i).iter().enumerate() {
                sums[j] += f64::from(value);
                squares[j] += f64::from(value).powi(2);
            }
        }
        let means: Vec<f64> = sums.iter().map(|sum| sum / n as f64).collect();
        if id.is_record() {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let wanted: Vec<f64> = expected.iter().map(|&value| value.into()).collect();
            let slope = dot(&means, &wanted) / dot(&wanted, &wanted);
            assert!((slope - 1.0).abs() < 0.1, "{id}: {slope}");
            continue;
        }
        for j in 0..k {
            let error = (squares[j] / n as f64 - means[j].powi(2)).max(1e-6).sqrt() / (n as f64).sqrt();
            let off = means[j] - f64::from(expected[j]);
            assert!(off.abs() < 5.0 * error + 1e-3, "{id} {j}: {} against {}", means[j], expected[j]);
        }
    }
}
