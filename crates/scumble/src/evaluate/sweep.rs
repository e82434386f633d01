//! Retrieval and classification over mechanisms, epsilons and repetitions, on data that the caller may see.
//!
//! A repetition is another public seed and other noise. Rows and queries (or training and test rows) are released by
//! the same mechanism; the truth comes from the private rows, so nothing found here is private.

use super::features::Features;
use super::outcome::{Outcome, Outcomes};
use super::retrieval::{TRUE_NEIGHBOURS, hamming_neighbours, neighbours, precision_recall, true_neighbours};
use super::svm;
use crate::error::{DataError, ParameterError};
use crate::mechanism::{Mechanism, MechanismId, OutputKind, Parameters};
use crate::noise::SecretRng;
use crate::projection::{Projection, Seed};
use crate::release::{Encoder, Encoding, ReleaseError, Releaser};
use crate::search::ExactQueries;
use crate::vectors::{QuantisedRow, Rows};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// One thing to try: a mechanism and an encoding. Epsilon and seed of the parameters are replaced in the sweep.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Name in tables and legends.
    pub name: String,
    /// All public inputs but epsilon and seed.
    pub parameters: Parameters,
    /// How rows are stored; the mechanism's own if not given.
    pub encoding: Option<Encoding>,
    /// A bit whose projected value is 0 is a fair coin, as the paper has it: to show what that costs.
    pub coin_at_zero: bool,
}

/// Added to the name of a candidate with the paper's coin.
pub const COIN_AT_ZERO: &str = ", coin at 0";

impl Candidate {
    /// Named by the mechanism, its repetitions and its encoding, if they are not the plain ones.
    pub fn new(parameters: Parameters, encoding: Option<Encoding>) -> Self {
        let mut name = parameters.mechanism.to_string();
        if parameters.repeats > 1 {
            name += &format!(", t = {}", parameters.repeats);
        }
        if let Some(symbols) = parameters.symbols {
            name += &format!(", {symbols} symbols");
        }
        if let Some(clip) = parameters.sketch_clip {
            name += &format!(", clip {clip}");
        }
        if let Some(encoding) = encoding {
            name += &format!(", {encoding}");
        }
        Self { name, parameters, encoding, coin_at_zero: false }
    }

    /// The same with the paper's fair coin where the projected value is 0.
    pub fn with_coin_at_zero(mut self) -> Self {
        self.name += COIN_AT_ZERO;
        self.coin_at_zero = true;
        self
    }

    /// True for a mechanism that the paper does not have.
    pub fn is_ours(&self) -> bool {
        self.parameters.mechanism.paper().starts_with("ours")
    }

    fn mechanism(&self, epsilon: f64, seed: Seed) -> Result<Mechanism, ParameterError> {
        Mechanism::new(Parameters { epsilon, seed, ..self.parameters.clone() })
    }
}

/// How long and over what.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the data and the task.
    pub task: String,
    /// Values of epsilon.
    pub epsilons: Vec<f64>,
    /// Repetitions, each with its own seed and noise.
    pub repetitions: usize,
    /// Depths R of precision and recall.
    pub depths: Vec<usize>,
    /// Also rank by the searcher's exact queries.
    pub exact_queries: bool,
    /// Also measure the sketch without privacy.
    pub without_privacy: bool,
    /// Also train on the rows as they are, without sketch and noise.
    pub rows_as_they_are: bool,
}

/// Why a sweep stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// A parameter is wrong or a mechanism refuses.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A fault of the input.
    #[error(transparent)]
    Release(#[from] ReleaseError),
}

impl From<DataError> for SweepError {
    fn from(error: DataError) -> Self {
        Self::Release(error.into())
    }
}

/// Told after each measurement: how many of how many are done.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

/// The public seed of a repetition: the same for every candidate, so that they can be compared in pairs.
pub(crate) fn seed_of(repetition: usize) -> Seed {
    let mut bytes = *b"scumble evaluation, repetition 0";
    bytes[24..].copy_from_slice(&(repetition as u64).to_le_bytes());
    Seed(bytes)
}

