//! Prepare, store, commit, send, settle.
//!
//! A change of the state has two phases. [`Client::prepare`] makes the next state; the host stores it; only then
//! [`Client::commit`] gives the bytes. The charge and the report are in the same state, so a crash at any point either
//! has changed nothing, or has charged a report that is still there to be sent. The report itself is a function of key,
//! campaign, slot, content and period: repeating anything gives the same bytes.

use crate::campaign::{Campaign, Trust};
use crate::entropy::Entropy;
use crate::policy::{Loss, Policy, UNITS, place};
use crate::refusal::Refusal;
use crate::state::{Content, State};
use scumble_core::error::{DataError, DataErrorKind};
use scumble_core::noise::NoiseKey;
use scumble_core::privacy::Unit;
use scumble_core::release::{Fingerprint, Plan, REPORT_HEADER, ReleaseError, Releaser, Report};
use scumble_core::vectors::{Rows, Scalars};
use zeroize::Zeroizing;

/// A private vector as the host holds it.
#[derive(Clone, Copy)]
pub enum Vector<'a> {
    /// Every attribute.
    Dense(Scalars<'a>),
    /// The attributes that are not zero.
    Sparse {
        /// How many attributes there are.
        dim: usize,
        /// Which they are, strictly increasing.
        index: &'a [u32],
        /// Their values.
        values: Scalars<'a>,
    },
}

#[cfg(any(feature = "ffi", feature = "encode"))]
impl<'a> Vector<'a> {
    /// Dense without an index.
    pub(crate) fn new(values: Scalars<'a>, index: Option<&'a [u32]>, dim: usize) -> Self {
        match index {
            None => Self::Dense(values),
            Some(index) => Self::Sparse { dim, index, values },
        }
    }
}

/// What a prepared change will give.
struct Prepared {
    state: State,
    report: Option<Vec<u8>>,
}

/// A device in one campaign.
pub struct Client {
    campaign: Campaign,
    releaser: Releaser,
    limits: [Loss; UNITS],
    state: State,
    stored: bool, // false until the host has stored a state of ours, or given one
    prepared: Option<Prepared>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({:?})", self.state)
    }
}

impl Client {
    /// Checks the campaign against trust and policy, and loads the stored state; `None` is a new device. `file` is the
    /// public file that the campaign names, if it names one.
    pub fn open(
        text: &str,
        file: Option<&[u8]>,
        trust: Trust,
        policy: Policy,
        state: Option<&[u8]>,
        entropy: Entropy,
    ) -> Result<Self, Refusal> {
        let campaign = Campaign::open(text, trust, file)?;
        let limits = policy.limits()?;
        if !campaign.loss.within(limits[place(campaign.unit)]) {
            return Err(Refusal::AbovePolicy);
        }
        let stored = state.is_some();
        let state = state.map_or_else(|| State::new(entropy), State::from_bytes)?;
        let releaser = releaser(&campaign, &state)?;
        Ok(Self { campaign, releaser, limits, state, stored, prepared: None })
    }

    /// Loads what is stored now, in case another process has moved on; `None` when nothing is stored.
    pub fn reload(&mut self, state: Option<&[u8]>) -> Result<(), Refusal> {
        self.abandon();
        let Some(bytes) = state else {
            return if self.stored { Err(Refusal::RolledBackState) } else { Ok(()) };
        };
        let state = State::from_bytes(bytes)?;
        if self.stored && state.generation < self.state.generation {
            return Err(Refusal::RolledBackState);
        }
        if !state.has_key_of(&self.state) {
            self.releaser.take_key(state.key());
        }
        (self.state, self.stored) = (state, true);
        Ok(())
    }

