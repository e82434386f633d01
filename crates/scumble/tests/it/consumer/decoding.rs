//! Decoding: less error on rows that have something in common, and refusals where it would hurt.

use crate::support::{Draw, released};
use scumble::decode::{self, DecodeError, Decoder, Method, Refused};
use scumble::files::{ReadOptions, read_all};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::{Partition, Seed};
use scumble::release::Release;
use scumble::search::ExactQueries;
use scumble::structure::{BinsOptions, learn_bins};
use scumble::vectors::{Layout, Range, Rows, Scalars};

const P: usize = 64;
const ROWS: usize = 4000;

/// Rows in [-1, 1] that are mixtures of four patterns; lengths differ by a factor of up to 8 where asked for.
fn rows(count: usize, uneven: bool) -> Vec<f32> {
    let mut draw = Draw::new(5);
    let mut rows = Vec::with_capacity(count * P);
    for _ in 0..count {
        let part: [f64; 4] = std::array::from_fn(|_| draw.uniform() - 0.5);
        let size = if uneven { (3.0 * draw.uniform() - 3.0).exp2() } else { 1.0 };
        let wave = |j: usize, m: usize| ((j * (m + 1)) as f64 * std::f64::consts::TAU / P as f64).sin();
        rows.extend((0..P).map(|j| (size * (0..4).map(|m| part[m] * wave(j, m)).sum::<f64>() * 0.7) as f32));
    }
    rows
}

fn mechanism(id: MechanismId, k: usize, epsilon: f64) -> Mechanism {
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: P,
        k,
        epsilon,
        beta: 1.0,
        range: Range::new(-1.0, 1.0).unwrap(),
        seed: Seed([3; 32]),
    });
    parameters.symbols = (id == MechanismId::DpOporpZones).then_some(3);
    parameters.norm = Some(3.0);
    Mechanism::new(parameters).unwrap()
}

/// Mean cosine of the exact sketches with the released and with the decoded rows.
fn cosines(release: &Release, rows: &[f32], method: Method) -> (f64, f64) {
    let exact = ExactQueries::project(release.mechanism(), Rows::dense(Scalars::F32(rows), P)).unwrap();
    let decoded = Decoder::fit(release, method).unwrap().decode(release).unwrap();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let cosine = |a: &[f32], b: &[f32]| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(1e-30);
    let mean = |of: &dyn Fn(usize) -> f64| (0..release.len()).map(of).sum::<f64>() / release.len() as f64;
    (mean(&|i| cosine(exact.row(i), &release.values(i))), mean(&|i| cosine(exact.row(i), decoded.row(i))))
}

#[test]
fn decoded_rows_lie_nearer_to_the_truth() {
    for (id, epsilon) in [
        (MechanismId::DpOporpStaircase, 2.0),
        (MechanismId::DpOporpLaplace, 2.0),
        (MechanismId::DpOporpZones, 3.0),
        (MechanismId::DpSignoporpCeil, 3.0),
        (MechanismId::DpSignoporpRr, 3.0),
    ] {
        for (method, uneven) in [(Method::Wiener, false), (Method::Scale, true)] {
            let rows = rows(ROWS, uneven);
            let release = released(&mechanism(id, 32, epsilon), None, 1, Rows::dense(Scalars::F32(&rows), P));
            let (plain, decoded) = cosines(&release, &rows, method);
            assert!(decoded > plain + 0.05, "{id} {method:?}: {plain:.3} to {decoded:.3}");
        }
    }
}

#[test]
fn scales_help_rows_of_different_length() {
    let rows = rows(ROWS, true);
    let staircase = mechanism(MechanismId::DpOporpStaircase, 32, 2.0);
    let release = released(&staircase, None, 1, Rows::dense(Scalars::F32(&rows), P));
    let exact = ExactQueries::project(&staircase, Rows::dense(Scalars::F32(&rows), P)).unwrap();
    let error = |method: Method| {
        let decoded = Decoder::fit(&release, method).unwrap().decode(&release).unwrap();
        let square = |(x, y): (&f32, &f32)| f64::from(x - y).powi(2);
        (0..ROWS).map(|i| exact.row(i).iter().zip(decoded.row(i)).map(square).sum::<f64>()).sum::<f64>()
    };
    assert!(error(Method::Scale) < error(Method::Wiener), "{} {}", error(Method::Scale), error(Method::Wiener));
}

