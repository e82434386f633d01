//! Unit `record` through the product: privcube, signcap and their baselines, on small cases and on real embeddings.

use crate::support::{released, shared};
use num_rational::BigRational;
use scumble::estimate::{RowRef, inner_product_with_query};
use scumble::files::{self, Batch, ReadOptions};
use scumble::mechanism::record::privcube::weights;
use scumble::mechanism::{Cap, Mechanism, MechanismId, Parameters, Perturbation, Purpose, Required};
use scumble::privacy::{Notion, Unit};
use scumble::projection::{ProjectionKind, Seed, TableFile};
use scumble::recall::{Features, true_neighbours};
use scumble::release::{Release, Releaser};
use scumble::search::{ExactQueries, Queries, search};
use scumble::structure::learn_components;
use scumble::vectors::{Layout, PrivateRow, QuantisedRow, Range, Rows, Scalars};
use scumble_core::exact::rational;
use scumble_core::noise::NoiseKey;

fn parameters(id: MechanismId, dim: usize, k: usize, epsilon: f64) -> Parameters {
    Parameters::new(Required {
        mechanism: id,
        dim,
        k,
        epsilon,
        beta: 1.0,
        range: Range::new(-1.0, 1.0).unwrap(),
        seed: Seed([7; 32]),
    })
}

#[test]
fn any_two_records_are_within_epsilon() {
    for id in [MechanismId::Privcube, MechanismId::Signcap] {
        let mechanism = Mechanism::new(parameters(id, 9, 6, 1.5)).unwrap();
        let guarantee = mechanism.promise().guarantee().unwrap();
        assert_eq!((guarantee.unit, guarantee.notion), (Unit::Record, Notion::Pure));
        assert!(guarantee.checked_epsilon <= 1.5 && guarantee.checked_epsilon > 1.499_999_9);
        // Zero, unit, opposite, dense and extreme records, far outside of any attribute's reach of each other.
        let largest = mechanism.grid().bounds().1;
        let records: Vec<Vec<i32>> = vec![
            vec![0; 9],
            vec![largest; 9],
            vec![-largest; 9],
            (0..9).map(|i| i32::from(i == 4)).collect(),
            (0..9).map(|i| (i - 4) * largest / 4).collect(),
            (0..9).map(|i| if i % 2 == 0 { largest } else { -largest }).collect(),
        ];
        let laws: Vec<Vec<BigRational>> = records.iter().map(|u| law(&mechanism, u)).collect();
        let e = BigRational::new(worst(&mechanism).num.into(), worst(&mechanism).den.into());
        for a in &laws {
            assert_eq!(a.iter().sum::<BigRational>(), rational(1.0));
            for b in &laws {
                assert!(a.iter().zip(b).all(|(p, q)| *p <= q * &e));
            }
        }
        assert_ne!(laws[1], laws[2], "the release must depend on the record");
    }
}

fn worst(mechanism: &Mechanism) -> scumble_core::exact::WorstRatio {
    match mechanism.perturbation() {
        Perturbation::Cap(cap) => cap.worst_ratio(),
        _ => panic!("a whole-record mechanism"),
    }
}

/// P(y) for the 2^k vertices, coordinate i in bit i.
fn law(mechanism: &Mechanism, u: &[i32]) -> Vec<BigRational> {
    let mut x = vec![0; mechanism.k()];
    mechanism.projection().apply(PrivateRow::Dense(u), &mut x);
    match mechanism.perturbation() {
        Perturbation::Cap(Cap::Privcube(cube)) => {
            let mut w = vec![0; x.len()];
            weights(&x, &mut w);
            cube.probabilities(&w)
        }
        Perturbation::Cap(Cap::Signcap(cap)) => {
            let by_agreements = cap.probabilities();
            let agree = |y: usize| x.iter().enumerate().filter(|(i, x)| (y >> i & 1 == 1) == (**x > 0)).count();
            (0..1 << x.len()).map(|y| by_agreements[agree(y)].clone()).collect()
        }
        _ => panic!("a whole-record mechanism"),
    }
}

