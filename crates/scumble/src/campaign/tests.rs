use super::*;
use crate::error::TermsError;
use scumble_core::mechanism::Required;
use scumble_core::projection::{Bins, Origin, Partition, PublicTable, Seed, TableFile};
use scumble_core::vectors::Range;

pub(super) fn terms() -> Terms {
    Terms {
        name: "topics of interest".into(),
        statement: "We count which topics people read.".into(),
        collector: "https://reports.example.org".into(),
        input: Input { layout: Layout::Dense, description: "topic scores".into(), model: None },
        periods: Periods { first: 1_800_000_000, seconds: 86_400, count: 30 },
        longitudinal: Longitudinal { mode: Mode::Once, contents: 3 },
        min_reports: 100,
        retention_days: 90,
    }
}

fn parameters(id: MechanismId) -> Parameters {
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: 64,
        k: 32,
        epsilon: 2.0,
        beta: 1.0,
        range: Range { lo: -1.0, hi: 1.0 },
        seed: Seed([3; 32]),
    });
    parameters.i_understand_this_is_not_dp = id.as_str().starts_with("idp");
    if id.notion() == crate::mechanism::NotionKind::Approximate || parameters.i_understand_this_is_not_dp {
        parameters.delta = Some(1e-6);
    }
    parameters
}

fn campaign(id: MechanismId, terms: Terms) -> Result<Campaign, LibraryError> {
    let mechanism = Mechanism::new(parameters(id))?;
    let encoder = Encoder::new(&mechanism, None)?;
    Campaign::new(&mechanism, &encoder, terms)
}

fn ceil() -> Campaign {
    campaign(MechanismId::DpSignoporpCeil, terms()).unwrap()
}

#[test]
fn a_campaign_reads_back_signed_and_unsigned_under_one_name() {
    let key = SigningKey::generate().unwrap();
    let bare = ceil();
    let signed = bare.clone().signed(&key);
    assert_eq!(bare.digest(), signed.digest());
    for campaign in [&bare, &signed] {
        let (again, mechanism, encoder) = Campaign::parse(&campaign.to_json()).unwrap();
        assert_eq!(&again, campaign);
        assert_eq!((mechanism.id(), encoder.bytes_per_row()), (MechanismId::DpSignoporpCeil, 4));
    }
    assert_eq!(bare.signer(), Ok(None));
    assert_eq!(signed.signer(), Ok(Some(key.public())));
    assert_eq!(signed.report_length, 36);
}

/// Every byte changed once: nothing that a signature covers may move unnoticed.
#[test]
fn every_altered_byte_is_noticed() {
    let text = ceil().signed(&SigningKey::generate().unwrap()).to_json();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        if let Ok(altered) = String::from_utf8(bytes) {
            let parsed = Campaign::parse(&altered);
            // A changed key or signature no longer holds; no other byte may change at all.
            assert!(parsed.is_err(), "byte {at}");
        }
    }
}

#[test]
fn numbers_that_the_parameters_do_not_give_are_refused() {
    let mut weaker = ceil();
    weaker.parameters.epsilon = 3.0; // the stated law is that of epsilon 2
    let error = weaker.check().unwrap_err().to_string();
    assert!(error.contains("'guarantee'"), "{error}");
    let mut silent = campaign(
        MechanismId::DpSignoporpCeil,
        Terms { longitudinal: Longitudinal { mode: Mode::Sticky, contents: 1 }, ..terms() },
    )
    .unwrap();
    assert!(silent.notice.iter().any(|sentence| sentence.contains("pseudonym")));
    silent.notice.retain(|sentence| !sentence.contains("pseudonym"));
    assert!(silent.check().unwrap_err().to_string().contains("'notice'"));
}

#[test]
fn only_what_is_private_may_be_collected() {
    let (mut taken, mut refused) = (0, Vec::new());
    for id in MechanismId::without_files() {
        match campaign(id, terms()) {
            Ok(_) => taken += 1,
            Err(error) => {
                assert!(error.is_refusal(), "{id}: {error}");
                refused.push(id.as_str());
            }
        }
    }
    assert!(refused.iter().all(|id| id.starts_with("idp-")), "{refused:?}");
    assert_eq!(taken + refused.len(), MechanismId::without_files().count());
    assert_eq!(refused.len(), 4);
}

fn book(words: usize) -> TableFile {
    let entries = (0..words * 64).map(|i| ((i * 7919) % 2003) as i16 - 1001).collect();
    TableFile::of(PublicTable::book(words, entries, 0.001, Origin::Made).unwrap())
}

fn of(parameters: Parameters) -> Result<Campaign, LibraryError> {
    let mechanism = Mechanism::new(parameters)?;
    let encoder = Encoder::new(&mechanism, None)?;
    Campaign::new(&mechanism, &encoder, terms())
}

