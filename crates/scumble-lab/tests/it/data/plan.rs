//! `plan` against the menu on real data: what it chooses on a public sample must be as good as the best.

use super::few_symbols::{data, recall, truth};
use scumble::files::Batch;
use scumble::mechanism::{MechanismId, Parameters};
use scumble::plan::{Request, plan, plan_with_sample};
use scumble::projection::Seed;
use scumble::recall::Features;
use scumble::release::Encoding;
use scumble::vectors::{Range, Rows};

pub struct Set {
    pub name: &'static str,
    rows: Batch,
    queries: Option<Batch>,
    range: Range,
    beta: f64,
    norm: f64,
    density: f64,
}

/// The four data sets with numbers that a publisher would know beforehand.
pub fn sets() -> Vec<Set> {
    let set = |name, rows: &str, queries: Option<&str>, (lo, hi), beta, norm, density| {
        let queries = match queries {
            Some(file) => Some(data(file)?),
            None => None,
        };
        Some(Set { name, rows: data(rows)?, queries, range: Range { lo, hi }, beta, norm, density })
    };
    let mnist = ["mnist/train-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz"];
    let spam = ["spamassassin-trigram/train.svm.gz", "spamassassin-trigram/test.svm.gz"];
    [
        set("MNIST", mnist[0], Some(mnist[1]), (0.0, 255.0), 255.0, 2350.0, 0.19),
        set("CIFAR", "cifar10-gray/gray.npy.gz", None, (0.0, 255.0), 255.0, 4400.0, 1.0),
        set("MiniLM", "minilm-clinc150/embeddings.npy", None, (-0.25, 0.25), 0.5, 1.0, 1.0),
        set("SpamAssassin", spam[0], Some(spam[1]), (0.0, 1.0), 1.0, 3.45, 0.0048),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Set {
    /// Up to 6,000 rows to search in, 200 to ask with, and others that a publisher would show: a public sample.
    fn split(&self) -> (Rows<'_>, Rows<'_>, Rows<'_>) {
        let all = self.rows.rows();
        let queries = match &self.queries {
            Some(batch) => batch.rows().slice(0, 200),
            None => all.slice(all.len() - 200, 200),
        };
        let half = all.len() / 2;
        (all.slice(0, half.min(6000)), queries, all.slice(half, (half - 200).min(6000)))
    }

    /// Rows in its file.
    pub fn len(&self) -> usize {
        self.rows.rows().len()
    }

    /// Tables of up to so many rows, none of them in two, whatever the order of the file.
    pub fn shuffled<const N: usize>(&self, sizes: [usize; N]) -> [Features; N] {
        let all = Features::from_rows(&self.rows.rows());
        let mut order = all.shuffled_order();
        sizes.map(|size| all.select(&order.split_off(order.len().saturating_sub(size))))
    }

    pub fn parameters(&self, mechanism: MechanismId, k: usize, symbols: Option<u8>, epsilon: f64) -> Parameters {
        let dim = self.rows.rows().dim();
        let mut parameters = Parameters::new(mechanism, dim, k, epsilon, self.beta, self.range, Seed([2; 32]));
        (parameters.symbols, parameters.norm, parameters.density) = (symbols, Some(self.norm), Some(self.density));
        parameters
    }

    /// Compares what `plan` chooses with the best of the menu; the choices that are further behind than `slack` when a
    /// public sample was shown, and than a quarter when only numbers were.
    fn behind(&self, bytes: Option<usize>, menu: &[Entry], epsilons: &[f64], slack: f64) -> Vec<String> {
        let (rows, queries, sample) = self.split();
        let truth = truth(rows, queries);
        let mut behind = Vec::new();
        for &epsilon in epsilons {
            let mut most = (0.0, String::new());
            for &(id, k, symbols, encoding) in menu {
                let parameters = self.parameters(id, k.min(rows.dim()), symbols, epsilon);
                let found = recall(&parameters, encoding, rows, queries, &truth);
                if found > most.0 {
                    most = (found, format!("{id} k={} {symbols:?}", parameters.k));
                }
            }
            println!("{} epsilon {epsilon}: best of the menu {:.3} {}", self.name, most.0, most.1);
            let parameters = self.parameters(MechanismId::DpSignoporpCeil, 8, None, epsilon);
            let request = Request { parameters, mechanism: None, k: None, encoding: None, bytes };
            let (numbers, shown) = (plan(&request).unwrap().best, plan_with_sample(&request, sample).unwrap().best);
            for (by, choice, slack) in [("numbers", numbers, 0.25), ("sample", shown, slack)] {
                let chosen = recall(choice.mechanism.parameters(), Some(choice.encoding), rows, queries, &truth);
                let Parameters { mechanism, k, symbols, sketch_clip, .. } = choice.mechanism.parameters();
                let line =
                    format!("by {by} {chosen:.3} {mechanism} k={k} {symbols:?} {sketch_clip:?} {}", choice.encoding);
                println!("    {line}");
                // A hundredth of recall is what 200 queries cannot tell apart.
                if chosen < (1.0 - slack) * most.0 - 0.01 {
                    behind.push(format!("{} epsilon {epsilon}: {line}; menu {:.3} {}", self.name, most.0, most.1));
                }
            }
        }
        behind
    }
}

/// Mechanism, k, symbols, encoding.
type Entry = (MechanismId, usize, Option<u8>, Option<Encoding>);

/// 256 bits a row; menu: the splits of section 4b.
#[test]
fn auto_is_within_three_percent_of_the_best_split_of_256_bits() {
    use MechanismId::*;
    let menu = [
        (DpSignoporpCeil, 256, None, None),
        (DpOporpLattice, 160, Some(3), None),
        (DpOporpLattice, 128, Some(4), None),
        (DpOporpLattice, 64, Some(16), None),
        (DpOporpZones, 160, Some(3), None),
        (DpOporpZones, 64, Some(5), None),
        (DpOporpStaircase, 64, None, Some(Encoding::B4)),
    ];
    let behind: Vec<_> =
        sets().iter().flat_map(|set| set.behind(Some(32), &menu, &[1.0, 2.0, 3.0, 5.0], 0.03)).collect();
    assert!(behind.is_empty(), "auto is behind the menu:\n{}", behind.join("\n"));
}

/// Any size; menu: bits, symbols and values over a ladder of k.
#[test]
fn auto_is_within_five_percent_of_the_best_of_any_size() {
    use MechanismId::*;
    let forms =
        [(DpSignoporpCeil, None), (DpOporpLattice, Some(16)), (DpOporpZones, Some(3)), (DpOporpStaircase, None)];
    let menu: Vec<Entry> =
        [32, 64, 128, 512].into_iter().flat_map(|k| forms.map(|(id, symbols)| (id, k, symbols, None))).collect();
    let behind: Vec<_> = sets().iter().flat_map(|set| set.behind(None, &menu, &[1.0, 2.0, 5.0, 10.0], 0.05)).collect();
    assert!(behind.is_empty(), "auto is behind the menu:\n{}", behind.join("\n"));
}
