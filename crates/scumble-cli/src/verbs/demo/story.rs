//! The steps of the demo and what they found.

use super::data::{DIM, Data, QUERIES, ROWS};
use super::unwritable;
use crate::exit::Failure;
use crate::print::{self, Paint, grouped, number};
use scumble::certificate::Certificate;
use scumble::estimate::{RowRef, cosine, inner_product};
use scumble::files::{Job, open_release, release};
use scumble::mechanism::{Mechanism, MechanismId, Parameters};
use scumble::plan::{Request, plan};
use scumble::projection::{Partition, Seed};
use scumble::recall::Features;
use scumble::recall::{precision_recall, true_neighbours};
use scumble::release::{Encoding, Release, Releaser};
use scumble::search::{ExactQueries, Hit, Queries, search};
use scumble::vectors::Range;
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

/// What the last column shows.
const BLOCKS: &str = "
   The last column adds neighbouring pixels (scumble release --bins grid:28x28) where OPORP adds pixels by chance. The
   noise and the promise are the same: one pixel still touches one bin. What is known of all images costs no privacy.
";

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
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
pub struct Story {
    pub results: Vec<Recall>,
    pub certificate: Certificate,
    pub comparison: String,
    pub seconds: f64,
}

/// Runs every step; `aloud` prints them as they happen.
pub fn tell(out: &Path, aloud: bool) -> Result<Story, Failure> {
    let start = Instant::now();
    let say = |text: String| if aloud { print::emit(&text) } else { Ok(()) };
    let paint = Paint::stdout();
    let step = |number: usize, text: &str| format!("\n{} {}\n", paint.good(&format!("{number}.")), paint.strong(text));

    say(step(1, "Data"))?;
    let data = Data::new();
    let vectors = out.join("vectors.npy");
    data.write(&vectors).map_err(|error| unwritable(&vectors, &error))?;
    let (norm, density) = data.norm_and_density();
    say(format!(
        "   {} handwritten digits of MNIST, {DIM} pixels in [0, 1] each, {:.0}% of them blank. {QUERIES} more are queries.\n",
        grouped(ROWS as u64),
        100.0 * (1.0 - density)
    ))?;

    say(step(2, "Plan"))?;
    let seed = Seed::generate()?;
    let choice = choose(None, SHOWN, norm, density, seed)?;
    say(format!(
        "   Unit of privacy: ONE attribute of a row, whatever its value. Epsilon {SHOWN}.\n   scumble plan takes {} with \
         k = {}: noise of {} per value. What a search finds depends on the rows; step 6 measures it.\n",
        choice.id(),
        choice.k(),
        choice.noise_moments().map_or_else(|| "no".into(), |noise| number(noise.variance.sqrt()))
    ))?;

    say(step(3, "Release"))?;
    let paper = choose(Some(MechanismId::DpOporp), SHOWN, norm, density, seed)?;
    let mut certificates = Vec::new();
    let blocks = blocks_of_pixels(SHOWN, seed)?;
    for (mechanism, name, source) in [
        (&choice, "private.parquet", "ours"),
        (&paper, "paper.parquet", "the paper's"),
        (&blocks, "blocks.parquet", "ours, on blocks of pixels"),
    ] {
        let path = out.join(name);
        certificates.push(release_file(&vectors, &path, mechanism)?);
        let deviation = mechanism.noise_moments().map_or(f64::NAN, |noise| noise.variance.sqrt());
        let id = mechanism.id().to_string();
        say(format!("   {:<32} {id:<20} {source:<26} noise {}\n", path.display().to_string(), number(deviation)))?;
    }

    say(step(4, "Search"))?;
    let truth = true_neighbours(&Features::from_rows(&data.rows()), &Features::from_rows(&data.queries()), TOP)?;
    let private = open_release(&out.join("private.parquet"))?;
    let exact = exact(&choice, &data)?;
    let found = search(&private, Queries::Exact(&exact), TOP, None)?;
    let first: Vec<String> = found[0].iter().take(8).map(|hit| marked(hit, &truth[0], paint)).collect();
    say(format!(
        "   Query 0 is a {}. In private.parquet it finds rows {} ...\n   {} of its {TOP} true neighbours are among the first \
         {TOP} (true ones are marked *), and {} of those found show the same digit.\n",
        data.query_digit(0),
        first.join(" "),
        found[0].iter().filter(|hit| truth[0].contains(&(hit.row as u32))).count(),
        found[0].iter().filter(|hit| data.digit(hit.row) == data.query_digit(0)).count()
    ))?;

    say(step(5, "Compare"))?;
    let comparison = compare(&private, &data, truth_pair(&data))?;
    say(format!("   {}\n", comparison.replace('\n', "\n   ")))?;

    say(step(6, "What privacy costs"))?;
    say(format!("   Share of the true {TOP} nearest rows found, {QUERIES} queries, by epsilon:\n\n"))?;
    let mut results = Vec::new();
    for epsilon in EPSILONS {
        results.push(measure(&data, &truth, epsilon, (norm, density), seed)?);
    }
    say(table(&results, paint))?;
    say(BLOCKS.into())?;
    let certificate = certificates.swap_remove(0);
    Ok(Story { results, certificate, comparison, seconds: start.elapsed().as_secs_f64() })
}

