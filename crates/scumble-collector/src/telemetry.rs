//! Counts for operators: how many, never whose and never when.

use crate::report::Rejection;
use metrics::{Counter, Gauge, Key, KeyName, Label, Level, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::sync::Arc;

/// Counters of one collector, and their text for Prometheus.
#[derive(Clone)]
pub struct Telemetry {
    handle: PrometheusHandle,
    /// Reports kept.
    pub accepted: Counter,
    /// Reports that were there already.
    pub duplicate: Counter,
    rejected: Arc<[Counter]>,
    /// Requests turned away because too many reports wait or one sender asks too often.
    pub turned_away: Counter,
    /// Requests that the store could not serve.
    pub failed: Counter,
    /// Groups written.
    pub groups: Counter,
    /// Reports that wait.
    pub waiting: Gauge,
    /// Open connections.
    pub connections: Gauge,
    /// Reports deleted because their time is over.
    pub deleted: Counter,
}

const REPORTS: &str = "scumble_reports_total";

impl Telemetry {
    /// All at zero.
    pub fn new() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let describe = |name: &'static str, words: &'static str| {
            recorder.describe_counter(KeyName::from(name), Some(Unit::Count), SharedString::from(words));
        };
        describe(REPORTS, "Reports by what became of them");
        describe("scumble_turned_away_total", "Requests answered with 429");
        describe("scumble_failed_total", "Requests that the store could not serve");
        describe("scumble_groups_total", "Groups of reports written");
        describe("scumble_deleted_total", "Reports deleted after their retention");
        let outcome = |word: &'static str| counter(&recorder, REPORTS, vec![Label::new("outcome", word)]);
        Self {
            handle: recorder.handle(),
            accepted: outcome("accepted"),
            duplicate: outcome("duplicate"),
            rejected: Rejection::ALL.iter().map(|reason| outcome(reason.word())).collect(),
            turned_away: counter(&recorder, "scumble_turned_away_total", vec![]),
            failed: counter(&recorder, "scumble_failed_total", vec![]),
            groups: counter(&recorder, "scumble_groups_total", vec![]),
            deleted: counter(&recorder, "scumble_deleted_total", vec![]),
            waiting: gauge(&recorder, "scumble_waiting_reports"),
            connections: gauge(&recorder, "scumble_connections"),
        }
    }

    /// Counts a report that was not taken.
    pub fn reject(&self, reason: Rejection) {
        let at = Rejection::ALL.iter().position(|known| *known == reason).expect("every reason is listed");
        self.rejected[at].increment(1);
    }

    /// The text for Prometheus.
    pub fn render(&self) -> String {
        self.handle.render()
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

fn counter(recorder: &PrometheusRecorder, name: &'static str, labels: Vec<Label>) -> Counter {
    recorder.register_counter(&Key::from_parts(name, labels), &METADATA)
}

fn gauge(recorder: &PrometheusRecorder, name: &'static str) -> Gauge {
    recorder.register_gauge(&Key::from_name(name), &METADATA)
}
