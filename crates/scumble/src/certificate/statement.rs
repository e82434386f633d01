//! The certificate as a privacy statement that a legal reader can quote. Markdown; every number is a public one.
//!
//! Fields carry the names of NIST SP 800-226 (unit of privacy, privacy parameters, trust model, bounded neighbours) and of
//! the public registry of deployments (flavor, privacy loss, model, accounting, implementation).

use super::Certificate;
use scumble_core::privacy::Unit;

/// What an adversary believes at first.
const PRIORS: [f64; 4] = [0.5, 0.1, 0.01, 0.001];

impl Certificate {
    /// The privacy statement.
    pub fn statement(&self) -> String {
        [self.heading(), self.summary(), self.fields(), self.learned(), self.limits(), self.checks()].join("\n")
    }

    fn heading(&self) -> String {
        format!(
            "# Privacy statement\n\nThis statement describes one release of {} rows. It was written by {} {} from the \
             release's certificate, sha256 `{}`.\n",
            self.rows, self.software.name, self.software.version, self.digest
        )
    }

    fn summary(&self) -> String {
        match self.guarantee.epsilon {
            Some(_) => format!("> {}\n", self.guarantee.statement),
            None => format!(
                "> **This release is NOT differentially private.** No bound on what it reveals can be stated: {}.\n",
                self.guarantee.statement
            ),
        }
    }

