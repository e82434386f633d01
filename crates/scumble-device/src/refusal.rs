//! Every way to say no. A code for programs, a fixed sentence for people: no value of a vector and no key can be in it.

use std::ffi::CStr;
use std::fmt;

macro_rules! refusals {
    ($($code:literal $name:ident $sentence:literal;)*) => {
        /// Why the client refuses. The number is the code of the C ABI.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Refusal {
            $(#[doc = $sentence] $name = $code,)*
        }

        impl Refusal {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The sentence, as C has it.
            pub fn sentence(self) -> &'static CStr {
                let bytes: &[u8] = match self { $(Self::$name => concat!($sentence, "\0").as_bytes(),)* };
                CStr::from_bytes_with_nul(bytes).unwrap_or_default()
            }

            /// The name of the code.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

refusals! {
    1 NotACampaign "This is not a campaign that this version can read.";
    2 BadSignature "The campaign's signature does not hold: it was altered, or never signed.";
    3 WrongSigner "The campaign was signed by another key than the one this application trusts.";
    4 WrongDigest "This is another campaign than the one this application has pinned.";
    5 NotDerived "The campaign's numbers are not what its parameters give.";
    6 NotPrivate "The campaign's mechanism gives no guarantee that a device may rely on.";
    7 AbovePolicy "One report of this campaign would cost more than this device's policy allows.";
    8 BudgetSpent "This device has spent its privacy budget for this unit.";
    9 ContentsSpent "This slot has reported as many different vectors as the campaign allows.";
    10 DamagedState "The stored state is damaged; it is neither used nor replaced.";
    11 RolledBackState "The stored state is older than one that this client has seen.";
    12 NoEntropy "The host gave no entropy: no key can be made.";
    13 NotFinite "The vector has a value that is not a finite number.";
    14 WrongDimension "The vector has another length than the campaign asks for.";
    15 WrongIndex "The sparse vector's indices must rise strictly and lie inside the dimension.";
    16 ClosedPeriod "The campaign takes no reports at this time.";
    17 BadSlot "A slot needs a name of 1 to 64 bytes in UTF-8.";
    18 BadPolicy "A policy needs limits that are finite and not negative.";
    19 BadArgument "A pointer is missing, a kind of number is unknown, or neither signer nor digest was given.";
    20 NotPrepared "There is nothing to commit: prepare comes first.";
    21 NotCommitted "The last prepare was neither committed nor abandoned.";
    22 TooManyPending "Too many reports wait to be sent.";
    23 Internal "The client failed inside; nothing was shown.";
    24 NotAPlan "This is not a plan that this version can read.";
    25 NoPlan "The encoding-only module does not have this campaign's mechanism.";
    26 NoFile "The campaign names a public file, and none was given.";
    27 WrongFile "The public file is not the one that the campaign names.";
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence().to_str().unwrap_or_default())
    }
}

impl std::error::Error for Refusal {}
