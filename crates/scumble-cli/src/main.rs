//! The binary: all of it is in the library, which the Python wheel runs too.

use std::process::ExitCode;

fn main() -> ExitCode {
    scumble_cli::command(std::env::args_os()).into()
}
