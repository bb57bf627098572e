use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ldp_pca::internal::family::FamilyMember;
use ldp_pca::internal::recovery::{RankTest, TestedComponent};
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::privacy::{Epsilon, Guarantee};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;
use ldp_pca::schema::{Column, ColumnKind, Schema};
use ldp_pca::task::Folds;
use ldp_pca_pictures::canvas::{ACCENT, GRID, INK, MUTED, PALE, WARNING};
use sha2::{Digest as _, Sha256};

use super::*;

const NAMES: [&str; 6] = ["running", "cycling", "reading", "chess", "swimming", "cooking"];
const HOSTILE: [&str; 6] = ["<script>a</script>", "\" onload=\"a", "</style>&amp;", "'", "{}", "\u{202e}b"];

fn task(names: [&str; 6]) -> Task {
    let columns = names.map(|name| Column::new(name, ColumnKind::Numeric { offset: 0.0, scale: 1.0 }));
    let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0).unwrap());
    Task::new(Schema::new(columns.to_vec()).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap()
}

/// Two components, of running and cycling against reading and of chess and cooking, with these variances.
fn answer(names: [&str; 6], variances: [Option<f64>; 2]) -> Answer {
    let mut answer = Answer::default();
    (answer.asked.dimension, answer.asked.records) = (6, 500);
    answer.asked.feature_names = names.map(str::to_owned).to_vec();
    let components = vec![vec![0.6, 0.6, -0.5, 0.0, 0.1, -0.12], vec![0.0, 0.0, 0.0, 0.7, 0.1, -0.7]];
    let mut answer = answer.with_components(components, vec![0.5, 0.3]);
    (answer.found.variances, answer.found.total_variance) = (Some(variances.to_vec()), Some(1.0));
    answer.found.spectrum = Some(vec![0.5, 0.3, 0.1, 0.05, 0.03, 0.02]);
    (answer.trust.noise_deviation, answer.trust.noise_edge) = (0.01, 0.15);
    answer
}

fn page(names: [&str; 6], answer: &Answer, live: Option<Live<'_>>) -> String {
    let page = result(&ResultPage { task: &task(names), answer, live });
    check(&page);
    page.replace("<bdi>", "").replace("</bdi>", "")
}

/// The answer with the test of its first two components, of which so many stand out, and an edge for the next.
fn with_test(mut answer: Answer, standing: usize) -> Answer {
    let component = |index| TestedComponent {
        eigenvalue: 0.5,
        rest: 0.2,
        noise_edge: 0.25,
        p_value: if index < standing { 0.001 } else { 0.5 },
        gained: None,
    };
    let components = (0..=standing).map(component).collect();
    answer.trust.rank_test = Some(RankTest { level: 0.05, draws: 1999, components });
    answer
}

/// What is predicted of these signals, of which as many are asked for as there are components, by so many reports.
fn predicted(mut answer: Answer, signals: &[f64], records: u64) -> Answer {
    let spectrum = Spectrum::of_unit_trace(6, signals.to_vec()).unwrap();
    let planner = Planner::of_task(spectrum, Rank::new(2).unwrap(), &task(NAMES)).unwrap();
    answer.trust.predicted = Some(planner.predict(Epsilon::new(2.0).unwrap(), records).unwrap());
    answer
}

/// That a page has all of these parts.
fn says(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// The values of an attribute, or what follows a start up to an end.
fn between<'a>(page: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    page.split(start).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0)).collect()
}

