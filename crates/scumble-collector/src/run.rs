//! The collector as a process: log, signals, exit.

use crate::collection::Collection;
use crate::collector::{Collector, Settings, StartError};
use crate::service::Clock;
use crate::store::{self, CampaignKey, Published, Store, StoreError, Unfit};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;

/// Seconds since 1970: by the system, or, to rehearse a campaign, as a file says at each moment.
pub fn clock(file: Option<PathBuf>) -> Result<Clock, StartError> {
    let Some(file) = file else { return Ok(Arc::new(now)) };
    let read = move || std::fs::read_to_string(&file).ok()?.trim().parse().ok();
    let now = read().ok_or(StartError::Clock)?;
    tracing::warn!("a file says what time it is: this is a rehearsal");
    let last = AtomicU64::new(now); // stands while the file is being written
    Ok(Arc::new(move || match read() {
        Some(now) => {
            last.store(now, Ordering::Relaxed);
            now
        }
        None => last.load(Ordering::Relaxed),
    }))
}

/// Seconds since 1970, by the system.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Logs to standard error what this crate says, and nothing else: other crates would print what they are given.
pub fn log(level: LevelFilter) {
    let _ = tracing_subscriber::fmt() // a second start of a log in one process changes nothing
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
}

/// Every campaign that a store knows.
pub fn collections(store: &mut dyn Store) -> Result<Vec<(CampaignKey, Collection)>, StoreError> {
    let known = store.campaigns()?.into_iter();
    let read = |it: Published| match Collection::parse(&it.text, it.file.as_deref()) {
        Ok(collection) => Ok((it.key, collection)),
        Err(error) => Err(Unfit::Campaign { campaign: it.digest, fault: error.to_string() }.into()),
    };
    known.map(read).collect()
}

/// Puts campaigns into the store and gives every one that it then knows. What was given is dropped: public files may be
/// large, and the store's copy is the one that is served.
fn enter(store: &mut dyn Store, given: Vec<Collection>) -> Result<Vec<Collection>, StartError> {
    let mut texts = Vec::with_capacity(given.len());
    for collection in given {
        let (name, text) = (collection.name(), collection.text());
        store.add_campaign(&name, text, collection.file().map(|file| &file[..]))?;
        texts.push((name, text.to_owned()));
    }
    let known: Vec<_> = collections(store)?.into_iter().map(|(_, collection)| collection).collect();
    let other = |(name, text): &(String, String)| known.iter().any(|it| it.name() == *name && it.text() != text);
    match texts.into_iter().find(other) {
        Some((campaign, _)) => Err(StartError::OtherSignature { campaign }),
        None => Ok(known),
    }
}

/// Serves the campaigns that are given and those that the store has, until the process is asked to end. Periods follow
/// `clock`; `started` is told the two addresses.
pub fn serve(
    settings: Settings,
    location: &str,
    given: Vec<Collection>,
    clock: Clock,
    started: impl FnOnce(SocketAddr, SocketAddr),
) -> Result<(), StartError> {
    let mut stores = store::open(location)?;
    let known = enter(&mut *stores[0], given)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(StartError::Threads)?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(StartError::Signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::Signals)?;
        let collector = Collector::start(settings, stores, known, clock).await?;
        tracing::info!(public = %collector.public, admin = %collector.admin, "listening");
        started(collector.public, collector.admin);
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: no new requests, what was taken is written");
        collector.stop().await;
        tracing::info!("stopped");
        Ok(())
    })
}
