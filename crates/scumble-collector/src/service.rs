//! What the collector answers. The public side has campaigns and reports, the admin side health and metrics.

use crate::collection::Collection;
use crate::intake::{Intake, IntakeError};
use crate::limits::RateLimit;
use crate::report::{self, Rejection};
use crate::store::{CampaignKey, Outcome, Report};
use crate::telemetry::Telemetry;
use crate::token;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::{
    ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, IF_RANGE, ORIGIN, RANGE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Seconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where a connection comes from; every request on it has this.
#[derive(Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// What requests may ask for.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// The largest body, in bytes.
    pub largest_body: usize,
    /// The longest that a body may take to arrive.
    pub body_timeout: Duration,
    /// Requests per second per address; 0 means no limit.
    pub per_address: u32,
    /// Requests per second per token; 0 means no limit.
    pub per_token: u32,
    /// Take the address from the last entry of `X-Forwarded-For`: only behind a proxy that writes it.
    pub behind_proxy: bool,
    /// Who may send from a browser: `*` or one origin. Requests that name another are refused.
    pub origin: String,
}

/// A campaign that is served.
pub struct Listed {
    /// Its key in the store.
    pub key: CampaignKey,
    /// What is collected.
    pub collection: Collection,
    tokens: RwLock<Arc<Vec<[u8; 32]>>>,
}

impl Listed {
    /// A campaign and the hashes of its tokens.
    pub fn new(key: CampaignKey, collection: Collection, tokens: Vec<[u8; 32]>) -> Self {
        Self { key, collection, tokens: RwLock::new(Arc::new(tokens)) }
    }

    /// Applies tokens that were added or removed.
    pub fn set_tokens(&self, tokens: Vec<[u8; 32]>) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
    }

    fn tokens(&self) -> Arc<Vec<[u8; 32]>> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Everything that a request needs.
pub struct Service {
    campaigns: HashMap<String, Arc<Listed>>,
    intake: Intake,
    clock: Clock,
    settings: ServiceSettings,
    by_address: RateLimit,
    by_token: RateLimit,
    origin: HeaderValue,
    stopping: AtomicBool,
    telemetry: Telemetry,
}

impl Service {
    /// Assembles the service. Fails if the origin is not a header value.
    pub fn new(
        campaigns: Vec<Arc<Listed>>,
        intake: Intake,
        clock: Clock,
        settings: ServiceSettings,
        telemetry: Telemetry,
    ) -> Result<Self, axum::http::header::InvalidHeaderValue> {
        let origin = HeaderValue::from_str(&settings.origin)?;
        let (by_address, by_token) = (RateLimit::new(settings.per_address), RateLimit::new(settings.per_token));
        let campaigns = campaigns.into_iter().map(|listed| (listed.collection.name(), listed)).collect();
        let stopping = AtomicBool::new(false);
        Ok(Self { campaigns, intake, clock, settings, by_address, by_token, origin, stopping, telemetry })
    }