/// What every document keeps to: no script and no style but its own, headings in order, identifiers of their own, names
/// for pictures and parts, and the colours that there are in the dark.
fn check(page: &str) {
    let (head, body) = page.split_once("</style>").unwrap();
    assert!(head.starts_with("<!DOCTYPE html><html lang=\"en\">") && page.matches("<style").count() == 1);
    assert!(!body.contains("NaN") && !body.contains("inf<"), "{body}");
    for tag in between(body, "<", ">") {
        let is_own = |part: &&str| !tag.contains(*part);
        assert!(!tag.starts_with("script") && [" style=\"", " onload=\""].iter().all(is_own), "{tag}");
    }
    let mut ids = between(body, " id=\"", "\"");
    let targets = between(body, "aria-labelledby=\"", "\"").into_iter().flat_map(str::split_whitespace);
    let missing: Vec<&str> = targets.filter(|target| !ids.contains(target)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
    assert_eq!(body.matches("<h1>").count(), 1, "{body}");
    let mut last = 0;
    for level in body.split("<h").skip(1).filter_map(|rest| rest.chars().next()?.to_digit(10)) {
        assert!(level <= last + 1, "h{level} after h{last}: {body}");
        last = level;
    }
    for picture in between(body, "<svg", ">") {
        assert!(picture.contains("aria-hidden=\"true\"") || picture.contains("aria-labelledby=\""), "{picture}");
    }
    assert_eq!(body.matches("<table").count(), body.matches("<caption").count());
    assert!(body.contains("<main>") && body.contains("<header>"));
    for color in between(body, "=\"#", "\"") {
        assert!(STYLE.contains(&format!("\"#{color}\"]")), "{color}");
    }
}

#[test]
fn the_patterns_are_named_by_their_strongest_features_and_say_how_sure_they_are() {
    let page = page(NAMES, &answer(NAMES, [Some(0.4), Some(0.2)]), None);
    let parts = [
        "<h1>2 patterns stand out of 500 reports</h1>",
        "The strongest is: more running and cycling, less reading.",
        "Pattern 1: more running and cycling, less reading</h3>",
        "Pattern 2: more chess, less cooking</h3>",
        "It holds 40\u{a0}% of the spread.",
        "how far answers are from the middle (0, or a column's offset)",
        "what all people share looks like a pattern too",
        "recognizes at most 7.4\u{a0}% of those who have them",
        "What more people would show of these patterns",
        "Not how large answers are",
        "noise edge 0.15",
        "Features on Pattern 1 and Pattern 2",
        "(2, 0)-local differential privacy",
        "<footer>",
    ];
    says(&page, &parts);
    assert!(!page.contains("class=\"note\"") && !page.contains("All collections"), "{page}");
    assert!(!page.contains("Period"), "{page}");
    let weekly = task(NAMES).with_period("2026-W48").unwrap();
    let mut centred = answer(NAMES, [Some(0.4), Some(0.2)]);
    centred.asked.centred = true;
    let weekly = result(&ResultPage { task: &weekly, answer: &centred, live: None });
    assert!(
        weekly.contains(" Period: <bdi>2026-W48</bdi>.") && weekly.contains("how far answers are from their average"),
        "{weekly}"
    );
    assert!(!weekly.contains("what all people share") && !weekly.contains("and show no pattern"), "{weekly}");
}

#[test]
fn more_people_are_planned_for_few_patterns() {
    let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0).unwrap());
    let schema = Schema::numeric(40).unwrap();
    let task = Task::new(schema, Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap();
    for (count, is_planned) in [(8, true), (33, false)] {
        let mut answer = Answer::default();
        (answer.asked.dimension, answer.asked.records) = (40, 500);
        answer.asked.feature_names = task.schema().feature_names();
        let unit = |index: usize| (0..40).map(|row| if row == index { 1.0 } else { 0.0 }).collect();
        let mut answer = answer.with_components((0..count).map(unit).collect(), vec![0.03; count]);
        (answer.found.variances, answer.found.total_variance) = (Some(vec![Some(0.03); count]), Some(1.0));
        let found = quality::more_people(&task, &answer).into_string();
        assert_eq!(found.contains("What more people would show"), is_planned, "{found}");
    }
}

#[test]
fn what_is_noise_is_no_finding() {
    let none = page(NAMES, &answer(NAMES, [None, None]), None);
    says(&none, &["<h1>No pattern stands out of 500 reports</h1>", "None stands out: noise and", "halve the noise"]);
    assert!(!none.contains("Pattern 1") && !none.contains("id=\"map\"") && !none.contains("more running"), "{none}");
    let one = page(NAMES, &answer(NAMES, [Some(0.4), None]), None);
    assert!(one.contains("<h1>1 pattern stands out of 500 reports</h1>") && !one.contains("id=\"pattern-2\""), "{one}");
    assert!(one.contains("Not shown: 1 pattern of the 2 asked for") && !one.contains("id=\"map\""), "{one}");
}

#[test]
fn patterns_that_a_test_does_not_find_are_none_and_those_beyond_the_ones_asked_for_are_counted() {
    let answer = || answer(NAMES, [Some(0.4), Some(0.2)]);
    let none = page(NAMES, &with_test(answer(), 0), None);
    says(&none, &["<h1>No pattern stands out of 500 reports</h1>", "there is none, or the noise", "<td>0.250</td>"]);
    assert!(!none.contains("Pattern 1") && !none.contains("The blue ones"), "{none}");
    // One edge, not that of everything too.
    assert!(none.contains("noise edge 0.25") && !none.contains("<td>0.150</td>"), "{none}");
    let one = page(NAMES, &with_test(answer(), 1), None);
    assert!(one.contains("<h1>1 pattern stands out of 500 reports</h1>") && !one.contains("Pattern 2:"), "{one}");
    assert!(one.contains("Not shown: 1 pattern of the 2 asked for, which does not stand out."), "{one}");
    let more = page(NAMES, &with_test(answer(), 4), None);
    assert!(more.contains("<h1>2 of at least 4 patterns that stand out of 500 reports</h1>"), "{more}");
}

