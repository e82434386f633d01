//! One release on its way through a ledger: reserved, then recorded, then kept; given back if it ends before that.

use super::{Budget, Ledger, LedgerError, Reservation};
use crate::certificate::Certificate;
use scumble_core::release::{Fingerprint, Releaser};

/// What a ledger has reserved for a release. Dropping it gives the charge back, so that a run that fails without an
/// output spends nothing; a crash leaves it spent.
#[derive(Debug)]
#[must_use = "dropping a charge gives it back"]
pub struct Charge {
    ledger: Ledger,
    reservation: Reservation,
    open: bool,
}

impl Charge {
    /// Reserves what the release costs. `rows`: of a sticky release, what its rows show; only what is new is charged.
    pub fn reserve(
        mut ledger: Ledger,
        dataset: &str,
        budget: Option<Budget>,
        releaser: &Releaser,
        rows: Option<&[Fingerprint]>,
    ) -> Result<Self, LedgerError> {
        let mechanism = releaser.mechanism();
        let reservation = match (releaser.keyed_noise(), rows) {
            (Some(noise), Some(rows)) => {
                let stream = noise.name(&ledger.name(dataset)?);
                ledger.reserve_sticky(dataset, budget, mechanism, &stream, rows)?
            }
            _ => ledger.reserve(dataset, budget, mechanism)?,
        };
        Ok(Self { ledger, reservation, open: true })
    }

    /// Names the certificate in the entry, before the output has its name. The charge can still be given back.
    pub fn record(&mut self, certificate: &Certificate) -> Result<(), LedgerError> {
        self.ledger.record(&self.reservation, certificate)
    }

    /// The output has its name, or something may have been shown: the charge stays.
    pub fn keep(&mut self) {
        self.open = false;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.open {
            let _ = self.ledger.cancel(&self.reservation); // a ledger that is gone keeps the entry as spent
        }
    }
}
