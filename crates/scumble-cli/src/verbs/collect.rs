//! `scumble collect`: the collector, its exports, its tokens.

use crate::exit::{Exit, Failure};
use crate::keys;
use crate::options::Global;
use crate::print::{self, Facts};
use clap::{Args, Subcommand, ValueHint};
use scumble::campaign::read_campaign;
use scumble::mechanism::Beside;
use scumble_collector::LevelFilter;
use scumble_collector::collection::Collection;
use scumble_collector::collector::Settings;
use scumble_collector::export::export;
use scumble_collector::run;
use scumble_collector::store::{self, CampaignKey, Store};
use scumble_collector::token;
use serde_json::json;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Take reports from devices
///
/// Keeps the reports of signed campaigns, each once and durably, and exports closed periods as ordinary releases. With
/// --store FILE nothing else is needed; with --store postgres://.. several collectors share one database. Without
/// --campaign it serves the campaigns that the store knows. On SIGTERM it writes everything it took, then ends.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  scumble collect --store reports.db --campaign topics.json\n  scumble collect export --store \
                  reports.db --out week.parquet\n  scumble verify week.parquet"
)]
pub struct Collect {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum What {
    /// Write closed periods as a release; of a sticky campaign, one at a time
    Export(Export),
    /// Show campaigns, periods and exports
    Status {
        #[command(flatten)]
        store: StoreOf,
    },
    /// Make a token that senders of a campaign must have, or remove all of them
    Token(Token),
}

#[derive(Args)]
struct StoreOf {
    /// SQLite file, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", env = "SCUMBLE_STORE", hide_env_values = true, default_value = "collector.db")]
    store: String,
}

#[derive(Args)]
struct Time {
    /// File that says what time it is, in seconds since 1970, to rehearse a campaign [default: the system's clock]
    #[arg(long, value_name = "FILE", env = "SCUMBLE_CLOCK", value_hint = ValueHint::FilePath)]
    clock: Option<PathBuf>,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    store: StoreOf,
    /// Digest of the campaign, or its first digits [default: the only one]
    #[arg(long, value_name = "DIGEST")]
    campaign: Option<String>,
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    store: StoreOf,
    /// Signed campaign to serve; may be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, env = "SCUMBLE_CAMPAIGN")]
    campaign: Vec<PathBuf>,
    /// Address for devices
    #[arg(long, value_name = "ADDRESS", env = "SCUMBLE_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Address for operators: /healthz, /readyz, /metrics
    #[arg(long, value_name = "ADDRESS", env = "SCUMBLE_ADMIN", default_value = "127.0.0.1:8081")]
    admin: SocketAddr,
    /// Certificate chain (PEM) of the address for devices
    #[arg(long, value_name = "FILE", env = "SCUMBLE_TLS_CERT", requires = "tls_key", value_hint = ValueHint::FilePath)]
    tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", env = "SCUMBLE_TLS_KEY", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    tls_key: Option<PathBuf>,
    /// Take a sender's address from the last entry of X-Forwarded-For: only behind a proxy that writes it
    #[arg(long, env = "SCUMBLE_BEHIND_PROXY")]
    behind_proxy: bool,
    /// Pages that may send from a browser: * or one origin; requests that name another one are refused
    #[arg(long, value_name = "ORIGIN", env = "SCUMBLE_ORIGIN", default_value = "*")]
    origin: String,
    /// Requests per second per address; 0 means no limit
    #[arg(long, value_name = "N", env = "SCUMBLE_RATE_ADDRESS", default_value_t = 200)]
    rate_address: u32,
    /// Requests per second per token; 0 means no limit
    #[arg(long, value_name = "N", env = "SCUMBLE_RATE_TOKEN", default_value_t = 0)]
    rate_token: u32,
    /// Connections at one time
    #[arg(long, value_name = "N", env = "SCUMBLE_CONNECTIONS", default_value_t = 4096)]
    connections: usize,
    /// Connections of one address at one time; 0 means no limit, as behind a proxy
    #[arg(long, value_name = "N", env = "SCUMBLE_CONNECTIONS_ADDRESS", default_value_t = 256)]
    connections_address: usize,
    /// Reports that may wait to be written; when there are more, senders are told to try again later
    #[arg(long, value_name = "N", env = "SCUMBLE_QUEUE", default_value_t = 50_000)]
    queue: usize,
    /// Largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", env = "SCUMBLE_BODY", default_value_t = 1 << 20)]
    body: usize,
    /// Seconds that headers, and a body, may take to arrive
    #[arg(long, value_name = "SECONDS", env = "SCUMBLE_TIMEOUT", default_value_t = 10)]
    timeout: u64,
    /// What is logged to standard error: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "SCUMBLE_LOG", default_value = "info")]
    log: LevelFilter,
    #[command(flatten)]
    time: Time,
}

#[derive(Args)]
struct Export {
    #[command(flatten)]
    of: One,
    /// File to write: .parquet or .npy; an existing file is never replaced
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Write this export again, by its number [default: what is new, or else the last one again]
    #[arg(long, value_name = "N")]
    number: Option<i64>,
    /// Sign the certificate with this key
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    sign: Option<PathBuf>,
    #[command(flatten)]
    time: Time,
}

#[derive(Args)]
struct Token {
    #[command(flatten)]
    of: One,
    /// Remove every token of the campaign: then anyone may send
    #[arg(long)]
    remove_all: bool,
}

impl Collect {
    /// Does what was asked.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        match &self.what {
            None => self.serve.run(global),
            Some(What::Export(export)) => export.run(global),
            Some(What::Status { store }) => status(global, store),
            Some(What::Token(token)) => token.run(global),
        }
    }
}

