//! A synthetic survey: how much people like what they do in their free time.

use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

/// The question, "how much do you like …, from -5 to 5", and the weights of three tastes on each answer: those for
/// sport, for screens and for home.
const ACTIVITIES: [(&str, [f64; 3]); 12] = [
    ("running", [1.0, 0.0, 0.0]),
    ("cycling", [0.9, 0.0, 0.0]),
    ("swimming", [0.8, 0.0, 0.0]),
    ("hiking", [0.7, -0.2, 0.1]),
    ("gaming", [0.0, 0.9, 0.0]),
    ("streaming", [-0.2, 0.8, 0.0]),
    ("social media", [0.0, 0.7, -0.1]),
    ("chess", [0.0, 0.3, 0.2]),
    ("cooking", [0.0, 0.0, 0.7]),
    ("gardening", [0.1, 0.0, 0.7]),
    ("crafts", [0.0, -0.1, 0.6]),
    ("reading", [0.0, -0.2, 0.4]),
];

/// The strength of each taste, in points of the answer.
const STRENGTHS: [f64; 3] = [2.6, 2.2, 2.0];

/// A synthetic survey: whole numbers from -5 to 5 for twelve activities, made of three tastes and personal noise.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeisureSurvey;

impl LeisureSurvey {
    /// The number of true components.
    pub const RANK: usize = STRENGTHS.len();

    /// The questions.
    ///
    /// # Errors
    /// None in practice: the columns are constants.
    pub fn schema() -> Result<Schema, SchemaError> {
        let answer = ColumnKind::Numeric { offset: 0.0, scale: 5.0 };
        Schema::new(ACTIVITIES.iter().map(|(name, _)| Column::new(*name, answer.clone())).collect())
    }

    /// One person's answers, in the order of the schema; never all zero.
    pub fn answers<R: Rng + ?Sized>(rng: &mut R) -> Vec<f64> {
        loop {
            let tastes: Vec<f64> =
                STRENGTHS.iter().map(|strength| strength * rng.sample::<f64, _>(StandardNormal)).collect();
            let answers: Vec<f64> = (ACTIVITIES.iter())
                .map(|(_, weights)| {
                    let liking: f64 = weights.iter().zip(&tastes).map(|(weight, amount)| weight * amount).sum();
                    // Adding zero turns -0 into 0.
                    (liking + rng.sample::<f64, _>(StandardNormal)).round().clamp(-5.0, 5.0) + 0.0
                })
                .collect();
            if answers.iter().any(|&answer| answer != 0.0) {
                return answers;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    #[test]
    fn answers_fit_the_questions() {
        let schema = LeisureSurvey::schema().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..1000 {
            let features = schema.encode_numbers(&LeisureSurvey::answers(&mut rng));
            assert!(features.iter().all(|feature| (-1.0..=1.0).contains(feature)));
            assert!(features.iter().any(|&feature| feature != 0.0));
        }
    }
}
