//! `scumble ledger`: budgets of data sets, what is spent and what is left.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print::{self, Paint};
use clap::{Args, Subcommand, ValueHint};
use scumble::files::{reconcile, write_new};
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
    /// Recompute the sums of a statement (JSON)
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
                let neighbours = Neighbours::new(self.unit, self.beta)?;
                Some((dataset, Budget::new(epsilon, self.budget_delta)?, neighbours))
            }
            _ => None,
        };
        let (mut ledger, made) = Ledger::open_or_create(&self.file.path)?;
        if !made && account.is_none() {
            return Err(Failure::of_file(&self.file.path, "exists already"));
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
    let words = |account: &Account| format!("{}\n{}", Paint::stdout().strong(&account.dataset), account.facts().text());
    let text = || match accounts.is_empty() {
        true => "no accounts yet\n".to_owned(),
        false => accounts.iter().map(words).collect(),
    };
    global.show(|| json!({ "accounts": accounts }), text)
}

fn export(global: &Global, ledger: &mut Ledger, out: Option<&PathBuf>) -> Result<Exit, Failure> {
    ledger.check()?;
    let statement = ledger.statement()?;
    let text = if global.json { statement.to_json() } else { statement.to_markdown() };
    match out {
        Some(path) => write_new(path, &text)?,
        None => print::emit(&text)?,
    }
    Ok(Exit::Done)
}

fn compare(global: &Global, ledger: &mut Ledger, releases: &[PathBuf]) -> Result<Exit, Failure> {
    let (entries, strangers) = reconcile(&ledger.accounts()?, releases)?;
    let value = || {
        let strangers: Vec<_> = strangers.iter().map(|path| path.to_string_lossy()).collect();
        json!({ "entries": entries, "without_entry": strangers })
    };
    let text = || {
        let mut lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        for path in &strangers {
            lines.push_str(&format!("NO ENTRY  {}\n", path.display()));
        }
        lines
    };
    let shown = global.show(value, text)?;
    match strangers.is_empty() && !entries.iter().any(|entry| entry.trace.is_alarming()) {
        true => Ok(shown),
        false => Err(Failure::refused("ledger and files do not agree; see the lines above")),
    }
}

fn check(global: &Global, path: &PathBuf) -> Result<Exit, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::of_file(path, error))?;
    let parsed = Statement::parse(&text);
    let statement = parsed.map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?;
    let accounts = statement.accounts.len();
    let text = || format!("ok: {accounts} accounts add up and are within their budgets\n");
    global.show(|| json!({ "passed": true, "accounts": accounts }), text)
}
