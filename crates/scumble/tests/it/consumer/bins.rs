//! Bins of a public partition as a consumer meets them: estimates with a bound, centres, and files beside a release.

use crate::support::{Draw, released};
use scumble::certificate::Certificate;
use scumble::estimate::{self, EstimateError, RowRef};
use scumble::files::{Job, JobError, ReadOptions, open_release, release};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::plan::{Ask, AskError, Public};
use scumble::projection::{Bins, Origin, Partition, Seed};
use scumble::structure::{BinsOptions, learn_bins};
use scumble::vectors::{Range, Rows, Scalars};

const P: usize = 96;

/// Rows of eight groups of attributes that move together, in [0, 1].
fn rows(n: usize, seed: u64) -> Vec<f32> {
    let mut draw = Draw::new(seed);
    let mut values = Vec::with_capacity(n * P);
    for _ in 0..n {
        let groups: Vec<f64> = (0..8).map(|_| draw.uniform()).collect();
        values.extend((0..P).map(|j| (0.8 * groups[j % 8] + 0.2 * draw.uniform()) as f32));
    }
    values
}

fn mechanism(id: MechanismId, bins: Partition, k: usize, epsilon: f64) -> Mechanism {
    let parameters = Parameters::new(Required {
        mechanism: id,
        dim: P,
        k,
        epsilon,
        beta: 1.0,
        range: Range { lo: 0.0, hi: 1.0 },
        seed: Seed([4; 32]),
    });
    Mechanism::new(Parameters { bins: Some(bins), ..parameters }).unwrap()
}

/// The true inner product lies in the widened interval, though the pooled rows alone miss it; cosines are refused.
#[test]
fn estimates_are_bounded_and_angles_refused() {
    let values = rows(400, 1);
    let table = Rows::dense(Scalars::F32(&values), P);
    let bins = Partition::of(&learn_bins(Rows::dense(Scalars::F32(&rows(100, 2)), P), BinsOptions::new(8)).unwrap());
    let mechanism = mechanism(MechanismId::DpOporpStaircase, bins, 8, 3.0);
    let release = released(&mechanism, None, 1, table);
    let row = |i: usize| &values[i * P..][..P];
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
    let (mut inside, mut within_noise) = ([0; 3], 0);
    for pair in 0..200 {
        let (i, j) = (2 * pair, 2 * pair + 1);
        let [a, b] = [i, j].map(|row| RowRef::new(&release, row).unwrap());
        let (u, v, truth) = (row(i), row(j), dot(row(i), row(j)));
        let product = estimate::inner_product(a, b).unwrap();
        let apart = dot(u, u) + dot(v, v) - 2.0 * truth;
        let all = [
            (product, truth),
            (estimate::squared_norm(a).unwrap(), dot(u, u)),
            (estimate::squared_distance(a, b).unwrap(), apart),
        ];
        for (count, (estimate, truth)) in inside.iter_mut().zip(all) {
            assert!(estimate.bias.is_some_and(|bias| bias > 0.0));
            *count += usize::from(estimate.interval.0 <= truth && truth <= estimate.interval.1);
        }
        within_noise += usize::from((product.value - truth).abs() <= 1.96 * product.variance.sqrt());
        assert!(matches!(estimate::cosine(a, b), Err(EstimateError::NotIdentifiable(_))));
        assert!(matches!(estimate::angle(a, b), Err(EstimateError::NotIdentifiable(_))));
    }
    assert!(inside.iter().all(|&count| count >= 190), "{inside:?} of 200, {within_noise} by the noise alone");
}

/// 0/1 rows that differ inside their bins as much as they can: the bound is attained, so that it cannot be too small.
#[test]
fn the_bound_holds_where_it_is_tight() {
    let values: Vec<f32> = (0..200 * P).map(|i| f32::from(u8::from((i % P).is_multiple_of(2)))).collect();
    let places: Vec<_> = (0..P).map(|j| Some((j as u32 / 24, true))).collect();
    let bins = Partition::of(&Bins::new(&places, 4, Origin::Made).unwrap());
    let mechanism = mechanism(MechanismId::DpOporpLaplace, bins, 4, 2.0);
    let release = released(&mechanism, None, 3, Rows::dense(Scalars::F32(&values), P));
    let covered = (0..100).filter(|pair| {
        let [a, b] = [2 * pair, 2 * pair + 1].map(|row| RowRef::new(&release, row).unwrap());
        let (low, high) = estimate::inner_product(a, b).unwrap().interval;
        (low..=high).contains(&48.0)
    });
    let covered = covered.count();
    // Pooled rows give 24; without the bias bound none would reach 48. 95% but for 4 standard deviations.
    assert!(covered >= 87, "{covered} of 100");
}

