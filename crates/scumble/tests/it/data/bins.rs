//! What bins of a public partition keep of real data: the table of the specification (section 4d). Left out, aloud,
//! without the data. Noise is keyed, so that no run fails by bad luck.

use crate::support::{released, shared};
use scumble::decode::{self, Method};
use scumble::files::{Batch, ReadOptions, read_all};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Purpose, Required};
use scumble::projection::{Partition, Seed, TableFile};
use scumble::recall::{Features, precision_recall, true_neighbours};
use scumble::release::{Encoding, Release};
use scumble::search::{ExactQueries, Queries, search};
use scumble::structure::{BinsOptions, learn_bins, make_book};
use scumble::vectors::{Layout, Range, Rows, Scalars};

const ROWS: usize = 20_000;
const QUERIES: usize = 200;
const TOP: usize = 50;

/// Rows, queries and the true neighbours of the queries.
pub struct Images {
    rows: Batch,
    queries: Batch,
    first: usize,
    truth: Vec<Vec<u32>>,
}

/// Every so many-th row from `first` on.
fn spread(batch: &Batch, first: usize, every: usize) -> Rows<'_> {
    let rows = batch.rows().slice(first, QUERIES * every);
    let Layout::Dense { values, row_stride, column_stride } = rows.layout() else { panic!("dense rows") };
    Rows::strided(values, QUERIES, rows.dim(), row_stride * every, column_stride)
}

fn data(name: &str) -> Option<Batch> {
    Some(read_all(&shared(name)?, &ReadOptions::default()).unwrap())
}

impl Images {
    pub fn mnist() -> Option<Self> {
        Self::new(data("mnist/train-images-idx3-ubyte.gz")?, data("mnist/t10k-images-idx3-ubyte.gz")?, 0)
    }

    /// The first rows of CIFAR, and queries from its last 10,000.
    pub fn cifar() -> Option<Self> {
        let all = || data("cifar10-gray/gray.npy.gz");
        Self::new(all()?, all()?, 50_000)
    }

    fn new(rows: Batch, queries: Batch, first: usize) -> Option<Self> {
        let features = |rows: Rows<'_>| Features::from_rows(&rows);
        let truth = true_neighbours(&features(rows.rows().slice(0, ROWS)), &features(spread(&queries, first, 50)), TOP)
            .unwrap();
        Some(Self { rows, queries, first, truth })
    }

    pub fn rows(&self) -> Rows<'_> {
        self.rows.rows().slice(0, ROWS)
    }

    pub fn queries(&self) -> Rows<'_> {
        spread(&self.queries, self.first, 50)
    }

    /// 200 rows that are neither released nor asked for.
    pub fn sample(&self) -> Rows<'_> {
        self.rows.rows().slice(30_000, 200)
    }

    /// recall@50 with private queries and with exact ones, mean of three draws of the noise.
    pub fn recall(&self, parameters: &Parameters, encoding: Option<Encoding>) -> (f64, f64) {
        self.recall_decoded(parameters, encoding, None)
    }

    /// The same on decoded rows.
    pub fn recall_decoded(
        &self,
        parameters: &Parameters,
        encoding: Option<Encoding>,
        method: Option<Method>,
    ) -> (f64, f64) {
        let mechanism = Mechanism::new(parameters.clone()).unwrap();
        let exact = ExactQueries::project(&mechanism, self.queries()).unwrap();
        let each = (0..3).map(|draw| {
            let release = released(&mechanism, encoding, 2 * draw, self.rows());
            let asked = released(&mechanism, encoding, 2 * draw + 1, self.queries());
            [Queries::Released(&asked), Queries::Exact(&exact)].map(|queries| self.found(&release, queries, method))
        });
        let [private, with_exact] = each.fold([0.0; 2], |sum, each| [sum[0] + each[0], sum[1] + each[1]]);
        (private / 3.0, with_exact / 3.0)
    }

    fn found(&self, release: &Release, queries: Queries<'_>, method: Option<Method>) -> f64 {
        let found = match method {
            Some(method) => decode::search(release, queries, TOP, None, method).unwrap(),
            None => search(release, queries, TOP, None).unwrap(),
        };
        let rankings: Vec<Vec<u32>> =
            found.iter().map(|hits| hits.iter().map(|hit| hit.row as u32).collect()).collect();
        precision_recall(&rankings, &self.truth, &[TOP])[0].recall
    }
}

pub fn staircase(bins: Partition, k: usize, epsilon: f64) -> Parameters {
    let range = Range { lo: 0.0, hi: 255.0 };
    let id = MechanismId::DpOporpStaircase;
    let dim = bins.bins(784, k).map_or(1024, |bins| bins.dim());
    Parameters {
        bins: Some(bins),
        ..Parameters::new(Required { mechanism: id, dim, k, epsilon, beta: 255.0, range, seed: Seed([1; 32]) })
    }
}

#[test]
fn mnist_blocks_reach_the_table() {
    let Some(mnist) = Images::mnist() else { return };
    let grid: Partition = "grid:28x28".parse().unwrap();
    for (epsilon, private, exact) in
        [(0.5, 0.14, 0.23), (1.0, 0.34, 0.42), (2.0, 0.56, 0.61), (3.0, 0.66, 0.70), (5.0, 0.81, 0.82)]
    {
        let k = grid.suggested_k(epsilon).unwrap();
        let found = mnist.recall(&staircase(grid.clone(), k, epsilon), None);
        println!("MNIST epsilon {epsilon}, {k} blocks: {:.3} / {:.3}", found.0, found.1);
        assert!(found.0 >= private && found.1 >= exact, "epsilon {epsilon}: {found:?}");
    }
    let mut nibbles = staircase(grid, 64, 1.0);
    nibbles.norm = Some(9.2 * 255.0);
    let found = mnist.recall(&nibbles, Some(Encoding::B4));
    println!("MNIST epsilon 1, 256 bits per row: {:.3} / {:.3}", found.0, found.1);
    assert!(found.0 >= 0.32 && found.1 >= 0.41, "{found:?}");
}

