//! Connections: accepted, bounded in number, time and size, and drained at the end.
//!
//! A client that sends its headers slowly, never reads or never ends is cut off by a deadline; one address cannot take
//! every slot. HTTP/1.1 with keep-alive, with TLS or without.

use crate::limits::network;
use crate::service::Peer;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::Gauge;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower::ServiceExt;

/// Headers that a request may have.
const MOST_HEADERS: usize = 48;
/// Bytes that its headers may have, and that are read ahead.
const HEADER_BYTES: usize = 16 << 10;

/// Bounds on connections.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// Connections at one time.
    pub most_connections: usize,
    /// Connections of one address at one time; 0 is no limit.
    pub most_per_address: usize,
    /// The longest wait for the headers of a request, for the next request and for a TLS handshake.
    pub header_timeout: Duration,
    /// A connection ends after this time, between two requests.
    pub connection_age: Duration,
    /// How long requests may take to end, when a connection or the collector does.
    pub drain: Duration,
}

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// No certificate.
    #[error("{}: no certificate in PEM form can be read", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
    },
    /// No key.
    #[error("{}: no private key in PEM form can be read", path.display())]
    Key {
        /// The file.
        path: PathBuf,
    },
    /// The two do not go together.
    #[error("{}: certificate and key cannot be used: {error}", path.display())]
    Pair {
        /// The file of the certificate.
        path: PathBuf,
        /// What the library for TLS says.
        error: tokio_rustls::rustls::Error,
    },
}

/// Reads a certificate chain and its key (PEM).
pub fn tls(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
        .map_err(|_| TlsError::Certificate { path: certificate.to_owned() })?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|_| TlsError::Key { path: key.to_owned() })?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| TlsError::Pair { path: certificate.to_owned(), error })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// How many connections each address, or IPv6 network, has. In memory only.
#[derive(Default)]
struct Places(Mutex<HashMap<IpAddr, usize>>);

struct Place {
    places: Arc<Places>,
    address: IpAddr,
}

impl Places {
    fn take(self: &Arc<Self>, address: IpAddr, most: usize) -> Option<Place> {
        let address = network(address);
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(address).or_default();
        if most > 0 && *count >= most {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// Serves until `stop` is true, then drains.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    settings: ServerSettings,
    connections: Gauge,
    mut stop: watch::Receiver<bool>,
) {
    let slots = Arc::new(Semaphore::new(settings.most_connections));
    let places = Arc::new(Places::default());
    let mut tasks = JoinSet::new();
    loop {
        let accepted = async {
            let slot = slots.clone().acquire_owned().await.expect("never closed");
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            accepted = accepted => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        while tasks.try_join_next().is_some() {}
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await; // out of file descriptors: some will be given back
            continue;
        };
        let Some(place) = places.take(peer.ip(), settings.most_per_address) else { continue };
        let connection = Connection { peer, router: router.clone(), settings, stop: stop.clone() };
        let (tls, connections) = (tls.clone(), connections.clone());
        tasks.spawn(async move {
            let _held = (slot, place);
            connections.increment(1);
            connection.open(stream, tls).await;
            connections.decrement(1);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(settings.drain, async { while tasks.join_next().await.is_some() {} }).await;
    tasks.shutdown().await;
}

struct Connection {
    peer: SocketAddr,
    router: Router,
    settings: ServerSettings,
    stop: watch::Receiver<bool>,
}

impl Connection {
    async fn open(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let _ = stream.set_nodelay(true);
        match tls {
            None => self.run(stream).await,
            Some(tls) => {
                let shaken = tokio::time::timeout(self.settings.header_timeout, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = shaken {
                    self.run(stream).await;
                }
            }
        }
    }

    async fn run(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Self { peer, router, settings, .. } = self;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            router.clone().oneshot(request.map(Body::new))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(settings.header_timeout)
            .max_headers(MOST_HEADERS)
            .max_buf_size(HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return, // how a client ends is its own affair
            () = tokio::time::sleep(settings.connection_age) => {}
            _ = self.stop.wait_for(|stop| *stop) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(settings.drain, connection).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_share_their_connections() {
        let places = Arc::new(Places::default());
        let at = |address: &str| address.parse::<IpAddr>().unwrap();
        let held: Vec<_> = (1..=3).map(|i| places.take(at(&format!("2001:db8::{i}")), 3)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(places.take(at("2001:db8::ffff"), 3).is_none(), "a fourth of the same /64");
        assert!(places.take(at("2001:db8:0:1::1"), 3).is_some(), "another /64");
        let four: Vec<_> = (1..=4).map(|i| places.take(at(&format!("192.0.2.{i}")), 1)).collect();
        assert!(four.iter().all(Option::is_some));
        assert!(places.take(at("::ffff:192.0.2.1"), 1).is_none(), "the same address in its other form");
        drop((held, four));
        assert!(places.0.lock().unwrap().is_empty());
    }
}