impl Serve {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        run::log(self.log);
        let given = self.campaign.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
        let (json, clock) = (global.json, run::clock(self.time.clock.clone())?);
        run::serve(self.settings(), &self.store.store, given, clock, |public, admin| {
            let _ = match json {
                true => print::emit_json(&json!({ "public": public, "admin": admin })),
                false => print::emit(&format!("listening on {public}, for operators on {admin}\n")),
            }; // a closed standard output is no reason to stop
        })?;
        Ok(Exit::Done)
    }

    fn settings(&self) -> Settings {
        let mut settings =
            Settings { listen: self.listen, admin: self.admin, queue: self.queue, ..Settings::default() };
        settings.tls = self.tls_cert.clone().zip(self.tls_key.clone());
        let (service, server) = (&mut settings.service, &mut settings.server);
        service.largest_body = self.body;
        service.per_address = self.rate_address;
        service.per_token = self.rate_token;
        service.behind_proxy = self.behind_proxy;
        service.origin.clone_from(&self.origin);
        service.body_timeout = Duration::from_secs(self.timeout);
        server.header_timeout = Duration::from_secs(self.timeout);
        server.most_connections = self.connections;
        server.most_per_address = if self.behind_proxy { 0 } else { self.connections_address };
        settings
    }
}

fn read(path: &Path) -> Result<Collection, Failure> {
    let (campaign, mechanism, encoder) = read_campaign(path, &Beside::default())?;
    Collection::new(campaign, mechanism, encoder).map_err(|error| Failure::of_file(path, error))
}

impl One {
    /// The store and the one campaign that is meant.
    fn open(&self) -> Result<(Box<dyn Store>, CampaignKey, Collection), Failure> {
        let mut store = self.store.open()?;
        let mut known = run::collections(&mut *store)?;
        if let Some(digits) = &self.campaign {
            known.retain(|(_, collection)| collection.name().starts_with(digits.as_str()));
        }
        match (known.pop(), known.is_empty()) {
            (Some((key, collection)), true) => Ok((store, key, collection)),
            (None, _) => Err(Failure::error("the store has no such campaign; see scumble collect status")),
            _ => Err(Failure::error("the store has several campaigns: give --campaign DIGEST")),
        }
    }
}