#[test]
fn cifar_blocks_reach_the_table() {
    let Some(cifar) = Images::cifar() else { return };
    let grid: Partition = "grid:32x32".parse().unwrap();
    for (epsilon, private, exact) in [(1.0, 0.33, 0.41), (3.0, 0.60, 0.64)] {
        let k = grid.suggested_k(epsilon).unwrap();
        let found = cifar.recall(&staircase(grid.clone(), k, epsilon), None);
        println!("CIFAR epsilon {epsilon}, {k} blocks: {:.3} / {:.3}", found.0, found.1);
        assert!(found.0 >= private && found.1 >= exact, "epsilon {epsilon}: {found:?}");
    }
}

/// Bins learned from 200 public rows, at epsilon 1.
#[test]
fn bins_learned_from_200_rows_reach_the_table() {
    for (name, images) in [("MNIST", Images::mnist()), ("CIFAR", Images::cifar())] {
        let Some(images) = images else { continue };
        let bins = Partition::of(&learn_bins(images.sample(), BinsOptions::new(64)).unwrap());
        let range = Range { lo: 0.0, hi: 255.0 };
        let id = MechanismId::DpOporpStaircase;
        let parameters = Parameters::new(Required {
            mechanism: id,
            dim: images.rows().dim(),
            k: 64,
            epsilon: 1.0,
            beta: 255.0,
            range,
            seed: Seed([1; 32]),
        });
        let found = images.recall(&Parameters { bins: Some(bins), ..parameters }, None);
        println!("{name} epsilon 1, learned bins: {:.3} / {:.3}", found.0, found.1);
        assert!(found.0 >= 0.31 && found.1 >= 0.39, "{name}: {found:?}");
    }
}

/// MiniLM, exact queries, recall@10: the table of the specification for records.
struct Sentences {
    rows: Batch,
    public: Batch,
}

impl Sentences {
    fn load() -> Option<Self> {
        Some(Self { rows: data("minilm-clinc150/embeddings.npy")?, public: data("minilm-public/embeddings.npy")? })
    }

    /// The file is sorted by intent: of every 15 rows one is asked for, a seventh is held apart, the others are released.
    fn part(&self, wanted: impl Fn(usize) -> bool) -> Vec<f64> {
        let rows = self.rows.rows();
        let mut row = vec![0.0; rows.dim()];
        let mut all = Vec::new();
        for i in (0..rows.len()).filter(|&i| wanted(i)) {
            rows.row_f64(i, &mut row);
            all.extend_from_slice(&row);
        }
        all
    }

    fn held_apart(i: usize) -> bool {
        !i.is_multiple_of(15) && i % 7 == 3
    }

    fn recall(&self, parameters: Parameters) -> f64 {
        let released_rows = self.part(|i| !i.is_multiple_of(15) && !Self::held_apart(i));
        let asked = self.part(|i| i.is_multiple_of(15));
        let rows = Rows::dense(Scalars::F64(&released_rows), 384);
        let queries = Rows::dense(Scalars::F64(&asked), 384);
        let features = |rows: Rows<'_>| Features::from_rows(&rows);
        let truth = true_neighbours(&features(rows), &features(queries), 10).unwrap();
        let mechanism = Mechanism::new(parameters).unwrap();
        let exact = ExactQueries::project(&mechanism, queries).unwrap();
        let release = released(&mechanism, None, 0, rows);
        let found = search(&release, Queries::Exact(&exact), 10, None).unwrap();
        let rankings: Vec<Vec<u32>> =
            found.iter().map(|hits| hits.iter().map(|hit| hit.row as u32).collect()).collect();
        precision_recall(&rankings, &truth, &[10])[0].recall
    }
}

fn record(id: MechanismId, k: usize, epsilon: f64) -> Parameters {
    Parameters::new(Required {
        mechanism: id,
        dim: 384,
        k,
        epsilon,
        beta: 0.5,
        range: Range { lo: -0.25, hi: 0.25 },
        seed: Seed([1; 32]),
    })
}

#[test]
fn search_caps_find_sentences() {
    let Some(sentences) = Sentences::load() else { return };
    for (epsilon, least) in [(10.0, 0.09), (20.0, 0.28), (30.0, 0.39)] {
        let purpose = Some(Purpose::Search);
        let found = sentences.recall(Parameters { purpose, ..record(MechanismId::Privcube, 64, epsilon) });
        println!("MiniLM epsilon {epsilon}, search cap: {found:.3}");
        assert!(found >= least, "epsilon {epsilon}: {found}");
    }
}

#[test]
fn books_find_sentences() {
    let Some(sentences) = Sentences::load() else { return };
    let own = sentences.part(Sentences::held_apart); // neither released nor asked for
    let own = Rows::dense(Scalars::F64(&own), 384);
    for (name, public, least) in [("public", sentences.public.rows(), 0.12), ("in-domain", own, 0.28)] {
        let book = Some(TableFile::of(make_book(public, 16_384).unwrap()));
        let found = sentences.recall(Parameters { book, ..record(MechanismId::Privbook, 384, 10.0) });
        println!("MiniLM epsilon 10, {name} book: {found:.3}");
        assert!(found >= least, "{name}: {found}");
    }
}
