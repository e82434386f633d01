//! `plan` with a public sample, against the menu with public structure: the choice, and what was expected of it.

use super::few_symbols::{recall, truth};
use super::plan::{Set, asked_epsilons, held_out, sets};
use crate::support::released;
use scumble::mechanism::{MechanismId, Parameters, Required};
use scumble::plan::{Choice, Measured, Public, Request, plan, plan_with_public};
use scumble::privacy::Unit;
use scumble::projection::{Partition, Seed};
use scumble::recall::Features;
use scumble::structure::Coherence;
use scumble::training::ridge;
use scumble::vectors::{Range, Rows, Scalars};
use scumble_lab::digits;

/// Rows that are searched.
const ROWS: usize = 2700;

/// Plain sketches, blocks of images and learned bins over a ladder of sizes, with the law that suits them.
fn menu(set: &Set, public: Rows<'_>, epsilon: f64) -> Vec<Parameters> {
    use MechanismId::{DpOporpLattice, DpOporpStaircase, DpOporpZones, DpSignoporpCeil};
    let plain = [
        (DpOporpStaircase, 64, None),
        (DpOporpStaircase, 256, None),
        (DpOporpLattice, 512, Some(16)),
        (DpOporpZones, 1024, Some(3)),
        (DpSignoporpCeil, 256, None),
        (DpSignoporpCeil, 1024, None),
    ];
    let mut menu: Vec<Parameters> =
        plain.into_iter().map(|(id, k, symbols)| set.parameters(id, k.min(public.dim()), symbols, epsilon)).collect();
    let mut add = |k: usize, bins: Partition| {
        for id in [DpOporpStaircase, DpSignoporpCeil] {
            menu.push(Parameters { bins: Some(bins.clone()), ..set.parameters(id, k, None, epsilon) });
        }
    };
    if let Some(grid) = set.images {
        let sizes = [25, 49, 64, 100, 196, 256].into_iter().filter(|k| grid.bins(*k).is_ok());
        sizes.for_each(|k| add(k, Partition::Grid(grid)));
    }
    let coherence = Coherence::learn(public, None).unwrap();
    for k in [32, 64, 256, 1024].into_iter().filter(|k| 2 * k <= public.dim()) {
        add(k, Partition::of(&coherence.bins(k).unwrap()));
    }
    menu
}

fn words(choice: &Choice) -> String {
    let Parameters { mechanism, k, symbols, sketch_clip, bins, .. } = choice.mechanism.parameters();
    let bins = bins.as_ref().map(|bins| bins.name().chars().take(10).collect::<String>());
    format!("{mechanism} k={k} {symbols:?} {sketch_clip:?} {bins:?} {}", choice.encoding)
}

/// The epsilons of a data set: one, from small to large, because a whole table takes minutes. SCUMBLE_PLAN_EPSILONS=0.5,1,2
/// measures others, and prints a line for each.
fn epsilons(set: &Set) -> Vec<f64> {
    asked_epsilons().unwrap_or_else(|| {
        vec![match &*set.name {
            "MNIST" => 0.5,
            "MiniLM" => 2.0,
            "CIFAR" => 5.0,
            _ => 3.0,
        }]
    })
}

/// Where the plan is below 95% of the best of the menu, below the plan by numbers, or a tenth off what it expected. A
/// hundredth is what 200 queries cannot tell apart.
fn misses(set: &Set) -> Vec<String> {
    let tables = set.shuffled([ROWS.min(set.len() / 3), 200.min(set.len() / 10), 6000]);
    let [rows, queries, public] = tables.each_ref().map(Features::rows);
    let all = truth(rows, queries);
    let mut wrong = Vec::new();
    for epsilon in epsilons(set) {
        let parameters = set.parameters(MechanismId::DpSignoporpCeil, 8, None, epsilon);
        let request = Request { parameters, mechanism: None, k: None, encoding: None, bytes: None };
        let today = plan(&request).unwrap().best;
        let shown = Public { sample: Some(public), images: set.images, classes: None };
        let best = plan_with_public(&request, shown).unwrap().best;
        let of = |choice: &Choice| recall(choice.mechanism.parameters(), Some(choice.encoding), rows, queries, &all);
        let found = of(&best);
        let same = best.mechanism.parameters() == today.mechanism.parameters() && best.encoding == today.encoding;
        let by_numbers = if same { found } else { of(&today) };
        let (most, name) = menu(set, public, epsilon)
            .iter()
            .map(|p| {
                let name = format!("{} k={} bins {}", p.mechanism, p.k, p.bins.is_some());
                (recall(p, None, rows, queries, &all), name)
            })
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        let Some(measured @ Measured::Search { rows: searched, recall: expected, .. }) = best.measured else {
            panic!()
        };
        let there = if searched < rows.len() {
            let few = rows.slice(0, searched);
            recall(best.mechanism.parameters(), Some(best.encoding), few, queries, &truth(few, queries))
        } else {
            found
        };
        let said = if measured.is_telling() { "expected" } else { "not said:" };
        let line = format!(
            "{} epsilon {epsilon}: {found:.3} {}; by numbers {by_numbers:.3} {}; menu {most:.3} {name}; {said} {:.3} of {searched} \
             rows, is {there:.3}",
            set.name,
            words(&best),
            words(&today),
            expected.private,
        );
        println!("{line}");
        let off = measured.is_telling() && (there - expected.private).abs() > 0.1;
        if found < 0.95 * most - 0.01 || found < by_numbers - 0.01 || off {
            wrong.push(line);
        }
    }
    wrong
}

