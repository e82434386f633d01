//! From measurements to charts and tables.

use super::outcome::{Average, Outcome, Outcomes};
use super::plot::{Axis, Panel, Series, Stroke};
use super::report::{Cell, Table};
use super::sweep::chooses_k;
use scumble::mechanism::MechanismId;
use std::fmt;

/// Places in the palette for our mechanisms and for the paper's, in the order of appearance.
const OURS: [usize; 4] = [0, 2, 5, 6];
const THEIRS: [usize; 6] = [1, 3, 4, 7, 6, 5];

/// A metric against epsilon, one curve per design: ours solid, the paper's dashed.
pub fn curves(
    outcomes: &Outcomes,
    title: &str,
    metric: &str,
    designs: &[String],
    wanted: impl Fn(&Outcome) -> bool,
) -> Panel {
    let (mut ours, mut theirs) = (OURS.iter().cycle(), THEIRS.iter().cycle());
    let mut series = Vec::new();
    for design in designs {
        // Take a place for every design, so that colours agree between panels that show different sizes.
        let own = outcomes.0.iter().find(|o| &o.design == design).is_some_and(|o| is_ours(&o.mechanism));
        let (tone, stroke) = if own { (ours.next(), Stroke::Solid) } else { (theirs.next(), Stroke::Dashed) };
        let points: Vec<(f64, f64, f64)> = epsilons(outcomes)
            .into_iter()
            .filter_map(|epsilon| {
                let cell = |o: &Outcome| wanted(o) && o.metric == metric && &o.design == design && o.epsilon == epsilon;
                outcomes.average(cell).map(|e| (epsilon, e.mean, e.half))
            })
            .collect();
        if !points.is_empty() {
            let curve = Series::with_band(design.clone(), points).stroke(stroke);
            series.push(Series { tone: tone.copied(), ..curve });
        }
    }
    let mut panel =
        Panel { title: title.into(), x: Axis::log("epsilon"), y: Axis::linear(metric), series, references: Vec::new() };
    let without =
        |o: &Outcome| wanted(o) && o.metric == metric && o.mechanism == "none" && o.design.starts_with("oporp");
    if let Some(e) = outcomes.average(without) {
        panel.references.push((e.mean, "OPORP without privacy".into()));
    }
    panel
}

/// True when the id is that of a mechanism the paper does not have.
pub(crate) fn is_ours(mechanism: &str) -> bool {
    mechanism.parse::<MechanismId>().is_ok_and(|id| id.paper().starts_with("ours"))
}

/// The finite epsilons, ascending.
pub(crate) fn epsilons(outcomes: &Outcomes) -> Vec<f64> {
    let mut epsilons = outcomes.distinct(|o| o.epsilon);
    epsilons.retain(|e| e.is_finite());
    epsilons.sort_by(f64::total_cmp);
    epsilons
}

/// A design, and its size where it does not choose one by itself.
type Line = (String, Option<usize>);