    /// Makes the next state, with the report of this vector charged and waiting. The host stores [`Client::state`].
    pub fn prepare(&mut self, slot: &str, vector: Vector<'_>, now: u64) -> Result<(), Refusal> {
        self.is_idle()?;
        let id = slot_id(&self.campaign.digest, slot)?;
        let period = self.campaign.period(now)?;
        let rows = Offsets::new(vector);
        let rows = rows.rows(self.campaign.mechanism.parameters().dim)?;
        let (print, row) = self.releaser.release_one(rows, &id).map_err(refusal)?;
        let row = Zeroizing::new(row); // not charged yet, and perhaps never
        let mut next = self.state.clone();
        next.generation += 1;
        self.expire(&mut next, period);
        let report = match self.admit(&mut next, print, period)? {
            false => None,
            true => {
                let id = self.id(print, period);
                let report = Report { campaign: self.prefix(), period, id, row: &row }.to_bytes();
                if !next.pending.contains(&report) {
                    next.wait(report.clone())?;
                }
                Some(report)
            }
        };
        self.prepared = Some(Prepared { state: next, report });
        Ok(())
    }

    /// Charges what is new. False when there is nothing to send: sent before, or in this period.
    fn admit(&self, next: &mut State, print: Fingerprint, period: u32) -> Result<bool, Refusal> {
        let Fingerprint { row: slot, content } = print;
        let unit = place(self.campaign.unit);
        if let Some(known) = next.contents.iter_mut().find(|known| known.slot == slot && known.content == content) {
            let waits = known.reported == period + 1 && is_pending(&self.state, self.id(print, period));
            let due = self.campaign.sticky && known.reported <= period;
            if due {
                known.reported = period + 1;
            }
            return Ok(waits || due);
        }
        if next.contents.iter().filter(|known| known.slot == slot).count() >= self.campaign.contents {
            return Err(Refusal::ContentsSpent);
        }
        let spent = next.spent[unit].plus(self.campaign.loss);
        if !spent.within(self.limits[unit]) {
            return Err(Refusal::BudgetSpent);
        }
        next.spent[unit] = spent;
        next.contents.push(Content { slot, content, reported: period + 1 });
        Ok(true)
    }

    fn id(&self, print: Fingerprint, period: u32) -> [u8; 16] {
        report_id(&self.state.key(), &self.campaign.digest, print, period)
    }

    fn prefix(&self) -> [u8; 8] {
        *self.campaign.digest.first_chunk().expect("32 bytes have 8")
    }

    /// Drops reports of this campaign that no collector takes any longer.
    fn expire(&self, state: &mut State, period: u32) {
        let closed = |report: &Report<'_>| report.campaign == self.prefix() && report.period + 1 < period;
        state.pending.retain(|bytes| !Report::parse(bytes).is_some_and(|report| closed(&report)));
    }

    /// The state to store: the prepared one, else the last.
    pub fn state(&self) -> Zeroizing<Vec<u8>> {
        self.prepared.as_ref().map_or(&self.state, |prepared| &prepared.state).to_bytes()
    }

    /// The host has stored the prepared state: it takes effect. Gives the report; `None` when there is nothing to send.
    pub fn commit(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        let Prepared { state, report } = self.prepared.take().ok_or(Refusal::NotPrepared)?;
        (self.state, self.stored) = (state, true);
        Ok(report)
    }

    /// The host has not stored the prepared state: it is discarded.
    pub fn abandon(&mut self) {
        self.prepared = None;
    }

    /// Reports of this campaign that wait to be sent. They are stored, and so charged.
    pub fn pending(&self) -> impl Iterator<Item = &[u8]> {
        let ours = |bytes: &&Vec<u8>| bytes.get(4..12) == Some(&self.prefix());
        self.state.pending.iter().filter(move |bytes| self.stored && ours(bytes)).map(Vec::as_slice)
    }

    /// Makes the next state without this report: the collector has it, or will never take it. Store, then commit.
    pub fn settle(&mut self, report: &[u8]) -> Result<(), Refusal> {
        self.is_idle()?;
        let mut next = self.state.clone();
        next.generation += 1;
        next.pending.retain(|waiting| waiting != report);
        self.prepared = Some(Prepared { state: next, report: None });
        Ok(())
    }

    fn is_idle(&self) -> Result<(), Refusal> {
        if self.prepared.is_some() { Err(Refusal::NotCommitted) } else { Ok(()) }
    }

    /// What the person should read: the organiser's words, then what follows from the numbers.
    pub fn statement(&self) -> &str {
        &self.campaign.statement
    }

    /// Where reports go.
    pub fn collector(&self) -> &str {
        &self.campaign.collector
    }

