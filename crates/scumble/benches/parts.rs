//! The parts alone, for those who change them: `cargo bench -p scumble --features testing --bench parts`.

use divan::{Bencher, black_box, counter::ItemsCount};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::{Projection, ProjectionKind, Seed};
use scumble::release::{Encoding, Release, Releaser};
use scumble::search::{Queries, search};
use scumble::vectors::{Grid, Range, Rows, Scalars};
use scumble_core::exact::rational;
use scumble_core::noise::{Laplace, Noise, RoundedGaussian, SecretRng, Staircase};

const ROWS: usize = 4096;
const DIM: usize = 784;

fn main() {
    divan::main();
}

fn pixels() -> Vec<u8> {
    (0..ROWS * DIM).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn releaser(id: MechanismId, encoding: Option<Encoding>) -> Releaser {
    let range = Range::new(0.0, 255.0).unwrap();
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: DIM,
        k: 256,
        epsilon: 1.0,
        beta: 255.0,
        range,
        seed: Seed([1; 32]),
    });
    parameters.delta = (id == MechanismId::DpOporp).then_some(1e-6);
    Releaser::new(Mechanism::new(parameters).unwrap(), encoding).unwrap()
}

/// 784 bytes to 256 released values, blocks and row by row.
#[divan::bench(args = ["dp-signoporp-ceil", "dp-oporp-staircase", "dp-oporp-laplace", "dp-oporp"], consts = [false, true])]
fn release<const ROW_BY_ROW: bool>(bencher: Bencher, mechanism: &str) {
    let id: MechanismId = mechanism.parse().unwrap();
    let encoding = (id != MechanismId::DpSignoporpCeil).then_some(Encoding::I16);
    let releaser = releaser(id, encoding);
    let releaser = if ROW_BY_ROW { releaser.row_by_row() } else { releaser };
    let (data, mut out) = (pixels(), Vec::new());
    let rows = Rows::dense(Scalars::U8(&data), DIM);
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| {
        releaser.release(rows, 0, |_| Vec::new(), &mut out).unwrap();
        black_box(&out);
    });
}

/// 600 of 250,000 attributes to 1024 bits.
#[divan::bench]
fn release_sparse(bencher: Bencher) {
    let (dim, each, n) = (250_000, 600, 1024);
    let range = Range::new(0.0, 1.0).unwrap();
    let id = MechanismId::DpSignoporpCeil;
    let parameters =
        Parameters::new(Required { mechanism: id, dim, k: 1024, epsilon: 1.0, beta: 1.0, range, seed: Seed([1; 32]) });
    let releaser = Releaser::new(Mechanism::new(parameters).unwrap(), None).unwrap();
    let offsets: Vec<usize> = (0..=n).map(|i| i * each).collect();
    // One attribute in every stretch of 416, at a place that looks random.
    let place = |i: usize| i % each * 416 + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 416;
    let index: Vec<u32> = (0..n * each).map(|i| place(i) as u32).collect();
    let values: Vec<f32> = (0..n * each).map(|i| (i % 97) as f32 / 97.0).collect();
    let rows = Rows::sparse(&offsets, &index, Scalars::F32(&values), dim);
    let mut out = Vec::new();
    bencher.counter(ItemsCount::new(n)).bench_local(|| {
        releaser.release(rows, 0, |_| Vec::new(), &mut out).unwrap();
        black_box(&out);
    });
}

#[divan::bench(args = ["oporp", "rademacher", "very-sparse:3", "uniform", "gaussian"])]
fn project(bencher: Bencher, kind: &str) {
    let kind: ProjectionKind = kind.parse().unwrap();
    let projection = Projection::new(kind, Seed([1; 32]), DIM, 512).unwrap();
    let grid = Grid::new(Range::new(0.0, 255.0).unwrap(), 0).unwrap();
    let (data, mut out) = (pixels(), vec![0i64; ROWS * 512]);
    let rows = Rows::dense(Scalars::U8(&data), DIM);
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| {
        projection.apply_rows(rows, &grid, &mut out).unwrap();
        black_box(&out);
    });
}

#[divan::bench(args = ["laplace", "staircase", "gaussian"])]
fn noise(bencher: Bencher, law: &str) {
    let one = rational(1.0);
    let noise: Noise = match law {
        "laplace" => Laplace::new(255, &one).unwrap().into(),
        "staircase" => Staircase::least_variance(255, &one).unwrap().into(),
        _ => RoundedGaussian::new(&rational(1077.0), 128).unwrap().into(),
    };
    let blocks = noise.blocks().unwrap();
    let (mut out, mut wide, mut rng) = (vec![0; 8192], Vec::new(), SecretRng::from_os().unwrap());
    bencher.counter(ItemsCount::new(out.len())).bench_local(|| {
        blocks.fill(&mut out, &mut wide, &mut rng);
        black_box(&out);
    });
}

/// Top 50 of 4096 rows for 64 queries: bits by Hamming distance, values by inner product.
#[divan::bench(args = ["dp-signoporp-ceil", "dp-oporp-staircase"])]
fn top_50(bencher: Bencher, mechanism: &str) {
    let releaser = releaser(mechanism.parse().unwrap(), None);
    let data = pixels();
    let release = |rows: Rows<'_>| Release::from_rows(&releaser, rows).unwrap();
    let rows = Rows::dense(Scalars::U8(&data), DIM);
    let (all, queries) = (release(rows), release(rows.slice(0, 64)));
    bencher.counter(ItemsCount::new(64usize)).bench_local(|| {
        black_box(search(&all, Queries::Released(&queries), 50, None).unwrap());
    });
}
