//! The averaging attack: a row that is released again and again with fresh noise is an open book; with sticky noise the
//! thousandth release says what the first one said. docs/longitudinal.md shows these numbers.

use crate::support::Draw;
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{Range, Rows, Scalars};
use scumble_core::noise::NoiseKey;

const PEOPLE: usize = 500;
const RELEASES: usize = 1000;

fn releaser() -> Releaser {
    let range = Range::new(0.0, 1.0).unwrap();
    let parameters = Parameters::new(Required {
        mechanism: MechanismId::RawLaplace,
        dim: 4,
        k: 4,
        epsilon: 1.0,
        beta: 1.0,
        range,
        seed: Seed([3; 32]),
    });
    Releaser::new(Mechanism::new(parameters).unwrap(), None).unwrap()
}

/// Averages each person's first attribute over the releases and guesses 1 above one half: shares of right guesses and
/// mean errors after 1, 10, 100 and 1,000 releases.
fn attack(secrets: &[f32], releaser: &Releaser) -> Vec<(usize, f64, f64)> {
    let table: Vec<f32> = secrets.iter().flat_map(|&secret| [secret, 0.25, 0.5, 0.75]).collect();
    let rows = Rows::dense(Scalars::F32(&table), 4);
    let mut sums = vec![0.0; PEOPLE];
    let mut shown = Vec::new();
    for n in 1..=RELEASES {
        let release = Release::from_rows(releaser, rows).unwrap();
        sums.iter_mut().enumerate().for_each(|(i, sum)| *sum += f64::from(release.values(i)[0]));
        if [1, 10, 100, 1000].contains(&n) {
            let errors = sums.iter().zip(secrets).map(|(sum, &secret)| (sum / n as f64 - f64::from(secret)).abs());
            let right = sums.iter().zip(secrets).filter(|(sum, secret)| (**sum > 0.5 * n as f64) == (**secret > 0.5));
            shown.push((n, right.count() as f64 / PEOPLE as f64, errors.sum::<f64>() / PEOPLE as f64));
        }
    }
    shown
}

#[test]
fn averaging_fresh_releases_recovers_an_attribute_and_sticky_ones_give_nothing() {
    let mut draw = Draw::new(5);
    let secrets: Vec<f32> = (0..PEOPLE).map(|_| (draw.next() >> 20 & 1) as f32).collect();
    let fresh = attack(&secrets, &releaser());
    let sticky = attack(&secrets, &releaser().keyed(NoiseKey::generate().unwrap()));
    for (name, shown) in [("fresh", &fresh), ("sticky", &sticky)] {
        for (n, right, error) in shown {
            println!("{name}: {n} releases: {right:.3} right, mean error {error:.3}");
        }
    }
    // The mean of 1,000 Laplace draws of scale 1 has a deviation of 0.045: a wrong guess is 11 deviations away.
    let (_, right, error) = fresh[3];
    assert_eq!(right, 1.0);
    assert!(error < 0.05, "{error}");
    // Epsilon 1 allows at most e/(1+e) = 0.731 of all guesses to be right. Over 500 people 0.84 is 5.5 deviations above
    // (alpha 2e-8); fresh noise fails this test.
    let bound = 1f64.exp() / (1.0 + 1f64.exp()) + 5.5 * (0.731 * 0.269 / PEOPLE as f64).sqrt();
    for (n, right, error) in &sticky {
        assert!(*right <= bound, "{n}: {right}");
        assert!(*error > 0.5, "{n}: {error}");
    }
    assert_eq!(sticky[0].1, sticky[3].1);
    assert!(fresh[3].1 > bound);
}

/// An unchanged row must give the same bytes in every version, or two versions would be two looks at it for one price.
/// Where this changes, raise `VERSION` in release/keyed.rs and say so in the changelog (value-breaking).
#[test]
fn keyed_noise_is_what_it_was() {
    let rows: Vec<f32> = (0..192).map(|i| (i % 17) as f32 / 8.5 - 1.0).collect();
    let mut lines = String::new();
    for id in MechanismId::without_files() {
        let range = Range::new(-1.0, 1.0).unwrap();
        let mut parameters = Parameters::new(Required {
            mechanism: id,
            dim: 64,
            k: 16,
            epsilon: 2.0,
            beta: 1.0,
            range,
            seed: Seed([5; 32]),
        });
        match id.notion() {
            NotionKind::Individual => continue,
            NotionKind::Approximate => parameters.delta = Some(1e-6),
            NotionKind::Pure | NotionKind::Either => {}
        }
        let releaser = Releaser::new(Mechanism::new(parameters).unwrap(), None).unwrap();
        let releaser = releaser.keyed(NoiseKey::from_bytes([8; 32]));
        let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&rows), 64)).unwrap();
        lines += &format!("{id} {}\n", release.certificate().content.sketch);
    }
    insta::with_settings!({ snapshot_path => "../../../../scumble-core/tests/vectors/v1", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("keyed-noise", lines);
    });
}

/// Without the content in it, keyed noise would cancel in the difference of two versions of a row.
#[test]
fn two_versions_of_a_row_have_unrelated_noise() {
    let key = || NoiseKey::from_bytes([9; 32]);
    let values = |first: f32| {
        let row = [first, 0.25, 0.5, 0.75];
        Release::from_rows(&releaser().keyed(key()), Rows::dense(Scalars::F32(&row), 4)).unwrap().values(0)
    };
    let (a, again, b) = (values(0.0), values(0.0), values(1.0));
    assert_eq!(a, again);
    // Equal in one of three untouched attributes by chance: below 1 in 100 each on this grid.
    assert!((1..4).filter(|&j| a[j] == b[j]).count() < 3, "{a:?} {b:?}");
}
