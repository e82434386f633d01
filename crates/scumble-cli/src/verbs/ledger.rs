//! `scumble ledger`: budgets of data sets, what is spent and what is left.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print::{self, Facts, Paint, number};
use clap::{Args, Subcommand, ValueHint};
use scumble::files::{Reconciled, Trace, reconcile};
use scumble::ledger::{Account, Budget, Ledger, Neighbours, Statement};
use scumble::privacy::Unit;
use serde_json::json;
use std::path::PathBuf;

/// Keep budgets: how much of each data set's privacy is spent
///
/// `scumble release --ledger FILE --dataset NAME --budget E` charges a release before it draws any noise, and refuses it
/// when the budget is spent. The file may be shared by several processes. It is the owner's: publish `ledger export`.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble ledger init budget.db --dataset mail --budget 10\n  scumble release \
                        mail.parquet --out a.parquet --epsilon 2 --range 0,1 --ledger budget.db --dataset mail\n  \
                        scumble ledger show budget.db")]
pub struct LedgerVerb {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a ledger, and open an account in it
    Init(Init),
    /// Show budgets, what is spent and what is left
    Show {
        #[command(flatten)]
        file: File,
    },
    /// Write a public statement: Markdown, or JSON with --json
    Export {
        #[command(flatten)]
        file: File,
        /// File to write; an existing file is never replaced [default: standard output]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
    /// Compare the entries with release files: is each charged, and is each charge accounted for?
    Reconcile {
        #[command(flatten)]
        file: File,
        /// Releases to look for
        #[arg(value_name = "RELEASE", required = true, value_hint = ValueHint::AnyPath)]
        releases: Vec<PathBuf>,
    },
    /// Add up a statement (JSON) again
    Check {
        /// A statement that `ledger export --json` wrote
        #[arg(value_name = "STATEMENT", value_hint = ValueHint::FilePath)]
        statement: PathBuf,
    },
}

#[derive(Args)]
struct File {
    /// The ledger
    #[arg(value_name = "LEDGER", value_hint = ValueHint::FilePath)]
    path: PathBuf,
}

#[derive(Args)]
struct Init {
    #[command(flatten)]
    file: File,
    /// Name of a data set to open an account for
    #[arg(long, value_name = "NAME", requires = "budget")]
    dataset: Option<String>,
    /// The most that all its releases may cost together
    #[arg(long, value_name = "E", requires = "dataset", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Failure probability of all its releases together
    #[arg(long, value_name = "D", requires = "dataset", default_value_t = 0.0, allow_negative_numbers = true)]
    budget_delta: f64,
    /// Unit of privacy that the account keeps: attribute, l1, l2 or record
    #[arg(long, value_name = "U", requires = "dataset", default_value = "attribute")]
    unit: Unit,
    /// The most that the unit may move [default: any distance]
    #[arg(long, value_name = "B", requires = "dataset", allow_negative_numbers = true)]
    beta: Option<f64>,
}

impl LedgerVerb {
    /// Does what was asked.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        match &self.what {
            What::Init(init) => init.run(global),
            What::Show { file } => show(global, &mut Ledger::open(&file.path)?),
            What::Export { file, out } => export(global, &mut Ledger::open(&file.path)?, out.as_ref()),
            What::Reconcile { file, releases } => compare(global, &mut Ledger::open(&file.path)?, releases),
            What::Check { statement } => check(global, statement),
        }
    }
}

impl Init {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let account = match (&self.dataset, self.budget) {
            (Some(dataset), Some(epsilon)) => {
                if self.beta.is_some_and(|beta| !(beta > 0.0 && beta.is_finite())) {
                    return Err(Failure::error("beta must be positive and finite"));
                }
                if self.unit == Unit::Record && self.beta.is_some() {
                    return Err(Failure::error("unit record has no beta: any row may stand for any other"));
                }
                let neighbours = Neighbours { unit: self.unit, beta: self.beta };
                Some((dataset, Budget::new(epsilon, self.budget_delta)?, neighbours))
            }
            _ => None,
        };
        let (mut ledger, made) = Ledger::open_or_create(&self.file.path)?;
        if !made && account.is_none() {
            return Err(Failure::error(format!("{}: exists already", self.file.path.display())));
        }
        if let Some((dataset, budget, neighbours)) = account {
            ledger.open_account(dataset, budget, neighbours)?;
        }
        show(global, &mut ledger)
    }
}