#[test]
fn units_sizes_and_projections_are_checked() {
    for id in [MechanismId::Privcube, MechanismId::Signcap] {
        for unit in [Unit::Attribute, Unit::L1, Unit::L2] {
            let refused = Mechanism::new(Parameters { unit, ..parameters(id, 16, 8, 5.0) }).unwrap_err();
            assert!(refused.is_refusal(), "{id} {unit}");
        }
        // Without a word on the projection: OPORP, or Rademacher where there are more bits than attributes.
        let kind = |dim, k| Mechanism::new(parameters(id, dim, k, 5.0)).unwrap().projection().kind();
        assert_eq!(kind(16, 8), ProjectionKind::Oporp { repeats: 1 });
        assert_eq!(kind(8, 16), ProjectionKind::Rademacher);
        let gaussian = Parameters { projection: Some(ProjectionKind::Gaussian), ..parameters(id, 16, 8, 5.0) };
        assert_eq!(Mechanism::new(gaussian).unwrap().projection().kind(), ProjectionKind::Gaussian);
    }
    assert!(Mechanism::new(parameters(MechanismId::Privcube, 300, 129, 5.0)).is_err());
    assert!(Mechanism::new(parameters(MechanismId::Signcap, 300, 129, 5.0)).is_ok());
    // Noise for one attribute, and flips that look at levels, promise nothing for a record.
    for id in [MechanismId::DpOporpStaircase, MechanismId::DpOporpLaplace, MechanismId::DpSignoporpCeil] {
        let refused = Mechanism::new(Parameters { unit: Unit::Record, ..parameters(id, 16, 8, 5.0) }).unwrap_err();
        assert!(refused.is_refusal(), "{id}");
    }
}

#[test]
fn baselines_promise_the_same_unit() {
    let record = |id| Parameters { unit: Unit::Record, ..parameters(id, 48, 16, 8.0) }.with_delta(1e-6);
    // Gaussian noise for a ball of radius C: Delta_2 = 2C, so sigma doubles with C; without a radius there is none.
    let gaussian = |norm| Mechanism::new(Parameters { clip_norm: norm, ..record(MechanismId::DpOporp) });
    let sigma = |norm| gaussian(Some(norm)).unwrap().noise_moments().unwrap().variance.sqrt();
    assert!((sigma(2.0) / sigma(1.0) - 2.0).abs() < 1e-3);
    assert!(gaussian(None).is_err());
    // Signs with randomized response: all k may change, composed by the optimal theorem, or purely by epsilon/k.
    let composed = Mechanism::new(record(MechanismId::DpSignrpRr)).unwrap();
    let pure = Mechanism::new(Parameters { delta: None, ..record(MechanismId::DpSignrpRr) }).unwrap();
    let flips = |mechanism: &Mechanism| match mechanism.perturbation() {
        Perturbation::Flips { table, .. } => table.threshold(1) as f64 / 2f64.powi(64),
        _ => panic!("flips"),
    };
    assert!((flips(&pure) - 1.0 / (1.0 + (8.0 / 16.0f64).exp())).abs() < 1e-9);
    assert!(flips(&composed) < flips(&pure));
    for mechanism in [gaussian(Some(1.0)).unwrap(), composed] {
        let guarantee = mechanism.promise().guarantee().unwrap();
        assert_eq!((guarantee.unit, guarantee.notion), (Unit::Record, Notion::Approximate));
    }
}

#[test]
fn every_bit_leans_to_its_record_and_none_stands_still() {
    // 4000 copies of one record with clear signs; each bit, first and last included, must agree more often than not.
    let (dim, k, n) = (24, 24, 4000);
    let values: Vec<f32> = (0..n).flat_map(|_| (0..dim).map(|i| if i % 3 == 0 { 0.5 } else { -0.5 })).collect();
    let rows = Rows::dense(Scalars::F32(&values), dim);
    for id in [MechanismId::Privcube, MechanismId::Signcap] {
        let mechanism = Mechanism::new(parameters(id, dim, k, 4.0)).unwrap();
        let mut query = vec![0.0; k];
        let mut buffer = QuantisedRow::default();
        mechanism.project_exact(rows.quantise(0, mechanism.grid(), 0, &mut buffer).unwrap(), &mut query).unwrap();
        let release = Release::from_rows(&Releaser::new(mechanism, None).unwrap(), rows).unwrap();
        let values = release.all_values();
        for (i, q) in query.iter().enumerate() {
            let agree = values.chunks_exact(k).filter(|y| (y[i] > 0.0) == (*q > 0.0)).count();
            // Mean at least .6 n at epsilon 4; 6 standard deviations are 190.
            assert!((2200..3900).contains(&agree), "{id} bit {i}: {agree}");
        }
    }
}