/// A sample's medians are subtracted before bits and symbols and added back to values: exactly, row by row and in blocks.
#[test]
fn centres_are_the_samples_medians() {
    let (public, values) = (rows(200, 5), rows(70, 6));
    let bins = learn_bins(Rows::dense(Scalars::F32(&public), P), BinsOptions::new(8)).unwrap();
    let table = Rows::dense(Scalars::F32(&values), P);
    for id in [MechanismId::DpOporpStaircase, MechanismId::DpOporpLattice, MechanismId::DpSignoporpCeil] {
        let mechanism = mechanism(id, Partition::of(&bins), 8, 40.0);
        let medians = bins.medians().unwrap();
        for (centre, median) in mechanism.centres().iter().zip(&medians) {
            assert!((centre - median).abs() <= 0.5 * mechanism.grid().step());
        }
        let release = released(&mechanism, None, 9, table);
        let (mut agree, mut near) = (0, 0);
        for (i, row) in values.chunks_exact(P).enumerate() {
            let mut sums = vec![0.0; 8];
            (0..P).for_each(|j| {
                let (bin, plus) = bins.place(j).unwrap();
                sums[bin] += f64::from(row[j]) * if plus { 1.0 } else { -1.0 };
            });
            for ((value, sum), median) in release.values(i).iter().zip(&sums).zip(&medians) {
                agree += usize::from((*value > 0.0) == (sum > median));
                near += usize::from((f64::from(*value) - sum).abs() < 1.5);
            }
        }
        match id {
            // At epsilon 40 nothing is flipped but what lies on the border.
            MechanismId::DpSignoporpCeil => assert!(agree > 540, "{agree} of 560"),
            MechanismId::DpOporpStaircase => assert!(near == 560, "{near} of 560"),
            _ => assert!(near > 250, "{id}: {near} of 560"),
        }
        let text = release.certificate().to_json();
        assert!(Certificate::parse(&text).is_ok(), "{id}");
    }
}

fn npy(path: &std::path::Path, values: &[f32], columns: usize) {
    let rows = values.len() / columns;
    let mut head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    head.push_str(&" ".repeat(117 - head.len()));
    head.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(head.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// Large bins are stored beside the release; without them it does not open. Bins learned from the input itself are refused.
#[test]
fn files_lie_beside_a_release_and_never_come_from_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (columns, k) = (12_000, 16);
    let value = |i: usize| ((i * 7919) % 101) as f32 / 100.0;
    let (public, private): (Vec<f32>, Vec<f32>) =
        ((0..3 * columns).map(value).collect(), (0..3 * columns).map(|i| value(i * 3 + 1)).collect());
    let bins = learn_bins(Rows::dense(Scalars::F32(&public), columns), BinsOptions::new(k)).unwrap();
    assert!(bins.to_text().len() > 64 << 10);
    let [input, same] = ["private.npy", "public.npy"].map(|name| folder.path().join(name));
    npy(&input, &private, columns);
    npy(&same, &public, columns);
    let ask = Ask { bins: Some(Partition::of(&bins)), ..Ask::new(1.0, Range { lo: 0.0, hi: 1.0 }) };
    let run = |input: &std::path::Path, out: &str| -> Result<Certificate, Failure> {
        let out = folder.path().join(out);
        let job = Job { input: input.to_owned(), reading: ReadOptions::default(), out, ..Job::default() };
        release(&job, |dim| ask.releaser(dim, None, Public::default()).map_err(Failure::from))
    };
    let certificate = run(&input, "out.parquet").unwrap();
    assert!(certificate.parameters.bins.as_ref().unwrap().name().starts_with("sha256:"));
    assert!(certificate.assumptions.iter().any(|line| line.contains("public sample of 3 rows")));
    let beside = folder.path().join("out.parquet.bins");
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), bins.to_text());
    assert_eq!(open_release(&folder.path().join("out.parquet")).unwrap().k(), k);
    std::fs::remove_file(&beside).unwrap();
    let error = open_release(&folder.path().join("out.parquet")).unwrap_err().to_string();
    assert!(error.contains("‹bins›"), "{error}");
    match run(&same, "refused.parquet") {
        Err(Failure(text)) => assert!(text.contains("the very rows"), "{text}"),
        Ok(_) => panic!("bins from the released rows"),
    }
    assert!(!folder.path().join("refused.parquet").exists());
}

#[derive(Debug)]
struct Failure(String);

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        Self(error.to_string())
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self(error.to_string())
    }
}