/// One row per design and size, one column per epsilon; the best of each column stands out.
pub fn table(outcomes: &Outcomes, caption: &str, metric: &str, wanted: impl Fn(&Outcome) -> bool) -> Table {
    let epsilons = epsilons(outcomes);
    let chosen = |o: &Outcome| wanted(o) && o.metric == metric;
    let line = |o: &Outcome| (o.design.clone(), (!chooses_k(&o.design)).then_some(o.k));
    let cell = |of: &Line, epsilon: f64| outcomes.average(|o| chosen(o) && line(o) == *of && o.epsilon == epsilon);
    // A plan's bits, and its k if it is its own, may differ from epsilon to epsilon.
    let mut lines: Vec<(Line, [Span; 2])> = Vec::new();
    for o in outcomes.0.iter().filter(|o| chosen(o)) {
        match lines.iter_mut().find(|(of, _)| *of == line(o)) {
            Some((_, [k, bits])) => (*k, *bits) = (k.with(o.k), bits.with(o.bits_per_row)),
            None => lines.push((line(o), [Span::of(o.k), Span::of(o.bits_per_row)])),
        }
    }
    // What is not private at all does not compete.
    let private = |design: &str| !design.starts_with("idp-");
    let best_at = |epsilon: &f64| {
        let competing = lines.iter().filter(|(of, _)| private(&of.0));
        competing.filter_map(|(of, _)| cell(of, *epsilon)).map(|e| e.mean).fold(0.0, f64::max)
    };
    let best: Vec<f64> = epsilons.iter().map(best_at).collect();
    let show = |e: Option<Average>, best: f64| match e {
        None => Cell::Number("–".into()),
        Some(e) => {
            let text = if e.half > 0.0 { format!("{:.3} ±{:.3}", e.mean, e.half) } else { format!("{:.3}", e.mean) };
            if e.mean == best { Cell::Best(text) } else { Cell::Number(text) }
        }
    };
    let rows = lines
        .iter()
        .map(|(of, [k, bits])| {
            let mut row = vec![Cell::Text(of.0.clone()), Cell::Number(k.to_string()), Cell::Number(bits.to_string())];
            let without_privacy = cell(of, f64::INFINITY);
            row.extend(epsilons.iter().zip(&best).map(|(epsilon, best)| {
                let competes = without_privacy.is_none() && private(&of.0);
                let best = if competes { *best } else { f64::INFINITY };
                show(without_privacy.or(cell(of, *epsilon)), best)
            }));
            row
        })
        .collect();
    let head = ["Mechanism", "k", "bits per row"].into_iter().map(String::from);
    Table { caption: caption.into(), head: head.chain(epsilons.iter().map(|e| format!("ε = {e}"))).collect(), rows }
}

/// Least and most of a number.
#[derive(Clone, Copy)]
struct Span(usize, usize);

impl Span {
    fn of(n: usize) -> Self {
        Self(n, n)
    }

    fn with(self, n: usize) -> Self {
        Self(self.0.min(n), self.1.max(n))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(least, most) = self;
        if least == most { write!(f, "{most}") } else { write!(f, "{least} to {most}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::sweep::AUTO_BY_SAMPLE;
    use scumble::release::Encoding;

    /// A plan whose encoding differs from epsilon to epsilon is one line; what is not private is never the best.
    #[test]
    fn a_design_is_one_line_and_only_private_ones_compete() {
        let outcome = |design: &str, bits_per_row: usize, epsilon: f64, value: f64| Outcome {
            task: "toy".into(),
            design: design.into(),
            mechanism: design.into(),
            sketch: "oporp".into(),
            k: 8,
            repeats: 1,
            encoding: Encoding::B1,
            bits_per_row,
            epsilon,
            delta: 0.0,
            repetition: 0,
            metric: "recall@50".into(),
            value,
        };
        let outcomes = Outcomes(vec![
            outcome("auto", 8, 1.0, 0.5),
            outcome("auto", 256, 2.0, 0.6),
            outcome("idp-signrp-rr", 8, 1.0, 0.9),
            outcome("idp-signrp-rr", 8, 2.0, 0.6),
        ]);
        let number = |text: &str| Cell::Number(text.into());
        assert_eq!(
            table(&outcomes, "toy", "recall@50", |_| true).rows[0][1..],
            [number("8"), number("8 to 256"), Cell::Best("0.500".into()), Cell::Best("0.600".into())]
        );
        assert_eq!(table(&outcomes, "toy", "recall@50", |_| true).rows[1][3..], [number("0.900"), number("0.600")]);
        // With a k of its own at each epsilon too.
        let of = |k: usize, o: Outcome| Outcome { k, ..o };
        let roams = AUTO_BY_SAMPLE;
        let outcomes = Outcomes(vec![of(49, outcome(roams, 8, 1.0, 0.5)), of(100, outcome(roams, 8, 2.0, 0.6))]);
        let rows = table(&outcomes, "toy", "recall@50", |_| true).rows;
        assert_eq!((rows.len(), &rows[0][1]), (1, &number("49 to 100")));
    }
}