impl StoreOf {
    /// Opens a store that exists.
    fn open(&self) -> Result<Box<dyn Store>, Failure> {
        if !self.store.starts_with("postgres") && !Path::new(&self.store).exists() {
            return Err(Failure::error(format!("{}: no such store", self.store)));
        }
        Ok(store::open(&self.store)?.remove(0))
    }
}

impl Export {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let signer = self.sign.as_deref().map(keys::signing_key).transpose()?;
        let clock = run::clock(self.time.clock.clone())?;
        let (mut store, key, collection) = self.of.open()?;
        let done = export(&mut *store, key, &collection, clock(), self.number, signer.as_ref(), &self.out)?;
        if global.json {
            print::emit_json(&json!({
                "out": self.out, "export": done.number, "periods": done.periods, "rows": done.rows,
                "campaign": collection.name(),
            }))?;
        } else {
            let mut facts = Facts::default();
            facts.add("export", format!("{} of campaign {}", done.number, collection.name()));
            facts.add("periods", list(&done.periods));
            facts.add("rows", done.rows.to_string());
            facts.add("file", self.out.display().to_string());
            print::emit(&facts.text())?;
        }
        Ok(Exit::Done)
    }
}

fn list(periods: &[u32]) -> String {
    periods.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn status(global: &Global, store: &StoreOf) -> Result<Exit, Failure> {
    let mut store = store.open()?;
    let (mut values, mut text) = (Vec::new(), String::new());
    for (key, collection) in run::collections(&mut *store)? {
        let (periods, exports) = (store.periods(key)?, store.exports(key)?);
        let tokens = store.tokens(key)?.len();
        let terms = &collection.campaign().terms;
        let mut facts = Facts::default();
        facts.add("name", terms.name.clone());
        facts.add("tokens", if tokens == 0 { "none: anyone may send".into() } else { tokens.to_string() });
        for count in &periods {
            let state = match (count.closed, count.export) {
                (_, Some(export)) => format!("in export {export}"),
                (true, None) if count.reports < terms.min_reports.into() => "closed with too few".into(),
                (true, None) => "closed, to be exported".into(),
                (false, None) => "open".into(),
            };
            facts.add(format!("period {}", count.period), format!("{} reports, {state}", count.reports));
        }
        for export in &exports {
            let state = if export.deleted {
                ", deleted"
            } else if export.written {
                ""
            } else {
                ", not written yet"
            };
            let periods = list(&export.periods);
            facts.add(format!("export {}", export.number), format!("{} rows of periods {periods}{state}", export.rows));
        }
        text += &format!("{}\n{}", collection.name(), facts.text());
        values.push(json!({
            "campaign": collection.name(), "name": terms.name, "tokens": tokens, "min_reports": terms.min_reports,
            "periods": periods.iter().map(|count| json!({
                "period": count.period, "reports": count.reports, "closed": count.closed, "export": count.export,
            })).collect::<Vec<_>>(),
            "exports": exports.iter().map(|export| json!({
                "export": export.number, "periods": export.periods, "rows": export.rows, "written": export.written,
                "deleted": export.deleted,
            })).collect::<Vec<_>>(),
        }));
    }
    if global.json {
        print::emit_json(&json!({ "campaigns": values }))?
    } else {
        print::emit(&text)?
    }
    Ok(Exit::Done)
}

impl Token {
    fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let (mut store, key, _) = self.of.open()?;
        if self.remove_all {
            let removed = store.remove_tokens(key)?;
            match global.json {
                true => print::emit_json(&json!({ "removed": removed }))?,
                false => print::emit(&format!("removed {removed} tokens: anyone may send\n"))?,
            }
            return Ok(Exit::Done);
        }
        let token = token::generate()?;
        store.add_token(key, token::hash(&token))?;
        // Shown once: the store has its hash only.
        match global.json {
            true => print::emit_json(&json!({ "token": token }))?,
            false => print::emit(&format!("{token}\n"))?,
        }
        Ok(Exit::Done)
    }
}
