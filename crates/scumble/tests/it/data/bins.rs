//! What bins of a public partition keep of real data: the table of the specification (section 4d). Left out, aloud,
//! without the data. Noise is keyed, so that no run fails by bad luck.

use crate::support::{released, shared};
use scumble::decode::{self, Method};
use scumble::files::{Batch, ReadOptions, read_all};
use scumble::mechanism::{Mechanism, MechanismId, Parameters};
use scumble::projection::{Partition, Seed};
use scumble::recall::{Features, precision_recall, true_neighbours};
use scumble::release::{Encoding, Release};
use scumble::search::{ExactQueries, Queries, search};
use scumble::vectors::{Layout, Range, Rows};

const ROWS: usize = 20_000;
const QUERIES: usize = 200;
const TOP: usize = 50;

/// Rows, queries and the true neighbours of the queries.
pub struct Images {
    rows: Batch,
    queries: Batch,
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
        Self::new(data("mnist/train-images-idx3-ubyte.gz")?, data("mnist/t10k-images-idx3-ubyte.gz")?)
    }

    fn new(rows: Batch, queries: Batch) -> Option<Self> {
        let features = |rows: Rows<'_>| Features::from_rows(&rows);
        let truth =
            true_neighbours(&features(rows.rows().slice(0, ROWS)), &features(spread(&queries, 0, 50)), TOP).unwrap();
        Some(Self { rows, queries, truth })
    }

    pub fn rows(&self) -> Rows<'_> {
        self.rows.rows().slice(0, ROWS)
    }

    pub fn queries(&self) -> Rows<'_> {
        spread(&self.queries, 0, 50)
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
    Parameters { bins: Some(bins), ..Parameters::new(id, 784, k, epsilon, 255.0, range, Seed([1; 32])) }
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
    println!("MNIST epsilon 1, 256 bits a row: {:.3} / {:.3}", found.0, found.1);
    assert!(found.0 >= 0.32 && found.1 >= 0.41, "{found:?}");
}
