//! Retrieval and classification over mechanisms, epsilons and repetitions, on data that the caller may see.
//!
//! A repetition is another public seed and other noise. Rows and queries (or training and test rows) are released by
//! the same mechanism; the truth comes from the private rows, so nothing found here is private.

use super::outcome::{Outcome, Outcomes};
use super::svm::{self, SvmError};
use rayon::prelude::*;
use scumble::error::{DataError, LibraryError, ParameterError};
use scumble::mechanism::{Mechanism, Parameters};
use scumble::parallel;
use scumble::plan::{AskError, PlanError, Public, Request, plan_with_public};
use scumble::projection::{Partition, Projection, ProjectionKind, Seed};
use scumble::recall::Features;
use scumble::recall::{neighbours, precision_recall, rankings, true_neighbours};
use scumble::release::{Encoder, Encoding, Release, ReleaseError, Releaser};
use scumble::search::{ExactQueries, Queries, search};
use scumble::training::ridge;
use scumble::vectors::Rows;
use scumble_core::noise::SecretRng;

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
    /// What `plan` chose at each epsilon, in place of parameters and encoding; empty for what was asked for by name.
    planned: Vec<(f64, Parameters, Encoding)>,
}

/// Repetitions unless asked for otherwise, each with its own projection and noise.
pub const REPETITIONS: usize = 3;

/// Name of the candidate that `plan` chooses by numbers alone, at a k that is asked for.
pub const AUTO: &str = "auto";

/// Names of those that it chooses by public rows or by the shape of images, at a k of its own.
pub const AUTO_BY_SAMPLE: &str = "auto, public sample";
/// See [`AUTO_BY_SAMPLE`].
pub const AUTO_BY_IMAGES: &str = "auto, images";

/// True for a design whose k is its own at each epsilon.
pub fn chooses_k(design: &str) -> bool {
    [AUTO_BY_SAMPLE, AUTO_BY_IMAGES].contains(&design)
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
        if let Some(bins) = &parameters.bins {
            name += &format!(", {}", kind_of(bins));
        }
        Self { name, parameters, encoding, coin_at_zero: false, planned: Vec::new() }
    }

    /// The same with the paper's fair coin where the projected value is 0.
    pub fn with_coin_at_zero(mut self) -> Self {
        self.name += COIN_AT_ZERO;
        self.coin_at_zero = true;
        self
    }

    /// What `plan` chooses at each epsilon for this request and this public knowledge.
    pub fn auto(request: &Request, epsilons: &[f64], public: Public<'_>) -> Result<Self, SweepError> {
        let choose = |&epsilon: &f64| {
            check_stop()?;
            let parameters = Parameters { epsilon, ..request.parameters.clone() };
            let best = plan_with_public(&Request { parameters, ..request.clone() }, public)?.best;
            Ok((epsilon, best.mechanism.parameters().clone(), best.encoding))
        };
        let planned: Vec<_> = epsilons.iter().map(choose).collect::<Result<_, SweepError>>()?;
        let name = match public {
            Public { sample: Some(_), .. } => AUTO_BY_SAMPLE,
            Public { images: Some(_), .. } => AUTO_BY_IMAGES,
            Public { .. } => AUTO,
        };
        Ok(Self { name: name.into(), planned, ..Self::new(request.parameters.clone(), None) })
    }

    /// Hashes of the public tables that its structure was learned from.
    pub(super) fn samples(&self) -> Vec<[u8; 32]> {
        let planned = self.planned.iter().map(|(_, parameters, _)| parameters);
        planned.chain([&self.parameters]).flat_map(Parameters::samples).map(|(.., sha256)| sha256).collect()
    }

    /// True for a mechanism that the paper does not have.
    pub fn is_ours(&self) -> bool {
        self.parameters.mechanism.paper().starts_with("ours")
    }

    /// What is released at this epsilon, and how it is stored.
    pub(super) fn at(&self, epsilon: f64) -> (&Parameters, Option<Encoding>) {
        match self.planned.iter().find(|(at, ..)| *at == epsilon) {
            Some((_, parameters, encoding)) => (parameters, Some(*encoding)),
            None => (&self.parameters, self.encoding),
        }
    }

    fn built(&self, epsilon: f64, seed: Seed) -> Result<(Mechanism, Option<Encoding>), ParameterError> {
        let (parameters, encoding) = self.at(epsilon);
        Ok((Mechanism::new(Parameters { epsilon, seed, ..parameters.clone() })?, encoding))
    }

    /// The sketches that it releases, one for all epsilons unless a plan chose them.
    fn sketches(&self, epsilons: &[f64]) -> Vec<Parameters> {
        let mut found: Vec<Parameters> = epsilons.iter().map(|epsilon| self.at(*epsilon).0.clone()).collect();
        let mut seen = Vec::new();
        found.retain(|parameters| is_new(&mut seen, sketch_of(parameters)));
        found
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
    /// Depths R of a ranking.
    pub depths: Vec<usize>,
    /// How many true neighbours recall and precision are measured against, as the paper has them; if none, recall@R is
    /// the share of the true R nearest among the R found.
    pub true_neighbours: Option<usize>,
    /// Also rank by the searcher's exact queries.
    pub exact_queries: bool,
    /// Also measure the sketch without privacy.
    pub without_privacy: bool,
    /// Also train on the rows as they are, without sketch and noise.
    pub rows_as_they_are: bool,
    /// C of the linear model; `None` to choose it for every model on its own training rows.
    pub svm_c: Option<f64>,
}

