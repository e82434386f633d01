//! `scumble demo`: the whole story on handwritten digits, in seconds, without a network.

use crate::exit::{Exit, Failure, flag};
use crate::options::Global;
use crate::print::{self, Paint, grouped, number};
use clap::{Args, ValueHint};
use scumble::mechanism::Mechanism;
use scumble_lab::demo::{DIM, PRIVATE, QUERIES, REPORT, ROWS, Recall, Step, TOP, VECTORS, run};
use std::path::PathBuf;

/// Show the whole story on built-in data: plan, release, search, compare, report
///
/// Releases 6,000 handwritten digits of MNIST with the paper's mechanism and with ours, searches and compares the
/// releases, and writes what it found to a folder.
#[derive(Args)]
#[command(after_help = "Example: scumble demo --out /tmp/scumble-demo")]
pub struct Demo {
    /// Folder for the data, the releases and the report
    #[arg(short, long, value_name = "DIR", default_value = "scumble-demo", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

impl Demo {
    /// Tells the story.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let mut part = 0;
        let story = run(&self.out, flag, |step| {
            part += usize::from(matches!(step, Step::Begins(_)));
            if global.json { Ok(()) } else { print::emit(&words(part, &step)) }
        })?;
        global.show(|| &story.results, || self.ending())
    }

    fn ending(&self) -> String {
        let paint = Paint::stdout();
        let [report, private, vectors] = [REPORT, PRIVATE, VECTORS].map(|name| self.out.join(name));
        let (private, vectors) = (private.display(), vectors.display());
        format!(
            "\n{} open {}\n{}\n  scumble inspect {private}\n  scumble verify  {private}\n  scumble compare {private} --rows \
             0,1\n  scumble search  {private} --queries {vectors} --exact-queries --top 5\n",
            paint.strong("Report:"),
            report.display(),
            paint.strong("Try:"),
        )
    }
}

/// What the last column shows.
const BLOCKS: &str = "
   The last column adds neighbouring pixels (scumble release --bins grid:28x28) where OPORP adds pixels by chance. The
   noise and the promise are the same: one pixel still touches one bin. What is known of all images costs no privacy.
";

/// A step of the story's part.
fn words(part: usize, step: &Step<'_>) -> String {
    let paint = Paint::stdout();
    let deviation = |mechanism: &Mechanism| mechanism.noise_moments().map(|noise| number(noise.variance.sqrt()));
    match step {
        Step::Begins(title) => format!("\n{} {}\n", paint.good(&format!("{part}.")), paint.strong(title)),
        Step::Rows { density } => format!(
            "   {} handwritten digits of MNIST, {DIM} pixels in [0, 1] each, {:.0}% of them blank. {QUERIES} more are queries.\n",
            grouped(ROWS as u64),
            100.0 * (1.0 - density)
        ),
        Step::Planned { epsilon, choice } => format!(
            "   Unit of privacy: ONE attribute of a row, whatever its value. Epsilon {epsilon}.\n   scumble plan takes {} with \
             k = {}: noise of {} per value. What a search finds depends on the rows; step 6 measures it.\n",
            choice.id(),
            choice.k(),
            deviation(choice).unwrap_or_else(|| "no".into())
        ),
        Step::Released { path, mechanism, source } => {
            let (path, id) = (path.display().to_string(), mechanism.id().to_string());
            let noise = deviation(mechanism).unwrap_or_else(|| "no".into());
            format!("   {path:<32} {id:<20} {source:<26} noise {noise}\n")
        }
        Step::Found { digit, rows, alike } => {
            let marked = |&(row, is_true): &(usize, bool)| match is_true {
                true => paint.good(&format!("{row}*")),
                false => row.to_string(),
            };
            format!(
                "   Query 0 is a {digit}. In {PRIVATE} it finds rows {} ...\n   {} of its {TOP} true neighbours are among the \
                 first {TOP} (true ones are marked *), and {alike} of those found show the same digit.\n",
                rows.iter().take(8).map(marked).collect::<Vec<_>>().join(" "),
                rows.iter().filter(|(_, is_true)| *is_true).count()
            )
        }
        Step::Compared(comparison) => format!("   {}\n", comparison.replace('\n', "\n   ")),
        Step::Measuring => {
            format!("   Share of the true {TOP} nearest rows found, {QUERIES} queries, by epsilon:\n\n")
        }
        Step::Measured(results) => table(results, paint) + BLOCKS,
    }
}

fn table(results: &[Recall], paint: Paint) -> String {
    let row = |r: &Recall| {
        let shares = [r.without_privacy, r.paper, r.ours, r.ours_exact_query, r.blocks].map(|x| format!("{x:.3}"));
        [number(r.epsilon), r.k.to_string()].into_iter().chain(shares).collect()
    };
    let head = [
        "epsilon",
        "k",
        "without privacy",
        "paper's DP-OPORP",
        "ours (staircase)",
        "ours, exact query",
        "ours on blocks",
    ];
    let mut lines = print::table(&head, &results.iter().map(row).collect::<Vec<_>>());
    lines[0] = paint.faint(&lines[0]);
    lines.iter().map(|line| format!(" {line}\n")).collect()
}