/// The closing lines.
pub fn ending(out: &Path) -> String {
    let paint = Paint::stdout();
    let show = |file: &str| out.join(file).display().to_string();
    format!(
        "\n{} open {}\n{}\n  scumble inspect {private}\n  scumble verify  {private}\n  scumble compare {private} --rows \
         0,1\n  scumble search  {private} --queries {vectors} --exact-queries --top 5\n",
        paint.strong("Report:"),
        show("report.html"),
        paint.strong("Try:"),
        private = show("private.parquet"),
        vectors = show("vectors.npy"),
    )
}

fn request(id: Option<MechanismId>, epsilon: f64, norm: f64, density: f64, seed: Seed) -> Result<Request, Failure> {
    let range = Range::new(0.0, 1.0)?;
    let base = Parameters::new(id.unwrap_or(MechanismId::DpOporpStaircase), DIM, 1, epsilon, 1.0, range, seed);
    let parameters = Parameters {
        norm: Some((norm * 10.0).round() / 10.0),
        density: Some((density * 100.0).round() / 100.0),
        delta: (id == Some(MechanismId::DpOporp)).then_some(1e-6),
        ..base
    };
    Ok(Request { parameters, mechanism: id, k: None, encoding: Some(Encoding::F32), bytes: None })
}

/// The plan's choice: of values, or of one mechanism.
fn choose(id: Option<MechanismId>, epsilon: f64, norm: f64, density: f64, seed: Seed) -> Result<Mechanism, Failure> {
    let id = id.or(Some(MechanismId::DpOporpStaircase));
    let plan = plan(&request(id, epsilon, norm, density, seed)?);
    Ok(plan.map_err(|error| Failure::error(error.to_string()))?.best.mechanism)
}

/// The same noise on blocks of neighbouring pixels, as many as suit the epsilon.
fn blocks_of_pixels(epsilon: f64, seed: Seed) -> Result<Mechanism, Failure> {
    let bins: Partition = GRID.parse()?;
    let k = bins.suggested_k(epsilon).expect("a grid suggests one");
    let base = Parameters::new(MechanismId::DpOporpStaircase, DIM, k, epsilon, 1.0, Range::new(0.0, 1.0)?, seed);
    Ok(Mechanism::new(Parameters { bins: Some(bins), ..base })?)
}

fn release_file(input: &Path, out: &Path, mechanism: &Mechanism) -> Result<Certificate, Failure> {
    let job = Job { input: input.to_owned(), out: out.to_owned(), ..Job::default() };
    release(&job, |_| Ok::<_, Failure>(Releaser::new(mechanism.clone(), None)?))
}

fn exact(mechanism: &Mechanism, data: &Data) -> Result<ExactQueries, Failure> {
    ExactQueries::project(mechanism, data.queries()).map_err(|error| Failure::error(error.to_string()))
}

fn marked(hit: &Hit, truth: &[u32], paint: Paint) -> String {
    match truth.contains(&(hit.row as u32)) {
        true => paint.good(&format!("{}*", hit.row)),
        false => hit.row.to_string(),
    }
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

fn compare(release: &Release, data: &Data, (i, j): (usize, usize)) -> Result<String, Failure> {
    let row = |i| RowRef::new(release, i).map_err(|error| Failure::error(error.to_string()));
    let truth: f64 = data.row(i).iter().zip(data.row(j)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    let norm = |i: usize| data.row(i).iter().map(|&a| f64::from(a).powi(2)).sum::<f64>().sqrt();
    let line = |name: &str, truth: f64, estimate: Result<scumble::estimate::Estimate, _>| match estimate {
        Ok(e) => format!(
            "{name:<14} {:>7} from the release, 95% interval {} to {}; in truth {}",
            number(e.value),
            number(e.interval.0),
            number(e.interval.1),
            number(truth)
        ),
        Err::<_, scumble::estimate::EstimateError>(error) => format!("{name:<14} not identifiable: {error}"),
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
) -> Result<Recall, Failure> {
    let ours = choose(None, epsilon, norm, density, seed)?;
    let paper = choose(Some(MechanismId::DpOporp), epsilon, norm, density, seed)?;
    let rows = ExactQueries::project(&ours, data.rows()).map_err(|error| Failure::error(error.to_string()))?;
    let exact_queries = exact(&ours, data)?;
    let sketch = |queries: &ExactQueries| {
        Features::dense((0..queries.len()).flat_map(|i| queries.row(i).iter().copied()).collect(), ours.k())
    };
    let plain = true_neighbours(&sketch(&rows), &sketch(&exact_queries), TOP)?;
    let release = |mechanism: &Mechanism, rows| -> Result<Release, Failure> {
        let releaser = Releaser::new(mechanism.clone(), None)?;
        Release::from_rows(&releaser, rows).map_err(|error| Failure::error(error.to_string()))
    };
    let both = |mechanism: &Mechanism| -> Result<(Release, f64), Failure> {
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

fn table(results: &[Recall], paint: Paint) -> String {
    let cell = |share: f64| format!("{share:.3}");
    let rows: Vec<Vec<String>> = results
        .iter()
        .map(|r| {
            let shares = [r.without_privacy, r.paper, r.ours, r.ours_exact_query, r.blocks].map(cell);
            [number(r.epsilon), r.k.to_string()].into_iter().chain(shares).collect()
        })
        .collect();
    let head = [
        "epsilon",
        "k",
        "without privacy",
        "paper's DP-OPORP",
        "ours (staircase)",
        "ours, exact query",
        "ours on blocks",
    ];
    let mut lines = print::table(&head, &rows);
    lines[0] = paint.faint(&lines[0]);
    lines.iter().map(|line| format!(" {line}\n")).collect()
}