#[test]
fn more_people_are_planned_for_what_a_test_finds() {
    let planned = |variances| {
        let answer = with_test(answer(NAMES, variances), 1);
        quality::more_people(&task(NAMES), &answer).into_string()
    };
    let one = planned([Some(0.4), None]);
    assert!(one.contains("What more people would show"), "{one}");
    assert_eq!(planned([Some(0.4), Some(0.2)]), one);
}

#[test]
fn what_is_expected_is_of_what_stands_out() {
    let answer = || answer(NAMES, [Some(0.4), Some(0.2)]);
    let many = page(NAMES, &predicted(answer(), &[0.4, 0.2], 1_000_000), None);
    says(&many, &["</strong> of what the true ones would, nearly all", "More people would change little"]);
    let mut tied = predicted(answer(), &[0.4, 0.2], 1_000_000);
    tied.found.ties = vec![[0, 1]];
    assert!(page(NAMES, &tied, None).contains("which may change them"));
    let buried = page(NAMES, &with_test(predicted(answer(), &[0.4], 1_000_000), 1), None);
    assert!(buried.contains("of what stands out of the noise</strong> is found. What is hidden"), "{buried}");
    // One that is missed may be a small part of all.
    let weak = page(NAMES, &predicted(answer(), &[0.7, 0.07], 20_000), None);
    assert!(!weak.contains("More people would change little"), "{weak}");
}

