//! `scumble bins`, `scumble components` and `scumble book`: public structure from a public sample.

use crate::exit::{Exit, Failure};
use crate::options::{Global, InputOptions, PUBLIC};
use crate::print::{self, note};
use clap::{Args, ValueHint};
use scumble::error::LibraryError;
use scumble::files::{open_release, read_all, write_whole};
use scumble::projection::{Partition, TableFile};
use scumble::structure::{
    BOOK_WORDS, BinsOptions, COMPONENTS, learn_bins, learn_bins_from_release, learn_components, make_book,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A public sample and the file that is made of it.
#[derive(Args)]
struct SampleOptions {
    /// Public rows: any input file
    #[arg(long, value_name = "PUBLIC", value_hint = ValueHint::AnyPath)]
    sample: PathBuf,
    #[command(flatten)]
    made: Made,
}

/// The file to write, and how the sample is read.
#[derive(Args)]
struct Made {
    /// File to write; an existing file is never replaced
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Number of attributes: for LIBSVM files that end before the last; checked for other kinds
    #[arg(long, value_name = "P", help_heading = "Input")]
    dim: Option<usize>,
    #[command(flatten)]
    reading: InputOptions,
}

/// Learn bins of attributes that move together, for release --bins
///
/// Public structure: one attribute still touches one bin, so the guarantee is that of OPORP, and what is alike adds up
/// instead of drowning. Learned from PUBLIC rows, or from an earlier release of OTHER rows than those that will be
/// released.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble bins --sample public.npy -k 64 --out my.bins\n  scumble release private.npy \
                        --out private.parquet --epsilon 1 --range 0,1 --bins my.bins"
)]
pub struct Bins {
    /// Public rows: any input file
    #[arg(long, value_name = "PUBLIC", value_hint = ValueHint::AnyPath, required_unless_present = "release")]
    sample: Option<PathBuf>,
    /// An earlier release of other rows, without a projection (raw-...); a person who is in both pays for both
    #[arg(long, value_name = "RELEASE", value_hint = ValueHint::AnyPath, conflicts_with = "sample")]
    release: Option<PathBuf>,
    /// Bins
    #[arg(short, long = "k", value_name = "K")]
    k: usize,
    #[command(flatten)]
    made: Made,
}

impl Bins {
    /// Learns and writes.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let options = BinsOptions::new(self.k);
        let bins = match (&self.sample, &self.release) {
            (Some(sample), _) => {
                note(PUBLIC);
                let batch = read_all(sample, &self.made.reading.read_options(self.made.dim))?;
                learn_bins(batch.rows(), options).map_err(|error| at(sample, &error))?
            }
            (None, Some(path)) => {
                note("the release must be of OTHER rows than those that will be released with these bins");
                learn_bins_from_release(&open_release(path)?, options).map_err(|error| at(path, &error))?
            }
            (None, None) => unreachable!("clap asks for one of them"),
        };
        let name = Partition::of(&bins).name();
        write_whole(&[(&self.made.out, bins.to_text().as_bytes())])?;
        done(global, &self.made.out, &name, &format!("{} attributes in {} bins", bins.dim(), bins.len()))
    }
}

/// Learn the main directions of public records, for release --components
///
/// Subtracts a public sample's mean and keeps its main directions, rotated at random among themselves: privcube and
/// signcap then spend their bits on these. Any public function of a record may come before them, so the guarantee is
/// the same.
#[derive(Args)]
#[command(
    after_help = "Example:\n  scumble components --sample public.npy --out my.components\n  scumble release x.npy \
                        --out y.parquet --mechanism privcube --epsilon 5 --range -1,1 --components my.components"
)]
pub struct Components {
    /// Components
    #[arg(short, long = "k", value_name = "K", default_value_t = COMPONENTS)]
    k: usize,
    #[command(flatten)]
    sample: SampleOptions,
}

impl Components {
    /// Learns and writes.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let SampleOptions { sample, made } = &self.sample;
        note(PUBLIC);
        let batch = read_all(sample, &made.reading.read_options(made.dim))?;
        let table = learn_components(batch.rows(), self.k).map_err(|error| at(sample, &error))?;
        write_whole(&[(&made.out, &table.to_bytes())])?;
        let words = format!("{} components of {} attributes", table.shape().1, table.shape().0);
        done(global, &made.out, &TableFile::of(table).name(), &words)
    }
}

/// Take public rows as the words of a book, for release --mechanism privbook --book
///
/// Every released row is then one of these words, likelier if it is near the record: 16 or 24 bits per row, and the guarantee
/// holds for any record in place of any other.
#[derive(Args)]
#[command(
    after_help = "Example:\n  scumble book --sample public.npy --words 16384 --out my.book\n  scumble release x.npy \
                        --out y.parquet --mechanism privbook --epsilon 10 --range -1,1 --book my.book"
)]
pub struct Book {
    /// Largest number of words: rows spread over the sample
    #[arg(long, value_name = "K", default_value_t = BOOK_WORDS)]
    words: usize,
    #[command(flatten)]
    sample: SampleOptions,
}

impl Book {
    /// Makes and writes.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let SampleOptions { sample, made } = &self.sample;
        note(PUBLIC);
        let batch = read_all(sample, &made.reading.read_options(made.dim))?;
        let table = make_book(batch.rows(), self.words).map_err(|error| at(sample, &error))?;
        write_whole(&[(&made.out, &table.to_bytes())])?;
        let words = format!("{} words of {} attributes", table.shape().0, table.shape().1);
        done(global, &made.out, &TableFile::of(table).name(), &words)
    }
}

fn at(path: &Path, error: &LibraryError) -> Failure {
    Failure::error(format!("{}: {error}", path.display()))
}

fn done(global: &Global, out: &Path, name: &str, words: &str) -> Result<Exit, Failure> {
    if global.json {
        print::emit_json(&json!({ "out": out.to_string_lossy(), "name": name, "holds": words }))?;
    } else {
        print::emit(&format!("{}: {words} ({name})\n", out.display()))?;
    }
    Ok(Exit::Done)
}
