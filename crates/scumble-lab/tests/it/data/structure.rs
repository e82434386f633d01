//! What coherent bins keep of mails: a linear model trained on private rows and tested on private rows.

use super::few_symbols::data;
use crate::support::released;
use scumble::files::Batch;
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::{Partition, Seed};
use scumble::recall::Features;
use scumble::structure::Coherence;
use scumble::training::ridge;
use scumble::vectors::{Range, Rows};

fn labels(batch: &Batch) -> Vec<u32> {
    let column = batch.labels().unwrap();
    (0..column.len()).map(|i| u32::from(column.text(i).parse::<f64>().unwrap() > 0.0)).collect()
}

/// One bit per bin, bins and medians from 1,000 unlabelled public mails that are neither trained on nor tested, ridge with
/// generalised cross-validation.
#[test]
fn spam_is_told_from_bits_of_coherent_bins() {
    let [Some(train), Some(test)] = ["train", "test"].map(|part| data(&format!("spamassassin-trigram/{part}.svm.gz")))
    else {
        return;
    };
    let all = Features::from_rows(&test.rows());
    let order = all.shuffled_order();
    let (public, asked) = order.split_at(1000);
    let (learned, known) = (labels(&train), labels(&test));
    let known: Vec<u32> = asked.iter().map(|&i| known[i]).collect();
    let (public, asked) = (all.select(public), all.select(asked));
    let coherence = Coherence::learn(public.rows(), None).unwrap();
    for (k, marks) in [(256, [(1.0, 0.86), (3.0, 0.94)]), (1024, [(1.0, 0.90), (3.0, 0.96)])] {
        let bins = Some(Partition::of(&coherence.bins(k).unwrap()));
        for (epsilon, mark) in marks {
            let range = Range { lo: 0.0, hi: 1.0 };
            let base = Parameters::new(Required {
                mechanism: MechanismId::DpSignoporpCeil,
                dim: public.dim(),
                k,
                epsilon,
                beta: 1.0,
                range,
                seed: Seed([1; 32]),
            });
            let mechanism = Mechanism::new(Parameters { bins: bins.clone(), ..base }).unwrap();
            let features =
                |key: u8, rows: Rows<'_>| Features::dense(released(&mechanism, None, key, rows).all_values(), k);
            let (rows, tested) = (features(1, train.rows()), features(2, asked.rows()));
            let accuracy = ridge::train_and_test((&rows, &learned), (&tested, &known)).unwrap().unwrap();
            println!("SpamAssassin k = {k}, epsilon {epsilon}: accuracy {accuracy:.3}");
            assert!(accuracy >= mark, "k = {k}, epsilon {epsilon}: {accuracy} below {mark}");
        }
    }
}
