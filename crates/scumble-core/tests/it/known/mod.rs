//! Known answers: oracles, reference transcriptions, values that must stay stable.

mod oracle;
mod projection;
mod reference;