    /// From now on readiness says no.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// The public side.
    pub fn public(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/v1/campaigns/{digest}", get(campaign))
            .route("/v1/campaigns/{digest}/file", get(file))
            .route("/v1/campaigns/{digest}/reports", post(reports))
            .fallback(|| async { Refusal::new(StatusCode::NOT_FOUND, "no such page") })
            .method_not_allowed_fallback(|| async { Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "no such method") })
            .layer(middleware::from_fn_with_state(self.clone(), cors))
            .with_state(self.clone())
    }

    /// The admin side.
    pub fn admin(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .with_state(self.clone())
    }

    fn listed(&self, digest: &Named) -> Result<&Arc<Listed>, Refusal> {
        let listed = digest.as_ref().ok().and_then(|Path(digest)| self.campaigns.get(digest));
        listed.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "no such campaign"))
    }

    /// May this address make a request?
    fn admit_address(&self, request: &Request) -> Result<(), Refusal> {
        self.by_address.admit_address(self.address(request)).map_err(|wait| self.turn_away(wait, "too many requests"))
    }

    /// May this request be made, by this address and with this token?
    fn admit(&self, listed: &Listed, request: &Request) -> Result<(), Refusal> {
        self.admit_address(request)?;
        let tokens = listed.tokens();
        if tokens.is_empty() {
            return Ok(());
        }
        let token = bearer(request.headers()).and_then(|token| token::find(&tokens, token));
        let Some(token) = token else {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "this campaign needs a valid token"));
        };
        self.by_token.admit_token(token).map_err(|wait| self.turn_away(wait, "too many requests with this token"))
    }

    /// Where a request comes from. All that a proxy says nothing clear about share one place, its own.
    fn address(&self, request: &Request) -> IpAddr {
        let peer = request.extensions().get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0.ip());
        if self.settings.behind_proxy { forwarded(request.headers()).unwrap_or(peer) } else { peer }
    }

    fn turn_away(&self, wait: Duration, why: &'static str) -> Refusal {
        self.telemetry.turned_away.increment(1);
        Refusal { retry_after: Some(wait.as_secs() + 1), ..Refusal::new(StatusCode::TOO_MANY_REQUESTS, why) }
    }

    async fn body(&self, request: Request) -> Result<Bytes, Refusal> {
        let largest = self.settings.largest_body;
        let too_large = || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
        let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > largest as u64) {
            return Err(too_large());
        }
        let body = tokio::time::timeout(self.settings.body_timeout, to_bytes(request.into_body(), largest)).await;
        let body = body.map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body took too long"))?;
        body.map_err(|error| {
            let limited = std::error::Error::source(&error).is_some_and(|e| e.is::<http_body_util::LengthLimitError>());
            if limited { too_large() } else { Refusal::new(StatusCode::BAD_REQUEST, "the body is incomplete") }
        })
    }

    /// Checks every report of a body and writes the sound ones.
    async fn take(&self, listed: &Listed, body: Bytes) -> Result<Receipt, Refusal> {
        let width = listed.collection.campaign().report_length;
        if body.is_empty() || !body.len().is_multiple_of(width) {
            let why = "the body is not a whole number of reports of this campaign";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
        }
        let now = (self.clock)();
        let mut receipt = Receipt::default();
        let (mut sound, mut places) = (Vec::with_capacity(body.len() / width), Vec::new());
        for (place, bytes) in body.chunks_exact(width).enumerate() {
            match report::decode(&listed.collection, now, bytes) {
                Ok(fields) => {
                    let row = body.slice_ref(fields.row);
                    sound.push(Report { campaign: listed.key, period: fields.period, id: fields.id, row });
                    places.push(place);
                }
                Err(reason) => receipt.reject(place, reason),
            }
        }
        let outcomes = if sound.is_empty() { Vec::new() } else { self.append(sound).await? };
        for (place, outcome) in places.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Accepted => receipt.accepted += 1,
                Outcome::Duplicate => receipt.duplicate += 1,
                Outcome::Conflict => receipt.reject(place, Rejection::Conflict),
                Outcome::Closed => receipt.reject(place, Rejection::PeriodClosed),
            }
        }
        receipt.rejected.sort_unstable_by_key(|rejected| rejected.report);
        self.count(&receipt);
        Ok(receipt)
    }

    async fn append(&self, reports: Vec<Report>) -> Result<Vec<Outcome>, Refusal> {
        self.intake.append(reports).await.map_err(|error| match error {
            IntakeError::Busy => self.turn_away(Duration::ZERO, "too many reports are waiting"),
            IntakeError::TooMany => {
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too many reports in one request: send fewer")
            }
            IntakeError::Stopping => unavailable("the collector is stopping"),
            IntakeError::Store(_) => {
                self.telemetry.failed.increment(1);
                unavailable("the reports could not be stored")
            }
        })
    }

    fn count(&self, receipt: &Receipt) {
        self.telemetry.accepted.increment(receipt.accepted);
        self.telemetry.duplicate.increment(receipt.duplicate);
        receipt.rejected.iter().for_each(|rejected| self.telemetry.reject(rejected.reason));
    }
}

/// The last entry of `X-Forwarded-For`, which is the proxy's: an address, perhaps with brackets and a port.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?.rsplit(',').next()?.trim();
    let bare = last.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let with_port = || last.parse().map(|address: SocketAddr| address.ip());
    bare.map_or_else(|| last.parse().or_else(|_| with_port()).ok(), |bare| Some(bare.parse::<Ipv6Addr>().ok()?.into()))
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// What became of the reports of one request.
#[derive(Debug, Default, Serialize)]
struct Receipt {
    accepted: u64,
    duplicate: u64,
    rejected: Vec<Rejected>,
}

#[derive(Debug, Serialize)]
struct Rejected {
    /// Its place in the body, from 0.
    report: usize,
    reason: Rejection,
}

impl Receipt {
    fn reject(&mut self, report: usize, reason: Rejection) {
        self.rejected.push(Rejected { report, reason });
    }
}

/// A request that is not served, and why.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    error: &'static str,
    retry_after: Option<u64>,
}

impl Refusal {
    fn new(status: StatusCode, error: &'static str) -> Self {
        Self { status, error, retry_after: None }
    }
}

fn unavailable(error: &'static str) -> Refusal {
    Refusal { retry_after: Some(5), ..Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error) }
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("plain values");
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &serde_json::json!({ "error": self.error }));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The name in a path, which need not be text: then no campaign has it.
type Named = Result<Path<String>, PathRejection>;

/// `GET /v1/campaigns/{digest}`: the signed text, byte for byte.
async fn campaign(State(service): State<Arc<Service>>, digest: Named, headers: HeaderMap) -> Result<Response, Refusal> {
    let listed = service.listed(&digest)?;
    Ok(fixed(&listed.collection, &headers, "application/json", || listed.collection.text().to_owned().into()))
}

