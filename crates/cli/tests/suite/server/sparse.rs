//! Sparse components over HTTP, and answers that are computed once.

use std::ops::ControlFlow;

use ldp_pca::recovery::{
    DEFAULT_PENALTY_FACTOR, FantopeProblem, FantopeSolver, HeldOutUse, Penalty, PenaltyChoice, Question, Reports, When,
    answer, default_penalty,
};

use super::harness::*;

#[test]
fn sparse_components_are_those_of_the_solver_on_the_same_reports() {
    let (_data, server) = serving(config, &[task()]);
    let body = body_of(1, 400);
    server.send(&task(), &body);
    let (aggregate, asked) = (aggregate_of(&task(), &body), task());
    let covariance = Covariance::estimate(&aggregate, &asked).unwrap();
    let auto = default_penalty(covariance.noise_deviation(), 4, DEFAULT_PENALTY_FACTOR).unwrap();
    for (query, choice, penalty) in [
        ("auto", "auto", auto),
        ("0.05", "value", Penalty::new(0.05).unwrap()),
        ("0", "value", Penalty::ZERO),
        ("1e3", "value", Penalty::new(1000.0).unwrap()),
    ] {
        let problem = FantopeProblem::new(covariance.matrix(), Rank::new(2).unwrap(), penalty).unwrap();
        let (solver, noise) = (FantopeSolver::default(), covariance.noise_deviation());
        let solution = solver.solve_within_noise(&problem, noise, &mut |_| ControlFlow::Continue(())).unwrap();
        let found = server.recovery(&task(), &format!("rank=2&penalty={query}")).json();
        let names = task().schema().feature_names();
        let support: Vec<&String> = solution.support.iter().map(|&row| &names[row]).collect();
        let columns: Vec<Vec<f64>> = solution.components.column_iter().map(|c| c.iter().copied().collect()).collect();
        let expected = json!({"method": "fantope", "records": 400, "components": columns,
            "eigenvalues": solution.variances.as_slice()});
        assert_has(&found, expected, query);
        let expected = json!({"penalty": penalty.value(), "penalty_choice": choice, "status": "optimal",
            "relative_gap": solution.relative_gap, "support": support});
        assert_has(&found["sparse"], expected, query);
    }
    let plain = server.recovery(&task(), "rank=2").json();
    let question = Question { predict: true, test_rank: true, ..Question::new(Rank::new(2).unwrap()) };
    let reports = Reports::one(&aggregate, &asked);
    let expected = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(())).unwrap();
    let expected = expected.trust.predicted.unwrap();
    assert_eq!(plain["predicted"]["sin_theta_squared"], expected.sin_theta_squared);
    assert_eq!(plain["predicted"]["share_found"], json!(expected.share_found));
    assert_eq!((&plain["method"], plain.get("sparse")), (&"pca".into(), None));
    let share = expected.sin_theta_squared / expected.uninformed;
    let line = format!("ldp_pca_predicted_error{{task=\"{}\",rank=\"2\"}} {share}", task().digest());
    let metrics = server.metrics();
    assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
}

