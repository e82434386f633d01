//! Loops over tasks: on all cores with the feature `parallel`, one after the other without it. Same results.
//!
//! The threads are ours. A process that forks leaves them behind, so a child makes its own when it first needs them.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Does `work(task, chunk)` for every chunk of `size` items.
pub fn chunks<T: Send>(all: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Send + Sync) {
    #[cfg(feature = "parallel")]
    run(|| all.par_chunks_mut(size).enumerate().for_each(|(task, chunk)| work(task, chunk)));
    #[cfg(not(feature = "parallel"))]
    all.chunks_mut(size).enumerate().for_each(|(task, chunk)| work(task, chunk));
}

/// Does `work(tools, task, chunk)` for every chunk of `size` items until one fails. Each thread has tools of its own.
pub fn try_chunks<T: Send, W, E: Send>(
    all: &mut [T],
    size: usize,
    tools: impl Fn() -> W + Send + Sync,
    work: impl Fn(&mut W, usize, &mut [T]) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    #[cfg(feature = "parallel")]
    return run(|| {
        let chunks = all.par_chunks_mut(size).enumerate();
        chunks.try_for_each_init(tools, |tools, (task, chunk)| work(tools, task, chunk))
    });
    #[cfg(not(feature = "parallel"))]
    {
        let mut tools = tools();
        all.chunks_mut(size).enumerate().try_for_each(|(task, chunk)| work(&mut tools, task, chunk))
    }
}

/// Folds tasks `0..tasks` into one value. `merge` must not care about the order.
pub fn fold<A: Send>(
    tasks: usize,
    none: impl Fn() -> A + Send + Sync,
    work: impl Fn(A, usize) -> A + Send + Sync,
    merge: impl Fn(A, A) -> A + Send + Sync,
) -> A {
    #[cfg(feature = "parallel")]
    return run(|| (0..tasks).into_par_iter().fold(&none, work).reduce(&none, merge));
    #[cfg(not(feature = "parallel"))]
    {
        let _ = merge;
        (0..tasks).fold(none(), work)
    }
}

#[cfg(feature = "parallel")]
pub use pool::{run, set_threads, threads};

#[cfg(feature = "parallel")]
mod pool {
    use rayon::{ThreadPool, ThreadPoolBuilder};
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

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

    /// Runs `work` so that what rayon does inside it is done by our threads.
    pub fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        if rayon::current_thread_index().is_some() { work() } else { pool().install(work) }
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