/// Why a sweep stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// A parameter is wrong or a mechanism refuses.
    #[error(transparent)]
    Parameters(#[from] LibraryError),
    /// A model cannot be trained.
    #[error(transparent)]
    Svm(SvmError),
    /// A fault of the input.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// There is no plan.
    #[error(transparent)]
    Plan(PlanError),
    /// What is asked for is not complete.
    #[error(transparent)]
    Ask(AskError),
    /// Public structure comes from the rows that are evaluated.
    #[error(
        "the public sample is the table that is evaluated: what was learned from these rows tells nothing about others; take \
         public rows that are not among them"
    )]
    LearnedFromThese,
    /// There are no rows, no queries or no repetitions.
    #[error("there is nothing to measure: it takes rows, queries and at least one of ‹repetitions›")]
    Nothing,
    /// The caller no longer wants it.
    #[error("stopped")]
    Stopped,
}

/// Ends a sweep that is no longer wanted, before anything incomplete is counted.
fn check_stop() -> Result<(), SweepError> {
    if parallel::stopped() { Err(SweepError::Stopped) } else { Ok(()) }
}

impl From<ParameterError> for SweepError {
    fn from(error: ParameterError) -> Self {
        Self::Parameters(error.into())
    }
}

impl From<SvmError> for SweepError {
    fn from(error: SvmError) -> Self {
        match error {
            SvmError::Labels(error) => error.into(),
            other => Self::Svm(other),
        }
    }
}

impl From<PlanError> for SweepError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Parameters(error) => error.into(),
            PlanError::Sample(error) => error.into(),
            PlanError::Stopped => Self::Stopped,
            other => Self::Plan(other),
        }
    }
}