#[test]
fn a_public_sample_finds_what_suits_the_data_and_says_what_to_expect() {
    let wrong: Vec<String> = sets().iter().flat_map(misses).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same on data that chose none of the settings.
#[test]
fn a_public_sample_suits_data_of_other_kinds() {
    let wrong: Vec<String> = held_out().iter().flat_map(misses).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whole records too: what is expected of sentences is what other sentences of the same kind give, within a tenth.
#[test]
fn a_public_sample_says_what_to_expect_of_whole_records() {
    for set in sets().into_iter().filter(|set| set.name == "MiniLM") {
        let tables = set.shuffled([1200, 200, 2600]);
        let [rows, queries, public] = tables.each_ref().map(Features::rows);
        let parameters = set.parameters(MechanismId::Privcube, 64, None, 10.0);
        let parameters = Parameters { unit: Unit::Record, ..parameters };
        let request = Request { parameters, mechanism: None, k: None, encoding: None, bytes: None };
        let best = plan_with_public(&request, Public { sample: Some(public), ..Public::default() }).unwrap().best;
        let Some(Measured::Search { rows: searched, recall: expected, .. }) = best.measured else { panic!() };
        let few = rows.slice(0, searched.min(rows.len()));
        let found = recall(best.mechanism.parameters(), Some(best.encoding), few, queries, &truth(few, queries));
        println!(
            "{}: expected {:.3} of {searched} rows, is {found:.3} of {}",
            words(&best),
            expected.private,
            few.len()
        );
        assert!((found - expected.private).abs() < 0.1, "{found} {expected:?}");
    }
}

/// Digits: with labels the plan is for training. What it expects of a model is what other rows give, within a tenth, and no
/// plan by numbers is better.
#[test]
fn labelled_public_rows_say_what_a_model_will_learn() {
    const PUBLIC: usize = 3000;
    let (images, dim) = (digits::images(), 784);
    let labels: Vec<u32> = digits::labels().into_iter().map(u32::from).collect();
    let rows = |from: usize, to: usize| Rows::dense(Scalars::U8(&images[from * dim..to * dim]), dim);
    let n = labels.len();
    for epsilon in [0.5, 2.0] {
        let range = Range::new(0.0, 255.0).unwrap();
        let parameters = Parameters::new(Required {
            mechanism: MechanismId::DpSignoporpCeil,
            dim,
            k: 8,
            epsilon,
            beta: 255.0,
            range,
            seed: Seed([5; 32]),
        });
        let request = Request { parameters, mechanism: None, k: None, encoding: None, bytes: None };
        let public = Public { sample: Some(rows(0, PUBLIC)), classes: Some(&labels[..PUBLIC]), images: None };
        let best = plan_with_public(&request, public).unwrap().best;
        let Some(Measured::Training { rows: trained, accuracy: expected, .. }) = best.measured else { panic!() };
        let by_numbers = plan(&request).unwrap().best;
        let of = |choice: &Choice| {
            let values = |key: u8, from: usize, to: usize| {
                let release = released(&choice.mechanism, Some(choice.encoding), key, rows(from, to));
                Features::dense(release.all_values(), release.k())
            };
            let middle = PUBLIC + trained;
            let (train, test) = (values(1, PUBLIC, middle), values(2, middle, n));
            ridge::train_and_test((&train, &labels[PUBLIC..middle]), (&test, &labels[middle..])).unwrap().unwrap()
        };
        let (found, plain) = (of(&best), of(&by_numbers));
        println!(
            "epsilon {epsilon}: {} expected {:.3}, is {found:.3}; by numbers {plain:.3}",
            words(&best),
            expected.private
        );
        assert!((found - expected.private).abs() < 0.1 && found > plain - 0.02, "{found} {expected:?} {plain}");
        assert!(expected.private <= expected.exact_rows + 0.02 && expected.without_privacy.unwrap() > 0.8);
    }
}