/// The text names the file by its hash, and is read only with that file.
#[test]
fn a_public_file_is_named_and_stays_beside() {
    let places: Vec<_> = (0..12_000).map(|i: u32| Some((i % 32, true))).collect();
    let bins = Partition::of(&Bins::new(&places, 32, Origin::Made).unwrap());
    let centre = vec![0.25; 64];
    let components = PublicTable::components(centre, vec![3; 64 * 32], 0.001, Origin::Made).unwrap();
    let all = [
        ("book", Parameters { book: Some(book(5)), ..parameters(MechanismId::Privbook) }),
        ("components", Parameters { components: Some(TableFile::of(components)), ..parameters(MechanismId::Privcube) }),
        ("bins", Parameters { bins: Some(bins), dim: 12_000, ..parameters(MechanismId::DpSignoporpCeil) }),
    ];
    for (kind, parameters) in all {
        let campaign = of(parameters).unwrap().signed(&SigningKey::generate().unwrap());
        let (name, file) = campaign.file().unwrap();
        let text = campaign.to_json();
        assert!(name == kind && text.len() < 8000 && text.contains("\"sha256\""), "{kind}");
        let missing = Campaign::parse(&text).unwrap_err().to_string();
        assert!(missing.contains(kind), "{missing}");
        let mut beside = Beside::default();
        beside.add(&file).unwrap();
        let (again, ..) = Campaign::parse_with(&text, &beside).unwrap();
        assert_eq!((&again, again.file()), (&campaign, campaign.file()));
    }
    let words = of(Parameters { book: Some(book(5)), ..parameters(MechanismId::Privbook) }).unwrap();
    assert!(words.notice.iter().any(|sentence| sentence.starts_with("A report names one of 5 public example vectors")));
}

#[test]
fn what_a_device_would_compute_for_too_long_is_refused() {
    let dense = |dim| Parameters { dim, k: 512, ..parameters(MechanismId::DpRpGOptB) };
    assert!(of(dense(1000)).is_ok());
    let error = of(dense(20_000)).unwrap_err();
    assert!(error.to_string().contains("takes too long to check"), "{error}");
}

#[test]
fn a_file_that_no_device_can_load_is_refused() {
    let words = LARGEST_FILE / 128 + 1;
    let error = of(Parameters { book: Some(book(words)), ..parameters(MechanismId::Privbook) }).unwrap_err();
    assert!(error.to_string().contains("at most 67108864"), "{error}");
}

/// What a person reads is computed from all the numbers it depends on.
#[test]
fn the_notice_says_what_is_left_of_the_promise() {
    let notice = |parameters: Parameters, mode, contents| {
        let mechanism = Mechanism::new(parameters).unwrap();
        let encoder = Encoder::new(&mechanism, None).unwrap();
        let terms = Terms { longitudinal: Longitudinal { mode, contents }, ..terms() };
        Campaign::new(&mechanism, &encoder, terms).unwrap().notice.join("\n")
    };
    let record = |epsilon| Parameters { epsilon, ..parameters(MechanismId::Privcube) };
    let said = notice(record(1.0), Mode::Once, 1);
    assert!(
        said.contains("covers the whole vector. Someone who must choose between two equally likely vectors"),
        "{said}"
    );
    assert!(said.contains("is right at most 73.2% of the time."), "{said}");
    assert!(notice(record(20.0), Mode::Once, 1).contains("of the time: no protection."));
    let one = notice(Parameters { epsilon: 0.1, ..parameters(MechanismId::DpSignoporpCeil) }, Mode::Sticky, 3);
    assert!(one.contains("together at most epsilon 0.3."), "{one}"); // not 0.30000000000000004
    assert!(one.contains("covers ONE of 64 attributes") && one.contains("is right at most 9"), "{one}");
    let gaussian = Parameters { delta: Some(1e-6), ..parameters(MechanismId::DpOporp) };
    assert!(notice(gaussian, Mode::Once, 3).contains("delta 3.00e-6."), "a delta is spent again as well");
    for mode in [Mode::Once, Mode::Sticky] {
        let said = notice(record(1.0), mode, 1);
        assert!(said.contains("A slot reports one vector only.") && !said.contains("once."), "{said}");
    }
}

#[test]
fn terms_that_make_no_sense_are_refused() {
    type Change = fn(&mut Terms);
    let wrong: [(&str, Change); 12] = [
        ("name", |terms| terms.name = " ".into()),
        ("name of two lines", |terms| terms.name = "a\nb".into()),
        ("statement", |terms| terms.statement.clear()),
        ("plain http", |terms| terms.collector = "http://reports.example.org".into()),
        ("local look-alike", |terms| terms.collector = "http://127.0.0.1.example.org".into()),
        ("user", |terms| terms.collector = "https://a@b".into()),
        ("query", |terms| terms.collector = "https://a?b".into()),
        ("model", |terms| terms.input.model = Some("abc".into())),
        ("contents", |terms| terms.longitudinal.contents = 0),
        ("min_reports", |terms| terms.min_reports = 0),
        ("period", |terms| terms.periods.seconds = 0),
        ("far future", |terms| terms.periods.seconds = u64::MAX),
    ];
    for (what, change) in wrong {
        let mut terms = terms();
        change(&mut terms);
        assert!(campaign(MechanismId::DpSignoporpCeil, terms).is_err(), "{what}");
    }
}

