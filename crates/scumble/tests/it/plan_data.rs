//! `plan` against the menu on real data: what it chooses from public numbers must be about as good as the best choice.

use crate::symbols_data::{data, recall, truth};
use scumble::io::Batch;
use scumble::mechanism::{MechanismId, Parameters};
use scumble::plan::{Request, plan};
use scumble::projection::Seed;
use scumble::release::Encoding;
use scumble::vectors::{Range, Rows};

struct Set {
    name: &'static str,
    rows: Batch,
    queries: Option<Batch>,
    range: Range,
    beta: f64,
    norm: f64,
    density: f64,
}

/// The four data sets with numbers that a publisher would know beforehand.
fn sets() -> Vec<Set> {
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
    /// Up to 6,000 rows to search in, 100 to ask with.
    fn split(&self) -> (Rows<'_>, Rows<'_>) {
        let all = self.rows.rows();
        let queries = match &self.queries {
            Some(batch) => batch.rows().slice(0, 100),
            None => all.slice(all.len() - 100, 100),
        };
        (all.slice(0, all.len().min(6000)), queries)
    }

    fn parameters(&self, mechanism: MechanismId, k: usize, symbols: Option<u8>, epsilon: f64) -> Parameters {
        let dim = self.rows.rows().dim();
        let mut parameters = Parameters::new(mechanism, dim, k, epsilon, self.beta, self.range, Seed([2; 32]));
        (parameters.symbols, parameters.norm, parameters.density) = (symbols, Some(self.norm), Some(self.density));
        parameters
    }

    /// Compares what `plan` chooses with the best of the menu; the epsilons at which it is further behind than `slack`.
    fn behind(&self, bytes: Option<usize>, menu: &[Entry], epsilons: &[f64], slack: f64) -> Vec<(&'static str, f64)> {
        let (rows, queries) = self.split();
        let truth = truth(rows, queries);
        let falls_behind = |&epsilon: &f64| {
            let parameters = self.parameters(MechanismId::DpSignoporpCeil, 8, None, epsilon);
            let request = Request { parameters, mechanism: None, k: None, encoding: None, bytes };
            let best = plan(&request).unwrap().best;
            let chosen = recall(best.mechanism.parameters(), Some(best.encoding), rows, queries, &truth);
            let (mut most, mut which) = (0.0, String::new());
            for &(id, k, symbols, encoding) in menu {
                let parameters = self.parameters(id, k.min(rows.dim()), symbols, epsilon);
                let found = recall(&parameters, encoding, rows, queries, &truth);
                if found > most {
                    (most, which) = (found, format!("{id} k={} {symbols:?}", parameters.k));
                }
            }
            let Parameters { mechanism, k, symbols, sketch_clip, .. } = best.mechanism.parameters();
            println!(
                "{} epsilon {epsilon}: auto {mechanism} k={k} {symbols:?} clip {sketch_clip:?} {} {chosen:.3} (forecast \
                 {:.3}); best of the menu {which} {most:.3}",
                self.name, best.encoding, best.forecast.recall.private
            );
            // A hundredth of recall is what 100 queries cannot tell apart.
            chosen < (1.0 - slack) * most - 0.01
        };
        epsilons.iter().copied().filter(falls_behind).map(|epsilon| (self.name, epsilon)).collect()
    }
}

/// Mechanism, k, symbols, encoding.
type Entry = (MechanismId, usize, Option<u8>, Option<Encoding>);

/// 256 bits a row; menu: the splits of section 4b. Most cells are within 3%; the goal is all of them.
#[test]
fn auto_keeps_three_quarters_of_the_best_split_of_256_bits() {
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
        sets().iter().flat_map(|set| set.behind(Some(32), &menu, &[1.0, 2.0, 3.0, 5.0], 0.25)).collect();
    assert!(behind.is_empty(), "auto is behind the menu on {behind:?}");
}

/// Any size; menu: bits, symbols and values over a ladder of k.
#[test]
fn auto_keeps_three_quarters_of_the_best_of_any_size() {
    use MechanismId::*;
    let forms =
        [(DpSignoporpCeil, None), (DpOporpLattice, Some(16)), (DpOporpZones, Some(3)), (DpOporpStaircase, None)];
    let menu: Vec<Entry> =
        [32, 64, 128, 512].into_iter().flat_map(|k| forms.map(|(id, symbols)| (id, k, symbols, None))).collect();
    let behind: Vec<_> = sets().iter().flat_map(|set| set.behind(None, &menu, &[1.0, 2.0, 5.0, 10.0], 0.25)).collect();
    assert!(behind.is_empty(), "auto is behind the menu on {behind:?}");
}
