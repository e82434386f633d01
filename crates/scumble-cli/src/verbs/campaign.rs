//! `scumble campaign`: the public description of a collection from devices: write, sign, show, check.

use crate::exit::{Exit, Failure};
use crate::keys;
use crate::options::{Global, MechanismOptions};
use crate::print::{self, Facts, Paint, grouped, number, warn};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use scumble::campaign::{
    Campaign, CampaignFileError, Input, Layout, Longitudinal, Mode, Periods, Terms, read_campaign, write_campaign,
};
use scumble::files::read_public_key;
use scumble::mechanism::Beside;
use scumble::plan::Public;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Describe a collection from devices: every device adds the noise itself
///
/// A campaign is a text that anyone can check: who is protected from what, the integers of the noise, when and how
/// often a device reports. Devices accept it only with the signature of a key that they trust, or with the digest that
/// they expect. It never changes: a new text has a new name.
#[derive(Args)]
#[command(
    after_help = "Example:\n  scumble keygen --out campaign.key\n  scumble campaign new --out topics.json --name \
                        topics --statement 'We count which topics people read.' --collector https://reports.example.org \
                        --dim 64 --range -1,1 --epsilon 2 --mechanism dp-signoporp-ceil -k 64 --first 1800000000\n  scumble \
                        campaign sign topics.json --sign campaign.key --out topics.signed.json\n  scumble campaign check \
                        topics.signed.json --key campaign.key.pub"
)]
pub struct CampaignVerb {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write a campaign
    New(Box<New>),
    /// Sign a campaign; its name does not change
    Sign(Sign),
    /// Show a campaign in plain words
    Show(Show),
    /// Recompute every number of a campaign; exit 1 if one is wrong
    Check(Check),
}

#[derive(Args)]
struct New {
    /// File to write; an existing file is never replaced
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Short name for people
    #[arg(long, value_name = "NAME", help_heading = "Terms")]
    name: String,
    /// What is collected and why, in plain words for the person whose device it is
    #[arg(long, value_name = "TEXT", help_heading = "Terms")]
    statement: String,
    /// Where reports go: https://.., or http://127.0.0.1:.. for tests
    #[arg(long, value_name = "URL", help_heading = "Terms")]
    collector: String,
    /// Number of attributes of the vector
    #[arg(long, value_name = "P", help_heading = "Input vector")]
    dim: usize,
    /// How devices provide the vector
    #[arg(long, value_name = "KIND", value_enum, default_value_t = LayoutWord::Dense, help_heading = "Input vector")]
    layout: LayoutWord,
    /// What the vector is, in words
    #[arg(long, value_name = "TEXT", default_value = "", help_heading = "Input vector")]
    input: String,
    /// SHA-256 of the model that makes the vector
    #[arg(long, value_name = "HEX", help_heading = "Input vector")]
    model: Option<String>,
    /// When the first period begins, in seconds since 1970 (UTC)
    #[arg(long, value_name = "SECONDS", help_heading = "Time")]
    first: u64,
    /// Length of a period: 3600, 1h, 1d, 7d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = parse_time, help_heading = "Time")]
    period: u64,
    /// How many periods
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Time")]
    periods: u32,
    /// once: an unchanged vector is never sent again; sticky: in every period, with the same noise (a pseudonym)
    #[arg(long, value_name = "MODE", value_enum, default_value_t = ModeWord::Once, help_heading = "Time")]
    longitudinal: ModeWord,
    /// The most different vectors that a slot may report; each costs epsilon again
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Time")]
    contents: u32,
    /// Periods with fewer reports are never exported
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Time")]
    min_reports: u32,
    /// Days for which a collector may keep a report after its period; more than a period has
    #[arg(long, value_name = "DAYS", default_value_t = 90, help_heading = "Time")]
    retention: u32,
    #[command(flatten)]
    mechanism: MechanismOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayoutWord {
    Dense,
    Sparse,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeWord {
    Once,
    Sticky,
}

#[derive(Args)]
struct Sign {
    /// The campaign
    #[arg(value_name = "CAMPAIGN", value_hint = ValueHint::FilePath)]
    campaign: PathBuf,
    /// The secret key (scumble keygen)
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    sign: PathBuf,
    /// File to write; an existing file is never replaced
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
}

#[derive(Args)]
struct Show {
    /// The campaign
    #[arg(value_name = "CAMPAIGN", value_hint = ValueHint::FilePath)]
    campaign: PathBuf,
}

#[derive(Args)]
struct Check {
    /// The campaign
    #[arg(value_name = "CAMPAIGN", value_hint = ValueHint::FilePath)]
    campaign: PathBuf,
    /// The public key that must have signed it
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,
    /// The name that it must have: 64 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    digest: Option<String>,
}

impl CampaignVerb {
    /// Does what was asked.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        match &self.what {
            What::New(new) => new.run(global),
            What::Sign(sign) => sign.run(global),
            What::Show(show) => show.run(global),
            What::Check(check) => check.run(global),
        }
    }
}

