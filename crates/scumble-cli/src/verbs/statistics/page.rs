//! The page of `scumble statistics`.

use super::{place, strongest};
use crate::print::{grouped, number};
use scumble::statistics::{Family, Statistics, Told};
use scumble_lab::evaluate::{Axis, Cell, Figure as Plot, Page, Panel, Series, Stroke, Table};

/// Lines of a table; JSON has all.
const LINES: usize = 50;

/// The page.
pub fn page(title: &str, told: &Statistics) -> Page {
    let rows: Vec<String> = told.rows.iter().map(|&rows| grouped(rows)).collect();
    let mut page = Page::new(title).subtitle(format!("{} rows", rows.join(" and "))).lead(
        "Computed from the release alone: it costs no privacy and may be shown to anyone who may see the release.",
    );
    if let Some(amplified) = &told.shuffled {
        page = page
            .fact(
                number(amplified.epsilon),
                format!("epsilon of these figures alone, delta {}", number(amplified.delta)),
            )
            .details(format!("Why {}", number(amplified.epsilon)), {
                format!("{}. It holds if {}.", amplified.theorem, amplified.conditions.join("; if "))
            });
    }
    for (name, told) in told.families() {
        page = match told {
            Told::Figures(family) => {
                page.section(heading(name)).text(family.about.clone()).figure(plot(name, family)).table(table(family))
            }
            Told::Refused { refused } => page.section(heading(name)).text(format!("Not told: {refused}.")),
        };
    }
    page.footer(format!("scumble {}", env!("CARGO_PKG_VERSION")))
}

fn heading(name: &str) -> String {
    let words = name.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}

/// Values with their intervals, in order of size.
fn plot(name: &str, family: &Family) -> Plot {
    let mut figures: Vec<_> = family.figures.iter().collect();
    figures.sort_by(|a, b| b.value.total_cmp(&a.value));
    let points = figures
        .iter()
        .enumerate()
        .map(|(x, figure)| (x as f64, figure.value, 0.5 * (figure.interval.1 - figure.interval.0)));
    Plot {
        id: name.into(),
        title: heading(name),
        caption: format!(
            "Values from the largest to the smallest, with their intervals. Correction: {}.",
            family.correction
        ),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::linear("rank"),
            y: Axis::linear("value"),
            series: vec![Series::with_band(heading(name), points).stroke(Stroke::Plain)],
            references: vec![(0.0, "0".into())],
        }],
    }
}

fn table(family: &Family) -> Table {
    let shown = strongest(family, LINES);
    let moves = shown.iter().any(|figure| figure.false_reports_move.is_some());
    let mut head = vec!["at".to_owned(), "value".into(), "from".into(), "to".into()];
    head.extend(moves.then(|| "false reports move it by".into()));
    let line = |figure: &&scumble::statistics::Figure| {
        let mut cells = vec![Cell::Text(place(figure))];
        cells.extend([figure.value, figure.interval.0, figure.interval.1].map(|x| Cell::Number(number(x))));
        cells.extend(figure.false_reports_move.map(|most| match most.is_finite() {
            true => Cell::Number(number(most)),
            false => Cell::Text("without bound".into()),
        }));
        cells
    };
    let caption = format!("The {} clearest of {}", shown.len(), family.figures.len());
    Table { caption, head, rows: shown.iter().map(line).collect() }
}
