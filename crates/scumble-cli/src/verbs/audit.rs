//! `scumble audit`: does the code do what the certificate says? A measured lower bound on epsilon against the claim.

use crate::exit::{Exit, Failure};
use crate::options::{Auto, Global, MechanismOptions, mechanism_parser};
use crate::print::{self, Paint, grouped, note, number};
use clap::{Args, ValueHint};
use rayon::prelude::*;
use scumble::certificate::Certificate;
use scumble::files::{beside_release, read_release};
use scumble::mechanism::{Beside, Mechanism, MechanismId, NotionKind, Parameters};
use scumble::privacy::Unit;
use scumble::projection::Seed;
use scumble::release::Releaser;
use scumble_lab::audit::ways::ways;
use scumble_lab::audit::{
    AuditError, Averaging, Counterexample, Finding, Settings, Target, Verdict, audit, averaging, counterexample,
    default_delta, small_case,
};
use serde_json::json;
use std::path::PathBuf;

/// Measure a lower bound on epsilon and hold it against the claim
///
/// Runs the real code on pairs of made-up neighbours, worst-case and random ones, and counts an event that one of them
/// makes likelier. A bound above the claim proves it broken (exit status 1); one below proves nothing more. Reads no
/// private data. Without a mechanism, all are audited in small cases, then every way in (files and arrays), and two attacks are
/// shown.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble audit\n  scumble audit --mechanism dp-oporp-laplace --epsilon 2 --range 0,1 --dim \
                  784 -k 256\n  scumble audit private.parquet",
    mut_arg("mechanism", |arg| arg.default_value("all").help("Mechanism, or all").value_parser(mechanism_parser("all", "Every mechanism, in a small case"))),
    mut_arg("epsilon", |arg| arg.required(false).default_value("1")),
    mut_arg("range", |arg| arg.required(false).default_value("-1,1")),
    mut_arg("beta", |arg| arg.help("Most that the unit may move [default: the width of the range; a quarter of it for all]")),
    mut_arg("k", |arg| arg.help("Size of the sketch; auto is that of the small case")),
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

/// The two attacks.
struct Attacks {
    counterexample: Counterexample,
    averaging: Averaging,
}

