//! A first line of JSON is a session or an error, and the lines after it are its messages or an error: whatever is
//! accepted leaves the session at a round of it, with orthonormal columns that a provider takes and answers.
#![no_main]

use ldp_pca_dps::{Message, NoiseSource, Provider, Session, State};
use ldp_pca_research::fuzzing as research;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (parameters, rest) = text.split_once('\n').unwrap_or((text, ""));
    let lines: Vec<&str> = rest.lines().collect();
    for message in lines.iter().filter_map(|line| Message::from_json(line).ok()) {
        assert_eq!(Message::from_json(&message.to_json()), Ok(message));
    }
    let Ok(session) = Session::from_json(parameters) else { return };
    let again = Session::from_json(&session.to_json()).expect("what was written is read again");
    assert_eq!((again.id(), &again), (session.id(), &session));
    if let Ok(budget) = session.guarantee() {
        assert!(budget.epsilon.value() > 0.0 && budget.delta.value() < 1.0);
    }
    for state in lines.iter().filter_map(|line| serde_json::from_str::<State>(line).ok()) {
        takes(&session, &state);
    }
    let messages: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    if let Ok((found, state)) = research::session(parameters, &messages) {
        assert_eq!(found, session);
        let parameters = session.parameters();
        assert_eq!((state.session.as_str(), state.rounds), (&*session.id().to_string(), parameters.rounds));
        assert!((1..=state.rounds + 1).contains(&state.round));
        assert_eq!(state.finished, state.round > state.rounds);
        assert_eq!(state.missing.is_empty(), !state.is_open());
        assert!(state.missing.iter().all(|provider| (1..=parameters.providers).contains(provider)));
        assert!(takes(&session, &state), "{state:?}");
        if state.round > 1 {
            let zero = |row: usize| state.basis.iter().all(|column| column[row] == 0.0);
            assert!((0..parameters.dimension).filter(|row| !zero(*row)).count() <= parameters.kept_rows);
        }
        let told = serde_json::to_string(&state).expect("a state can be written");
        assert_eq!(serde_json::from_str::<State>(&told).expect("what was written is read again"), state);
    }
});

/// Whether a provider takes the basis; it is then what its noise is enough for, and the answer one that the server
/// takes.
fn takes(session: &Session, state: &State) -> bool {
    let Ok(basis) = session.check_basis(&state.basis) else { return false };
    let (dimension, rank) = session.shape();
    assert_eq!(basis.shape(), (dimension, rank));
    let gram = basis.tr_mul(&basis);
    for (place, entry) in gram.iter().enumerate() {
        let expected = f64::from(u8::from(place / rank == place % rank));
        assert!((entry - expected).abs() < 1e-8, "{gram}");
    }
    let bound = session.parameters().norm_bound;
    let record = vec![bound; dimension];
    let provider = Provider::new(dimension, &mut core::iter::once(&record[..]), Some(bound)).expect("one record");
    if let Ok(cells) = provider.answer(&basis, session.scale(), &mut NoiseSource::insecure(1).of_round(state.round)) {
        assert_eq!(session.check_cells(&cells), Ok(()));
    }
    true
}
