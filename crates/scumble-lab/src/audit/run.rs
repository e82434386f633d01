//! A whole audit: one claim, or all mechanisms in small cases, every way in, and two attacks.

use super::ways::ways;
use super::{
    AuditError, Averaging, Counterexample, Finding, Settings, Target, Verdict, audit, averaging, counterexample,
    default_delta, small_case,
};
use rayon::prelude::*;
use scumble::certificate::Certificate;
use scumble::error::ParameterError;
use scumble::files::{beside_release, read_certificate};
use scumble::mechanism::{Beside, Mechanism, MechanismId, NotionKind, Parameters};
use scumble::plan::Ask;
use scumble::privacy::Unit;
use scumble::projection::Seed;
use scumble::release::Releaser;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The projection of a small case is not secret and does not matter.
const SEED: Seed = Seed([0; 32]);

/// What an audit has found.
#[derive(Debug, Clone, Serialize)]
pub struct Audited {
    /// No claim is broken.
    pub passed: bool,
    /// The chance that all bounds are right.
    pub confidence: f64,
    /// Of each mechanism.
    pub findings: Vec<Finding>,
    /// Through every way in.
    pub ways: Vec<WayFinding>,
    /// Individual DP is not DP.
    pub counterexample: Option<Counterexample>,
    /// Fresh noise averages out.
    pub averaging: Option<Averaging>,
}

/// What was found through a way in.
#[derive(Debug, Clone, Serialize)]
pub struct WayFinding {
    /// Its name.
    pub way: String,
    /// What was found.
    pub finding: Finding,
}

impl Audited {
    /// The first claim that is broken.
    pub fn broken(&self) -> Option<&Finding> {
        let all = self.findings.iter().chain(self.ways.iter().map(|way| &way.finding));
        all.into_iter().find(|finding| finding.verdict == Verdict::Broken)
    }
}

/// What is audited.
#[derive(Debug)]
pub struct Audit {
    targets: Vec<Releaser>,
    /// The loss at which every way in is audited and the attacks are shown.
    everywhere: Option<f64>,
    /// Mechanisms that give no guarantee for the unit that was asked for: why not.
    pub left_out: Vec<ParameterError>,
}

impl Audit {
    /// The mechanism and the encoding of a release, as its certificate states them.
    pub fn of_release(path: &Path) -> Result<Self, AuditError> {
        let (text, beside) = (read_certificate(path)?, beside_release(path, &Beside::default())?);
        let (certificate, mechanism) = Certificate::parse_with(&text, &beside)?;
        let encoding = certificate.encoding.name.parse()?;
        Ok(Self { targets: vec![Releaser::new(mechanism, Some(encoding))?], everywhere: None, left_out: Vec::new() })
    }

    /// One mechanism as it is asked for, the rest as in its small case; or every mechanism, if none is.
    pub fn of(ask: &Ask, dim: Option<usize>) -> Result<Self, AuditError> {
        let Some(id) = ask.mechanism else { return Self::of_all(ask, dim) };
        let target = Releaser::new(Mechanism::new(one(ask, dim, id)?)?, ask.encoding)?;
        Ok(Self { targets: vec![target], everywhere: None, left_out: Vec::new() })
    }

    /// Every mechanism that needs no public file, and every way in.
    fn of_all(ask: &Ask, dim: Option<usize>) -> Result<Self, AuditError> {
        let (mut targets, mut left_out) = (Vec::new(), Vec::new());
        for id in MechanismId::without_files() {
            let mut parameters = one(ask, dim, id)?;
            if ask.beta.is_none() && parameters.unit == Unit::Attribute {
                parameters.beta = parameters.range.width() / 4.0; // so that values lie several betas from zero
            }
            if id == MechanismId::DpSignrpRr {
                parameters.delta = None; // over the draw of its matrix: only the pure form can be audited
            }
            match Mechanism::new(parameters) {
                Ok(mechanism) => targets.push(Releaser::new(mechanism, None)?),
                Err(error) if error.is_refusal() => left_out.push(error),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { targets, everywhere: Some(ask.epsilon), left_out })
    }

    /// Audits all of it; `progress` is told how many of how many audits are done.
    pub fn run(
        &self,
        confidence: f64,
        samples: Option<usize>,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<Audited, AuditError> {
        let ways = self.everywhere.map(|epsilon| ways(epsilon, SEED)).transpose()?.unwrap_or_default();
        let audits = self.targets.len() + ways.len();
        let settings = Settings { confidence, audits, samples };
        let done = AtomicUsize::new(0);
        let audited = |target: &dyn Target| {
            let finding = audit(target, &settings);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, audits);
            finding
        };
        progress(0, audits);
        let findings = self.targets.par_iter().map(|target| audited(target)).collect::<Result<Vec<_>, _>>()?;
        let through = ways.par_iter().map(|way| Ok(WayFinding { way: way.name(), finding: audited(way)? }));
        let ways = through.collect::<Result<Vec<_>, AuditError>>()?;
        let (counterexample, averaging) = match self.everywhere {
            Some(_) => (Some(counterexample()?), Some(averaging()?)),
            None => (None, None),
        };
        let mut found = Audited { passed: true, confidence, findings, ways, counterexample, averaging };
        found.passed = found.broken().is_none();
        Ok(found)
    }
}

/// One mechanism as it is asked for, the rest as in its small case.
fn one(ask: &Ask, dim: Option<usize>, id: MechanismId) -> Result<Parameters, AuditError> {
    let small = small_case(id, 1.0, 1.0, ask.range, SEED);
    let dim = dim.unwrap_or(small.dim);
    let request = ask.request(dim, None)?;
    let parameters = request.parameters;
    let k = if id.is_raw() { dim } else { request.k.unwrap_or(small.k) };
    let unit = if id.is_record() { Unit::Record } else { parameters.unit };
    let delta = match id.notion() {
        NotionKind::Pure => None,
        _ => parameters.delta.or(default_delta(id)),
    };
    Ok(Parameters { mechanism: id, k, unit, delta, i_understand_this_is_not_dp: true, ..parameters })
}