/// Every projected row lies within the bounds, so that no row is farther from it after decoding.
#[test]
fn bounds_take_no_row_away_from_the_truth() {
    let rows = rows(ROWS, true);
    let input = Rows::dense(Scalars::F32(&rows), P);
    let whole = |id| {
        Parameters::new(Required {
            mechanism: id,
            dim: P,
            k: P,
            epsilon: 2.0,
            beta: 1.5,
            range: Range::new(-0.5, 1.0).unwrap(),
            seed: Seed([3; 32]),
        })
    };
    let few = |id| Parameters { k: 16, ..whole(id) };
    let bins = learn_bins(input.slice(0, 100), BinsOptions::new(16)).unwrap();
    for parameters in [
        whole(MechanismId::RawStaircase),
        few(MechanismId::DpOporpStaircase),
        Parameters { repeats: 2, ..few(MechanismId::DpOporpLaplace) },
        Parameters { bins: Some(Partition::of(&bins)), ..few(MechanismId::DpOporpStaircase) },
    ] {
        let mechanism = Mechanism::new(parameters).unwrap();
        let release = released(&mechanism, None, 1, input);
        let decoder = Decoder::fit(&release, Method::Bounds).unwrap();
        let decoded = decoder.decode(&release).unwrap();
        let exact = ExactQueries::project(&mechanism, input).unwrap();
        let bounds = mechanism.value_bounds().unwrap();
        let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
        let mut moved = 0;
        for i in 0..ROWS {
            let inside = |(x, [lo, hi]): (&f32, &[f64; 2])| (*lo - 1e-4..=*hi + 1e-4).contains(&f64::from(*x));
            assert!(exact.row(i).iter().zip(&bounds).all(inside), "{mechanism:?}");
            let (plain, after) = (distance(exact.row(i), &release.values(i)), distance(exact.row(i), decoded.row(i)));
            assert!(after <= plain * (1.0 + 1e-6), "row {i}: {plain} to {after}");
            moved += usize::from(after < 0.999 * plain);
        }
        assert!(moved > ROWS / 10, "{moved}");
    }
    for id in [MechanismId::DpSignoporpCeil, MechanismId::DpOporpZones, MechanismId::DpRpGOpt] {
        let parameters = {
            let mut parameters = few(id);
            parameters.delta = (id == MechanismId::DpRpGOpt).then_some(1e-6);
            parameters.symbols = (id == MechanismId::DpOporpZones).then_some(3);
            parameters
        };
        let release = released(&Mechanism::new(parameters).unwrap(), None, 1, input);
        assert!(matches!(Decoder::fit(&release, Method::Bounds), Err(DecodeError::Refused(Refused::Unbounded(_)))));
    }
}

#[test]
fn decoding_is_refused_where_it_hurts() {
    let rows = rows(ROWS, false);
    let of = |id: MechanismId, k: usize, epsilon: f64, count: usize| {
        let rows = Rows::dense(Scalars::F32(&rows[..count * P]), P);
        Decoder::fit(&released(&mechanism(id, k, epsilon), None, 1, rows), Method::Wiener).map(|decoder| decoder.rank())
    };
    assert_eq!(of(MechanismId::DpOporpStaircase, 32, 2.0, ROWS).unwrap(), 4, "four patterns");
    let refusal = |result: Result<usize, DecodeError>| match result {
        Err(DecodeError::Refused(refused)) => refused,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(of(MechanismId::DpOporpStaircase, 32, 2.0, 319)), Refused::FewRows { rows: 319, k: 32 });
    assert!(matches!(refusal(of(MechanismId::DpOporpStaircase, 32, 0.05, ROWS)), Refused::Noise { .. }));
    let record = Parameters::new(Required {
        mechanism: MechanismId::Signcap,
        dim: P,
        k: 32,
        epsilon: 5.0,
        beta: 1.0,
        range: Range::new(-1.0, 1.0).unwrap(),
        seed: Seed([3; 32]),
    });
    let release = released(&Mechanism::new(record).unwrap(), None, 1, Rows::dense(Scalars::F32(&rows), P));
    assert!(matches!(Decoder::fit(&release, Method::Wiener), Err(DecodeError::Refused(Refused::Law(_)))));
}

#[test]
fn files_hold_the_decoded_rows() {
    let rows = rows(400, false);
    let release =
        released(&mechanism(MechanismId::DpOporpStaircase, 16, 4.0), None, 1, Rows::dense(Scalars::F32(&rows), P));
    let decoder = Decoder::fit(&release, Method::Wiener).unwrap();
    let decoded = decoder.decode(&release).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let npy = folder.path().join("decoded.npy");
    decode::write(&npy, &decoder, &release).unwrap();
    let bytes = std::fs::read(&npy).unwrap();
    let values: Vec<u8> = decoded.values.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert!(bytes.ends_with(&values) && bytes.starts_with(b"\x93NUMPY"));
    let parquet = folder.path().join("decoded.parquet");
    decode::write(&parquet, &decoder, &release).unwrap();
    let back = read_all(&parquet, &ReadOptions { column: "decoded".into(), ..ReadOptions::default() }).unwrap();
    let Layout::Dense { values: Scalars::F32(values), .. } = back.rows().layout() else { panic!("dense floats") };
    assert_eq!(values, decoded.values);
    assert!(decode::write(&folder.path().join("decoded.csv"), &decoder, &release).is_err());
}
