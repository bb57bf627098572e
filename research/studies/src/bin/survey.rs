//! Writes examples/survey.csv: `cargo run -p ldp-pca-studies --bin survey > examples/survey.csv`.

use chacha20::ChaCha12Rng;
use ldp_pca::schema::SchemaError;
use ldp_pca_simulation::LeisureSurvey;
use rand::SeedableRng;

/// The answers of 5,000 people of the synthetic leisure survey, with a header.
///
/// # Errors
/// As [`LeisureSurvey::schema`].
pub fn csv() -> Result<String, SchemaError> {
    let mut text = LeisureSurvey::schema()?.feature_names().join(",") + "\n";
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    for _ in 0..5_000 {
        let answers: Vec<String> = LeisureSurvey::answers(&mut rng).iter().map(ToString::to_string).collect();
        text += &(answers.join(",") + "\n");
    }
    Ok(text)
}

#[allow(dead_code, reason = "the tests read `csv` alone")]
fn main() -> Result<(), SchemaError> {
    print!("{}", csv()?);
    Ok(())
}
