//! The way into the store: a bounded queue, and a writer per store that writes what is queued in groups.
//!
//! While one group is being synced the next one gathers, so that groups grow with the load and nobody waits for a
//! timer. A sender is answered after its group is durable, or told at once that the queue is full.

use crate::store::{Outcome, Report, Store, StoreError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// No group is larger: its reports wait for each other.
const LARGEST_GROUP: usize = 4096;

/// Why reports were not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    /// The queue is full: later.
    #[error("too many reports are waiting")]
    Busy,
    /// More than may ever wait: never.
    #[error("more reports at one time than may wait")]
    TooMany,
    /// The collector stops.
    #[error("the collector is stopping")]
    Stopping,
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Answer = Result<Vec<Outcome>, StoreError>;
type Task = Box<dyn FnOnce(&mut dyn Store) + Send>;

enum Work {
    Append { reports: Vec<Report>, answer: oneshot::Sender<Answer> },
    Task(Task),
}

/// What queue and writers share.
struct Shared {
    waiting: AtomicUsize, // reports
    most: usize,
    healthy: AtomicBool,
    observe: Box<dyn Fn(usize) + Send + Sync>,
}

/// Hands reports to the writers. Clones share one queue; the writers stop after the last clone is gone.
#[derive(Clone)]
pub struct Intake {
    queue: Sender<Work>,
    shared: Arc<Shared>,
}

/// The writing threads.
pub struct Writers(Vec<JoinHandle<()>>);

impl Writers {
    /// Waits until everything queued is written and the stores are closed.
    pub fn join(self) {
        for thread in self.0 {
            let _ = thread.join(); // a panic was reported by its hook
        }
    }
}

impl Intake {
    /// Starts one writer per store; at most `most` reports wait. `observe` sees the size of every group written.
    pub fn start(
        stores: Vec<Box<dyn Store>>,
        most: usize,
        observe: impl Fn(usize) + Send + Sync + 'static,
    ) -> (Self, Writers) {
        let (queue, work) = mpsc::channel();
        let (waiting, healthy) = (AtomicUsize::new(0), AtomicBool::new(true));
        let shared = Arc::new(Shared { waiting, most, healthy, observe: Box::new(observe) });
        let work = Arc::new(Mutex::new(work));
        let writers = stores.into_iter().map(|store| {
            let (work, shared) = (work.clone(), shared.clone());
            let thread = std::thread::Builder::new().name("writer".into());
            thread.spawn(move || write(store, &work, &shared)).expect("a thread can be started")
        });
        let writers = Writers(writers.collect());
        (Self { queue, shared }, writers)
    }

    /// Reports that wait.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Could the store write when it was last asked to?
    pub fn is_healthy(&self) -> bool {
        self.shared.healthy.load(Ordering::Relaxed)
    }

    /// Writes reports; returns after they are durable.
    pub async fn append(&self, reports: Vec<Report>) -> Result<Vec<Outcome>, IntakeError> {
        let count = reports.len();
        if count > self.shared.most {
            return Err(IntakeError::TooMany);
        }
        let room = |waiting: usize| Some(waiting + count).filter(|&waiting| waiting <= self.shared.most);
        let entered = self.shared.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        if entered.is_err() {
            return Err(IntakeError::Busy);
        }
        let (answer, outcome) = oneshot::channel();
        self.queue.send(Work::Append { reports, answer }).map_err(|_| IntakeError::Stopping)?;
        Ok(outcome.await.map_err(|_| IntakeError::Stopping)??)
    }

    /// Does something else with a store, between two groups.
    pub async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut dyn Store) -> T + Send + 'static,
    ) -> Result<T, IntakeError> {
        let (answer, outcome) = oneshot::channel();
        let task = Box::new(move |store: &mut dyn Store| {
            let _ = answer.send(task(store)); // the one who asked may be gone
        });
        self.queue.send(Work::Task(task)).map_err(|_| IntakeError::Stopping)?;
        outcome.await.map_err(|_| IntakeError::Stopping)
    }

    /// Asks the store whether it can write, and remembers the answer.
    pub async fn probe(&self) -> Result<(), IntakeError> {
        let shared = self.shared.clone();
        let probe = move |store: &mut dyn Store| {
            let done = store.probe();
            shared.healthy.store(done.is_ok(), Ordering::Relaxed);
            done
        };
        Ok(self.run(probe).await??)
    }
}

/// What a writer takes from the queue in one go.
#[derive(Default)]
struct Batch {
    reports: Vec<Report>,
    answers: Vec<(usize, oneshot::Sender<Answer>)>,
    task: Option<Task>,
}

impl Batch {
    /// Waits for work and takes what else is there; `None` when there will be no more.
    fn gather(work: &Mutex<Receiver<Work>>) -> Option<Self> {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Self::default();
        let mut next = work.recv().ok();
        while let Some(Work::Append { reports, answer }) = next {
            batch.answers.push((reports.len(), answer));
            batch.reports.extend(reports);
            next = (batch.reports.len() < LARGEST_GROUP).then(|| work.try_recv().ok()).flatten();
        }
        if let Some(Work::Task(task)) = next {
            batch.task = Some(task);
        }
        (!batch.answers.is_empty() || batch.task.is_some()).then_some(batch)
    }
}

fn write(mut store: Box<dyn Store>, work: &Mutex<Receiver<Work>>, shared: &Shared) {
    while let Some(Batch { reports, answers, task }) = Batch::gather(work) {
        if !reports.is_empty() {
            let outcome = store.append(&reports);
            shared.healthy.store(outcome.is_ok(), Ordering::Relaxed);
            shared.waiting.fetch_sub(reports.len(), Ordering::Relaxed);
            (shared.observe)(reports.len());
            answer(answers, outcome);
        }
        if let Some(task) = task {
            task(&mut *store);
        }
    }
}

fn answer(answers: Vec<(usize, oneshot::Sender<Answer>)>, outcome: Answer) {
    match outcome {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for (count, answer) in answers {
                let _ = answer.send(Ok(outcomes.by_ref().take(count).collect())); // a sender that left asks again
            }
        }
        Err(error) => {
            for (_, answer) in answers {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}