impl From<AskError> for SweepError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Plan(error) => error.into(),
            other => Self::Ask(other),
        }
    }
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
    let top = settings.depths.iter().copied().max().unwrap_or(1);
    let deepest = settings.true_neighbours.unwrap_or(top);
    let truth = true_neighbours(&Features::from_rows(&database), &Features::from_rows(&queries), deepest)?;
    check_stop()?;
    let measure = |tables: Tables, found: &mut Vec<(String, f64)>| {
        let mut record = |rankings: Vec<Vec<u32>>, suffix: &str| {
            check_stop()?;
            match settings.true_neighbours {
                Some(_) => {
                    for at in precision_recall(&rankings, &truth, &settings.depths) {
                        found.push((format!("recall@{}{suffix}", at.at), at.recall));
                        found.push((format!("precision@{}{suffix}", at.at), at.precision));
                    }
                }
                None => {
                    for &depth in &settings.depths {
                        let nearest: Vec<Vec<u32>> =
                            truth.iter().map(|rows| rows[..depth.min(rows.len())].to_vec()).collect();
                        let at = precision_recall(&rankings, &nearest, &[depth])[0];
                        found.push((format!("recall@{depth}{suffix}"), at.recall));
                    }
                }
            }
            Ok::<_, SweepError>(())
        };
        match tables {
            Tables::Exact([rows, asked]) => record(neighbours(&rows, &asked, top), "")?,
            // As the paper searches: cosine on values, Hamming on bits.
            Tables::Released(tables) => {
                let [rows, asked] = &*tables;
                record(rankings(search(rows, Queries::Released(asked), top, None)?), "")?;
                if settings.exact_queries {
                    let exact = ExactQueries::project(rows.mechanism(), queries)?;
                    record(rankings(search(rows, Queries::Exact(&exact), top, None)?), " exact query")?;
                }
            }
        }
        Ok(())
    };
    run(database, queries, candidates, settings, progress, measure)
}

/// The metric of ridge regression, beside the SVM's `accuracy`.
pub const RIDGE: &str = "accuracy, ridge";