#[test]
fn as_many_patterns_as_features_miss_nothing_and_one_feature_has_none() {
    let mut whole = answer(NAMES, [Some(0.4), Some(0.2)]);
    whole.asked.rank = 6;
    whole.found.components.resize(6, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    (whole.found.variances, whole.found.eigenvalues) = (Some(vec![Some(0.1); 6]), vec![0.1; 6]);
    assert!(page(NAMES, &whole, None).contains("hold everything, so nothing can be missed"));
    let mut alone = Answer::default();
    (alone.asked.dimension, alone.asked.feature_names) = (1, vec!["running".to_owned()]);
    let alone = page(NAMES, &alone.with_components(vec![vec![1.0]], vec![0.5]), None);
    assert!(alone.contains("<h1>One feature has no pattern</h1>"), "{alone}");
    assert!(!alone.contains("id=\"patterns\"") && !alone.contains("id=\"people\""), "{alone}");
}

#[test]
fn ties_single_columns_and_the_mean_are_told() {
    let mut tied = answer(NAMES, [Some(0.3), Some(0.3)]);
    tied.found.ties = vec![[0, 1]];
    let found = page(NAMES, &tied, None);
    assert!(found.contains("patterns 1 and 2 cannot be told from each other: any rotation"), "{found}");
    assert!(found.contains("less reading. It cannot be told from the next one."), "{found}");
    let mut single = answer(NAMES, [Some(0.3), Some(0.2)]);
    single.found.single_columns = Some(true);
    let found = page(NAMES, &single, None);
    assert!(found.contains("<h1>No pattern of several columns in 500 reports</h1>"), "{found}");
    assert!(found.contains("the 2 patterns above the noise hold no more variance") && !found.contains("The strongest"));
    let mut alone = answer(NAMES, [Some(0.3), Some(0.2)]);
    alone.found.components[0] = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert!(page(NAMES, &alone, None).contains("Pattern 1 is 'running' alone. It may be the average"));
}

#[test]
fn names_from_outside_are_texts_and_the_live_part_is_there_where_it_is_asked_for() {
    let downloads = [("Components \"<b>\"", "components.json?a=1&b=\"")];
    let live = Live { downloads: &downloads, counts: &[(1_000_000_000, 4), (1_100_000_000, 500)], list: "../" };
    let found = page(HOSTILE, &answer(HOSTILE, [Some(0.4), Some(0.2)]), Some(live));
    let parts = [
        "&lt;script&gt;a&lt;/script&gt;",
        "Components &quot;&lt;b&gt;&quot;</a>",
        "href=\"components.json?a=1&amp;b=&quot;\" download>",
        "<a href=\"../\">All collections</a>",
        "500 reports by 9 Nov 2004",
        "begins when the server was started",
    ];
    says(&found, &parts);
    let live = Live { downloads: &[], counts: &[(1, 4)], list: "../" };
    let found = page(NAMES, &answer(NAMES, [None, None]), Some(live));
    assert!(!found.contains("id=\"counts\"") && !found.contains("id=\"downloads\""), "{found}");
}

#[test]
fn the_list_leads_to_every_collection() {
    let empty = collections(&[]);
    check(&empty);
    assert!(empty.contains("There are none yet."));
    let columns: Vec<String> = (0..40).map(|column| format!("<c{column}>")).collect();
    let one = Collection {
        digest: "ab".repeat(32),
        link: Some("tasks/ab/report".into()),
        period: Some("2026-W48"),
        columns: &columns,
        records: 12_345,
        state: "collecting",
    };
    let none = Collection { link: None, ..one.clone() };
    let list = collections(&[none, one.clone(), Collection { period: None, ..one }]);
    check(&list);
    let parts = [
        "<a href=\"tasks/ab/report\">2026-W48</a>",
        "<a href=\"tasks/ab/report\">Result</a>",
        "&lt;c29&gt;</bdi> and <bdi>10 more",
        "<th scope=\"row\">2026-W48<br>",
        "<footer>",
        "12,345",
    ];
    says(&list, &parts);
}

#[test]
fn a_refusal_is_a_page_of_what_was_refused() {
    let page = refusal("<Too few>", "19 & 1");
    check(&page);
    says(&page, &["<title>&lt;Too few&gt;</title>", "<h1>&lt;Too few&gt;</h1>", "<p>19 &amp; 1</p>"]);
}

#[test]
fn the_policy_allows_this_style_and_the_style_has_every_colour_of_pictures() {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    assert!(CSP.contains(&format!("'sha256-{digest}'")), "{digest}");
    for color in [INK, MUTED, GRID, ACCENT, PALE, WARNING] {
        assert!(STYLE.contains(&format!("[fill=\"{color}\"]")) && STYLE.contains(&format!("[stroke=\"{color}\"]")));
    }
}

/// As WCAG 2.2 asks of text (1.4.3) and of marks (1.4.11).
#[test]
fn words_and_marks_stand_out_from_their_ground_in_light_and_in_the_dark() {
    let luminance = |color: &str| {
        let part = |at: usize| {
            let part = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
    };
    let colors = |name: &str| between(STYLE, &format!("--{name}: #"), ";");
    for (name, least) in [("ink", 4.5), ("muted", 4.5), ("accent", 4.5), ("warning", 4.5), ("pale", 3.0)] {
        assert_eq!(colors(name).len(), 2, "{name}");
        for ground in ["ground", "card"] {
            for (color, ground) in colors(name).into_iter().zip(colors(ground)) {
                let [one, other] = [color, ground].map(|color| luminance(color) + 0.05);
                assert!(one.max(other) / one.min(other) >= least, "{name}: {color} on {ground}");
            }
        }
    }
}

#[test]
fn weights_within_their_error_are_not_in_a_name() {
    let names = NAMES.map(str::to_owned);
    let name =
        |loadings: &[f64], errors: Option<&[f64]>| name(loadings, errors, &names).into_string().replace("</bdi>", "");
    let loadings = [0.6, 0.5, -0.5, 0.1, 0.0, 0.0];
    assert_eq!(name(&loadings, None), "more <bdi>running and <bdi>cycling, less <bdi>reading");
    assert_eq!(name(&loadings, Some(&[0.1, 0.3, 0.1, 0.1, 0.1, 0.1])), "more <bdi>running, less <bdi>reading");
    assert_eq!(name(&loadings, Some(&[0.9; 6])), "more <bdi>running");
    assert_eq!(name(&[-1.0], None), "less <bdi>running");
}

#[test]
fn shares_are_in_percent_with_a_place_where_they_are_small() {
    let shares = [0.934, 0.0994, 0.0995, 0.996, 1.0, -0.0001, -0.123].map(words::percent);
    let expected = ["93 %", "9.9 %", "10 %", "99.6 %", "100 %", "0.0 %", "-12 %"];
    assert_eq!(shares.map(|share| share.replace('\u{a0}', " ")), expected);
    assert_eq!([0.95, 0.8, 0.5, 0.2, -1.0].map(words::extent)[3..], ["a small part of it", "hardly any of it"]);
}

#[test]
fn a_family_has_the_promise_and_the_period_of_each_task() {
    let mut answer = answer(NAMES, [Some(0.4), Some(0.2)]);
    let member = |(epsilon, period): (f64, &str)| FamilyMember {
        task: task(NAMES).digest(),
        period: Some(period.to_owned()),
        epsilon,
        delta: 0.0,
        records: 250,
        weight: 0.5,
    };
    answer.asked.family = Some([(1.0, "2026-W46"), (4.0, "2026-W47")].map(member).to_vec());
    let first = task(NAMES).with_period("2026-W46").unwrap();
    let page = result(&ResultPage { task: &first, answer: &answer, live: None });
    check(&page);
    assert!(!page.contains("Period: "), "{page}");
    says(&page, &["2026-W46</bdi>: 250 reports at epsilon 1. ", "2026-W47</bdi>: 250 reports at epsilon 4. "]);
    let of = |epsilon: f64| Guarantee::local(Epsilon::new(epsilon).unwrap(), None).to_string();
    assert!(page.contains(&format!("{}; {}", of(1.0), of(4.0))), "{page}");
}