/// Recall and precision of every candidate at every epsilon.
pub fn retrieval(
    database: Rows<'_>,
    queries: Rows<'_>,
    candidates: &[Candidate],
    settings: &Settings,
    progress: Progress<'_>,
) -> Result<Outcomes, SweepError> {
    let truth = true_neighbours(&Features::from_rows(&database), &Features::from_rows(&queries), TRUE_NEIGHBOURS)?;
    let top = settings.depths.iter().copied().max().unwrap_or(TRUE_NEIGHBOURS);
    let measure = |task: &mut Task<'_, '_>, found: &mut Vec<(String, f64)>| {
        let mut record = |rankings: &[Vec<u32>], suffix: &str| {
            for at in precision_recall(rankings, &truth, &settings.depths) {
                found.push((format!("recall@{}{suffix}", at.at), at.recall));
                found.push((format!("precision@{}{suffix}", at.at), at.precision));
            }
        };
        let (rows, asked) = task.sketches()?;
        record(&rows.rank(&asked, top), "");
        if settings.exact_queries && task.mechanism.is_some() {
            let exact = task.exact_queries(queries)?;
            record(&neighbours(&rows.into_values(), &exact, top), " exact query");
        }
        Ok(())
    };
    run(database, queries, candidates, settings, progress, measure)
}

