//! A plan for people: what was chosen, why, and what to expect of it. Names parameters as errors do
//! ([`worded`](crate::error::worded)).

use super::{Choice, Measured, Plan, Request, StandardErrors};
use crate::words::{Facts, grouped, number};
use scumble_core::mechanism::{Given, Parameters};
use scumble_core::privacy::{Promise, Unit};
use scumble_core::projection::Partition;

/// Whose rows a plan looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookedAt {
    /// Nobody's.
    Nothing,
    /// Public ones.
    PublicRows,
    /// Private ones.
    OwnRows,
}

/// Said where no rows were looked at.
const UNKNOWN: &str = "not known: how many neighbours a search finds depends on how the rows lie relative to each other, which \
                       public numbers do not show; ‹sample› FILE measures it on rows that you may look at";

impl Request {
    /// What is fixed, in a line.
    pub fn headline(&self) -> String {
        let Parameters { dim, range, epsilon, unit, beta, .. } = self.parameters;
        let beta = if unit == Unit::Record { String::new() } else { format!(", beta {beta}") };
        let (dim, lo, hi) = (grouped(dim as u64), range.lo, range.hi);
        format!("{dim} attributes in [{lo}, {hi}], unit {unit}{beta}, epsilon {epsilon}")
    }

    /// What search and training can expect of a record's epsilon (measured in docs/record-privacy.md).
    pub fn expectation(&self) -> Option<&'static str> {
        if self.parameters.unit != Unit::Record {
            return None;
        }
        Some(match self.parameters.epsilon {
            e if e < 3.0 => "neither search nor training: below epsilon 3 a row tells next to nothing",
            e if e < 10.0 => {
                "training: a linear model over many rows works from epsilon 3 to 5. Hardly search, unless privbook has a \
                 public book of similar rows"
            }
            e if e < 20.0 => {
                "training works well; search finds a few neighbours in a hundred, and needs epsilon 20 to 30, or privbook \
                 with a public book of similar rows"
            }
            _ => {
                "training and search with exact queries; but an odds factor of e^20 and more is no worst-case \
                 protection, and must not be called one"
            }
        })
    }
}

impl Plan {
    /// The choice, line by line.
    pub fn facts(&self, request: &Request, looked_at: LookedAt) -> Facts {
        let best = &self.best;
        let forecast = &best.forecast;
        let mut facts = Facts::default();
        facts.add("mechanism", format!("{}: {}", forecast.mechanism, forecast.mechanism.summary()));
        facts.add("why", self.why(request));
        let repeats = if forecast.repeats > 1 { format!(", {} repetitions", forecast.repeats) } else { String::new() };
        let clip = forecast.sketch_clip.map(|c| format!(", clipped to [-{c}, {c}]")).unwrap_or_default();
        let (k, encoding, bytes) = (forecast.k, &forecast.encoding, grouped(forecast.bytes_per_row as u64));
        facts.add("sketch", format!("k = {k}{repeats}{clip}, {encoding}, {bytes} bytes per row"));
        if let Some(noise) = forecast.noise_deviation {
            let signal = number(forecast.signal_deviation);
            facts.add("noise", format!("standard deviation {} per value, on a signal of {signal}", number(noise)));
        }
        if let Some(flips) = forecast.flips {
            let (border, mean) = (number(100.0 * flips.at_the_border), number(100.0 * flips.mean));
            facts.add("flips", format!("{border}% of the bits next to the border, {mean}% on average"));
        }
        if let Some(structure) = best.structure() {
            facts.add("structure", structure);
        }
        facts.add("errors", forecast.standard_errors.words());
        let (what, expected) = best.expected(looked_at);
        facts.add(what, expected);
        match best.mechanism.promise() {
            Promise::Private(guarantee) => facts.add("promise", guarantee.sentence()),
            Promise::NotPrivate(_) => facts.add("promise", "NONE: this is not differentially private"),
        };
        let [claim, first, second] = best.mechanism.claim().headlines();
        facts.add("claim", claim).add("", first).add("", second);
        if let Some(expectation) = request.expectation() {
            facts.add("expect", expectation);
        }
        facts
    }

