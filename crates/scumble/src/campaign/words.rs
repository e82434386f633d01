//! What a person should know about a campaign, derived from its numbers. Whoever checks a campaign with this library
//! derives it again and refuses other words; a device has no room for that and shows the words as they were signed.

use super::{Mode, Terms};
use crate::release::{Encoder, REPORT_HEADER};
use scumble_core::mechanism::Mechanism;
use scumble_core::privacy::{Bound, Unit};

/// The sentences.
pub(super) fn notice(mechanism: &Mechanism, encoder: &Encoder, terms: &Terms) -> Vec<String> {
    let guarantee = mechanism.promise().guarantee().expect("admissible");
    let contents = terms.longitudinal.contents;
    let mut notice = vec![
        format!(
            "Your device adds the noise before anything is sent. A report has {} bytes; nobody but your device ever sees \
             the vector itself.",
            REPORT_HEADER + encoder.bytes_per_row()
        ),
        guarantee.sentence(),
        scope(mechanism),
    ];
    if let Some(book) = mechanism.parameters().book.as_ref().and_then(|book| book.content()) {
        let (words, _) = book.shape();
        notice.push(format!(
            "A report names one of {words} public example vectors, more likely one that is near to yours. It can look \
             like your vector, and it need not be."
        ));
    }
    notice.push(match contents {
        1 => "A slot reports one vector only.".into(),
        contents => {
            let times = f64::from(contents);
            let (epsilon, delta) = (times * guarantee.epsilon, times * guarantee.delta);
            let together = Bound { moves: contents.into(), epsilon, delta };
            format!(
                "A slot may report up to {contents} different vectors, and each one costs this loss again: together at \
                 most {}.",
                together.loss_words()
            )
        }
    });
    notice.push(match terms.longitudinal.mode {
        Mode::Once => "A vector that has not changed is not sent again.".into(),
        Mode::Sticky => {
            "A vector that has not changed is sent in every period with the same noise. The reports of one \
                         slot can then be recognised as coming from the same device: they are a pseudonym."
                .into()
        }
    });
    notice.push(
        "The collector sees that your device sends, when, and from which address; the noise does not hide that.".into(),
    );
    notice.push(format!(
        "Reports of a period are used only if there are at least {}, and are kept for at most {} days after it.",
        terms.min_reports, terms.retention_days
    ));
    notice
}

/// What the unit covers of a whole vector, and what is left of that.
fn scope(mechanism: &Mechanism) -> String {
    let claim = mechanism.claim();
    let (covered, bound) = match mechanism.parameters().unit {
        Unit::Record => ("The promise covers the whole vector.".into(), claim.guarantee.map(|it| it.group(1))),
        Unit::Attribute => (
            format!(
                "The promise covers ONE of {} attributes. A change of several attributes is protected less: their losses \
                 add up.",
                claim.dim
            ),
            claim.whole_row,
        ),
        Unit::L1 | Unit::L2 => (
            "The promise covers changes up to the stated distance. A larger change is protected less.".into(),
            claim.whole_row,
        ),
    };
    match bound {
        Some(bound) => format!(
            "{covered} Someone who must choose between two equally likely vectors, which may differ in every attribute, \
             is right {}.",
            bound.guess_words()
        ),
        None => format!("{covered} No bound on what is revealed of a whole vector can be stated."),
    }
}