/// Test accuracy of a linear SVM, and of ridge regression, trained on the release of every candidate at every epsilon.
pub fn classification(
    train: (Rows<'_>, &[u32]),
    test: (Rows<'_>, &[u32]),
    candidates: &[Candidate],
    settings: &Settings,
    progress: Progress<'_>,
) -> Result<Outcomes, SweepError> {
    let measure = |tables: Tables, found: &mut Vec<(String, f64)>| {
        let [rows, asked] = tables.into_features();
        let accuracy = svm::train_and_test((&rows, train.1), (&asked, test.1), settings.svm_c)?;
        check_stop()?;
        found.push(("accuracy".into(), accuracy));
        if let Some(accuracy) = ridge::train_and_test((&rows, train.1), (&asked, test.1))? {
            found.push((RIDGE.into(), accuracy));
        }
        Ok(())
    };
    let mut outcomes = run(train.0, test.0, candidates, settings, progress, measure)?;
    if settings.rows_as_they_are {
        let (rows, asked) = (Features::from_rows(&train.0), Features::from_rows(&test.0));
        outcomes.0.push(Outcome {
            task: settings.task.clone(),
            design: "rows as they are".into(),
            mechanism: "none".into(),
            sketch: ProjectionKind::Identity.to_string(),
            k: train.0.dim(),
            repeats: 1,
            encoding: Encoding::F32,
            bits_per_row: 32 * train.0.dim(),
            epsilon: f64::INFINITY,
            delta: 0.0,
            repetition: 0,
            metric: "accuracy".into(),
            value: svm::train_and_test((&rows, train.1), (&asked, test.1), settings.svm_c)?,
        });
    }
    Ok(outcomes)
}

/// The projection and its size: what two mechanisms share that release the same sketch.
fn sketch_of(parameters: &Parameters) -> (String, usize) {
    let Parameters { mechanism, repeats, .. } = parameters;
    let kind = match (&parameters.bins, &parameters.components) {
        (Some(bins), _) => kind_of(bins).to_owned(),
        (None, Some(_)) => "components".to_owned(),
        (None, None) => parameters.projection.unwrap_or_else(|| mechanism.default_projection(*repeats)).to_string(),
    };
    (kind, parameters.k)
}

/// What legends call a public partition.
fn kind_of(bins: &Partition) -> &'static str {
    match bins {
        Partition::Grid(_) => "blocks",
        Partition::File(_) => "bins",
    }
}

/// True when it was not among those seen; now it is.
fn is_new<T: PartialEq>(seen: &mut Vec<T>, value: T) -> bool {
    let new = !seen.contains(&value);
    if new {
        seen.push(value);
    }
    new
}

/// Walks repetitions, candidates and epsilons; candidates with the same projection share its tables.
fn run(
    first: Rows<'_>,
    second: Rows<'_>,
    candidates: &[Candidate],
    settings: &Settings,
    progress: Progress<'_>,
    mut measure: impl FnMut(Tables, &mut Vec<(String, f64)>) -> Result<(), SweepError>,
) -> Result<Outcomes, SweepError> {
    if [first.len(), second.len(), settings.repetitions].contains(&0) {
        return Err(SweepError::Nothing);
    }
    let mut order: Vec<&Candidate> = candidates.iter().collect();
    order.sort_by_key(|c| sketch_of(&c.parameters)); // stable: neighbours share their projection
    let mut sketches: Vec<Parameters> = Vec::new();
    if settings.without_privacy {
        let mut seen = Vec::new();
        let all = order.iter().flat_map(|c| c.sketches(&settings.epsilons));
        sketches = all.filter(|parameters| is_new(&mut seen, sketch_of(parameters))).collect();
    }
    let total = settings.repetitions * (candidates.len() * settings.epsilons.len() + sketches.len());
    let (mut all, mut done) = (Vec::new(), 0);
    for repetition in 0..settings.repetitions {
        let seed = seed_of(repetition);
        let (mut shared, mut projected) = (None, Projected::default());
        let mut record = |name: String, epsilon: f64, mechanism: &Mechanism, encoder: &Encoder, tables: Tables| {
            let mut found = Vec::new();
            measure(tables, &mut found)?;
            let p = mechanism.parameters();
            all.extend(found.into_iter().map(|(metric, value)| Outcome {
                task: settings.task.clone(),
                design: name.clone(),
                mechanism: if epsilon.is_finite() { mechanism.id().to_string() } else { "none".into() },
                sketch: sketch_of(p).0,
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
            Ok::<_, SweepError>(())
        };
        for candidate in &order {
            for &epsilon in &settings.epsilons {
                check_stop()?;
                let (mut mechanism, encoding) = candidate.built(epsilon, seed)?;
                mechanism.share_projection(&mut shared);
                let releaser = Releaser::new(mechanism.clone(), encoding)?;
                let tables = Tables::released(candidate, releaser, [first, second], &mut projected)?;
                record(candidate.name.clone(), epsilon, &mechanism, &Encoder::new(&mechanism, encoding)?, tables)?;
            }
        }
        // The grid of a sketch without privacy is that of the largest epsilon, and no noise asks to clip it.
        let epsilon = settings.epsilons.iter().copied().fold(1.0, f64::max);
        for parameters in &sketches {
            let mut mechanism = Mechanism::new(Parameters { epsilon, seed, sketch_clip: None, ..parameters.clone() })?;
            mechanism.share_projection(&mut shared);
            let tables = Tables::exact(&mechanism, [first, second])?;
            let name = format!("{} without privacy", sketch_of(parameters).0);
            record(name, f64::INFINITY, &mechanism, &Encoder::new(&mechanism, None)?, tables)?;
        }
    }
    // Back to the order of the caller, whatever order shared the projections.
    let place = |o: &Outcome| candidates.iter().position(|c| c.name == o.design).unwrap_or(candidates.len());
    all.sort_by_key(|o| (o.repetition, place(o)));
    Ok(Outcomes(all))
}

/// Both blocks of rows, ready to be measured.
enum Tables {
    Released(Box<[Release; 2]>),
    Exact([Features; 2]),
}

impl Tables {
    fn released(
        candidate: &Candidate,
        releaser: Releaser,
        blocks: [Rows<'_>; 2],
        projected: &mut Projected,
    ) -> Result<Self, SweepError> {
        // A dense projection of sparse rows is the one step that costs more than all the others.
        let quick =
            matches!(releaser.mechanism().projection().kind(), ProjectionKind::Oporp { .. } | ProjectionKind::Bins);
        let slow = blocks[0].is_sparse() && !quick;
        let [a, b] = match slow {
            true => projected.of(releaser.mechanism(), blocks)?.each_ref().map(|x| perturb(&releaser, x)),
            false => blocks.map(|rows| Release::from_rows(&releaser, rows)),
        };
        let [a, b] = [(a?, blocks[0]), (b?, blocks[1])].map(|(release, rows)| match candidate.coin_at_zero {
            true => toss_coins(&releaser, &release, rows),
            false => Ok(release),
        });
        Ok(Self::Released(Box::new([a?, b?])))
    }

    /// The sketch without privacy.
    fn exact(mechanism: &Mechanism, blocks: [Rows<'_>; 2]) -> Result<Self, SweepError> {
        if mechanism.id().is_raw() {
            return Ok(Self::Exact(blocks.map(|rows| Features::from_rows(&rows))));
        }
        let [a, b] = blocks.map(|rows| ExactQueries::project(mechanism, rows));
        Ok(Self::Exact([a?, b?].map(|x| Features::dense(x.into_values(), mechanism.k()))))
    }

    fn into_features(self) -> [Features; 2] {
        match self {
            Self::Exact(features) => features,
            Self::Released(tables) => tables.map(|table| Features::dense(table.all_values(), table.k())),
        }
    }
}

/// Both blocks under the last projection, on each grid (which may depend on epsilon).
#[derive(Default)]
struct Projected(Vec<(Projection, i32, [Vec<i64>; 2])>);

impl Projected {
    fn of(&mut self, mechanism: &Mechanism, blocks: [Rows<'_>; 2]) -> Result<&[Vec<i64>; 2], DataError> {
        let (projection, grid) = (mechanism.projection(), mechanism.grid());
        self.0.retain(|(other, ..)| other.equals(projection));
        let known = self.0.iter().position(|(_, exponent, _)| *exponent == grid.exponent());
        let at = match known {
            Some(at) => at,
            None => {
                let [a, b] = blocks.map(|rows| {
                    let mut x = vec![0; rows.len() * projection.k()];
                    projection.apply_rows(rows, grid, &mut x).map(|()| x)
                });
                self.0.push((projection.clone(), grid.exponent(), [a?, b?]));
                self.0.len() - 1
            }
        };
        Ok(&self.0[at].2)
    }
}

/// The release of rows that are already projected.
fn perturb(releaser: &Releaser, projected: &[i64]) -> Result<Release, ReleaseError> {
    let (k, width, task) = (releaser.mechanism().k(), releaser.encoder().bytes_per_row(), 256);
    let mut bytes = vec![0; projected.len() / k * width];
    bytes.par_chunks_mut(task * width).zip(projected.par_chunks(task * k)).try_for_each(|(bytes, x)| {
        let mut rng = SecretRng::from_os()?;
        let mut x = x.to_vec();
        for (bytes, x) in bytes.chunks_exact_mut(width).zip(x.chunks_exact_mut(k)) {
            releaser.mechanism().perturbation().apply(x, &mut rng);
            releaser.encoder().encode(x, bytes);
        }
        Ok::<_, ReleaseError>(())
    })?;
    Ok(Release::new(releaser, bytes, None, None))
}

/// The same release of bits with a fair coin wherever the projected value is 0.
fn toss_coins(releaser: &Releaser, release: &Release, rows: Rows<'_>) -> Result<Release, SweepError> {
    let exact = ExactQueries::project(releaser.mechanism(), rows)?;
    let mut rng = SecretRng::from_os().map_err(ReleaseError::from)?;
    let mut bytes = release.bytes().to_vec();
    for (i, row) in bytes.chunks_exact_mut(releaser.encoder().bytes_per_row()).enumerate() {
        for (j, _) in exact.row(i).iter().enumerate().filter(|(_, x)| **x == 0.0) {
            row[j / 8] ^= (rng.next_u64() as u8 & 1) << (7 - j % 8);
        }
    }
    Ok(Release::new(releaser, bytes, None, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::mechanism::{MechanismId, Required};
    use scumble::plan::plan;
    use scumble::recall::Fixed;
    use scumble::vectors::{Range, Scalars};

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
        let mut parameters =
            Parameters::new(Required { mechanism: id, dim: 64, k, epsilon: 1.0, beta: 1.0, range, seed: seed_of(0) });
        if id == MechanismId::DpRpGOptB || id == MechanismId::DpOporp {
            parameters.delta = Some(1e-6);
        }
        Candidate::new(parameters, None)
    }

    /// These numbers with the mechanism left open.
    fn open(parameters: &Parameters) -> Request {
        let (parameters, k) = (parameters.clone(), Some(parameters.k));
        Request { parameters, mechanism: None, k, encoding: None, bytes: None }
    }

    fn settings(epsilons: &[f64], repetitions: usize) -> Settings {
        Settings {
            task: "toy".into(),
            epsilons: epsilons.to_vec(),
            repetitions,
            depths: vec![10, 50],
            true_neighbours: None,
            exact_queries: true,
            without_privacy: true,
            rows_as_they_are: true,
            svm_c: None,
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
            found.average(|o| o.design == design && o.epsilon == epsilon && o.metric == metric).unwrap().mean
        };
        for c in &candidates {
            let (low, high) = (recall(&c.name, 0.2, "recall@50"), recall(&c.name, 20.0, "recall@50"));
            assert!(low < 0.25 && high > 0.3 && high > 2.0 * low, "{}: {low} {high}", c.name);
            assert!(recall(&c.name, 20.0, "recall@50 exact query") > high - 0.05, "{}", c.name);
        }
        let without = recall("oporp without privacy", f64::INFINITY, "recall@50");
        assert!(without >= recall("dp-oporp-staircase", 20.0, "recall@50") - 0.02, "{without}");
        // Values and bits of one cell are counted once per repetition.
        assert_eq!(
            found.values(|o| o.design == candidates[1].name && o.epsilon == 20.0 && o.metric == "recall@10").len(),
            2
        );
    }

    /// What `plan` chooses at each epsilon is what is released there, under its own name.
    #[test]
    fn auto_releases_what_plan_chooses() {
        let ((rows, _), (queries, _)) = (clusters(300, 6), clusters(20, 7));
        let (guess, epsilons) = (candidate(MechanismId::DpOporp, 32).parameters, [1.0, 20.0]);
        let guess = Parameters { delta: None, norm: Some(4.6), density: Some(1.0), ..guess };
        let found = retrieval(
            Rows::dense(Scalars::F32(&rows), 64),
            Rows::dense(Scalars::F32(&queries), 64),
            &[Candidate::auto(&open(&guess), &epsilons, Public::default()).unwrap()],
            &settings(&epsilons, 1),
            &mut |_, _| (),
        )
        .unwrap();
        for epsilon in epsilons {
            let best = plan(&open(&Parameters { epsilon, ..guess.clone() })).unwrap().best;
            let released = found.0.iter().find(|o| o.design == AUTO && o.epsilon == epsilon).unwrap();
            assert_eq!(released.mechanism, best.mechanism.id().to_string());
            assert_eq!(released.encoding, best.encoding);
        }
    }

    /// The sketch without privacy is the one that its name says, whatever the plan chose at some epsilon: beside `auto`
    /// it is measured as beside the mechanism itself, and the share that is kept is that of the sketch that was released.
    #[test]
    fn the_sketch_without_privacy_does_not_depend_on_the_plan() {
        let ((rows, _), (queries, _)) = (clusters(300, 6), clusters(20, 7));
        let guess = Parameters { norm: Some(4.6), ..candidate(MechanismId::DpOporpStaircase, 32).parameters };
        let epsilons = [1.0, 100.0]; // where raw values would be best, had k not been asked for
        let measured = |candidates: &[Candidate]| {
            let (rows, queries) = (Rows::dense(Scalars::F32(&rows), 64), Rows::dense(Scalars::F32(&queries), 64));
            retrieval(rows, queries, candidates, &settings(&epsilons, 1), &mut |_, _| ()).unwrap()
        };
        let without = |found: &Outcomes| {
            let sketch = |o: &Outcome| o.design == "oporp without privacy" && o.metric == "recall@50";
            found.average(sketch).unwrap().mean
        };
        let plain = measured(&[Candidate::new(guess.clone(), None)]);
        let auto = measured(&[Candidate::auto(&open(&guess), &epsilons, Public::default()).unwrap()]);
        assert!(without(&plain) < 0.99, "32 of 64 values lose something");
        assert_eq!(without(&auto), without(&plain));
        assert!(auto.0.iter().all(|o| o.k == 32));
        let reading = crate::evaluate::page::Reading::of(&auto).unwrap();
        assert_eq!(reading.without, Some(without(&plain)));
    }

    /// recall@R as the field means it: of the true R nearest, the share among the R found; the paper's pair on request.
    #[test]
    fn recall_is_of_as_many_as_are_found() {
        let ((rows, _), (queries, _)) = (clusters(300, 6), clusters(20, 7));
        let raw = Candidate::new(Parameters { k: 64, ..candidate(MechanismId::RawStaircase, 64).parameters }, None);
        let measured = |true_neighbours| {
            let (rows, queries) = (Rows::dense(Scalars::F32(&rows), 64), Rows::dense(Scalars::F32(&queries), 64));
            let settings = Settings { true_neighbours, ..settings(&[1.0], 1) };
            retrieval(rows, queries, std::slice::from_ref(&raw), &settings, &mut |_, _| ()).unwrap()
        };
        let without = |found: &Outcomes, metric: &str| {
            found.average(|o| o.mechanism == "none" && o.metric == metric).map(|e| e.mean)
        };
        let (field, paper) = (measured(None), measured(Some(50)));
        assert_eq!(
            ["recall@10", "recall@50", "precision@10"].map(|m| without(&field, m)),
            [Some(1.0), Some(1.0), None]
        );
        let pair = ["recall@10", "recall@50", "precision@10"].map(|m| without(&paper, m).unwrap());
        assert!((pair[0] - 0.2).abs() < 1e-9 && pair[1] == 1.0 && pair[2] == 1.0, "{pair:?}");
    }

    /// A dense projection of sparse rows is kept over the epsilons: every epsilon still has its own noise.
    #[test]
    fn kept_projections_of_sparse_rows_are_released_as_dense_ones() {
        let ((rows, labels), (test, truth)) = (clusters(800, 4), clusters(300, 5));
        let (offsets, index) = (
            |n: usize| (0..=n).map(|i| 64 * i).collect::<Vec<_>>(),
            |n: usize| (0..64 * n as u32).map(|at| at % 64).collect::<Vec<_>>(),
        );
        let ((of_rows, of_test), (in_rows, in_test)) = ((offsets(800), offsets(300)), (index(800), index(300)));
        let accuracy = |train: Rows<'_>, asked: Rows<'_>| {
            let candidates = [candidate(MechanismId::DpRpGOptB, 64)];
            let settings = Settings { without_privacy: false, ..settings(&[0.5, 200.0], 2) };
            let found =
                classification((train, &labels), (asked, &truth), &candidates, &settings, &mut |_, _| ()).unwrap();
            [0.5, 200.0].map(|e| found.average(|o| o.epsilon == e).unwrap().mean)
        };
        let dense = accuracy(Rows::dense(Scalars::F32(&rows), 64), Rows::dense(Scalars::F32(&test), 64));
        let sparse = accuracy(
            Rows::sparse(&of_rows, &in_rows, Scalars::F32(&rows), 64),
            Rows::sparse(&of_test, &in_test, Scalars::F32(&test), 64),
        );
        for [low, high] in [dense, sparse] {
            assert!(low < 0.4 && high > 0.9, "{dense:?} {sparse:?}");
        }
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
        let accuracy = |design: &str| found.average(|o| o.design == design).unwrap().mean;
        // Staircase noise is 5.7 times smaller here.
        assert!(accuracy("dp-oporp-staircase") > accuracy("dp-oporp") + 0.1);
        assert!(accuracy("oporp without privacy") > 0.95 && accuracy("rows as they are") > 0.95);
    }
}