impl New {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let releaser = self.mechanism.ask()?.releaser(self.dim, None, Public::default())?;
        releaser.mechanism().warnings().iter().for_each(|warning| warn(warning));
        let campaign = Campaign::new(releaser.mechanism(), releaser.encoder(), self.terms())?;
        write(global, &self.out, &campaign)
    }

    fn terms(&self) -> Terms {
        Terms {
            name: self.name.clone(),
            statement: self.statement.clone(),
            collector: self.collector.clone(),
            input: Input {
                layout: match self.layout {
                    LayoutWord::Dense => Layout::Dense,
                    LayoutWord::Sparse => Layout::Sparse,
                },
                description: self.input.clone(),
                model: self.model.clone(),
            },
            periods: Periods { first: self.first, seconds: self.period, count: self.periods },
            longitudinal: Longitudinal {
                mode: match self.longitudinal {
                    ModeWord::Once => Mode::Once,
                    ModeWord::Sticky => Mode::Sticky,
                },
                contents: self.contents,
            },
            min_reports: self.min_reports,
            retention_days: self.retention,
        }
    }
}

impl Sign {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let campaign = read(&self.campaign)?.signed(&keys::signing_key(&self.sign)?);
        write(global, &self.out, &campaign)
    }
}

impl Show {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let campaign = read(&self.campaign)?;
        if global.json {
            print::emit(&campaign.to_json())?;
        } else {
            print::emit(&words(&campaign)?)?;
        }
        Ok(Exit::Done)
    }
}

impl Check {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let campaign = read(&self.campaign)?;
        let key = self.key.as_deref().map(read_public_key).transpose()?;
        let refused = |error| Failure::refused(format!("{}: {error}", self.campaign.display()));
        let signer = campaign.check_trust(key.as_ref(), self.digest.as_deref()).map_err(refused)?;
        if global.json {
            print::emit_json(&json!({
                "passed": true, "digest": campaign.digest(), "signer": signer.map(|signer| signer.to_hex()),
            }))?;
        } else {
            let by = signer.map_or("not signed".into(), |signer| format!("signed by {}", signer.to_hex()));
            print::emit(&format!("ok: every number follows from the parameters; {by}\n"))?;
        }
        Ok(Exit::Done)
    }
}

/// Reads a campaign and recomputes everything.
fn read(path: &Path) -> Result<Campaign, Failure> {
    match read_campaign(path, &Beside::default()) {
        Ok((campaign, ..)) => Ok(campaign),
        Err(error @ CampaignFileError::Campaign { .. }) => Err(Failure::refused(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Writes a campaign, and says under which names.
fn write(global: &Global, out: &Path, campaign: &Campaign) -> Result<Exit, Failure> {
    let (beside, digest) = (write_campaign(out, campaign)?, campaign.digest());
    if global.json {
        let (out, length) = (out.to_string_lossy(), campaign.report_length);
        let file = beside.map(|path| path.to_string_lossy().into_owned());
        print::emit_json(&json!({ "out": out, "public_file": file, "digest": digest, "report_length": length }))?;
    } else {
        let file = beside.map(|path| format!("file      {}: public, every device needs it\n", path.display()));
        print::emit(&format!("campaign  {}\n{}digest    {digest}\n", out.display(), file.unwrap_or_default()))?;
    }
    Ok(Exit::Done)
}

/// The campaign for people.
fn words(campaign: &Campaign) -> Result<String, Failure> {
    let paint = Paint::stdout();
    let Campaign { terms, parameters, .. } = campaign;
    let mut person = Facts::default();
    person.add("statement", terms.statement.clone());
    campaign.notice.iter().for_each(|sentence| {
        person.add("", sentence.clone());
    });
    let mut numbers = Facts::default();
    numbers.add("digest", campaign.digest());
    numbers.add("signed by", campaign.signer()?.map_or("nobody".into(), |signer| signer.to_hex()));
    numbers.add("unit", parameters.unit.sentence(parameters.beta));
    let delta = parameters.delta.map(|delta| format!(", delta {delta:e}")).unwrap_or_default();
    numbers.add("loss", format!("epsilon {}{delta} for each content of a slot", number(parameters.epsilon)));
    numbers.add("mechanism", format!("{}: {}", parameters.mechanism, parameters.mechanism.summary()));
    let sizes = format!("{} attributes in [{}, {}]", parameters.dim, parameters.range.lo, parameters.range.hi);
    let layout = format!("{:?}", terms.input.layout).to_lowercase();
    numbers.add("input", format!("{sizes}, {layout}: {}", terms.input.description));
    numbers.add("report", format!("{} bytes, {}", campaign.report_length, campaign.encoding.name));
    if let Some((name, content)) = campaign.file() {
        let size = grouped(content.len() as u64);
        numbers.add("public file", format!("{name}, {size} bytes: every device and the collector need it"));
    }
    let Periods { first, seconds, count } = terms.periods;
    numbers.add("periods", format!("{count} of {} seconds, from second {first} (UTC) on", grouped(seconds)));
    let Longitudinal { mode, contents } = terms.longitudinal;
    numbers.add("longitudinal", format!("{mode:?}, at most {contents} contents for a slot").to_lowercase());
    numbers.add("exported", format!("from {} reports on", grouped(terms.min_reports.into())));
    numbers.add("kept", format!("{} days", terms.retention_days));
    numbers.add("collector", terms.collector.clone());
    let parts =
        [paint.strong(&terms.name), "\n".into(), person.text(), paint.strong("Numbers"), "\n".into(), numbers.text()];
    Ok(parts.concat())
}

/// Seconds, or a number with s, m, h or d.
fn parse_time(text: &str) -> Result<u64, String> {
    let unit = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];
    let (digits, seconds) =
        unit.iter().find_map(|(word, seconds)| Some((text.strip_suffix(word)?, *seconds))).unwrap_or((text, 1));
    let time = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds));
    time.filter(|&time| time > 0).ok_or_else(|| "give seconds, or a time such as 1h or 7d".into())
}
