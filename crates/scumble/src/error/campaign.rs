//! What is wrong with a campaign, its terms, or a release that was not collected for it.

use std::path::PathBuf;
use thiserror::Error;

/// A campaign, or a release that does not belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum CampaignError {
    #[error(transparent)]
    Terms(#[from] TermsError),
    #[error("not a campaign of scumble: longer than {most} bytes")]
    TooLong { most: usize },
    #[error("not a campaign of scumble: not text")]
    NotText,
    #[error("not a campaign of scumble: {fault}")]
    Text { fault: String },
    #[error("the campaign's text is not in its canonical form: it was altered")]
    NotCanonical,
    #[error("the campaign is inconsistent: schema is '{found}', but this version reads '{known}'")]
    Schema { found: String, known: &'static str },
    #[error("the campaign's signature does not hold")]
    Signature,
    #[error("signed by another key")]
    OtherSigner,
    #[error("not signed")]
    NotSigned,
    #[error("this is not the campaign that the digest names")]
    OtherDigest,
    #[error("the campaign is inconsistent: '{field}' is not what its parameters give")]
    Field { field: String },
    #[error("every device loads the public file of {name}, and {bytes} bytes are too many: at most {most}")]
    FileTooLarge { name: &'static str, bytes: usize, most: usize },
    #[error("a campaign names at most one public file")]
    Files,
    #[error("its public file is missing: put the one whose sha256 is {sha256} beside it, as {}", place.display())]
    FileMissing { place: PathBuf, sha256: String },

    #[error("the release was not collected from devices")]
    NotCollected,
    #[error("the release was collected for campaign {campaign}")]
    OtherCampaign { campaign: String },
    #[error("the release was made with other parameters")]
    OtherParameters,
    #[error("the release has another encoding")]
    OtherEncoding,
}

/// The terms of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum TermsError {
    #[error("a campaign needs a name of at most 200 bytes")]
    Name,
    #[error("a campaign needs a statement for the person, at most 10,000 bytes")]
    Statement,
    #[error("the description of the input must not be longer than 10,000 bytes")]
    Description,
    #[error(
        "the collector must be an address such as https://reports.example.org, without user, query or fragment; plain \
         http is for 127.0.0.1 only"
    )]
    Collector,
    #[error(
        "the {field} has a control character, a line break or a mark that changes the direction of the text: people would \
         not see what is signed"
    )]
    Unseen { field: &'static str },
    #[error("the model's hash must be 64 lower-case hexadecimal digits")]
    Model,
    #[error("a slot must be allowed at least one content")]
    Contents,
    #[error("min_reports must be at least 1")]
    MinReports,
    #[error("periods must have a positive length and count, and must end before second 2^53")]
    Periods,
    #[error(
        "reports of a period are taken until one period after its end, so their retention must be longer than a period: \
         nothing could be exported"
    )]
    Retention,
}