    fn fields(&self) -> String {
        let guarantee = &self.guarantee;
        let flavor = match guarantee.notion.as_str() {
            "pure" => "pure differential privacy",
            "approximate" => "approximate differential privacy",
            _ => "individual differential privacy, which is not differential privacy",
        };
        let none = || "none can be stated".to_owned();
        let unit = match self.unit {
            Unit::Attribute => format!("one attribute of one row, moving by at most beta = {}", self.beta),
            Unit::L1 => format!("one row, its moves adding up to at most beta = {}", self.beta),
            Unit::L2 => format!("one row, moving by a Euclidean distance of at most beta = {}", self.beta),
            Unit::Record => "one whole row, replaced by any other".into(),
        };
        let accounting = match self.unit {
            Unit::Record => "a person with several rows, or a row released again with fresh noise, pays for each",
            _ => {
                "several moved attributes, several rows of a person, or a row released again with fresh noise: each pays"
            }
        };
        let cadence = match self.sticky {
            true => {
                "repeated with a sticky key: a row that has not changed is released with the same noise, at no further \
                 loss; every new content of a row costs the privacy loss again"
            }
            false => "this release only; each further release of the same rows adds to the loss",
        };
        let rows = [
            ("Flavor", flavor.to_owned()),
            ("Unit of privacy", unit),
            ("Neighbouring relation", format!("bounded (replacement): {}", self.unit.sentence(self.beta))),
            ("Privacy loss, epsilon", guarantee.epsilon.map_or_else(none, |epsilon| epsilon.to_string())),
            ("Privacy loss, delta", guarantee.delta.map_or_else(none, plain)),
            (
                "Privacy loss of the integers that ran",
                guarantee.checked_epsilon.map_or_else(none, |epsilon| format!("at most {epsilon}")),
            ),
            (
                "All rows of a person",
                self.person.as_ref().map_or("not bounded: each row pays".into(), |person| person.statement.clone()),
            ),
            (
                "Trust model",
                "central: the curator who made the release held the rows and is trusted with them; nobody who sees the \
                 release needs to be trusted. Each row was randomised on its own"
                    .into(),
            ),
            ("Mechanism", format!("{}: {} ({})", self.mechanism.id, self.mechanism.summary, self.mechanism.paper)),
            ("Bounds on the data", format!("values clipped to [{}, {}]", self.range[0], self.range[1])),
            (
                "Data product",
                format!("{} rows of {} coordinates made from {} attributes", self.rows, self.projection.k, self.projection.p),
            ),
            ("Composition and accounting", format!("rows compose in parallel; {accounting}")),
            ("Release cadence", cadence.into()),
            (
                "Implementation",
                format!("{} {}, {} noise, projection with public seed", self.software.name, self.software.version, self.numerics),
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
        let Some(epsilon) = self.guarantee.epsilon else {
            return "## What can be learned\n\nPossibly everything: some bits are released exactly, and which ones depends \
                    on the data.\n"
                .into();
        };
        let delta = self.guarantee.delta.unwrap_or(0.0);
        let subject = match self.unit {
            Unit::Record => "everything but this row",
            Unit::Attribute => "everything but this attribute, also the rest of the row",
            Unit::L1 | Unit::L2 => "everything but which of two neighbouring rows it is",
        };
        let lines: String = PRIORS
            .iter()
            .map(|&prior| {
                let (least, most) = (posterior(prior, -epsilon), posterior(prior, epsilon));
                format!("| {} | {} | {} |\n", percent(prior), percent(least), percent(most))
            })
            .collect();
        let but = match delta {
            0.0 => String::new(),
            delta => format!(" This holds but for a probability of at most {delta:e}, over the noise."),
        };
        let weak = match epsilon {
            epsilon if epsilon > 10.0 => {
                "\nWith a factor this large the worst case is hardly bounded: the release protects typical rows by its \
                 noise, but this number alone is no protection.\n"
            }
            _ => "",
        };
        format!(
            "## What can be learned\n\nAn adversary who knows {subject}, and weighs two possibilities for it, can change \
             the odds between them by a factor of at most e^{epsilon} = {}, whatever they compute from the release and \
             whatever else they know.{but}\n\n| belief before | belief after, at least | belief after, at most |\n\
             |---|---|---|\n{lines}{weak}",
            number(epsilon.exp())
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
            None => "`scumble verify` derives the certificate's numbers again; there is no inequality to prove.",
        };
        format!(
            "## How it was checked\n\n- {own}\n- `scumble verify` compares the data with the hashes in the certificate{}.\n\
             - `scumble audit` attacks the mechanism as it runs and measures a lower bound on its loss.\n",
            if self.signature.is_some() { " and, with `--key`, the signature" } else { "" }
        )
    }
}

/// The belief that odds of `prior` become when they are multiplied by e^loss.
fn posterior(prior: f64, loss: f64) -> f64 {
    prior / (prior + (1.0 - prior) * (-loss).exp())
}

/// A probability as people read it: never rounded to certainty.
fn percent(share: f64) -> String {
    let rest = 1.0 - share;
    match share {
        _ if rest == 0.0 => "almost 100%".into(),
        _ if rest < 1e-3 => {
            format!("{}%", significant(100.0 - 100.0 * rest, 1 - (100.0 * rest).log10().floor() as i32))
        }
        share if share < 1e-6 => format!("{:.1e}%", 100.0 * share),
        share => format!("{}%", significant(100.0 * share, (2 - (100.0 * share).log10().floor() as i32).max(0))),
    }
}

fn significant(value: f64, places: i32) -> String {
    let text = format!("{value:.0$}", places.clamp(0, 15) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn number(value: f64) -> String {
    if value < 1e4 { significant(value, (3 - value.log10().floor() as i32).max(0)) } else { format!("{value:.1e}") }
}

fn plain(delta: f64) -> String {
    if delta == 0.0 { "0".into() } else { format!("{delta:e}") }
}

fn list(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("- {sentence}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_are_those_of_bayes() {
        let epsilon = 3f64.ln();
        assert!((posterior(0.5, epsilon) - 0.75).abs() < 1e-15);
        assert!((posterior(0.01, epsilon) - 0.03 / 1.02).abs() < 1e-15);
        assert!((posterior(0.5, -epsilon) - 0.25).abs() < 1e-15);
    }

    #[test]
    fn percentages_keep_what_matters() {
        for (share, text) in [
            (0.5, "50%"),
            (0.001, "0.1%"),
            (0.26894, "26.9%"),
            (0.99331, "99.3%"),
            (0.9999546, "99.9955%"),
            (1.0 - 1e-12, "99.9999999999%"),
            (1.0, "almost 100%"),
            (2.1e-9, "2.1e-7%"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(number(148.4), "148.4");
        assert_eq!(number(3.44444), "3.444");
        assert_eq!(number(4.87e8), "4.9e8");
    }
}
