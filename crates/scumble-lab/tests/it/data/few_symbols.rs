//! What few symbols keep of real data, beside the paper's sign mechanism. Left out, aloud, without the data.

use crate::support::released;
use scumble::files::{Batch, ReadOptions, read_all};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::plan::{Public, Request};
use scumble::projection::Seed;
use scumble::recall::Features;
use scumble::recall::{precision_recall, true_neighbours};
use scumble::release::Encoding;
use scumble::search::{Queries, search};
use scumble::vectors::{Range, Rows};
use scumble_lab::evaluate::sweep::{Candidate, Settings, classification};
use std::path::Path;

const TOP: usize = 50;

pub fn data(name: &str) -> Option<Batch> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !path.exists() {
        println!("LEFT OUT: ../shared/data/{name} is not here");
        return None;
    }
    let dim = name.starts_with("spamassassin").then_some(171_642); // both parts have the same attributes
    let label = dim.map(|_| "label".to_owned());
    Some(read_all(&path, &ReadOptions { dim, label, ..ReadOptions::default() }).unwrap())
}

/// The true neighbours by cosine.
pub fn truth(rows: Rows<'_>, queries: Rows<'_>) -> Vec<Vec<u32>> {
    true_neighbours(&Features::from_rows(&rows), &Features::from_rows(&queries), TOP).unwrap()
}

/// Recall@50 of released queries in released rows.
pub fn recall(
    parameters: &Parameters,
    encoding: Option<Encoding>,
    rows: Rows<'_>,
    queries: Rows<'_>,
    truth: &[Vec<u32>],
) -> f64 {
    let mechanism = Mechanism::new(parameters.clone()).unwrap();
    let (release, asked) = (released(&mechanism, encoding, 1, rows), released(&mechanism, encoding, 2, queries));
    let found = search(&release, Queries::Released(&asked), TOP, None).unwrap();
    let rankings: Vec<Vec<u32>> = found.iter().map(|hits| hits.iter().map(|hit| hit.row as u32).collect()).collect();
    precision_recall(&rankings, truth, &[TOP])[0].recall
}

/// All 60,000 rows of MNIST, 100 queries from its test set, epsilon 5, 256 bits per row.
#[test]
fn mnist_one_bit_is_twice_and_three_symbols_two_and_a_half_times_the_papers_best() {
    let (Some(train), Some(test)) = (data("mnist/train-images-idx3-ubyte.gz"), data("mnist/t10k-images-idx3-ubyte.gz"))
    else {
        return;
    };
    let (rows, queries) = (train.rows(), test.rows().slice(0, 100));
    let truth = truth(rows, queries);
    let base = |id, k| {
        let range = Range { lo: 0.0, hi: 255.0 };
        let mut parameters = Parameters::new(Required {
            mechanism: id,
            dim: 784,
            k,
            epsilon: 5.0,
            beta: 255.0,
            range,
            seed: Seed([1; 32]),
        });
        (parameters.norm, parameters.density) = (Some(9.2 * 255.0), Some(0.19));
        parameters
    };
    let score = |parameters: &Parameters| recall(parameters, None, rows, queries, &truth);
    let papers = [1, 2, 4].map(|repeats| score(&Parameters { repeats, ..base(MechanismId::DpSignoporpRrSmooth, 256) }));
    let paper = papers.into_iter().fold(0.0, f64::max);
    let bit = score(&base(MechanismId::DpSignoporpCeil, 256));
    let three = score(&Parameters { symbols: Some(3), ..base(MechanismId::DpOporpLattice, 160) });
    println!(
        "MNIST 60,000 rows, epsilon 5, 256 bits: paper's best sign {paper:.3} {papers:.3?}, bit {bit:.3}, 3 symbols {three:.3}"
    );
    assert!(bit >= 2.0 * paper, "bit {bit} paper {paper}");
    assert!(three >= 2.5 * paper, "3 symbols {three} paper {paper}");
}

/// Accuracy of a linear model on SpamAssassin, k = 1024, with the C that `LinearSVC` has by default: a bit, and what `plan`
/// chooses from public numbers, are above the paper's signs; at epsilon 3 a bit is four points above them. Five standard
/// errors lie between them at each epsilon. (`reproduce` chooses C for each by cross-validation.)
#[test]
fn spam_is_told_from_one_bit_and_from_what_plan_chooses_better_than_from_the_papers_signs() {
    let [Some(train), Some(test)] = ["train", "test"].map(|part| data(&format!("spamassassin-trigram/{part}.svm.gz")))
    else {
        return;
    };
    let epsilons = [2.0, 5.0]; // and 3 below
    let parameters = |id| {
        let range = Range { lo: 0.0, hi: 1.0 };
        let parameters = Parameters::new(Required {
            mechanism: id,
            dim: train.rows().dim(),
            k: 1024,
            epsilon: 1.0,
            beta: 1.0,
            range,
            seed: Seed([1; 32]),
        });
        Parameters { norm: Some(3.5), density: Some(0.005), ..parameters }
    };
    let [rr, smooth, bit] =
        [MechanismId::DpSignoporpRr, MechanismId::DpSignoporpRrSmooth, MechanismId::DpSignoporpCeil]
            .map(|id| Candidate::new(parameters(id), None));
    let numbers = parameters(MechanismId::DpSignoporpCeil);
    let request = Request { parameters: numbers, mechanism: None, k: Some(1024), encoding: None, bytes: None };
    let auto = Candidate::auto(&request, &epsilons, Public::default()).unwrap();
    let settings = Settings {
        task: "spam".into(),
        epsilons: epsilons.to_vec(),
        repetitions: 2, // .04 apart; by the error bars of docs/results.md the standard error of that is .006
        depths: Vec::new(),
        true_neighbours: None,
        exact_queries: false,
        without_privacy: false,
        rows_as_they_are: false,
        svm_c: Some(1.0),
    };
    let labels = |batch: &Batch| {
        let column = batch.labels().unwrap();
        (0..column.len()).map(|i| u32::from(column.text(i).parse::<f64>().unwrap() > 0.0)).collect::<Vec<_>>()
    };
    let (learnt, asked) = (labels(&train), labels(&test));
    let candidates = [rr, smooth, bit, auto];
    let (train, test) = ((train.rows(), &learnt[..]), (test.rows(), &asked[..]));
    let found = classification(train, test, &candidates, &settings, &mut |_, _| ()).unwrap();
    for epsilon in epsilons {
        let [rr, smooth, bit, auto] =
            candidates.each_ref().map(|c| found.average(|o| o.design == c.name && o.epsilon == epsilon).unwrap().mean);
        println!("epsilon {epsilon}: signs {rr:.3} {smooth:.3}, bit {bit:.3}, auto {auto:.3}");
        assert!(bit.min(auto) > rr.max(smooth), "{epsilon}: {rr} {smooth} {bit} {auto}");
    }
    let settings = Settings { epsilons: vec![3.0], repetitions: 4, ..settings };
    let found = classification(train, test, &candidates[..3], &settings, &mut |_, _| ()).unwrap();
    let [rr, smooth, bit] = [0, 1, 2].map(|i| found.average(|o| o.design == candidates[i].name).unwrap().mean);
    println!("epsilon 3: signs {rr:.3} {smooth:.3}, bit {bit:.3}");
    assert!(bit > rr.max(smooth) + 0.04, "{rr} {smooth} {bit}");
}
