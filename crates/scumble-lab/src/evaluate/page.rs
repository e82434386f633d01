//! The page of `evaluate`: what a user's own data keep.

use super::charts;
use super::outcome::{Outcome, Outcomes};
use super::plot::{Figure, Panel};
use super::report::Page;
use super::sweep::chooses_k;

/// The sentence that every page made from private rows carries.
pub const NOT_PRIVATE: &str = "This page was computed from the private rows themselves, so it is not differentially \
    private. Keep it where the data may be kept, and do not tune parameters on it that you then publish as if they were \
    chosen without the data.";

/// Builds the page: reading, curves, tables, the certificate of the best design at the epsilon of the reading.
pub fn evaluation(title: &str, subtitle: &str, outcomes: &Outcomes, certificate: Option<&str>) -> Page {
    let mut page = Page::new(title).subtitle(subtitle);
    let reading = Reading::of(outcomes);
    if let Some(reading) = &reading {
        page = page.lead(reading.sentences());
        page = page.fact(format!("{:.3}", reading.value), format!("{} at epsilon {}", reading.metric, reading.epsilon));
        if let Some(kept) = reading.kept() {
            page = page.fact(percent(kept), format!("of the {} without privacy", reading.metric));
        }
        page = page.fact(reading.k.to_string(), format!("values per row, {} bits stored", reading.bits));
    }
    page = page.warning(NOT_PRIVATE);
    for metric in outcomes.distinct(|o| o.metric.clone()) {
        let of_metric = |o: &Outcome| o.metric == metric;
        let figure = figure(outcomes, &metric);
        let table = charts::table(
            outcomes,
            &format!("{} by mechanism, size and epsilon", capital(&metric)),
            &metric,
            of_metric,
        );
        page = page.section(capital(&metric)).figure(figure).table(table);
    }
    if let Some(text) = certificate {
        page = page.section("What the best release would promise").certificate(text);
    }
    page
}

/// A metric against epsilon, one panel per size.
pub fn figure(outcomes: &Outcomes, metric: &str) -> Figure {
    let of_metric = |o: &Outcome| o.metric == metric;
    let designs: Vec<String> =
        Outcomes(outcomes.0.iter().filter(|o| of_metric(o) && o.mechanism != "none").cloned().collect())
            .distinct(|o| o.design.clone());
    // A plan that chooses its own k stands beside the others in every panel.
    let mut sizes = Outcomes(outcomes.0.iter().filter(|o| !chooses_k(&o.design)).cloned().collect()).distinct(|o| o.k);
    sizes.sort_unstable();
    let of_size = |k: &usize| {
        let wanted = |o: &Outcome| o.k == *k || chooses_k(&o.design);
        charts::curves(outcomes, &format!("k = {k}"), metric, &designs, wanted)
    };
    let asked = |panel: &Panel| panel.series.iter().any(|series| !chooses_k(&series.name));
    let mut panels: Vec<Panel> = sizes.iter().map(of_size).filter(asked).collect();
    if panels.is_empty() {
        panels.push(charts::curves(outcomes, "k as planned", metric, &designs, |o| chooses_k(&o.design)));
        panels.retain(|panel| !panel.series.is_empty());
    }
    Figure {
        id: metric.replace([' ', '@'], "-"),
        title: format!("{} against epsilon", capital(metric)),
        caption: "Mean over repetitions, each with another projection and other noise; bands are 95% confidence \
                  intervals. Solid: ours. Dashed: the paper's."
            .into(),
        panels,
    }
}

/// The best design at one epsilon, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// `recall@50` or `accuracy`.
    pub metric: String,
    /// The epsilon of the reading: 5, or the measured one next to it.
    pub epsilon: f64,
    /// The best design there.
    pub design: String,
    /// Its size.
    pub k: usize,
    /// Bits that it stores per row.
    pub bits: usize,
    /// What it reaches.
    pub value: f64,
    /// What the same sketch reaches without privacy, if that was measured.
    pub without: Option<f64>,
}

