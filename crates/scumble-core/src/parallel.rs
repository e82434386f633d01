//! Loops over tasks: on all cores with the feature `parallel`, one after another without it. Same results.
//!
//! The threads are ours. A process that forks leaves them behind, so a child makes its own when it first needs them.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Does `work(task, chunk)` for every chunk of `size` items.
pub fn chunks<T: Send>(all: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Send + Sync) {
    #[cfg(feature = "parallel")]
    if !is_alone() {
        return run(|| all.par_chunks_mut(size).enumerate().for_each(|(task, chunk)| work(task, chunk)));
    }
    all.chunks_mut(size).enumerate().for_each(|(task, chunk)| work(task, chunk));
}

/// Does `work(tools, task, chunk)` for every chunk of `size` items until one fails. Each thread has tools of its own.
pub(crate) fn try_chunks<T: Send, W, E: Send>(
    all: &mut [T],
    size: usize,
    tools: impl Fn() -> W + Send + Sync,
    work: impl Fn(&mut W, usize, &mut [T]) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    #[cfg(feature = "parallel")]
    if !is_alone() {
        return run(|| {
            let chunks = all.par_chunks_mut(size).enumerate();
            chunks.try_for_each_init(tools, |tools, (task, chunk)| work(tools, task, chunk))
        });
    }
    let mut tools = tools();
    all.chunks_mut(size).enumerate().try_for_each(|(task, chunk)| work(&mut tools, task, chunk))
}

/// Folds tasks `0..tasks` into one value. `merge` must not care about the order.
pub fn fold<A: Send>(
    tasks: usize,
    none: impl Fn() -> A + Send + Sync,
    work: impl Fn(A, usize) -> A + Send + Sync,
    merge: impl Fn(A, A) -> A + Send + Sync,
) -> A {
    #[cfg(feature = "parallel")]
    if !is_alone() {
        return run(|| (0..tasks).into_par_iter().fold(&none, work).reduce(&none, merge));
    }
    let _ = merge;
    (0..tasks).fold(none(), work)
}

#[cfg(feature = "parallel")]
pub use pool::{Stop, alone, run, run_until, set_threads, stopped, threads};

#[cfg(feature = "parallel")]
use pool::is_alone;

#[cfg(feature = "parallel")]
mod pool {
    use rayon::{ThreadPool, ThreadPoolBuilder};
    use std::cell::{Cell, RefCell};
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    /// The threads of one process.
    struct Pool {
        process: u32,
        size: usize,
        threads: ThreadPool,
    }

    /// Never freed once it is there: a forked child must not touch its parent's threads.
    static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());
    /// 0: one per core.
    static SIZE: AtomicUsize = AtomicUsize::new(0);

    /// How many threads are used from now on; 0 for one per core.
    pub fn set_threads(size: usize) {
        SIZE.store(size, Ordering::Relaxed);
    }

    /// How many threads there are.
    pub fn threads() -> usize {
        run(rayon::current_num_threads)
    }

    thread_local! {
        static ALONE: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` on this thread alone: loops of this module inside it run one task after another. For threads that
    /// other threads of ours wait for: these must not wait for the pool in turn.
    pub fn alone<R>(work: impl FnOnce() -> R) -> R {
        let before = ALONE.replace(true);
        let result = work();
        ALONE.set(before);
        result
    }

    pub(super) fn is_alone() -> bool {
        ALONE.get()
    }

    /// Runs `work` so that rayon uses our threads inside it.
    pub fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        if is_alone() || rayon::current_thread_index().is_some() { work() } else { pool().install(work) }
    }

    /// Asks work on other threads to end early. Clones ask for the same.
    #[derive(Debug, Clone, Default)]
    pub struct Stop(Arc<AtomicBool>);

    impl Stop {
        /// From now on the work is no longer wanted.
        pub fn ask(&self) {
            self.0.store(true, Ordering::Relaxed);
        }

        fn is_asked(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    thread_local! {
        static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
    }

    /// Runs `work` on threads of its own, where [`stopped`] says whether `stop` has been asked. Gives `None` if it has:
    /// the result of such work may be incomplete.
    pub fn run_until<R: Send>(stop: &Stop, work: impl FnOnce() -> R + Send) -> Option<R> {
        let theirs = stop.clone();
        let threads = ThreadPoolBuilder::new().num_threads(SIZE.load(Ordering::Relaxed));
        let threads = threads.start_handler(move |_| STOP.set(Some(theirs.clone()))).build();
        let result = threads.expect("the operating system gives threads").install(work);
        (!stop.is_asked()).then_some(result)
    }

    /// True if the work of this thread is no longer wanted. Long loops check between blocks.
    pub fn stopped() -> bool {
        STOP.with_borrow(|stop| stop.as_ref().is_some_and(Stop::is_asked))
    }

    fn pool() -> &'static ThreadPool {
        let (process, size) = (std::process::id(), SIZE.load(Ordering::Relaxed));
        let found = POOL.load(Ordering::Acquire);
        // SAFETY: only pointers from `Box::leak` below are ever stored, and none is freed.
        #[allow(unsafe_code)]
        let kept = unsafe { found.as_ref() };
        match kept {
            Some(pool) if pool.process == process && pool.size == size => &pool.threads,
            _ => {
                let threads = ThreadPoolBuilder::new().num_threads(size).build();
                let threads = threads.expect("the operating system gives threads");
                let pool: &'static Pool = Box::leak(Box::new(Pool { process, size, threads }));
                // Two threads may both make one; the later is kept, and both work.
                POOL.store(ptr::from_ref(pool).cast_mut(), Ordering::Release);
                &pool.threads
            }
        }
    }
}

#[cfg(all(test, feature = "parallel"))]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_met_once_however_it_is_run() {
        let count = || {
            let mut all = vec![0u32; 1000];
            chunks(&mut all, 7, |task, chunk| chunk.iter_mut().for_each(|x| *x += task as u32 + 1));
            let wanted: Vec<u32> = (0..1000).map(|at| at / 7 + 1).collect();
            assert_eq!(all, wanted);
            assert_eq!(fold(10, || 0, |sum, task| sum + task, |a, b| a + b), 45);
            let failed = try_chunks(&mut all, 9, || (), |(), task, _| if task == 3 { Err(task) } else { Ok(()) });
            assert_eq!(failed, Err(3));
        };
        count();
        alone(count);
        run(count);
    }

    /// Every working thread notices, and nothing incomplete comes out; other work goes on.
    #[test]
    fn work_stops_when_it_is_asked_to() {
        let stop = Stop::default();
        assert_eq!(run_until(&stop, || fold(10, || 0, |sum, task| sum + task, |a, b| a + b)), Some(45));
        let endless = |task: usize| {
            if task == 0 {
                stop.ask();
            }
            while !stopped() {
                std::thread::yield_now();
            }
        };
        assert_eq!(run_until(&stop, || (0..4).into_par_iter().for_each(endless)), None);
        assert!(!stopped() && !run(stopped));
    }

    /// When a thread of the pool waits for another thread of ours, that one must not wait for the pool.
    #[test]
    fn a_thread_alone_needs_no_other() {
        let tasks = 4 * threads();
        let work = |task: usize| {
            std::thread::scope(|scope| {
                scope.spawn(|| alone(|| fold(100, || 0, |sum, at| sum + at, |a, b| a + b) + task)).join()
            })
        };
        let done: Vec<usize> = run(|| (0..tasks).into_par_iter().map(|task| work(task).unwrap()).collect());
        assert_eq!(done, (0..tasks).map(|task| 4950 + task).collect::<Vec<_>>());
    }
}
