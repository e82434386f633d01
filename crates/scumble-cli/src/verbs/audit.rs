//! `scumble audit`: does the code do what the certificate says? A measured lower bound on epsilon against the claim.

use crate::exit::{Exit, Failure};
use crate::options::{Global, MechanismOptions, mechanism_parser};
use crate::print::{self, Paint, grouped, note, number};
use clap::{Args, ValueHint};
use scumble_lab::audit::{self, Audited, Averaging, Finding, Verdict};
use std::path::PathBuf;

/// Measure a lower bound on epsilon and compare it with the claim
///
/// Runs the real code on pairs of made-up neighbours, worst-case and random ones, and counts an event that one of them
/// makes likelier. A bound above the claim proves the claim false (exit status 1); a bound below it proves nothing.
/// Reads no private data. Without a mechanism, all are audited in small cases, then every way in (files and arrays),
/// and two attacks are shown.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble audit\n  scumble audit --mechanism dp-oporp-laplace --epsilon 2 --range 0,1 --dim \
                  784 -k 256\n  scumble audit private.parquet",
    mut_arg("mechanism", |arg| arg.default_value("all").help("Mechanism, or all").value_parser(mechanism_parser("all", "Every mechanism, in a small case"))),
    mut_arg("epsilon", |arg| arg.required(false).default_value("1")),
    mut_arg("range", |arg| arg.required(false).default_value("-1,1")),
    mut_arg("beta", |arg| arg.help("How far the unit may move [default: the width of the range; a quarter of it for all]")),
    mut_arg("k", |arg| arg.help("Size of the sketch; auto takes that of the small case")),
    mut_arg("bytes", |arg| arg.hide(true)),
    mut_arg("i_understand_this_is_not_dp", |arg| arg.hide(true))
)]
pub struct Audit {
    /// Audit the mechanism and encoding of this release, as its certificate states them
    #[arg(value_name = "RELEASE", value_hint = ValueHint::AnyPath, conflicts_with_all = ["mechanism", "dim"])]
    release: Option<PathBuf>,
    /// Number of attributes [default: 8]
    #[arg(long, value_name = "P")]
    dim: Option<usize>,
    /// Chance that all bounds of the run are right
    #[arg(long, value_name = "C", default_value_t = 0.999_999)]
    confidence: f64,
    /// Samples of each row to choose an event with, and as many to count it in [default: by epsilon and size]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    #[command(flatten)]
    mechanism: MechanismOptions,
}

impl Audit {
    /// Audits and prints; exit status 1 if a claim is broken.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let audit = match &self.release {
            Some(release) => audit::Audit::of_release(release)?,
            None => audit::Audit::of(&self.mechanism.ask()?, self.dim)?,
        };
        audit.left_out.iter().for_each(|error| note(&format!("left out: {error}")));
        let bar = print::progress("auditing");
        let found = audit.run(self.confidence, self.samples, |done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        })?;
        bar.finish_and_clear();
        let shown = global.show(|| &found, || text(&found))?;
        match found.broken() {
            None => Ok(shown),
            Some(finding) => Err(Failure::refused(format!(
                "{}: the claim is broken: epsilon is at least {}, not {}; do not release with it, and report it",
                finding.mechanism,
                number(finding.lower_bound),
                number(finding.epsilon)
            ))),
        }
    }
}

/// The columns of a table of findings, after what was audited.
const COLUMNS: [&str; 5] = ["claimed", "delta", "at least", "samples", "verdict"];

fn text(found: &Audited) -> String {
    let paint = Paint::stdout();
    let table = |what: &str, rows: Vec<Vec<String>>| print::table(&[&[what], &COLUMNS[..]].concat(), &rows);
    let named = |finding: &Finding| cells(finding.mechanism.to_string(), finding);
    let mut lines = table("mechanism", found.findings.iter().map(named).collect());
    lines[0] = paint.faint(&format!("{}  pair", lines[0]));
    for (line, finding) in lines[1..].iter_mut().zip(&found.findings) {
        line.push_str(&format!("  {}: {}", finding.pair.name, finding.change));
        if finding.verdict == Verdict::Broken {
            *line = paint.bad(line);
        }
    }
    let mut text = format!(
        "{}\n{}\n\nAll bounds hold at once with confidence {}. A bound below the claim is no proof; the proof is in \
         the exact checks (scumble verify).\n",
        paint.strong("Epsilon, measured from below"),
        lines.join("\n"),
        found.confidence
    );
    let mut section = |title: &str, body: &str| text.push_str(&format!("\n{}\n{body}", paint.strong(title)));
    if !found.ways.is_empty() {
        let mut lines = table("way", found.ways.iter().map(|it| cells(it.way.clone(), &it.finding)).collect());
        lines[0] = paint.faint(&lines[0]);
        section("Through every way in, with what is published beside the rows", &(lines.join("\n") + "\n"));
    }
    if let Some(example) = &found.counterexample {
        section("Individual DP is not DP", &format!("  {}\n", example.to_string().replace('\n', "\n  ")));
    }
    if let Some(attack) = &found.averaging {
        section("Averaging fresh releases", &average_text(attack));
    }
    text
}

fn cells(what: String, finding: &Finding) -> Vec<String> {
    let verdict = match finding.verdict {
        Verdict::NotRefuted => "not refuted",
        Verdict::Broken => "BROKEN",
        Verdict::NotPrivate => "not DP, as its certificate says",
    };
    vec![
        what,
        number(finding.epsilon),
        number(finding.delta),
        format!("{:.3}", finding.lower_bound),
        grouped(finding.samples),
        verdict.into(),
    ]
}

fn average_text(attack: &Averaging) -> String {
    let rows: Vec<Vec<String>> = attack
        .steps
        .iter()
        .map(|step| vec![grouped(step.releases as u64), number(step.epsilon_spent), format!("{:.3}", step.error)])
        .collect();
    let lines = print::table(&["releases", "epsilon spent", "error of the attribute"], &rows);
    format!(
        "  {} at epsilon {} per release; the attacker knows all other attributes; range of width {}\n{}\n  Each release \
         spends again: keep a ledger (release --ledger), or repeat the noise (release --sticky-key).\n",
        attack.mechanism,
        number(attack.epsilon),
        number(attack.width),
        lines.join("\n")
    )
}