    /// What the encoding-only module needs of this campaign: its name, and the integers of its law.
    pub fn plan(&self) -> Result<Vec<u8>, Refusal> {
        let plan = Plan::of(&self.campaign.mechanism).ok_or(Refusal::NoPlan)?;
        Ok([&self.campaign.digest[..], &plan].concat())
    }

    /// The campaign's name.
    pub fn digest(&self) -> &[u8; 32] {
        &self.campaign.digest
    }

    /// Bytes per report.
    pub fn report_length(&self) -> usize {
        debug_assert!(self.campaign.report_length > REPORT_HEADER);
        self.campaign.report_length
    }

    /// The unit of this campaign.
    pub fn unit(&self) -> Unit {
        self.campaign.unit
    }

    /// What a new content of a slot costs.
    pub fn loss(&self) -> Loss {
        self.campaign.loss
    }

    /// What this device has lost in a unit, over all campaigns.
    pub fn spent(&self, unit: Unit) -> Loss {
        self.state.spent[place(unit)]
    }

    /// The most that it may lose.
    pub fn limit(&self, unit: Unit) -> Loss {
        self.limits[place(unit)]
    }

    /// How often the state has changed: a host that keeps this number elsewhere notices a restored backup.
    pub fn generation(&self) -> u64 {
        self.state.generation
    }
}

/// The report's id: a pseudo-random function of key, campaign, slot, content and period.
pub(crate) fn report_id(key: &NoiseKey, campaign: &[u8; 32], print: Fingerprint, period: u32) -> [u8; 16] {
    let hash = key.hash(&[b"report", campaign, &print.row, &print.content, &period.to_le_bytes()]);
    *hash.first_chunk().expect("32 bytes have 16")
}

/// What the core's keyed noise calls this slot.
pub(crate) fn slot_id(campaign: &[u8; 32], slot: &str) -> Result<Vec<u8>, Refusal> {
    if slot.is_empty() || slot.len() > 64 {
        return Err(Refusal::BadSlot);
    }
    Ok([&campaign[..], slot.as_bytes()].concat())
}

/// The core's keyed noise: a function of key, mechanism, id (campaign and slot) and content.
fn releaser(campaign: &Campaign, state: &State) -> Result<Releaser, Refusal> {
    let releaser = Releaser::new(campaign.mechanism.clone(), Some(campaign.encoding));
    Ok(releaser.map_err(|_| Refusal::NotDerived)?.keyed(state.key()))
}

fn is_pending(state: &State, id: [u8; 16]) -> bool {
    state.pending.iter().any(|bytes| Report::parse(bytes).is_some_and(|report| report.id == id))
}

/// The offsets that a sparse row of the core needs.
pub(crate) struct Offsets<'a> {
    vector: Vector<'a>,
    offsets: [usize; 2],
}

impl<'a> Offsets<'a> {
    pub(crate) fn new(vector: Vector<'a>) -> Self {
        let end = match vector {
            Vector::Dense(_) => 0,
            Vector::Sparse { index, .. } => index.len(),
        };
        Self { vector, offsets: [0, end] }
    }

    pub(crate) fn rows(&self, expected: usize) -> Result<Rows<'_>, Refusal> {
        match self.vector {
            Vector::Dense(values) if values.len() == expected => Ok(Rows::dense(values, expected)),
            Vector::Sparse { dim, index, values } if dim == expected && index.len() == values.len() => {
                Ok(Rows::sparse(&self.offsets, index, values, dim))
            }
            _ => Err(Refusal::WrongDimension),
        }
    }
}

fn refusal(error: ReleaseError) -> Refusal {
    let ReleaseError::Data(error) = error else { return Refusal::NoEntropy };
    fault(error)
}

/// What is wrong with a vector.
pub(crate) fn fault(error: DataError) -> Refusal {
    match error.kind {
        DataErrorKind::Nan | DataErrorKind::Infinite => Refusal::NotFinite,
        DataErrorKind::Dimension { .. } => Refusal::WrongDimension,
        DataErrorKind::IndexOutOfRange { .. } | DataErrorKind::IndexOrder => Refusal::WrongIndex,
        DataErrorKind::NormBelowBound | DataErrorKind::SparseRange => Refusal::NotPrivate,
    }
}