fn show(global: &Global, ledger: &mut Ledger) -> Result<Exit, Failure> {
    ledger.check()?;
    let accounts = ledger.accounts()?;
    if global.json {
        print::emit_json(&json!({ "accounts": accounts }))?;
    } else if accounts.is_empty() {
        print::emit("no accounts yet\n")?;
    } else {
        print::emit(&accounts.iter().map(words).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// One account for people.
fn words(account: &Account) -> String {
    let Account { dataset, neighbours, budget, spent, left, entries, .. } = account;
    let mut facts = Facts::default();
    let delta = |delta: f64| if delta > 0.0 { format!(", delta {delta:e}") } else { String::new() };
    facts.add("unit", format!("{}: {}", neighbours.unit, neighbours.sentence()));
    facts.add("budget", format!("epsilon {}{}", number(budget.epsilon), delta(budget.delta)));
    facts.add("spent", format!("epsilon {} in {} releases", number(*spent), account.releases()));
    facts.add("left", format!("epsilon {} for one more pure release", number(*left)));
    for entry in entries {
        let times = match (entry.times, entry.sticky) {
            (1, _) => String::new(),
            (0, _) => ", nothing new: not charged".into(),
            (times, _) => format!(", charged {times} times"),
        };
        facts.add(
            format!("#{}", entry.id),
            format!(
                "{} {}{} {}: epsilon {}{}{times}",
                entry.reserved_at,
                entry.mechanism,
                if entry.sticky { ", sticky" } else { "" },
                entry.state,
                number(entry.loss.epsilon),
                delta(entry.loss.delta),
            ),
        );
    }
    format!("{}\n{}", Paint::stdout().strong(dataset), facts.text())
}

fn export(global: &Global, ledger: &mut Ledger, out: Option<&PathBuf>) -> Result<Exit, Failure> {
    ledger.check()?;
    let statement = ledger.statement()?;
    let text = if global.json { statement.to_json() } else { statement.to_markdown() };
    match out {
        Some(path) => crate::keys::write_public(path, &text)?,
        None => print::emit(&text)?,
    }
    Ok(Exit::Done)
}

fn compare(global: &Global, ledger: &mut Ledger, releases: &[PathBuf]) -> Result<Exit, Failure> {
    let (entries, strangers) = reconcile(&ledger.accounts()?, releases)?;
    if global.json {
        let strangers: Vec<_> = strangers.iter().map(|path| path.to_string_lossy()).collect();
        print::emit_json(&json!({ "entries": entries, "without_entry": strangers }))?;
    } else {
        let mut lines = String::new();
        for Reconciled { dataset, entry, trace, file } in &entries {
            let words = match (trace, file) {
                (Trace::Found, Some(file)) => format!("charged: {}", file.display()),
                (Trace::Unpaid, Some(file)) => format!("NOT CHARGED, it was given back: {}", file.display()),
                (Trace::Unfinished, _) => "reserved: a run is going on, or has crashed; it counts as spent".into(),
                (Trace::GivenBack, _) => "given back".into(),
                _ => "charged; its file is not among those given".into(),
            };
            lines.push_str(&format!("{dataset} #{entry}  {words}\n"));
        }
        for path in &strangers {
            lines.push_str(&format!("NO ENTRY  {}\n", path.display()));
        }
        print::emit(&lines)?;
    }
    match strangers.is_empty() && !entries.iter().any(|entry| entry.trace.is_alarming()) {
        true => Ok(Exit::Done),
        false => Err(Failure::refused("ledger and files do not agree; see the lines above")),
    }
}

fn check(global: &Global, path: &PathBuf) -> Result<Exit, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::error(format!("{}: {error}", path.display())))?;
    let parsed = Statement::parse(&text);
    let statement = parsed.map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?;
    let accounts = statement.accounts.len();
    if global.json {
        print::emit_json(&json!({ "passed": true, "accounts": accounts }))?;
    } else {
        print::emit(&format!("ok: {accounts} accounts add up and are within their budgets\n"))?;
    }
    Ok(Exit::Done)
}