/// `GET /v1/campaigns/{digest}/file`: the public file that the campaign names. It may be large: who was cut off asks for
/// the rest.
async fn file(State(service): State<Arc<Service>>, digest: Named, request: Request) -> Result<Response, Refusal> {
    let none = || Refusal::new(StatusCode::NOT_FOUND, "this campaign names no public file");
    let collection = &service.listed(&digest)?.collection;
    let content = collection.file().ok_or_else(none)?;
    service.admit_address(&request)?;
    let mut whole = fixed(collection, request.headers(), "application/octet-stream", || content.clone().into());
    whole.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if whole.status() != StatusCode::OK {
        return Ok(whole);
    }
    let length = content.len();
    let (status, range, part) = match asked_range(request.headers(), whole.headers().get(ETAG), length) {
        None => return Ok(whole),
        Some(Some(part)) => (
            StatusCode::PARTIAL_CONTENT,
            format!("bytes {}-{}/{length}", part.start, part.end - 1),
            content.slice(part),
        ),
        Some(None) => (StatusCode::RANGE_NOT_SATISFIABLE, format!("bytes */{length}"), Bytes::new()),
    };
    *whole.status_mut() = status;
    whole.headers_mut().insert(CONTENT_RANGE, HeaderValue::from_str(&range).expect("digits"));
    *whole.body_mut() = part.into();
    Ok(whole)
}

/// The one range of bytes that is asked for; `Some(None)` where the file ends before it. Anything else asks for the whole.
fn asked_range(headers: &HeaderMap, etag: Option<&HeaderValue>, length: usize) -> Option<Option<Range<usize>>> {
    if headers.get(IF_RANGE).is_some_and(|known| Some(known) != etag) {
        return None;
    }
    let (first, last) = headers.get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().unwrap_or(usize::MAX));
    let part = match (first, last) {
        ("", "") => return None,
        ("", last) => length.saturating_sub(number(last)?)..length,
        (first, "") => number(first)?..length,
        (first, last) => number(first)?..number(last)?.min(length - 1).saturating_add(1),
    };
    let backwards = !first.is_empty() && !last.is_empty() && number(first)? > number(last)?;
    if backwards { None } else { Some(Some(part).filter(|part| part.start < part.end)) }
}

/// What a campaign's digest fixes can never change.
fn fixed(collection: &Collection, headers: &HeaderMap, kind: &'static str, body: impl FnOnce() -> Body) -> Response {
    let etag = HeaderValue::from_str(&format!("\"{}\"", collection.name())).expect("hexadecimal digits");
    let known = headers.get_all(IF_NONE_MATCH).iter().any(|tags| names(tags, &etag));
    let fixed = [(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")), (ETAG, etag)];
    if known {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(CONTENT_TYPE, HeaderValue::from_static(kind))], body()).into_response()
}

/// Is the tag among those that somebody has? They may be called weak, and `*` is any.
fn names(tags: &HeaderValue, etag: &HeaderValue) -> bool {
    let is_it = |tag: &[u8]| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes();
    tags.as_bytes().split(|&byte| byte == b',').any(|tag| is_it(tag.trim_ascii()))
}

/// `POST /v1/campaigns/{digest}/reports`: one report or many, end to end.
async fn reports(State(service): State<Arc<Service>>, digest: Named, request: Request) -> Result<Response, Refusal> {
    let listed = service.listed(&digest)?;
    service.admit(listed, &request)?;
    let body = service.body(request).await?;
    Ok(json(StatusCode::OK, &service.take(listed, body).await?))
}

/// Browsers ask first, and want to be told in every answer. Not for everything: a page may post plain text unasked, so one
/// of another origin is refused. Devices that are no browsers name no origin.
async fn cors(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let strange = service.origin != "*" && request.headers().get_all(ORIGIN).iter().any(|it| *it != service.origin);
    let asks = request.method() == Method::OPTIONS && request.headers().contains_key("access-control-request-method");
    let mut response = match (strange, asks) {
        (true, _) => Refusal::new(StatusCode::FORBIDDEN, "pages of this origin may not send here").into_response(),
        (false, true) => StatusCode::NO_CONTENT.into_response(),
        (false, false) => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, service.origin.clone());
    if asks && !strange {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type"));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    }
    response
}

/// `GET /readyz`: could reports be taken now?
async fn ready(State(service): State<Arc<Service>>) -> Response {
    let (status, word) = if service.stopping.load(Ordering::Relaxed) {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
    } else if service.intake.is_healthy() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be written\n")
    };
    (status, word).into_response()
}

/// `GET /metrics`: text for Prometheus.
async fn metrics(State(service): State<Arc<Service>>) -> Response {
    service.telemetry.waiting.set(service.intake.waiting() as f64);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    ([(CONTENT_TYPE, kind)], Body::from(service.telemetry.render())).into_response()
}
