//! You own a table of vectors and must share it.
//!
//! Three public numbers come first, chosen without looking at the private rows: the **range** of the attributes (values
//! outside are clipped), **beta**, how far one attribute may move (the width of the range unless you say otherwise, so
//! that a value may be replaced by any other), and **epsilon**: a move of one attribute changes the odds of anything that
//! leaves by a factor of at most e^epsilon. The unit of privacy is ONE attribute of a row unless you ask for another.
//!
//! [`Ask`](crate::plan::Ask) takes what you know and leaves the rest open. [`plan`](crate::plan::plan) says what to
//! expect before anything is spent. [`release`](crate::files::release) is the whole protocol: it reserves the charge in the
//! ledger, streams the rows, records the certificate, and gives the file its name last. A run that fails leaves no file and
//! gives its charge back. A run that is killed leaves no file either, but its charge stays.
//!
//! ```
//! use scumble::error::Fault;
//! use scumble::files::{AccountOf, Job, JobError, ReadOptions, release};
//! use scumble::ledger::{Budget, Ledger};
//! use scumble::mechanism::MechanismId;
//! use scumble::plan::{Ask, Public, plan};
//! use scumble::vectors::Range;
//!
//! // A private table: 100 rows of 8 attributes, as CSV.
//! let folder = tempfile::tempdir()?;
//! let private = folder.path().join("private.csv");
//! let line = |row: usize| (0..8).map(|at| ((row * at) % 10).to_string()).collect::<Vec<_>>().join(",");
//! std::fs::write(&private, (0..100).map(|row| line(row) + "\n").collect::<String>())?;
//!
//! // What is asked for; what is open is the plan's to choose, from public numbers alone.
//! let ask = Ask { k: Some(4), ..Ask::new(2.0, Range::new(0.0, 9.0)?) };
//! let planned = plan(&ask.request(8, None)?)?;
//! println!("{} with k = {}", planned.best.mechanism.id(), planned.best.mechanism.parameters().k);
//!
//! // The release, charged to an account that allows for epsilon 3 in all.
//! let ask = Ask { mechanism: Some(MechanismId::DpOporpStaircase), ..ask };
//! let (out, ledger) = (folder.path().join("private.parquet"), folder.path().join("ledger.sqlite"));
//! let budget = Some(Budget { epsilon: 3.0, delta: 0.0 });
//! let job = Job {
//!     input: private.clone(),
//!     reading: ReadOptions { header: Some(false), ..ReadOptions::default() },
//!     out,
//!     account: Some(AccountOf { ledger: &ledger, dataset: "scores", budget }),
//!     ..Job::default()
//! };
//! let releaser = |dim| Ok::<_, Box<dyn std::error::Error>>(ask.releaser(dim, None, Public::default())?);
//! let certificate = release(&job, releaser)?;
//! assert_eq!((certificate.rows, certificate.guarantee.epsilon), (100, Some(2.0)));
//!
//! // A second release of the same rows would cost another 2: refused before a row is read, and nothing is written.
//! let again = Job { out: folder.path().join("again.parquet"), ..job };
//! let refused = release(&again, releaser).unwrap_err();
//! let refusal = refused.downcast_ref().is_some_and(|error: &JobError| error.kind().is_refusal());
//! assert!(refusal && !again.out.exists());
//! assert_eq!(Ledger::open(&ledger)?.accounts()?[0].releases(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - Rows in memory: [`Release::from_rows`](crate::release::Release::from_rows).
//! - The same rows every week: give [`Ask::releaser`](crate::plan::Ask::releaser) a [`NoiseKey`](crate::noise::NoiseKey).
//!   Rows that did not change keep their noise and cost nothing again.
//! - A public sample of the same kind: [`structure`](crate::structure) learns bins, components or a book from it, which
//!   costs no privacy and helps more than any choice of noise.
//! - Sign with [`SigningKey`](crate::certificate::SigningKey) ([`Job::sign`](crate::files::Job::sign)).