#[test]
fn intervals_against_an_exact_query_hold() {
    let (dim, k, n) = (192, 64, 1500);
    // Unit rows that a public generator fixes; the query of row i is row i plus half of row i+1.
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f32 / (1u64 << 31) as f32 - 0.5
    };
    let mut rows: Vec<Vec<f32>> = (0..=n).map(|_| (0..dim).map(|_| uniform() + uniform()).collect()).collect();
    for row in &mut rows {
        let norm = row.iter().map(|v| v * v).sum::<f32>().sqrt();
        row.iter_mut().for_each(|v| *v /= norm);
    }
    let asked: Vec<Vec<f32>> =
        rows.windows(2).map(|pair| pair[0].iter().zip(&pair[1]).map(|(a, b)| 0.7 * (a + 0.5 * b)).collect()).collect();
    let (flat, flat_asked) = (rows[..n].concat(), asked.concat());
    let queries = Rows::dense(Scalars::F32(&flat_asked), dim);
    for id in [MechanismId::Privcube, MechanismId::Signcap] {
        for (epsilon, told) in [(5.0, false), (28.0, true)] {
            let releaser = Releaser::new(Mechanism::new(parameters(id, dim, k, epsilon)).unwrap(), None).unwrap();
            let releaser = releaser.keyed(NoiseKey::from_bytes([3; 32]));
            let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&flat), dim)).unwrap();
            let exact = ExactQueries::project(release.mechanism(), queries).unwrap();
            let held = (0..n).filter(|&i| {
                let estimate = inner_product_with_query(RowRef::new(&release, i).unwrap(), exact.row(i));
                assert_eq!(estimate.is_ok(), told, "{id} {epsilon}");
                let truth: f32 = rows[i].iter().zip(&asked[i]).map(|(a, b)| a * b).sum();
                estimate.is_ok_and(|e| (e.interval.0..=e.interval.1).contains(&f64::from(truth)))
            });
            let held = held.count();
            println!("{id} {epsilon}: {held} of {n} held");
            assert!(!told || held * 100 >= 95 * n, "{id}: {held} of {n}");
        }
    }
}

/// Recall@10 with exact queries on MiniLM embeddings, k = 128.
#[test]
fn minilm_recall_reaches_its_marks() {
    let Some(data) = shared("minilm-clinc150/embeddings.npy") else { return };
    let batch = files::read_all(&data, &ReadOptions::default()).unwrap();
    let rows = batch.rows();
    let (dim, every, count) = (rows.dim(), 39, 600); // every 39th row is asked for, itself left out of the answers
    let Layout::Dense { values, row_stride, column_stride } = rows.layout() else { panic!("embeddings are dense") };
    let queries = Rows::strided(values, count, dim, every * row_stride, column_stride);
    let others = |query: usize, hits: Vec<u32>| -> Vec<u32> {
        hits.into_iter().filter(|&hit| hit as usize != query * every).take(10).collect()
    };
    let truth = true_neighbours(&Features::from_rows(&rows), &Features::from_rows(&queries), 11).unwrap();
    let truth: Vec<Vec<u32>> = truth.into_iter().enumerate().map(|(i, hits)| others(i, hits)).collect();
    for (epsilon, mark) in [(10.0, 0.045), (20.0, 0.24), (30.0, 0.38), (50.0, 0.50)] {
        let recalls: Vec<f64> = (1..=3)
            .map(|seed| {
                let mut parameters = parameters(MechanismId::Privcube, dim, 128, epsilon);
                parameters.seed = Seed([seed; 32]);
                let release = released(&Mechanism::new(parameters).unwrap(), None, seed, rows);
                let exact = ExactQueries::project(release.mechanism(), queries).unwrap();
                let found = search(&release, Queries::Exact(&exact), 11, None).unwrap();
                let hits = found.iter().zip(&truth).enumerate().map(|(i, (hits, truth))| {
                    let hits = others(i, hits.iter().map(|hit| hit.row as u32).collect());
                    hits.iter().filter(|hit| truth.contains(hit)).count()
                });
                hits.sum::<usize>() as f64 / (10 * count) as f64
            })
            .collect();
        println!("epsilon {epsilon}: recall@10 {recalls:.4?}");
        assert!(recalls.iter().all(|recall| *recall >= mark), "epsilon {epsilon}: {recalls:?} below {mark}");
    }
}