/// Test accuracy of a linear SVM trained on the release of every candidate at every epsilon.
pub fn classification(
    train: (Rows<'_>, &[u32]),
    test: (Rows<'_>, &[u32]),
    candidates: &[Candidate],
    settings: &Settings,
    progress: Progress<'_>,
) -> Result<Outcomes, SweepError> {
    let measure = |task: &mut Task<'_, '_>, found: &mut Vec<(String, f64)>| {
        let (rows, asked) = task.sketches()?;
        let accuracy = svm::train_and_test((&rows.into_values(), train.1), (&asked.into_values(), test.1))?;
        found.push(("accuracy".into(), accuracy));
        Ok(())
    };
    let mut outcomes = run(train.0, test.0, candidates, settings, progress, measure)?;
    if settings.rows_as_they_are {
        let (rows, asked) = (Features::from_rows(&train.0), Features::from_rows(&test.0));
        outcomes.0.push(Outcome {
            task: settings.task.clone(),
            design: "rows as they are".into(),
            mechanism: "none".into(),
            k: train.0.dim(),
            repeats: 1,
            encoding: Encoding::F32,
            bits_per_row: 32 * train.0.dim(),
            epsilon: f64::INFINITY,
            delta: 0.0,
            repetition: 0,
            metric: "accuracy".into(),
            value: svm::train_and_test((&rows, train.1), (&asked, test.1))?,
        });
    }
    Ok(outcomes)
}

/// Walks repetitions, projections, candidates and epsilons; projections are computed once for all epsilons.
fn run(
    first: Rows<'_>,
    second: Rows<'_>,
    candidates: &[Candidate],
    settings: &Settings,
    progress: Progress<'_>,
    mut measure: impl FnMut(&mut Task<'_, '_>, &mut Vec<(String, f64)>) -> Result<(), SweepError>,
) -> Result<Outcomes, SweepError> {
    let mut order: Vec<&Candidate> = candidates.iter().collect();
    let sketch_of = |c: &Candidate| {
        let p = &c.parameters;
        let kind = p.projection.unwrap_or_else(|| p.mechanism.default_projection(p.repeats));
        (kind.to_string(), p.k)
    };
    order.sort_by_key(|c| sketch_of(c)); // stable: neighbours share their projection
    let mut sketches: Vec<_> = order.iter().map(|c| sketch_of(c)).collect();
    sketches.dedup();
    let baselines = if settings.without_privacy { sketches.len() } else { 0 };
    let total = settings.repetitions * (candidates.len() * settings.epsilons.len() + baselines);
    let (mut all, mut done) = (Vec::new(), 0);
    for repetition in 0..settings.repetitions {
        let seed = seed_of(repetition);
        let mut cache = Cache::default();
        let mut last_sketch = None;
        for candidate in &order {
            let fresh = last_sketch.replace(sketch_of(candidate)) != Some(sketch_of(candidate));
            let baseline = (fresh && settings.without_privacy).then_some(f64::INFINITY);
            for epsilon in settings.epsilons.iter().copied().chain(baseline) {
                let private = epsilon.is_finite();
                // The grid of the sketch without privacy is that of the largest epsilon.
                let largest = settings.epsilons.iter().copied().fold(1.0, f64::max);
                let mechanism = candidate.mechanism(if private { epsilon } else { largest }, seed)?;
                let encoder = Encoder::new(&mechanism, candidate.encoding)?;
                let mut found = Vec::new();
                let exact = (!private).then(|| exact(&mechanism, [first, second], &mut cache)).transpose()?;
                let mechanism = private.then_some(mechanism);
                let mut task = Task { blocks: [first, second], candidate, mechanism, exact, cache: &mut cache };
                measure(&mut task, &mut found)?;
                let p = &candidate.parameters;
                all.extend(found.into_iter().map(|(metric, value)| Outcome {
                    task: settings.task.clone(),
                    design: if private {
                        candidate.name.clone()
                    } else {
                        format!("{} without privacy", sketch_of(candidate).0)
                    },
                    mechanism: if private { p.mechanism.to_string() } else { "none".into() },
                    k: p.k,
                    repeats: p.repeats,
                    encoding: encoder.encoding(),
                    bits_per_row: 8 * encoder.bytes_per_row(),
                    epsilon,
                    delta: p.delta.unwrap_or(0.0),
                    repetition,
                    metric,
                    value,
                }));
                done += 1;
                progress(done, total);
            }
        }
    }
    // Back to the order of the caller, whatever order shared the projections.
    let place = |o: &Outcome| candidates.iter().position(|c| c.name == o.design).unwrap_or(candidates.len());
    all.sort_by_key(|o| (o.repetition, place(o)));
    Ok(Outcomes(all))
}

/// One measurement: two blocks of rows, released by one mechanism or (without one) only projected.
struct Task<'a, 'r> {
    blocks: [Rows<'r>; 2],
    candidate: &'a Candidate,
    mechanism: Option<Mechanism>,
    exact: Option<[Features; 2]>,
    cache: &'a mut Cache,
}

impl Task<'_, '_> {
    fn sketches(&mut self) -> Result<(Sketches, Sketches), SweepError> {
        if let Some([a, b]) = self.exact.take() {
            return Ok((Sketches::Values(a), Sketches::Values(b)));
        }
        let mechanism = self.mechanism.as_ref().expect("private or exact");
        let encoder = Encoder::new(mechanism, self.candidate.encoding)?;
        let [a, b] = if mechanism.id().is_raw() {
            self.blocks.map(|rows| release(mechanism, self.candidate.encoding, rows))
        } else {
            let coin = self.candidate.coin_at_zero;
            self.cache.projected(mechanism, self.blocks)?.each_ref().map(|x| perturb(mechanism, &encoder, coin, x))
        };
        Ok((Sketches::new(a?, mechanism.id(), &encoder), Sketches::new(b?, mechanism.id(), &encoder)))
    }

    fn exact_queries(&self, queries: Rows<'_>) -> Result<Features, SweepError> {
        let mechanism = self.mechanism.as_ref().expect("a private release");
        let exact = ExactQueries::project(mechanism, queries)?;
        Ok(Features::dense((0..exact.len()).flat_map(|i| exact.row(i).to_vec()).collect(), mechanism.k()))
    }
}

fn release(mechanism: &Mechanism, encoding: Option<Encoding>, rows: Rows<'_>) -> Result<Vec<u8>, SweepError> {
    let mut bytes = Vec::new();
    let releaser = Releaser::new(mechanism.clone(), encoding)?;
    releaser.release(rows, 0, |i| i.to_le_bytes().to_vec(), &mut bytes)?;
    Ok(bytes)
}

/// The release of rows that are already projected.
fn perturb(
    mechanism: &Mechanism,
    encoder: &Encoder,
    coin_at_zero: bool,
    projected: &[i64],
) -> Result<Vec<u8>, SweepError> {
    let (k, width, task) = (mechanism.k(), encoder.bytes_per_row(), 256);
    let mut bytes = vec![0; projected.len() / k * width];
    bytes.par_chunks_mut(task * width).zip(projected.par_chunks(task * k)).try_for_each(|(bytes, x)| {
        let mut rng = SecretRng::from_os().map_err(ReleaseError::from)?;
        let mut row = vec![0; k];
        for (bytes, x) in bytes.chunks_exact_mut(width).zip(x.chunks_exact(k)) {
            row.copy_from_slice(x);
            mechanism.perturbation().apply(&mut row, &mut rng);
            if coin_at_zero {
                let zeros = row.iter_mut().zip(x).filter(|(_, x)| **x == 0);
                zeros.for_each(|(bit, _)| *bit = if rng.next_u64() & 1 == 1 { 1 } else { -1 });
            }
            encoder.encode(&row, bytes);
        }
        Ok::<_, SweepError>(())
    })?;
    Ok(bytes)
}

/// Both blocks under the last projection, by the exponent of the grid (which may depend on epsilon).
#[derive(Default)]
struct Cache {
    sketch: Option<(String, usize)>,
    blocks: HashMap<i32, Arc<[Vec<i64>; 2]>>,
}

impl Cache {
    fn projected(&mut self, mechanism: &Mechanism, blocks: [Rows<'_>; 2]) -> Result<Arc<[Vec<i64>; 2]>, SweepError> {
        let projection = mechanism.projection();
        let sketch = Some((projection.kind().to_string(), projection.k()));
        if self.sketch != sketch {
            self.blocks.clear();
            self.sketch = sketch;
        }
        if let Some(known) = self.blocks.get(&mechanism.grid().exponent()) {
            return Ok(known.clone());
        }
        let [a, b] = blocks.map(|rows| project(mechanism, rows));
        let found = Arc::new([a?, b?]);
        self.blocks.insert(mechanism.grid().exponent(), found.clone());
        Ok(found)
    }
}

fn project(mechanism: &Mechanism, rows: Rows<'_>) -> Result<Vec<i64>, DataError> {
    let projection: &Projection = mechanism.projection();
    projection.prepare();
    let mut out = vec![0; rows.len() * projection.k()];
    out.par_chunks_mut(projection.k()).enumerate().try_for_each_init(QuantisedRow::default, |buffer, (i, out)| {
        projection.apply(rows.quantise(i, mechanism.grid(), 0, buffer)?, out);
        Ok::<_, DataError>(())
    })?;
    Ok(out)
}

/// The sketch without privacy.
fn exact(mechanism: &Mechanism, blocks: [Rows<'_>; 2], cache: &mut Cache) -> Result<[Features; 2], SweepError> {
    if mechanism.id().is_raw() {
        return Ok(blocks.map(|rows| Features::from_rows(&rows)));
    }
    let projected = cache.projected(mechanism, blocks)?;
    Ok(projected.each_ref().map(|x| Features::dense(x.iter().map(|x| *x as f32).collect(), mechanism.k())))
}

/// Released rows, ready to be ranked.
enum Sketches {
    Values(Features),
    Bits { bytes: Vec<u8>, width: usize, k: usize },
}

impl Sketches {
    fn new(bytes: Vec<u8>, id: MechanismId, encoder: &Encoder) -> Self {
        let (width, k) = (encoder.bytes_per_row(), encoder.k());
        if id.output() == OutputKind::Bits {
            return Self::Bits { bytes, width, k };
        }
        let mut values = vec![0.0; bytes.len() / width * k];
        values.par_chunks_mut(k).zip(bytes.par_chunks(width)).for_each(|(out, bytes)| encoder.decode(bytes, out));
        Self::Values(Features::dense(values, k))
    }

    /// As the paper searches: cosine on values, Hamming on bits.
    fn rank(&self, queries: &Self, top: usize) -> Vec<Vec<u32>> {
        match (self, queries) {
            (Self::Values(rows), Self::Values(queries)) => neighbours(rows, queries, top),
            (Self::Bits { bytes, width, .. }, Self::Bits { bytes: queries, .. }) => {
                hamming_neighbours(bytes, queries, *width, top)
            }
            _ => unreachable!("both blocks come from one mechanism"),
        }
    }

    /// Bits as -1 and 1.
    fn into_values(self) -> Features {
        match self {
            Self::Values(values) => values,
            Self::Bits { bytes, width, k } => {
                let bit = |row: &[u8], j: usize| if row[j / 8] >> (7 - j % 8) & 1 == 1 { 1.0 } else { -1.0 };
                let rows = bytes.chunks_exact(width).flat_map(|row| (0..k).map(move |j| bit(row, j)));
                Features::dense(rows.collect(), k)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Fixed;
    use super::*;
    use crate::vectors::{Range, Scalars};

    /// Rows around 20 centres in [0, 1]^64, with the centre as the label.
    fn clusters(n: usize, start: u64) -> (Vec<f32>, Vec<u32>) {
        let mut centre = Fixed::new(1);
        let centres: Vec<f64> = (0..20 * 64).map(|_| centre.uniform()).collect();
        let mut random = Fixed::new(start);
        let labels: Vec<u32> = (0..n).map(|_| random.below(20) as u32).collect();
        let value = |(i, j): (usize, usize), random: &mut Fixed| {
            (centres[labels[i] as usize * 64 + j] + 0.1 * random.normal()).clamp(0.0, 1.0) as f32
        };
        let values = (0..n).flat_map(|i| (0..64).map(move |j| (i, j))).map(|at| value(at, &mut random)).collect();
        (values, labels)
    }

    fn candidate(id: MechanismId, k: usize) -> Candidate {
        let range = Range::new(0.0, 1.0).unwrap();
        let mut parameters = Parameters::new(id, 64, k, 1.0, 1.0, range, seed_of(0));
        if id == MechanismId::DpRpGOptB || id == MechanismId::DpOporp {
            parameters.delta = Some(1e-6);
        }
        Candidate::new(parameters, None)
    }

    fn settings(epsilons: &[f64], repetitions: usize) -> Settings {
        Settings {
            task: "toy".into(),
            epsilons: epsilons.to_vec(),
            repetitions,
            depths: vec![10, 50],
            exact_queries: true,
            without_privacy: true,
            rows_as_they_are: true,
        }
    }

    #[test]
    fn more_epsilon_is_better_and_no_privacy_is_best() {
        let ((rows, _), (queries, _)) = (clusters(600, 2), clusters(40, 3));
        let candidates = [
            candidate(MechanismId::DpOporpStaircase, 32),
            candidate(MechanismId::DpRpGOptB, 32),
            candidate(MechanismId::DpSignoporpRrSmooth, 32),
        ];
        let mut last = (0, 0);
        let found = retrieval(
            Rows::dense(Scalars::F32(&rows), 64),
            Rows::dense(Scalars::F32(&queries), 64),
            &candidates,
            &settings(&[0.2, 20.0], 2),
            &mut |done, total| last = (done, total),
        )
        .unwrap();
        assert_eq!(last, (16, 16)); // three candidates, two epsilons, two sketches without privacy, twice
        let recall = |design: &str, epsilon: f64, metric: &str| {
            found.estimate(|o| o.design == design && o.epsilon == epsilon && o.metric == metric).unwrap().mean
        };
        for c in &candidates {
            let (low, high) = (recall(&c.name, 0.2, "recall@50"), recall(&c.name, 20.0, "recall@50"));
            assert!(low < 0.25 && high > 0.3 && high > 2.0 * low, "{}: {low} {high}", c.name);
            assert!(recall(&c.name, 20.0, "recall@50 exact query") > high - 0.05, "{}", c.name);
        }
        let without = recall("oporp without privacy", f64::INFINITY, "recall@50");
        assert!(without >= recall("dp-oporp-staircase", 20.0, "recall@50") - 0.02, "{without}");
        // Values and bits of one cell are counted once a repetition.
        assert_eq!(
            found.values(|o| o.design == candidates[1].name && o.epsilon == 20.0 && o.metric == "precision@10").len(),
            2
        );
    }

    #[test]
    fn a_classifier_learns_from_a_release() {
        let ((rows, labels), (test, truth)) = (clusters(800, 4), clusters(300, 5));
        let candidates = [candidate(MechanismId::DpOporpStaircase, 64), candidate(MechanismId::DpOporp, 64)];
        let found = classification(
            (Rows::dense(Scalars::F32(&rows), 64), &labels),
            (Rows::dense(Scalars::F32(&test), 64), &truth),
            &candidates,
            &settings(&[5.0], 1),
            &mut |_, _| (),
        )
        .unwrap();
        let accuracy = |design: &str| found.estimate(|o| o.design == design).unwrap().mean;
        // Staircase noise is 5.7 times smaller here.
        assert!(accuracy("dp-oporp-staircase") > accuracy("dp-oporp") + 0.1);
        assert!(accuracy("oporp without privacy") > 0.95 && accuracy("rows as they are") > 0.95);
    }
}
