//! `plan` against the menu on real data: what it chooses on a public sample must be as good as the best.

use super::few_symbols::{data, recall, truth};
use crate::support::shared;
use scumble::files::{Batch, ReadOptions, read_all};
use scumble::mechanism::{MechanismId, Parameters, Required};
use scumble::plan::{Request, images_like, plan, plan_with_sample};
use scumble::projection::{ImageGrid, Seed};
use scumble::recall::Features;
use scumble::release::Encoding;
use scumble::vectors::{Range, Rows};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub struct Set {
    pub name: String,
    pub images: Option<ImageGrid>,
    rows: Batch,
    queries: Option<Batch>,
    range: Range,
    beta: f64,
    norm: f64,
    density: f64,
}

/// The four data sets with numbers that a publisher would know beforehand.
pub fn sets() -> Vec<Set> {
    let set = |name: &str, rows: &str, queries: Option<&str>, (lo, hi), beta, norm, density| {
        let queries = match queries {
            Some(file) => Some(data(file)?),
            None => None,
        };
        let images = match name {
            "MNIST" => Some(images_like("images:28x28").unwrap()),
            "CIFAR" => Some(images_like("images:32x32").unwrap()),
            _ => None,
        };
        let (name, rows, range) = (name.to_owned(), data(rows)?, Range { lo, hi });
        Some(Set { name, images, rows, queries, range, beta, norm, density })
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

/// The epsilons of SCUMBLE_PLAN_EPSILONS=0.5,1,2, if it is set.
pub fn asked_epsilons() -> Option<Vec<f64>> {
    let list = std::env::var("SCUMBLE_PLAN_EPSILONS").ok()?;
    Some(list.split(',').map(|epsilon| epsilon.parse().unwrap()).collect())
}

/// Data of other kinds than those that the settings of `plan` were chosen with: the words of short texts, and, if
/// SCUMBLE_HELD_OUT names a folder, the sets that `tests/python/held_out.py` made and listed in its `sets.tsv`.
pub fn held_out() -> Vec<Set> {
    let set = |name: &str, rows: Batch, images: &str, [lo, hi, norm, density]: [f64; 4]| {
        let (name, images, range) = (name.to_owned(), images_like(images).ok(), Range { lo, hi });
        Set { name, images, rows, queries: None, range, beta: hi - lo, norm, density }
    };
    // A quarter is enough for one look.
    let every = if asked_epsilons().is_some() { 1 } else { 4 };
    let mut sets: Vec<Set> =
        texts(every).map(|rows| set("words", rows, "-", [0.0, 1.0, 2.9, 0.0015])).into_iter().collect();
    let Ok(folder) = std::env::var("SCUMBLE_HELD_OUT") else { return sets };
    let folder = Path::new(&folder);
    for line in std::fs::read_to_string(folder.join("sets.tsv")).unwrap().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let options = ReadOptions { dim: Some(fields[2].parse().unwrap()), ..ReadOptions::default() };
        let rows = read_all(&folder.join(fields[1]), &options).unwrap();
        sets.push(set(fields[0], rows, fields[3], [4, 5, 6, 7].map(|i: usize| fields[i].parse().unwrap())));
    }
    sets
}

/// Which words each request of CLINC150 has, or every so many-th: 23,700 short documents, sparse.
fn texts(every: usize) -> Option<Batch> {
    let texts = std::fs::read_to_string(shared("minilm-clinc150/texts.tsv")?).unwrap();
    let words = |line: &str| -> BTreeSet<String> {
        let text = line.rsplit('\t').next().unwrap_or_default().to_lowercase();
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let rows: Vec<BTreeSet<String>> = texts.lines().skip(1).step_by(every).map(words).collect();
    let vocabulary: BTreeMap<&str, usize> =
        rows.iter().flatten().map(String::as_str).collect::<BTreeSet<_>>().into_iter().zip(1..).collect();
    let line =
        |row: &BTreeSet<String>| row.iter().map(|word| format!(" {}:1", vocabulary[&**word])).collect::<String>();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("words.svm");
    std::fs::write(&file, rows.iter().map(|row| format!("0{}\n", line(row))).collect::<String>()).unwrap();
    let options = ReadOptions { dim: Some(vocabulary.len()), ..ReadOptions::default() };
    Some(read_all(&file, &options).unwrap())
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
        let mut parameters = Parameters::new(Required {
            mechanism,
            dim,
            k,
            epsilon,
            beta: self.beta,
            range: self.range,
            seed: Seed([2; 32]),
        });
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

/// Two of four epsilons for a data set, each of them for two sets; those of SCUMBLE_PLAN_EPSILONS=0.5,1,2 for all.
fn epsilons(set: &Set, four: [f64; 4]) -> Vec<f64> {
    match (asked_epsilons(), &*set.name) {
        (Some(asked), _) => asked,
        (None, "MNIST" | "MiniLM") => vec![four[0], four[2]],
        (None, _) => vec![four[1], four[3]],
    }
}

/// 256 bits per row; menu: the splits of section 4b.
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
        sets().iter().flat_map(|set| set.behind(Some(32), &menu, &epsilons(set, [1.0, 2.0, 3.0, 5.0]), 0.03)).collect();
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
    let behind: Vec<_> =
        sets().iter().flat_map(|set| set.behind(None, &menu, &epsilons(set, [1.0, 2.0, 5.0, 10.0]), 0.05)).collect();
    assert!(behind.is_empty(), "auto is behind the menu:\n{}", behind.join("\n"));
}
