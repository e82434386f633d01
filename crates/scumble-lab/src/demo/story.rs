//! The steps of the demo and what they found.

use super::data::{DIM, Data, ROWS};
use super::{DemoError, PRIVATE, VECTORS, unwritable};
use scumble::certificate::Certificate;
use scumble::estimate::{Estimate, EstimateError, RowRef, cosine, inner_product};
use scumble::files::{Job, open_release, release};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::plan::{Request, plan};
use scumble::projection::{Partition, Seed};
use scumble::recall::{Features, precision_recall, true_neighbours};
use scumble::release::{Encoding, Release, Releaser};
use scumble::search::{ExactQueries, Hit, Queries, search};
use scumble::vectors::Range;
use scumble::words::number;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Neighbours looked for.
pub const TOP: usize = 20;
const EPSILONS: [f64; 3] = [1.0, 2.0, 5.0];
/// Bins for digits.
const GRID: &str = "grid:28x28";
/// The epsilon of the releases that are written to files.
const SHOWN: f64 = 5.0;

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // each field is a column of the table
pub struct Recall {
    pub epsilon: f64,
    pub k: usize,
    pub without_privacy: f64,
    pub paper: f64,
    pub ours: f64,
    pub ours_exact_query: f64,
    pub blocks: f64,
}

/// What the demo found.
#[derive(Debug)]
pub struct Story {
    /// What privacy costs, by epsilon.
    pub results: Vec<Recall>,
    /// Of the first release.
    pub certificate: Certificate,
    /// Two rows compared, in words.
    pub comparison: String,
    /// How long it took.
    pub seconds: f64,
}

