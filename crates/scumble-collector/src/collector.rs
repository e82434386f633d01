//! The whole service: opens the store, listens, keeps house, stops.

use crate::collection::Collection;
use crate::intake::{Intake, IntakeError, Writers};
use crate::server::{self, ServerSettings, TlsError};
use crate::service::{Clock, Listed, Service, ServiceSettings};
use crate::store::{Store, StoreError};
use crate::telemetry::Telemetry;
use scumble::error::{Fault, Kind};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Everything that can be chosen.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where devices send to.
    pub listen: SocketAddr,
    /// Where operators ask.
    pub admin: SocketAddr,
    /// Certificate chain and key (PEM), for the public address.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Reports that may wait.
    pub queue: usize,
    /// How often periods are closed, old reports deleted, tokens read and the store probed.
    pub housekeeping: Duration,
    /// Bounds on requests.
    pub service: ServiceSettings,
    /// Bounds on connections.
    pub server: ServerSettings,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin: SocketAddr::from(([127, 0, 0, 1], 8081)),
            tls: None,
            queue: 50_000,
            housekeeping: seconds(5),
            service: ServiceSettings {
                largest_body: 1 << 20,
                body_timeout: seconds(10),
                per_address: 200,
                per_token: 0,
                behind_proxy: false,
                origin: "*".into(),
            },
            server: ServerSettings {
                most_connections: 4096,
                most_per_address: 256,
                header_timeout: seconds(10),
                connection_age: seconds(300),
                drain: seconds(20),
            },
        }
    }
}

/// Why the collector did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An address cannot be listened on.
    #[error("{address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: std::io::Error,
    },
    /// The files of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The origin that browsers may send from.
    #[error("the origin cannot be a header")]
    Origin,
    /// A clock that tells no time.
    #[error("the clock's file holds no number of seconds since 1970")]
    Clock,
    /// The same text, signed by somebody else: what was served once is what devices and caches have.
    #[error(
        "the store has campaign {campaign} with another signature: serve the one that it has, or make a new campaign"
    )]
    OtherSignature {
        /// Its digest.
        campaign: String,
    },
    /// The thread that reads the store ended.
    #[error("the store could not be prepared")]
    Unprepared,
    /// The system gives no threads.
    #[error("no threads: {0}")]
    Threads(std::io::Error),
    /// The system gives no signals.
    #[error("signals cannot be watched: {0}")]
    Signals(std::io::Error),
}

impl Fault for StartError {
    fn kind(&self) -> Kind {
        Kind::Run
    }
}

/// A collector that runs.
pub struct Collector {
    /// Where it listens for devices.
    pub public: SocketAddr,
    /// Where it listens for operators.
    pub admin: SocketAddr,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    intake: Intake,
    writers: Writers,
}

impl Collector {
    /// Starts with these stores, one writer each, and campaigns.
    pub async fn start(
        settings: Settings,
        mut stores: Vec<Box<dyn Store>>,
        collections: Vec<Collection>,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let tls = settings.tls.as_ref().map(|(certificate, key)| server::tls(certificate, key));
        let tls = tls.transpose()?;
        let (public, admin) = (listen(settings.listen).await?, listen(settings.admin).await?);
        // Reading what a crash left takes its time, and nothing is served before.
        let (stores, listed) = tokio::task::spawn_blocking({
            let clock = clock.clone();
            move || {
                let listed = list(&mut *stores[0], collections, clock())?;
                Ok::<_, StoreError>((stores, listed))
            }
        })
        .await
        .map_err(|_| StartError::Unprepared)??;
        let telemetry = Telemetry::new();
        let (intake, writers) = Intake::start(stores, settings.queue, {
            let groups = telemetry.groups.clone();
            move |_| groups.increment(1)
        });
        let service =
            Service::new(listed.clone(), intake.clone(), clock.clone(), settings.service.clone(), telemetry.clone());
        let service = service.map_err(|_| StartError::Origin)?;
        let service = Arc::new(service);
        let (stop, stopped) = watch::channel(false);
        let addresses = (local(&public), local(&admin));
        let mut tasks = JoinSet::new();
        let (connections, bounds) = (telemetry.connections.clone(), settings.server);
        tasks.spawn(server::serve(public, tls, service.public(), bounds, connections, stopped.clone()));
        let bounds = ServerSettings { most_connections: 64, most_per_address: 0, ..settings.server };
        tasks.spawn(server::serve(admin, None, service.admin(), bounds, metrics::Gauge::noop(), stopped.clone()));
        tasks.spawn(keep_house(intake.clone(), listed, clock, settings.housekeeping, telemetry, stopped));
        let (public, admin) = addresses;
        Ok(Self { public, admin, service, stop, tasks, intake, writers })
    }

    /// Stops taking reports, answers requests that are under way, writes what is queued.
    pub async fn stop(self) {
        let Self { service, stop, mut tasks, intake, writers, .. } = self;
        service.stop();
        let _ = stop.send(true);
        while tasks.join_next().await.is_some() {}
        drop((service, intake)); // the last ends of the queue
        let _ = tokio::task::spawn_blocking(move || writers.join()).await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|error| StartError::Listen { address, error })
}

fn local(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().expect("a bound address")
}

/// Registers campaigns, closes what has ended meanwhile, and makes the store ready.
fn list(store: &mut dyn Store, collections: Vec<Collection>, now: u64) -> Result<Vec<Arc<Listed>>, StoreError> {
    let list = collections.into_iter().map(|collection| {
        let key = store.add_campaign(&collection.name(), collection.text(), collection.file().map(|file| &file[..]))?;
        store.close(key, collection.open_from(now))?;
        store.prepare(key, &collection.open_periods(now))?;
        let tokens = store.tokens(key)?;
        tracing::info!(campaign = collection.name(), tokens = tokens.len(), "collecting");
        Ok(Arc::new(Listed::new(key, collection, tokens)))
    });
    list.collect()
}

/// Closes periods, deletes what has been kept long enough, updates tokens, checks whether the store can be written.
async fn keep_house(
    intake: Intake,
    campaigns: Vec<Arc<Listed>>,
    clock: Clock,
    every: Duration,
    telemetry: Telemetry,
    mut stop: watch::Receiver<bool>,
) {
    let mut was_healthy = true;
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        for listed in &campaigns {
            match tidy(&intake, listed, clock()).await {
                Ok(0) => {}
                Ok(deleted) => {
                    telemetry.deleted.increment(deleted);
                    tracing::info!(deleted, "deleted reports whose retention is over");
                }
                Err(error) => tracing::debug!(%error, "housekeeping failed; it will be tried again"),
            }
        }
        let probe = intake.probe().await;
        match (&probe, was_healthy) {
            (Err(error), true) => tracing::error!(%error, "reports are refused until the store can be written"),
            (Ok(()), false) => tracing::info!("the store can be written again"),
            _ => {}
        }
        was_healthy = probe.is_ok();
    }
}

async fn tidy(intake: &Intake, listed: &Arc<Listed>, now: u64) -> Result<u64, IntakeError> {
    let (key, open, kept) = (listed.key, listed.collection.open_from(now), listed.collection.kept_from(now));
    let work = move |store: &mut dyn Store| {
        store.close(key, open)?;
        Ok::<_, StoreError>((store.delete(key, kept)?, store.tokens(key)?))
    };
    let (deleted, tokens) = intake.run(work).await??;
    listed.set_tokens(tokens);
    Ok(deleted)
}