impl Reading {
    /// The best design at the epsilon next to 5, by the metric that matters most.
    pub fn of(outcomes: &Outcomes) -> Option<Self> {
        let metrics = outcomes.distinct(|o| o.metric.clone());
        let metric = ["recall@50", "accuracy"].iter().find(|m| metrics.iter().any(|found| found == *m))?.to_string();
        let distance = |e: &f64| (e / 5.0).ln().abs();
        let epsilon = charts::epsilons(outcomes).into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let here = |o: &&Outcome| o.metric == metric && o.epsilon == epsilon;
        let mean =
            |o: &Outcome| outcomes.average(|p| here(&p) && p.design == o.design && p.k == o.k).map_or(0.0, |e| e.mean);
        let best = outcomes.0.iter().filter(here).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        let same = |o: &Outcome| o.sketch == best.sketch && o.k == best.k;
        let without = outcomes.average(|o| o.metric == metric && o.mechanism == "none" && same(o));
        let (design, k, bits, value) = (best.design.clone(), best.k, best.bits_per_row, mean(best));
        Some(Self { metric, epsilon, design, k, bits, value, without: without.map(|e| e.mean) })
    }

    /// The share that is kept.
    pub fn kept(&self) -> Option<f64> {
        self.without.filter(|w| *w > 0.0).map(|without| self.value / without)
    }

    /// Two sentences.
    pub fn sentences(&self) -> String {
        let Self { metric, epsilon, design, k, value, .. } = self;
        let first = match self.kept() {
            Some(kept) => format!(
                "At epsilon {epsilon} you keep {} of the {metric} that the same sketch has without privacy.",
                percent(kept)
            ),
            None => format!("At epsilon {epsilon} the best release reaches a {metric} of {value:.3}."),
        };
        format!("{first} The best of those tried is {design} with k = {k}, at {value:.3}.")
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::sweep::AUTO_BY_SAMPLE;
    use scumble::release::Encoding;

    fn outcome(design: &str, mechanism: &str, epsilon: f64, value: f64) -> Outcome {
        Outcome {
            task: "t".into(),
            design: design.into(),
            mechanism: mechanism.into(),
            sketch: "oporp".into(),
            k: 256,
            repeats: 1,
            encoding: Encoding::F32,
            bits_per_row: 8192,
            epsilon,
            delta: 0.0,
            repetition: 0,
            metric: "recall@50".into(),
            value,
        }
    }

    #[test]
    fn the_reading_in_two_sentences() {
        let outcomes = Outcomes(vec![
            outcome("dp-oporp-staircase", "dp-oporp-staircase", 4.0, 0.6),
            outcome("dp-oporp-staircase", "dp-oporp-staircase", 20.0, 0.79),
            outcome("dp-oporp", "dp-oporp", 4.0, 0.05),
            outcome("oporp without privacy", "none", f64::INFINITY, 0.8),
        ]);
        let reading = Reading::of(&outcomes).unwrap();
        assert_eq!(
            reading.sentences(),
            "At epsilon 4 you keep 75% of the recall@50 that the same sketch has without privacy. The best of those tried is \
             dp-oporp-staircase with k = 256, at 0.600."
        );
        let page = evaluation("My data", "60 rows", &outcomes, Some("promise")).render();
        for part in
            ["you keep 75%", "not differentially", "promise", "OPORP without privacy", "Recall@50 against epsilon"]
        {
            assert!(page.contains(part), "{part}");
        }
    }

    /// A plan with a k of its own is a curve beside the sizes that were asked for, in one piece.
    #[test]
    fn a_plan_that_chooses_its_k_stands_in_every_panel() {
        let of = |k: usize, o: Outcome| Outcome { k, ..o };
        let plan = [(1.0, 49), (5.0, 196)].map(|(e, k)| of(k, outcome(AUTO_BY_SAMPLE, "dp-oporp-staircase", e, 0.5)));
        let mut all = Outcomes(plan.to_vec());
        let alone = figure(&all, "recall@50");
        assert_eq!((alone.panels.len(), &*alone.panels[0].title), (1, "k as planned"));
        let plain = |k: usize| of(k, outcome("dp-oporp", "dp-oporp", 5.0, 0.1));
        all.0.extend([plain(64), plain(256), of(49, outcome("bins without privacy", "none", f64::INFINITY, 0.8))]);
        let panels = figure(&all, "recall@50").panels;
        assert_eq!(panels.iter().map(|panel| &*panel.title).collect::<Vec<_>>(), ["k = 64", "k = 256"]);
        for panel in &panels {
            let curves: Vec<_> = panel.series.iter().map(|series| (&*series.name, series.points.len())).collect();
            assert_eq!(curves, [(AUTO_BY_SAMPLE, 2), ("dp-oporp", 1)]);
        }
    }
}