/// What the demo does, as it happens.
#[derive(Debug)]
pub enum Step<'a> {
    /// A part of the story begins.
    Begins(&'static str),
    /// The rows are ready; this share of their values is not zero.
    Rows {
        /// The share.
        density: f64,
    },
    /// The plan has chosen.
    Planned {
        /// The unit's loss.
        epsilon: f64,
        /// The choice.
        choice: &'a Mechanism,
    },
    /// A release was written.
    Released {
        /// Where.
        path: &'a Path,
        /// By which mechanism.
        mechanism: &'a Mechanism,
        /// Whose it is.
        source: &'static str,
    },
    /// A query was searched for.
    Found {
        /// The digit that it shows.
        digit: u8,
        /// The rows found, best first, and whether each is a true neighbour.
        rows: Vec<(usize, bool)>,
        /// How many of them show the same digit.
        alike: usize,
    },
    /// Two rows were compared, in words.
    Compared(&'a str),
    /// What a search finds will be measured.
    Measuring,
    /// The recall was measured at every epsilon.
    Measured(&'a [Recall]),
}

/// Runs every part and tells of each step as it happens.
pub(super) fn tell<E: From<DemoError>>(
    data: &Data,
    out: &Path,
    mut say: impl FnMut(Step<'_>) -> Result<(), E>,
) -> Result<Story, E> {
    let start = Instant::now();
    say(Step::Begins("Data"))?;
    let vectors = out.join(VECTORS);
    data.write(&vectors).map_err(|error| unwritable(&vectors, &error))?;
    let (norm, density) = data.norm_and_density();
    say(Step::Rows { density })?;

    say(Step::Begins("Plan"))?;
    let seed = Seed::generate().map_err(DemoError::from)?;
    let choice = choose(None, SHOWN, norm, density, seed)?;
    say(Step::Planned { epsilon: SHOWN, choice: &choice })?;

    say(Step::Begins("Release"))?;
    let paper = choose(Some(MechanismId::DpOporp), SHOWN, norm, density, seed)?;
    let mut certificates = Vec::new();
    let blocks = blocks_of_pixels(SHOWN, seed)?;
    for (mechanism, name, source) in [
        (&choice, PRIVATE, "ours"),
        (&paper, "paper.parquet", "the paper's"),
        (&blocks, "blocks.parquet", "ours, on blocks of pixels"),
    ] {
        let path = out.join(name);
        certificates.push(release_file(&vectors, &path, mechanism)?);
        say(Step::Released { path: &path, mechanism, source })?;
    }

    say(Step::Begins("Search"))?;
    let truth = true_neighbours(&Features::from_rows(&data.rows()), &Features::from_rows(&data.queries()), TOP);
    let truth = truth.map_err(DemoError::from)?;
    let private = open_release(&out.join(PRIVATE)).map_err(DemoError::from)?;
    let found = search(&private, Queries::Exact(&exact(&choice, data)?), TOP, None).map_err(DemoError::from)?;
    let is_true = |hit: &Hit| truth[0].contains(&(hit.row as u32));
    say(Step::Found {
        digit: data.query_digit(0),
        rows: found[0].iter().map(|hit| (hit.row, is_true(hit))).collect(),
        alike: found[0].iter().filter(|hit| data.digit(hit.row) == data.query_digit(0)).count(),
    })?;

    say(Step::Begins("Compare"))?;
    let comparison = compare(&private, data, truth_pair(data))?;
    say(Step::Compared(&comparison))?;

    say(Step::Begins("What privacy costs"))?;
    say(Step::Measuring)?;
    let results = EPSILONS.iter().map(|&epsilon| measure(data, &truth, epsilon, (norm, density), seed));
    let results = results.collect::<Result<Vec<_>, _>>()?;
    say(Step::Measured(&results))?;
    let certificate = certificates.swap_remove(0);
    Ok(Story { results, certificate, comparison, seconds: start.elapsed().as_secs_f64() })
}

fn request(id: Option<MechanismId>, epsilon: f64, norm: f64, density: f64, seed: Seed) -> Result<Request, DemoError> {
    let range = Range::new(0.0, 1.0)?;
    let base = Parameters::new(Required {
        mechanism: id.unwrap_or(MechanismId::DpOporpStaircase),
        dim: DIM,
        k: 1,
        epsilon,
        beta: 1.0,
        range,
        seed,
    });
    let parameters = Parameters {
        norm: Some((norm * 10.0).round() / 10.0),
        density: Some((density * 100.0).round() / 100.0),
        delta: (id == Some(MechanismId::DpOporp)).then_some(1e-6),
        ..base
    };
    Ok(Request { parameters, mechanism: id, k: None, encoding: Some(Encoding::F32), bytes: None })
}

/// The plan's choice: of values, or of one mechanism.
fn choose(id: Option<MechanismId>, epsilon: f64, norm: f64, density: f64, seed: Seed) -> Result<Mechanism, DemoError> {
    let id = id.or(Some(MechanismId::DpOporpStaircase));
    let plan = plan(&request(id, epsilon, norm, density, seed)?);
    Ok(plan?.best.mechanism)
}

/// The same noise on blocks of neighbouring pixels, as many as suit the epsilon.
fn blocks_of_pixels(epsilon: f64, seed: Seed) -> Result<Mechanism, DemoError> {
    let bins: Partition = GRID.parse()?;
    let k = bins.suggested_k(epsilon).expect("a grid suggests one");
    let base = Parameters::new(Required {
        mechanism: MechanismId::DpOporpStaircase,
        dim: DIM,
        k,
        epsilon,
        beta: 1.0,
        range: Range::new(0.0, 1.0)?,
        seed,
    });
    Ok(Mechanism::new(Parameters { bins: Some(bins), ..base })?)
}

fn release_file(input: &Path, out: &Path, mechanism: &Mechanism) -> Result<Certificate, DemoError> {
    let job = Job { input: input.to_owned(), out: out.to_owned(), ..Job::default() };
    release(&job, |_| Ok(Releaser::new(mechanism.clone(), None)?))
}

fn exact(mechanism: &Mechanism, data: &Data) -> Result<ExactQueries, DemoError> {
    Ok(ExactQueries::project(mechanism, data.queries())?)
}

/// Two rows that are alike but not the same.
fn truth_pair(data: &Data) -> (usize, usize) {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let cosine = |j: usize| {
        let (a, b) = (data.row(0), data.row(j));
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let near = (1..ROWS).max_by(|&i, &j| cosine(i).total_cmp(&cosine(j)));
    (0, near.unwrap_or(1))
}

fn compare(release: &Release, data: &Data, (i, j): (usize, usize)) -> Result<String, DemoError> {
    let row = |i| RowRef::new(release, i);
    let truth: f64 = data.row(i).iter().zip(data.row(j)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    let norm = |i: usize| data.row(i).iter().map(|&a| f64::from(a).powi(2)).sum::<f64>().sqrt();
    let line = |name: &str, truth: f64, estimate: Result<Estimate, EstimateError>| match estimate {
        Ok(e) => format!(
            "{name:<14} {:>7} from the release, 95% interval {} to {}; in truth {}",
            number(e.value),
            number(e.interval.0),
            number(e.interval.1),
            number(truth)
        ),
        Err(error) => format!("{name:<14} not identifiable: {error}"),
    };
    Ok(format!(
        "Rows {i} and {j}:\n{}\n{}",
        line("inner product", truth, inner_product(row(i)?, row(j)?)),
        line("cosine", truth / (norm(i) * norm(j)), cosine(row(i)?, row(j)?))
    ))
}

/// Recall of the paper's mechanism and of ours at one epsilon, each at the k that the plan gives it.
fn measure(
    data: &Data,
    truth: &[Vec<u32>],
    epsilon: f64,
    (norm, density): (f64, f64),
    seed: Seed,
) -> Result<Recall, DemoError> {
    let ours = choose(None, epsilon, norm, density, seed)?;
    let paper = choose(Some(MechanismId::DpOporp), epsilon, norm, density, seed)?;
    let rows = ExactQueries::project(&ours, data.rows())?;
    let exact_queries = exact(&ours, data)?;
    let sketch = |queries: &ExactQueries| {
        Features::dense((0..queries.len()).flat_map(|i| queries.row(i).iter().copied()).collect(), ours.k())
    };
    let plain = true_neighbours(&sketch(&rows), &sketch(&exact_queries), TOP)?;
    let release = |mechanism: &Mechanism, rows| -> Result<Release, DemoError> {
        let releaser = Releaser::new(mechanism.clone(), None)?;
        Ok(Release::from_rows(&releaser, rows)?)
    };
    let both = |mechanism: &Mechanism| -> Result<(Release, f64), DemoError> {
        let (rows, queries) = (release(mechanism, data.rows())?, release(mechanism, data.queries())?);
        let recall = recall(&search(&rows, Queries::Released(&queries), TOP, None)?, truth);
        Ok((rows, recall))
    };
    let (released, private) = both(&ours)?;
    Ok(Recall {
        epsilon,
        k: ours.k(),
        without_privacy: precision_recall(&plain, truth, &[TOP])[0].recall,
        paper: both(&paper)?.1,
        ours: private,
        ours_exact_query: recall(&search(&released, Queries::Exact(&exact_queries), TOP, None)?, truth),
        blocks: both(&blocks_of_pixels(epsilon, seed)?)?.1,
    })
}

fn recall(found: &[Vec<Hit>], truth: &[Vec<u32>]) -> f64 {
    let rankings: Vec<Vec<u32>> = found.iter().map(|hits| hits.iter().map(|hit| hit.row as u32).collect()).collect();
    precision_recall(&rankings, truth, &[TOP])[0].recall
}