#[test]
fn a_method_that_is_chosen_a_path_and_simpler_methods_are_the_library_s() {
    let (_data, server) = serving(config, &[task(), other_task()]);
    let body = body_of(1, 4000);
    server.send(&task(), &body);
    let aggregate = aggregate_of(&task(), &body);
    let covariance = Covariance::estimate(&aggregate, &task()).unwrap();
    let asked = task();
    let collected = Reports::one(&aggregate, &asked);
    let plain = Question { predict: true, test_rank: true, ..Question::new(Rank::new(2).unwrap()) };
    let penalty = Some(PenaltyChoice::default());
    let mut methods = vec![];
    for (query, question) in [
        ("&method=auto", Question { held_out: HeldOutUse::Choose, ..plain.clone() }),
        ("&method=auto&held_out=false", Question { held_out: HeldOutUse::Choose, ..plain.clone() }),
        ("&held_out=true", Question { held_out: HeldOutUse::Measure, ..plain.clone() }),
        ("&penalty=auto&held_out=true", Question { held_out: HeldOutUse::Measure, penalty, ..plain.clone() }),
    ] {
        let expected = answer(&question, collected, &covariance, &mut |_| ControlFlow::Continue(())).unwrap();
        let expected = serde_json::to_value(expected).unwrap();
        let found = server.recovery(&task(), &format!("rank=2{query}")).json();
        for part in ["method", "components", "eigenvalues", "held_out", "soft_threshold", "sparse"] {
            assert_eq!(found.get(part), expected.get(part), "{part} of {query}");
        }
        assert_eq!(found.get("predicted").is_some(), found["method"] == "pca", "{query}");
        let answers = found["held_out"]["answers"].as_array().unwrap();
        assert_eq!(answers.iter().filter(|answer| answer["chosen"] == true).count(), 1, "{query}");
        methods.push(answers.len());
    }
    assert_eq!(methods, [17, 17, 1, 2]);
    let penalty = Some(PenaltyChoice::default());
    let question = Question { penalty, path: Some(5), baselines: When::Always, ..plain };
    let expected = answer(&question, collected, &covariance, &mut |_| ControlFlow::Continue(())).unwrap();
    let expected = serde_json::to_value(expected).unwrap();
    let ask = |query: &str| server.recovery(&task(), &format!("rank=2&penalty=auto{query}")).json();
    let found = ask("&path=5&baselines=true");
    assert_eq!((found["path"].as_array().map(Vec::len), &found["path"]), (Some(5), &expected["path"]));
    for method in ["soft_threshold", "pca"] {
        assert!(found["sparse"][method]["distance"].is_number());
        assert_eq!(found["sparse"][method], expected["sparse"][method]);
    }
    let unasked = ask("&baselines=false");
    assert_eq!((unasked.get("path"), unasked["sparse"].get("pca")), (None, None));
    assert_eq!((&unasked, &unasked["components"]), (&ask(""), &found["components"]));
    // With one fold nothing can be held out, and components are plain.
    server.send(&other_task(), &bytes_of(&reports(&other_task(), 1, 400)));
    let found = server.recovery(&other_task(), "rank=2&method=auto").json();
    assert_eq!((&found["method"], found.get("held_out")), (&"pca".into(), None));
}

#[test]
fn the_number_of_components_is_left_to_the_test_which_may_find_noise_alone() {
    let (_data, server) = serving(config, &[task()]);
    // Of so few reports none stands out, as a rule: then there is the first.
    for count in 1..=5 {
        server.send(&task(), &body_of(1, count));
        let found = server.recovery(&task(), "rank=auto").json();
        assert!(found["records"] == count && found["rank"].as_u64() >= Some(1), "{found}");
    }
    let (_data, server) = serving(config, &[task()]);
    let body = body_of(2, 2_000);
    server.send(&task(), &body);
    let (aggregate, asked) = (aggregate_of(&task(), &body), task());
    let covariance = Covariance::estimate(&aggregate, &asked).unwrap();
    let plain = Question { find_rank: true, ..Question::new(Rank::new(1).unwrap()) };
    let reports = Reports::one(&aggregate, &asked);
    let penalty = Some(PenaltyChoice::default());
    for (query, question) in [
        ("", Question { predict: true, ..plain.clone() }),
        ("&held_out=true", Question { held_out: HeldOutUse::Measure, predict: true, ..plain.clone() }),
        ("&penalty=auto", Question { penalty, ..plain }),
    ] {
        let expected = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(()));
        let expected = serde_json::to_value(expected.unwrap()).unwrap();
        let found = server.recovery(&task(), &format!("rank=auto{query}")).json();
        for part in ["rank", "method", "components", "variances", "held_out", "predicted"] {
            assert_eq!(found.get(part), expected.get(part), "{part} of {query}");
        }
        // What was found by the test is noise in no method.
        assert!(found["variances"].as_array().unwrap().iter().all(Value::is_number), "{found}");
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