    /// Why this one, in a sentence.
    pub fn why(&self, request: &Request) -> String {
        if request.mechanism.is_some() && request.k.is_some() {
            return "as asked for".into();
        }
        let informed = request.parameters.norm.is_some() || request.parameters.density.is_some();
        let basis = match (self.best.measured.is_some(), informed) {
            (true, _) => "in a trial on the sample's rows",
            (false, true) => "for rows of the given norm and density",
            (false, false) => {
                "for values spread evenly over the range; give ‹norm› and ‹density› for a better forecast"
            }
        };
        let limit = request.bytes.map(|bytes| format!(" within {bytes} bytes per row")).unwrap_or_default();
        let rival = self.others.iter().find(|choice| choice.mechanism.id() != self.best.mechanism.id());
        let next = |rival: &Choice| format!("; next is {} at k = {}", rival.mechanism.id(), rival.mechanism.k());
        let against = rival.map(next).unwrap_or_default();
        let unit = match (request.mechanism, request.parameters.unit) {
            (None, Unit::L1) => " (staircase and bits have no proof for l1)",
            (None, Unit::L2) => " (only Gaussian noise has a proof for l2)",
            (None, Unit::Record) => " (only whole-record mechanisms are useful for records)",
            (None, Unit::Attribute) | (Some(_), Unit::Attribute | Unit::L1 | Unit::L2 | Unit::Record) => "",
        };
        let what = if request.bytes.is_some() { "ranked first" } else { "the smallest row within 1% of the first" };
        format!("{what}{limit} {basis}{against}{unit}")
    }
}

impl Choice {
    /// What public knowledge was used, in words.
    pub fn structure(&self) -> Option<String> {
        let p = self.mechanism.parameters();
        match (&p.bins, &p.components, &p.book) {
            (Some(Partition::Grid(grid)), ..) => Some(format!("{} blocks of neighbouring pixels ({grid})", p.k)),
            (Some(Partition::File(_)), ..) => Some(format!("{} bins of attributes that move together", p.k)),
            (_, Some(_), _) => Some(format!("{} main directions of the public rows", p.k)),
            (.., Some(book)) => {
                let words = book.content().map_or(0, |table| table.shape().0);
                Some(format!("a book of {} public words", grouped(words as u64)))
            }
            _ => None,
        }
    }

    /// What a search will find, or a classifier, as far as it is known.
    pub fn expected(&self, looked_at: LookedAt) -> (&'static str, String) {
        let Some(measured) = &self.measured else { return ("recall", UNKNOWN.into()) };
        let (what, enough) = match measured {
            Measured::Search { .. } => ("recall", "1,200"),
            Measured::Training { .. } => ("accuracy", "1,400"),
        };
        let public = looked_at == LookedAt::PublicRows;
        if public && !measured.is_telling() {
            let why = "not said: the public sample is too small to tell what to expect";
            return (what, format!("{why}; give {enough} rows or more"));
        }
        let how = match public {
            true => "expected for rows like the sample's, from a trial on public rows that nothing was learned from",
            false => "measured on the sample",
        };
        let found = match *measured {
            Measured::Search { rows, queries, top, recall } => format!(
                "({} rows, {queries} queries): recall@{top} {:.2} both sides private, {:.2} exact query; in a larger table \
                 it is lower",
                grouped(rows as u64),
                recall.private,
                recall.exact_query
            ),
            Measured::Training { rows, tested, accuracy } => format!(
                "(ridge on {} released rows, {} tested): accuracy {:.2} tested on released rows, {:.2} on exact ones{}; with \
                 more rows it is higher",
                grouped(rows as u64),
                grouped(tested as u64),
                accuracy.private,
                accuracy.exact_rows,
                accuracy.without_privacy.map(|share| format!(", {share:.2} without privacy")).unwrap_or_default()
            ),
        };
        (what, format!("{how} {found}"))
    }

    /// What a release with this choice is given, by name and in reading order: first the claim, then the sketch, public
    /// files and consent last.
    pub fn given(&self) -> Vec<(&'static str, Given)> {
        const FIRST: [&str; 16] = [
            "mechanism",
            "epsilon",
            "delta",
            "beta",
            "range",
            "unit",
            "k",
            "repeats",
            "seed",
            "projection",
            "sketch_clip",
            "clip_norm",
            "norm_bound",
            "signrp_mode",
            "norm",
            "density",
        ];
        const LAST: [&str; 6] = ["encoding", "purpose", "bins", "components", "book", "i_understand_this_is_not_dp"];
        let mut given = self.mechanism.parameters().given();
        given.push(("encoding", Given::Value(self.encoding.to_string())));
        given.sort_by_key(|(name, _)| {
            let last = LAST.iter().position(|last| last == name).map(|at| FIRST.len() + 1 + at);
            FIRST.iter().position(|first| first == name).or(last).unwrap_or(FIRST.len())
        });
        given
    }
}

impl StandardErrors {
    fn words(&self) -> String {
        let all = [
            ("inner product", self.inner_product),
            ("squared norm", self.squared_norm),
            ("squared distance", self.squared_distance),
            ("cosine", self.cosine),
            ("angle", self.angle),
        ];
        let told = all.iter().filter_map(|(name, error)| error.map(|error| format!("{name} {}", number(error))));
        match told.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "the release ranks rows, but does not tell lengths or angles".into(),
            told => format!("standard errors for two typical rows: {told}"),
        }
    }
}
