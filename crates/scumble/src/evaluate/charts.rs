//! From measurements to charts and tables.

use super::outcome::{Estimate, Outcome, Outcomes};
use super::plot::{Axis, Panel, Series, Stroke};
use super::report::{Cell, Table};
use crate::mechanism::MechanismId;

/// Places in the palette for our mechanisms and for the paper's, in the order of appearance.
const OURS: [usize; 4] = [0, 2, 5, 6];
const THEIRS: [usize; 6] = [1, 3, 4, 7, 6, 5];

/// A metric against epsilon, one curve a design: ours solid, the paper's dashed.
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
                outcomes.estimate(cell).map(|e| (epsilon, e.mean, e.half))
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
    if let Some(e) = outcomes.estimate(without) {
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

/// One row a design and size, one column an epsilon; the best of each column stands out.
pub fn table(outcomes: &Outcomes, caption: &str, metric: &str, wanted: impl Fn(&Outcome) -> bool) -> Table {
    let epsilons = epsilons(outcomes);
    let chosen = |o: &Outcome| wanted(o) && o.metric == metric;
    let cell = |design: &str, k: usize, epsilon: f64| {
        outcomes.estimate(|o| chosen(o) && o.design == design && o.k == k && o.epsilon == epsilon)
    };
    let mut lines: Vec<(String, usize, usize)> = Vec::new();
    for o in outcomes.0.iter().filter(|o| chosen(o)) {
        let line = (o.design.clone(), o.k, o.bits_per_row);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let best: Vec<f64> = epsilons
        .iter()
        .map(|e| lines.iter().filter_map(|(d, k, _)| cell(d, *k, *e)).map(|e| e.mean).fold(0.0, f64::max))
        .collect();
    let show = |e: Option<Estimate>, best: f64| match e {
        None => Cell::Number("–".into()),
        Some(e) => {
            let text = if e.half > 0.0 { format!("{:.3} ±{:.3}", e.mean, e.half) } else { format!("{:.3}", e.mean) };
            if e.mean >= best { Cell::Best(text) } else { Cell::Number(text) }
        }
    };
    let rows = lines
        .iter()
        .map(|(design, k, bits)| {
            let mut row = vec![Cell::Text(design.clone()), Cell::Number(k.to_string()), Cell::Number(bits.to_string())];
            if let Some(e) = cell(design, *k, f64::INFINITY) {
                row.extend(epsilons.iter().map(|_| show(Some(e), f64::INFINITY)));
            } else {
                row.extend(epsilons.iter().zip(&best).map(|(e, best)| show(cell(design, *k, *e), *best)));
            }
            row
        })
        .collect();
    let head = ["Mechanism", "k", "bits a row"].into_iter().map(String::from);
    Table { caption: caption.into(), head: head.chain(epsilons.iter().map(|e| format!("ε = {e}"))).collect(), rows }
}
