//! The certificate as a privacy statement that a legal reader can quote. Markdown; every number is a public one.
//!
//! Fields carry the names of NIST SP 800-226 (unit of privacy, privacy parameters, trust model, bounded neighbours) and of
//! the public registry of deployments (flavor, privacy loss, model, accounting, implementation).

use super::Certificate;
use scumble_core::privacy::{Bound, Unit, at_least, at_most};

/// What an adversary believes at first.
const PRIORS: [f64; 4] = [0.5, 0.1, 0.01, 0.001];

impl Certificate {
    /// The privacy statement. Its first three lines say who is protected and what is not.
    pub fn statement(&self) -> String {
        [self.heading(), self.summary(), self.fields(), self.learned(), self.limits(), self.checks()].join("\n")
    }

    fn heading(&self) -> String {
        let [promise, first, second] = self.claim().headlines();
        format!(
            "# Privacy statement. {promise}\n**{first}**.\n**{second}**.\n\nThis statement describes one release of {} rows. \
             It was written by {} {} from the release's certificate, sha256 `{}`.\n",
            self.rows, self.software.name, self.software.version, self.digest
        )
    }

    fn summary(&self) -> String {
        let warnings: String = self.warnings.iter().map(|warning| format!("> **Warning:** {warning}.\n>\n")).collect();
        let promise = match self.guarantee.epsilon {
            Some(_) => format!("> {}\n", self.guarantee.statement),
            None => format!(
                "> **This release is NOT differentially private.** No bound on what it reveals can be stated: {}.\n",
                self.guarantee.statement
            ),
        };
        warnings + &promise
    }

    fn fields(&self) -> String {
        let guarantee = &self.guarantee;
        let flavor = match guarantee.notion.as_str() {
            "pure" => "pure differential privacy",
            "approximate" => "approximate differential privacy",
            _ => "individual differential privacy, which is not differential privacy",
        };
        let none = || "none can be stated".to_owned();
        let unit = self.unit.phrase(self.beta);
        let accounting = match self.unit {
            Unit::Record => "a person with several rows, or a row released again with fresh noise, pays for each",
            Unit::Attribute | Unit::L1 | Unit::L2 => {
                "several moved attributes, several rows of a person, or a row released again with fresh noise: each pays"
            }
        };
        let cadence = match (&self.campaign, self.sticky) {
            (Some(_), _) => {
                "one campaign: its text says how often a device reports, and that every new content of a slot costs the \
                 privacy loss again"
            }
            (None, true) => {
                "repeated with a sticky key: a row that has not changed is released with the same noise, at no further \
                 loss; every new content of a row costs the privacy loss again"
            }
            (None, false) => "this release only; each further release of the same rows adds to the loss",
        };
        let trust = match self.campaign {
            Some(_) => {
                "local: each device added the noise to its own row before it sent it; the collector never held the rows, \
                 and need not be trusted with them"
            }
            None => {
                "central: the curator who made the release held the rows and is trusted with them; nobody who sees the \
                 release needs to be trusted. Each row was randomised on its own"
            }
        };
        let rows = [
            ("Flavor", flavor.to_owned()),
            ("Unit of privacy", unit),
            ("Neighbouring relation", format!("bounded (replacement): {}", self.unit.sentence(self.beta))),
            ("Privacy loss, epsilon", guarantee.epsilon.map_or_else(none, |epsilon| epsilon.to_string())),
            ("Privacy loss, delta", guarantee.delta.map_or_else(none, plain)),
            (
                "Privacy loss of the integers that ran",
                match (guarantee.checked_epsilon, guarantee.delta) {
                    (Some(epsilon), Some(delta)) if delta > 0.0 => {
                        format!(
                            "at most {epsilon}, with a delta of at most {} (which is what was computed)",
                            plain(delta)
                        )
                    }
                    (Some(epsilon), _) => format!("at most {epsilon}"),
                    (None, _) => none(),
                },
            ),
            ("One value replaced by any other of the range", guarantee.any_value.as_ref().map_or_else(none, group)),
            ("A whole row replaced by any other", guarantee.whole_row.as_ref().map_or_else(none, group)),
            (
                "All rows of a person",
                self.person.as_ref().map_or("not bounded: each row pays".into(), |person| person.statement.clone()),
            ),
            ("Trust model", trust.into()),
            ("Mechanism", format!("{}: {} ({})", self.mechanism.id, self.mechanism.summary, self.mechanism.paper)),
            ("Bounds on the data", format!("values clipped to [{}, {}]", self.range[0], self.range[1])),
            (
                "Data product",
                format!(
                    "{} rows of {} coordinates made from {} attributes",
                    self.rows, self.projection.k, self.projection.p
                ),
            ),
            ("Composition and accounting", format!("rows compose in parallel; {accounting}")),
            ("Release cadence", cadence.into()),
            (
                "Implementation",
                format!(
                    "{} {}, {} noise, projection with public seed",
                    self.software.name, self.software.version, self.numerics
                ),
            ),
            (
                "Signed by",
                self.signature.as_ref().map_or("no one".into(), |s| format!("ed25519 key `{}`", s.public_key)),
            ),
        ];
        let lines: String = rows.iter().map(|(name, words)| format!("| {name} | {words} |\n")).collect();
        format!("## Parameters\n\n| | |\n|---|---|\n{lines}")
    }

