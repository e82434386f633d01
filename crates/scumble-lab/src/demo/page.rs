//! The demo's report page.

use super::data::{DIM, QUERIES, ROWS};
use super::story::{Recall, Story, TOP};
use crate::evaluate::{Axis, Cell, Figure, Page, Panel, Series, Stroke, Table};
use scumble::words::{grouped, number};

/// The page.
pub(super) fn page(story: &Story) -> Page {
    let shown = story.results.iter().find(|r| r.epsilon == 5.0).unwrap_or(&story.results[0]);
    let kept = 100.0 * shown.ours / shown.without_privacy.max(f64::MIN_POSITIVE);
    Page::new("‹demo()›")
        .subtitle(format!("{} handwritten digits of MNIST, {DIM} pixels each, {QUERIES} queries", grouped(ROWS as u64)))
        .lead(format!(
            "At epsilon 5 for one attribute, a search over the private release finds {:.0}% of the true neighbours: \
             {kept:.0}% of what the same sketch finds without privacy. The paper's mechanism finds {:.0}%. Blocks of \
             neighbouring pixels instead of random bins find {:.0}%, with the same noise and the same promise.",
            100.0 * shown.ours,
            100.0 * shown.paper,
            100.0 * shown.blocks
        ))
        .fact(format!("{:.0}%", 100.0 * shown.blocks), "found, ours on blocks, epsilon 5")
        .fact(format!("{:.0}%", 100.0 * shown.ours), "found, ours on random bins")
        .fact(format!("{:.0}%", 100.0 * shown.paper), "found, the paper's DP-OPORP")
        .fact(format!("{:.0}%", 100.0 * shown.without_privacy), "found without privacy")
        .section("What privacy costs")
        .figure(figure(&story.results))
        .table(table(&story.results))
        .section("Two rows compared")
        .certificate(story.comparison.clone())
        .section("What was promised")
        .certificate(story.certificate.in_words(str::to_owned))
        .warning(
            "The unit of privacy is one attribute of a row (here a pixel), not the row. These digits are public; on private \
             data such an evaluation would itself be private.",
        )
        .footer(format!("scumble {}, {:.1} seconds", env!("CARGO_PKG_VERSION"), story.seconds))
}

fn figure(results: &[Recall]) -> Figure {
    let curve =
        |name: &str, value: fn(&Recall) -> f64| Series::new(name, results.iter().map(|r| (r.epsilon, value(r))));
    Figure {
        id: "recall".into(),
        title: "Recall against epsilon".into(),
        caption: format!("Share of the true {TOP} nearest rows by cosine among the first {TOP} found."),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::log("epsilon (one attribute)"),
            y: Axis::linear("recall").from_to(0.0, 1.0),
            series: vec![
                curve("ours on blocks of pixels", |r| r.blocks),
                curve("ours, exact query", |r| r.ours_exact_query).stroke(Stroke::Dashed),
                curve("ours: dp-oporp-staircase", |r| r.ours),
                curve("the paper's dp-oporp", |r| r.paper),
                curve("without privacy", |r| r.without_privacy).stroke(Stroke::Theory),
            ],
            references: Vec::new(),
        }],
    }
}

fn table(results: &[Recall]) -> Table {
    let share = |x: f64| Cell::Number(format!("{x:.3}"));
    Table {
        caption: format!("Recall of the true top {TOP}; k is what the plan chose for ours on random bins"),
        head: ["epsilon", "k", "without privacy", "paper's DP-OPORP", "ours", "ours, exact query", "ours on blocks"]
            .map(String::from)
            .to_vec(),
        rows: results
            .iter()
            .map(|r| {
                vec![
                    Cell::Number(number(r.epsilon)),
                    Cell::Number(r.k.to_string()),
                    share(r.without_privacy),
                    share(r.paper),
                    share(r.ours),
                    share(r.ours_exact_query),
                    Cell::Best(format!("{:.3}", r.blocks)),
                ]
            })
            .collect(),
    }
}