/// What a terminal or a page would not show as it is signed.
#[test]
fn characters_that_nobody_sees_are_refused() {
    type Field = (&'static str, fn(&mut Terms) -> &mut String);
    let fields: [Field; 4] = [
        ("name", |terms| &mut terms.name),
        ("statement", |terms| &mut terms.statement),
        ("description", |terms| &mut terms.input.description),
        ("collector", |terms| &mut terms.collector),
    ];
    let refused = "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\
                   \u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    for (name, field) in fields {
        for c in refused.chars() {
            let mut terms = terms();
            field(&mut terms).push(c);
            let error = campaign(MechanismId::DpSignoporpCeil, terms).unwrap_err();
            let unseen = matches!(error, LibraryError::Campaign(CampaignError::Terms(TermsError::Unseen { .. })));
            assert!(unseen && error.to_string().contains(name), "{name} with {c:?}: {error}");
        }
    }
    let mut foreign = terms();
    foreign.name = "Thèmes · テーマ · \u{5e0}\u{5d5}\u{5e9}\u{5d0} \u{1f469}\u{200d}\u{1f52c}".into();
    campaign(MechanismId::DpSignoporpCeil, foreign).unwrap();
}

#[test]
fn a_collector_is_a_host_with_perhaps_a_port_and_a_path() {
    let check = |collector: &str| {
        campaign(MechanismId::DpSignoporpCeil, Terms { collector: collector.into(), ..terms() }).map(drop)
    };
    for good in [
        "https://reports.example.org",
        "https://reports.example.org:8443/a/b",
        "https://192.0.2.1:1",
        "https://a_b-c/",
        "https://[2001:db8::1]:443/v",
        "http://127.0.0.1:8080",
        "http://localhost",
        "http://[::1]:65535/x",
    ] {
        check(good).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
    for bad in [
        "https://",
        "https://:443",
        "https:///a",
        "https://a:",
        "https://a:0",
        "https://a:65536",
        "https://a:+1",
        "https://a..b",
        "https://.a",
        "https://a:443:1",
        "https://[::1",
        "https://[]:1",
        "https://[a]",
        "https://[::1]x",
        "https://a%2eb",
        "http://127.0.0.1:evil.com",
        "http://127.0.0.1:80.evil.com",
        "http://localhost:",
        "http://[::1]evil",
        "http://a",
        "http://127.0.0.1.example.org",
        "ftp://a",
        "",
    ] {
        let error = check(bad).expect_err(bad);
        assert!(matches!(error, LibraryError::Campaign(CampaignError::Terms(TermsError::Collector))), "{bad}: {error}");
    }
}

/// A collector takes late reports for one more period, and deletes them after their retention.
#[test]
fn reports_are_kept_for_longer_than_a_period() {
    let day = 86_400;
    for (retention_days, seconds, fits) in
        [(0, 1, false), (1, day, false), (1, day - 1, true), (7, 7 * day, false), (8, 7 * day, true)]
    {
        let periods = Periods { seconds, ..terms().periods };
        let kept = campaign(MechanismId::DpSignoporpCeil, Terms { retention_days, periods, ..terms() });
        match kept {
            Ok(_) => assert!(fits, "{retention_days} days, {seconds} seconds"),
            Err(error) => assert!(!fits && error.to_string().contains("longer than a period"), "{error}"),
        }
    }
}

#[test]
fn periods_are_half_open_and_late_reports_have_one_more() {
    let periods = Periods { first: 1000, seconds: 10, count: 3 };
    assert_eq!(
        [999, 1000, 1009, 1010, 1029, 1030].map(|now| periods.at(now)),
        [None, Some(0), Some(0), Some(1), Some(2), None]
    );
    assert_eq!([999, 1000, 1019, 1020].map(|now| periods.is_open(0, now)), [false, true, true, false]);
    assert_eq!([1019, 1020, 1039, 1040].map(|now| periods.is_open(2, now)), [false, true, true, false]);
    assert!(!periods.is_open(3, 1035));
}

#[test]
fn reports_of_others_are_not_taken() {
    let campaign = ceil();
    let digest = campaign.digest_bytes();
    let ours = Report { campaign: *digest.first_chunk().unwrap(), period: 29, id: [1; 16], row: &[0; 4] };
    assert_eq!(campaign.report(&ours.to_bytes()), Some(ours));
    for other in [
        Report { period: 30, ..ours },
        Report { row: &[0; 5], ..ours },
        Report { row: &[], ..ours },
        Report { campaign: [0; 8], ..ours },
    ] {
        assert_eq!(campaign.report(&other.to_bytes()), None);
    }
}
