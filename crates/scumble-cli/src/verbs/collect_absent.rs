//! `scumble collect` in a build that has no collector: says how to get one.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use clap::Args;

/// Take reports from devices (not in this build)
#[derive(Args)]
pub struct Collect {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<String>,
}

impl Collect {
    /// Refuses.
    pub fn run(&self, _: &Global) -> Result<Exit, Failure> {
        let _ = &self.rest;
        Err(Failure::error("this build has no collector: build with --features collector"))
    }
}
