//! The command line of scumble. One module per verb; what verbs share is beside them, once.

mod exit;
mod keys;
mod options;
mod print;
mod verbs;

use clap::{CommandFactory, Parser, Subcommand};
use exit::{Exit, Failure};
use options::Global;
use std::ffi::OsString;

/// Release vectors under differential privacy and keep them searchable, comparable and trainable.
#[derive(Parser)]
#[command(
    name = "scumble",
    version,
    max_term_width = 100,
    after_help = "First time here: scumble demo\n\nExit status: 0 done, 1 refused (not private, budget, failed \
                  verification), 2 error."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    global: Global,
}

/// The verbs, each with its module's arguments, in the order of the help.
macro_rules! verbs {
    ($($name:ident = $arguments:path),* $(,)?) => {
        #[derive(Subcommand)]
        #[allow(clippy::large_enum_variant)] // one per run
        enum Verb {
            $($name($arguments),)*
            Completions(verbs::completions::Completions),
        }

        impl Verb {
            fn run(self, global: &Global) -> Result<Exit, Failure> {
                match self {
                    $(Self::$name(verb) => verb.run(global),)*
                    Self::Completions(completions) => completions.run(Cli::command()),
                }
            }
        }
    };
}

verbs! {
    Demo = verbs::demo::Demo,
    Plan = verbs::plan::Plan,
    Bins = verbs::learn::Bins,
    Components = verbs::learn::Components,
    Book = verbs::learn::Book,
    Release = verbs::release::Release,
    Inspect = verbs::inspect::Inspect,
    Verify = verbs::verify::Verify,
    Compare = verbs::compare::Compare,
    Search = verbs::search::Search,
    Statistics = verbs::statistics::Statistics,
    Decode = verbs::decode::Decode,
    Evaluate = verbs::evaluate::Evaluate,
    Reproduce = verbs::reproduce::Reproduce,
    Ledger = verbs::ledger::LedgerVerb,
    Campaign = verbs::campaign::CampaignVerb,
    Audit = verbs::audit::Audit,
    Collect = verbs::collect::Collect,
    Keygen = verbs::keygen::Keygen,
}

/// Runs the command line `arguments`, of which the first is the name of the program; gives the exit status.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    quiet_panics();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error) as u8,
    };
    // A panic must not carry a value of the input to the terminal: the hook says where, never what.
    let outcome = std::panic::catch_unwind(|| run(cli));
    let exit = match outcome {
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => failure.report(),
        Err(_) => Exit::Error,
    };
    exit as u8
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let Cli { verb, global } = cli;
    global.start();
    scumble::parallel::run(|| verb.run(&global))
}

/// Help and version as clap prints them; a wrong use in one line.
fn usage(error: &clap::Error) -> Exit {
    use clap::error::ErrorKind::*;
    if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        let _ = error.print(); // nowhere left to say that it failed
        return if error.kind() == DisplayHelpOnMissingArgumentOrSubcommand { Exit::Error } else { Exit::Done };
    }
    let text = error.to_string();
    let paragraphs =
        text.split("\n\n").take_while(|it| !it.starts_with("Usage:") && !it.starts_with("For more information"));
    let line = paragraphs.map(in_one_line).collect::<Vec<_>>().join("; ");
    Failure::error(format!("{} (see --help)", line.trim_start_matches("error: "))).report()
}

/// A sentence of clap's; what it lists stands below it, one thing per line.
fn in_one_line(paragraph: &str) -> String {
    let mut lines = paragraph.lines().map(str::trim);
    let sentence = lines.next().unwrap_or_default();
    let listed = lines.collect::<Vec<_>>().join(", ");
    [sentence, &listed].join(" ").trim().to_owned()
}

fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        print::say(&format!("scumble: internal error{place}. A release that exists is complete. Please report it"));
    }));
}