impl Audit {
    /// Audits and prints; exit status 1 if a claim is broken.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let all = self.release.is_none() && self.mechanism.mechanism == Auto::Auto;
        let targets = match (&self.release, self.mechanism.mechanism) {
            (Some(_), _) => vec![self.of_release()?],
            (None, Auto::Is(id)) => vec![Releaser::new(Mechanism::new(self.one(id)?)?, self.mechanism.encoding)?],
            (None, Auto::Auto) => self.every()?,
        };
        let ways = match all {
            true => ways(self.mechanism.epsilon, Seed([0; 32])).map_err(failed)?,
            false => Vec::new(),
        };
        let audits = targets.len() + ways.len();
        let settings = Settings { confidence: self.confidence, audits, samples: self.samples };
        let bar = print::progress("auditing");
        bar.set_length(audits as u64);
        let audited = |target: &dyn Target| {
            let finding = audit(target, &settings);
            bar.inc(1);
            finding
        };
        let findings = targets.par_iter().map(|target| audited(target)).collect::<Result<Vec<_>, _>>();
        let findings = findings.map_err(failed)?;
        let through = ways.par_iter().map(|way| Ok((way.name(), audited(way)?))).collect::<Result<Vec<_>, _>>();
        let through = through.map_err(failed)?;
        bar.finish_and_clear();
        let attacks = match all {
            true => Some(Attacks {
                counterexample: counterexample().map_err(failed)?,
                averaging: averaging().map_err(failed)?,
            }),
            false => None,
        };
        let every = findings.iter().chain(through.iter().map(|(_, finding)| finding));
        let broken: Vec<&Finding> = every.filter(|finding| finding.verdict == Verdict::Broken).collect();
        if global.json {
            print::emit_json(&json!({
                "passed": broken.is_empty(),
                "confidence": self.confidence,
                "findings": findings,
                "ways": through.iter().map(|(name, finding)| json!({ "way": name, "finding": finding })).collect::<Vec<_>>(),
                "counterexample": attacks.as_ref().map(|attacks| &attacks.counterexample),
                "averaging": attacks.as_ref().map(|attacks| &attacks.averaging),
            }))?;
        } else {
            print::emit(&self.text(&findings, &through, attacks.as_ref()))?;
        }
        match broken.first() {
            None => Ok(Exit::Done),
            Some(finding) => Err(Failure::refused(format!(
                "{}: the claim is broken: epsilon is at least {}, not {}; do not release with it, and report it",
                finding.mechanism,
                number(finding.lower_bound),
                number(finding.epsilon)
            ))),
        }
    }

    /// The mechanism that a certificate describes, with its encoding.
    fn of_release(&self) -> Result<Releaser, Failure> {
        let path = self.release.as_deref().expect("asked for");
        let (certificate, mechanism) =
            Certificate::parse_with(&read_release(path)?.certificate, &beside_release(path, &Beside::default())?)?;
        Ok(Releaser::new(mechanism, Some(certificate.encoding.name.parse()?))?)
    }

    /// One mechanism as it was asked for, the rest as in its small case.
    fn one(&self, id: MechanismId) -> Result<Parameters, Failure> {
        let small = small_case(id, 1.0, 1.0, self.mechanism.range, scumble::projection::Seed([0; 32]));
        let dim = self.dim.unwrap_or(small.dim);
        let request = self.mechanism.ask()?.request(dim, None)?;
        let parameters = request.parameters;
        let k = if id.is_raw() { dim } else { request.k.unwrap_or(small.k) };
        let unit = if id.is_record() { Unit::Record } else { parameters.unit };
        let delta = match id.notion() {
            NotionKind::Pure => None,
            _ => parameters.delta.or(default_delta(id)),
        };
        Ok(Parameters { mechanism: id, k, unit, delta, i_understand_this_is_not_dp: true, ..parameters })
    }

    /// Every mechanism that needs no public file; those that give no guarantee for the unit are named and left out.
    fn every(&self) -> Result<Vec<Releaser>, Failure> {
        let mut targets = Vec::new();
        for id in MechanismId::without_files() {
            let mut parameters = self.one(id)?;
            if self.mechanism.beta.is_none() && parameters.unit == Unit::Attribute {
                parameters.beta = parameters.range.width() / 4.0; // so that values lie several betas from zero
            }
            if id == MechanismId::DpSignrpRr {
                parameters.delta = None; // over the draw of its matrix: only the pure form can be audited
            }
            match Mechanism::new(parameters) {
                Ok(mechanism) => targets.push(Releaser::new(mechanism, None)?),
                Err(error) if error.is_refusal() => note(&format!("left out: {error}")),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(targets)
    }

    fn text(&self, findings: &[Finding], through: &[(String, Finding)], attacks: Option<&Attacks>) -> String {
        let paint = Paint::stdout();
        let rows: Vec<Vec<String>> = findings.iter().map(cells).collect();
        let head = ["mechanism", "claimed", "delta", "at least", "samples", "verdict"];
        let mut lines = print::table(&head, &rows);
        lines[0] = paint.faint(&format!("{}  pair", lines[0]));
        for (line, finding) in lines[1..].iter_mut().zip(findings) {
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
            self.confidence
        );
        if !through.is_empty() {
            text.push_str(&format!(
                "\n{}\n",
                paint.strong("Through every way in, with what is published beside the rows")
            ));
            let row = |(name, finding): &(String, Finding)| {
                let [_, cells @ ..] = &cells(finding)[..] else { unreachable!("the first cell is the mechanism") };
                std::iter::once(name.clone()).chain(cells.iter().cloned()).collect()
            };
            let rows: Vec<Vec<String>> = through.iter().map(row).collect();
            let mut lines = print::table(&["way", "claimed", "delta", "at least", "samples", "verdict"], &rows);
            lines[0] = paint.faint(&lines[0]);
            text.push_str(&(lines.join("\n") + "\n"));
        }
        if let Some(Attacks { counterexample, averaging }) = attacks {
            text.push_str(&format!("\n{}\n{}", paint.strong("Individual DP is not DP"), as_text(counterexample)));
            text.push_str(&format!("\n{}\n{}", paint.strong("Averaging fresh releases"), average_text(averaging)));
        }
        text
    }
}

fn failed(error: AuditError) -> Failure {
    match error {
        AuditError::Parameters(error) => error.into(),
        other => Failure::error(other.to_string()),
    }
}

fn cells(finding: &Finding) -> Vec<String> {
    let verdict = match finding.verdict {
        Verdict::NotRefuted => "not refuted",
        Verdict::Broken => "BROKEN",
        Verdict::NotPrivate => "not DP, as its certificate says",
    };
    vec![
        finding.mechanism.to_string(),
        number(finding.epsilon),
        number(finding.delta),
        format!("{:.3}", finding.lower_bound),
        grouped(finding.samples),
        verdict.into(),
    ]
}

fn as_text(example: &Counterexample) -> String {
    let [u, v] = example.rows;
    format!(
        "  {} at \"epsilon = {}\", weights (1, 1), beta = 1, {} releases each:\n  from u  = ({}, {}) the bit is minus {} \
         times; from u' = ({}, {}), a neighbour, {} times\n",
        example.mechanism,
        example.nominal_epsilon,
        grouped(example.releases as u64),
        u[0],
        u[1],
        example.minus[0],
        v[0],
        v[1],
        example.minus[1]
    )
}

fn average_text(attack: &Averaging) -> String {
    let rows: Vec<Vec<String>> = attack
        .steps
        .iter()
        .map(|step| vec![grouped(step.releases as u64), number(step.epsilon_spent), format!("{:.3}", step.error)])
        .collect();
    let lines = print::table(&["releases", "epsilon spent", "error of the attribute"], &rows);
    format!(
        "  {} at epsilon {} a release; the attacker knows all other attributes; range of width {}\n{}\n  Each release \
         spends again: keep a ledger (release --ledger), or repeat the noise (release --sticky-key).\n",
        attack.mechanism,
        number(attack.epsilon),
        number(attack.width),
        lines.join("\n")
    )
}
