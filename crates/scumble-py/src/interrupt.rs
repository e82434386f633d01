//! Ctrl-C while the library works.

use pyo3::prelude::*;
use scumble::parallel::{Stop, run_until};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// How often signals are checked.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs long work on other threads while this one listens. After a signal whose handler raises, the work is asked to end
/// and the exception comes out.
pub fn interruptible<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let stop = Stop::default();
    thread::scope(|scope| {
        let (done, is_done) = sync_channel::<()>(1);
        let is_done = Mutex::new(is_done); // so that it may be used where the interpreter's lock is not held
        let worker = scope.spawn({
            let stop = stop.clone();
            move || {
                let _done = done; // dropped when the work ends, also by a panic
                run_until(&stop, work)
            }
        });
        let mut raised = None;
        let wait = || is_done.lock().expect("this thread alone waits").recv_timeout(PATIENCE);
        while py.detach(wait) == Err(RecvTimeoutError::Timeout) {
            if raised.is_none()
                && let Err(exception) = py.check_signals()
            {
                stop.ask();
                raised = Some(exception);
            }
        }
        let result = py.detach(|| worker.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (raised, result) {
            (Some(exception), _) => Err(exception),
            (None, result) => Ok(result.expect("only a signal asks it to stop")),
        }
    })
}