/// A ridge classifier: solves `(X'X + lambda I) W = X'Y` for one-hot labels.
fn ridge(rows: &[f32], labels: &[usize], classes: usize, k: usize) -> Vec<Vec<f64>> {
    let mut gram = vec![vec![0.0; k + classes]; k]; // [X'X + lambda I | X'Y], reduced in place
    for (x, &label) in rows.chunks_exact(k).zip(labels) {
        for (i, line) in gram.iter_mut().enumerate() {
            let xi = f64::from(x[i]);
            line[..k].iter_mut().zip(x).for_each(|(g, &xj)| *g += xi * f64::from(xj));
            line[k + label] += xi;
        }
    }
    (0..k).for_each(|i| gram[i][i] += 0.02 * labels.len() as f64);
    for i in 0..k {
        let pivot = gram[i].clone();
        for (at, line) in gram.iter_mut().enumerate() {
            let factor = if at == i { 1.0 - 1.0 / pivot[i] } else { line[i] / pivot[i] };
            line.iter_mut().zip(&pivot).for_each(|(l, p)| *l -= factor * p);
        }
    }
    gram.into_iter().map(|line| line[k..].to_vec()).collect()
}

/// Sentences with their intents: a linear model is trained on released rows and tested on exact ones.
struct Intents {
    rows: Batch,
    count: usize,
    train: Vec<(usize, usize)>, // place and intent
    test: Vec<(usize, usize)>,
}

impl Intents {
    fn load() -> Option<Self> {
        let rows = files::read_all(&shared("minilm-clinc150/embeddings.npy")?, &ReadOptions::default()).unwrap();
        let texts = std::fs::read_to_string(shared("minilm-clinc150/texts.tsv")?).unwrap();
        let fields = texts.lines().skip(1).map(|line| line.split('\t'));
        let lines: Vec<(&str, &str)> = fields.map(|mut field| (field.next().unwrap(), field.next().unwrap())).collect();
        let mut intents: Vec<&str> = lines.iter().filter(|line| line.0 == "train").map(|line| line.1).collect();
        intents.sort_unstable();
        intents.dedup();
        let of_split = |split| -> Vec<(usize, usize)> {
            let rows = lines.iter().enumerate().filter(|(_, line)| line.0 == split);
            rows.map(|(at, line)| (at, intents.binary_search(&line.1).unwrap())).collect()
        };
        Some(Self { rows, count: intents.len(), train: of_split("train"), test: of_split("test") })
    }

    /// The share of the test rows whose intent is found.
    fn accuracy(&self, parameters: Parameters) -> f64 {
        let mechanism = Mechanism::new(Parameters { seed: Seed([1; 32]), ..parameters }).unwrap();
        let k = mechanism.k();
        let release = released(&mechanism, None, 1, self.rows.rows()).all_values();
        let exact = ExactQueries::project(&mechanism, self.rows.rows()).unwrap();
        let rows: Vec<f32> = self.train.iter().flat_map(|&(at, _)| release[at * k..(at + 1) * k].to_vec()).collect();
        let labels: Vec<usize> = self.train.iter().map(|&(_, label)| label).collect();
        let model = ridge(&rows, &labels, self.count, k);
        let right = self.test.iter().filter(|&&(at, label)| {
            let mut scores = vec![0.0; self.count];
            for (q, weights) in exact.row(at).iter().zip(&model) {
                scores.iter_mut().zip(weights).for_each(|(score, w)| *score += f64::from(*q) * w);
            }
            (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])) == Some(label)
        });
        right.count() as f64 / self.test.len() as f64
    }
}

/// A linear model of 150 intents, k = 128.
#[test]
fn minilm_intents_are_learnt_from_released_records() {
    let Some(intents) = Intents::load() else { return };
    for (epsilon, mark) in [(5.0, 0.72), (10.0, 0.80)] {
        let accuracy = intents.accuracy(parameters(MechanismId::Privcube, 384, 128, epsilon));
        println!("epsilon {epsilon}: accuracy {accuracy:.3}");
        assert!(accuracy >= mark, "epsilon {epsilon}: {accuracy} below {mark}");
    }
}

/// The same with 96 public components of other data sets before privcube.
#[test]
fn minilm_intents_are_learnt_better_with_public_components() {
    let (Some(intents), Some(public)) = (Intents::load(), shared("minilm-public/embeddings.npy")) else { return };
    let public = files::read_all(&public, &ReadOptions::default()).unwrap();
    let components = Some(TableFile::of(learn_components(public.rows(), 96).unwrap()));
    for (epsilon, mark) in [(3.0, 0.67), (5.0, 0.78), (10.0, 0.84)] {
        let purpose = Some(Purpose::Training);
        let base = parameters(MechanismId::Privcube, 384, 96, epsilon);
        let accuracy = intents.accuracy(Parameters { components: components.clone(), purpose, ..base });
        println!("epsilon {epsilon}: accuracy {accuracy:.3} with public components");
        assert!(accuracy >= mark, "epsilon {epsilon}: {accuracy} below {mark}");
    }
}
