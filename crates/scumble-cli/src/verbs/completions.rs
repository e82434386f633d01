//! `scumble completions`: for the shell.

use crate::exit::{Exit, Failure};
use crate::print;
use clap::{Args, Command};
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "Example: scumble completions bash > ~/.local/share/bash-completion/completions/scumble")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(&self, mut command: Command) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "scumble", &mut script);
        print::emit(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Done)
    }
}