    fn learned(&self) -> String {
        let claim = self.claim();
        let Some(guarantee) = &claim.guarantee else {
            return "## What can be learned\n\nPossibly everything: some bits are released exactly, and which ones depends \
                    on the data.\n"
                .into();
        };
        let near = guarantee.group(1);
        let mut pairs = vec![(pair(self.unit), Some(near))];
        if self.unit != Unit::Record && claim.any_value != Some(near) {
            pairs.push(("any two values of the range", claim.any_value));
        }
        if self.unit != Unit::Record && claim.whole_row != Some(near) {
            pairs.push(("any two rows", claim.whole_row));
        }
        let subject = match self.unit {
            Unit::Record => "everything but this row",
            Unit::Attribute => "everything but this attribute, also the rest of the row",
            Unit::L1 | Unit::L2 => "everything but which of the two rows it is",
        };
        let guesses: String = pairs.iter().map(|(pair, bound)| guess(pair, bound.as_ref())).collect();
        let names: Vec<&str> = pairs.iter().map(|(pair, _)| *pair).collect();
        let line = |prior: f64| {
            let cells: Vec<String> = pairs.iter().map(|(_, bound)| belief(prior, bound.as_ref())).collect();
            format!("| {} | {} |\n", at_most(prior), cells.join(" | "))
        };
        let lines: String = PRIORS.into_iter().map(line).collect();
        format!(
            "## What can be learned\n\nAn adversary who knows {subject}, and weighs two possibilities for it, learns from \
             the release at most this, whatever they compute from it and whatever else they know. If the two are equally \
             likely to them, they guess right:\n\n{guesses}\nWhat a belief in one of the two can become{}:\n\n\
             | belief before | {} |\n|---|{}\n{lines}",
            failures(&pairs),
            names.join(" | "),
            "---|".repeat(names.len()),
        )
    }

    fn limits(&self) -> String {
        format!(
            "## What is not protected\n\n{}\n## What this rests on\n\n{}",
            list(&self.not_protected),
            list(&self.assumptions)
        )
    }

    fn checks(&self) -> String {
        let own = match self.guarantee.epsilon {
            Some(_) => {
                "The noise is drawn from an exact law on integers. Before the first row was read, the inequality that the \
                 statement claims was proved for that law in exact arithmetic; `scumble verify` proves it again from the \
                 certificate alone."
            }
            None => "`scumble verify` recomputes the certificate's numbers; there is no inequality to prove.",
        };
        format!(
            "## How it was checked\n\n- {own}\n- `scumble verify` compares the data with the hashes in the certificate{}.\n\
             - `scumble audit` attacks the mechanism as it runs and measures a lower bound on its loss.\n",
            if self.signature.is_some() { " and, with `--key`, the signature" } else { "" }
        )
    }
}

/// The neighbours in a few words.
fn pair(unit: Unit) -> &'static str {
    match unit {
        Unit::Attribute => "two values at most beta apart",
        Unit::L1 | Unit::L2 => "two rows at most beta apart",
        Unit::Record => "any two rows",
    }
}

fn group(bound: &Bound) -> String {
    let moves = if bound.moves == 1 { "1 move".to_owned() } else { format!("{} moves", bound.moves) };
    format!("{moves}: {}", bound.loss_words())
}

fn guess(pair: &str, bound: Option<&Bound>) -> String {
    match bound {
        Some(bound) => format!("- {pair}: {}\n", bound.guess_words()),
        None => format!("- {pair}: no bound can be stated\n"),
    }
}

fn belief(prior: f64, bound: Option<&Bound>) -> String {
    match bound.map(|bound| (bound.belief(prior), bound.failure())) {
        Some(((least, most), failure)) if failure < 1.0 => format!("{} to {}", at_least(least), at_most(most)),
        _ => "0% to 100%".into(),
    }
}

/// How often the table may fail; nothing without a delta.
fn failures(pairs: &[(&str, Option<Bound>)]) -> String {
    let fails = |(pair, bound): &(&str, Option<Bound>)| {
        let failure = bound.map_or(1.0, |bound| bound.failure());
        (failure > 0.0).then(|| format!("{failure:.1e} ({pair})"))
    };
    let all: Vec<String> = pairs.iter().filter_map(fails).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(", but for a probability over the noise of {}, when it can become certainty", all.join(", ")),
    }
}

fn plain(delta: f64) -> String {
    if delta == 0.0 { "0".into() } else { format!("{delta:e}") }
}

fn list(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("- {sentence}\n")).collect()
}
