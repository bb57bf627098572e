//! Sparse components over HTTP, and answers that are computed once.

use std::ops::ControlFlow;

use ldp_pca::recovery::{HeldOutUse, Penalty, PenaltyChoice, Question, Reports, When, answer};

use super::harness::*;

/// The parts of an answer, beside the prediction.
const PARTS: &str = "rank method records feature_names components eigenvalues variances mean sparse soft_threshold \
                     path noise_deviation noise_edge held_out";

#[test]
fn every_part_of_an_answer_is_the_library_s_to_the_same_question() {
    let (_data, server) = serving(config, &[task(), other_task()]);
    let (body, asked) = (body_of(1, 4000), task());
    server.send(&asked, &body);
    let aggregate = aggregate_of(&asked, &body);
    let covariance = Covariance::estimate(&aggregate, &asked).unwrap();
    let of_rank = |rank| Question { predict: true, test_rank: true, ..Question::new(Rank::new(rank).unwrap()) };
    let (two, any) = (of_rank(2), Question { find_rank: true, ..of_rank(1) });
    let sparse = |penalty, of: &Question| Question { penalty: Some(penalty), predict: false, ..of.clone() };
    let with_value = |value| sparse(PenaltyChoice::Value(Penalty::new(value).unwrap()), &two);
    let by_default = |of: &Question| sparse(PenaltyChoice::default(), of);
    let held_out = |held_out, of: &Question| Question { held_out, ..of.clone() };
    for (query, question) in [
        ("rank=auto", any.clone()),
        ("rank=auto&held_out=true", held_out(HeldOutUse::Measure, &any)),
        ("rank=auto&penalty=auto", by_default(&any)),
        ("rank=2", two.clone()),
        ("rank=2&held_out=true", held_out(HeldOutUse::Measure, &two)),
        ("rank=2&method=auto", held_out(HeldOutUse::Choose, &two)),
        ("rank=2&method=auto&held_out=false", held_out(HeldOutUse::Choose, &two)),
        ("rank=2&penalty=0.05", with_value(0.05)),
        ("rank=2&penalty=0", with_value(0.0)),
        ("rank=2&penalty=1e3", with_value(1000.0)),
        ("rank=2&penalty=auto", by_default(&two)),
        ("rank=2&penalty=auto&baselines=false", by_default(&two)),
        (
            "rank=2&penalty=auto&path=5&baselines=true",
            Question { path: Some(5), baselines: When::Always, ..by_default(&two) },
        ),
        ("rank=2&penalty=auto&held_out=true", held_out(HeldOutUse::Measure, &by_default(&two))),
    ] {
        let reports = Reports::one(&aggregate, &asked);
        let expected = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(())).unwrap();
        let expected = serde_json::to_value(expected).unwrap();
        let found = server.recovery(&asked, query).json();
        for part in PARTS.split(' ') {
            assert_eq!(found.get(part), expected.get(part), "{part} of {query}");
        }
        // What was found by the test is noise in no method.
        let is_number = found["variances"].as_array().unwrap().iter().all(Value::is_number);
        assert!(is_number || !question.find_rank, "{found}");
        // The error is that of plain components.
        let predicted = (found["method"] == "pca").then(|| &expected["predicted"]);
        assert_eq!(found.get("predicted"), predicted, "{query}");
    }
    let expected = answer(&two, Reports::one(&aggregate, &asked), &covariance, &mut |_| ControlFlow::Continue(()));
    let predicted = expected.unwrap().trust.predicted.unwrap();
    let share = predicted.sin_theta_squared / predicted.uninformed;
    let line = format!("ldp_pca_predicted_error{{task=\"{}\",rank=\"2\"}} {share}", asked.digest());
    let metrics = server.metrics();
    assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    // With one fold nothing can be held out, and components are plain.
    server.send(&other_task(), &bytes_of(&reports(&other_task(), 1, 400)));
    let found = server.recovery(&other_task(), "rank=2&method=auto").json();
    assert_eq!((&found["method"], found.get("held_out")), (&"pca".into(), None));
}

/// Of so few reports none stands out, as a rule: then there is the first.
#[test]
fn a_test_of_the_number_of_components_may_find_noise_alone() {
    let (_data, server) = serving(config, &[task()]);
    for count in 1..=5 {
        server.send(&task(), &body_of(1, count));
        let found = server.recovery(&task(), "rank=auto").json();
        assert!(found["records"] == count && found["rank"].as_u64() >= Some(1), "{found}");
    }
    server.recovery(&task(), "rank=auto&refined=true").refused(400, "bad-query", &["a 'rank' that is a number"]);
}

#[test]
fn an_answer_is_computed_once_per_state_and_request_and_few_are_kept() {
    let (_data, server) = serving(config, &[task()]);
    let body = body_of(2, 50);
    server.send(&task(), &body[..49 * 35]);
    let ask = |query: &str| {
        let answer = server.recovery(&task(), query);
        assert_eq!(answer.status, 200);
        answer.body
    };
    let computed = || server.figure("ldp_pca_recoveries_computed_total");
    let wishes = ["rank=1", "rank=2", "rank=1&penalty=auto", "penalty=0.5&rank=1"];
    let first: Vec<Vec<u8>> = wishes.iter().map(|wish| ask(wish)).collect();
    assert_eq!(computed(), 4);
    for (wish, first) in wishes.iter().zip(&first) {
        assert_eq!(&ask(wish), first);
    }
    assert_eq!(computed(), 4);
    // Others push out the oldest ones; those that are asked for stay.
    for number in 0..15 {
        ask(&format!("rank=1&penalty=0.{number}1"));
        ask(wishes[3]);
    }
    assert_eq!(computed(), 19);
    ask(wishes[3]);
    assert_eq!(computed(), 19);
    ask(wishes[0]);
    assert_eq!(computed(), 20);
    // A new state is another one.
    server.send(&task(), &body[49 * 35..]);
    assert_ne!(ask(wishes[3]), first[3]);
    assert_eq!(computed(), 21);
}
