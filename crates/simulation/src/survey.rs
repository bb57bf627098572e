//! A synthetic survey: how much people like what they do in their free time.

use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

/// The question: "how much do you like …, from -5 to 5".
const ACTIVITIES: [&str; 12] = [
    "running",
    "cycling",
    "swimming",
    "hiking",
    "gaming",
    "streaming",
    "social media",
    "chess",
    "cooking",
    "gardening",
    "crafts",
    "reading",
];

/// Three tastes and the weight of each on the activities.
const TASTES: [[f64; 12]; 3] = [
    // Sport.
    [1.0, 0.9, 0.8, 0.7, 0.0, -0.2, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0],
    // Screens.
    [0.0, 0.0, 0.0, -0.2, 0.9, 0.8, 0.7, 0.3, 0.0, 0.0, -0.1, -0.2],
    // Home.
    [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, -0.1, 0.2, 0.7, 0.7, 0.6, 0.4],
];

/// The strength of each taste, in points of the answer.
const STRENGTHS: [f64; 3] = [2.6, 2.2, 2.0];

/// A synthetic survey: whole numbers from -5 to 5 for twelve activities, made of three tastes and personal noise.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeisureSurvey;

impl LeisureSurvey {
    /// The number of true components.
    pub const RANK: usize = TASTES.len();

    /// The questions.
    ///
    /// # Errors
    /// None in practice: the columns are constants.
    pub fn schema() -> Result<Schema, SchemaError> {
        let answer = ColumnKind::Numeric { offset: 0.0, scale: 5.0 };
        Schema::new(ACTIVITIES.iter().map(|name| Column::new(*name, answer.clone())).collect())
    }

    /// One person's answers, in the order of the schema; never all zero.
    pub fn answers<R: Rng + ?Sized>(rng: &mut R) -> Vec<f64> {
        loop {
            let tastes: Vec<f64> =
                STRENGTHS.iter().map(|strength| strength * rng.sample::<f64, _>(StandardNormal)).collect();
            let answers: Vec<f64> = (0..ACTIVITIES.len())
                .map(|activity| {
                    let liking: f64 = TASTES.iter().zip(&tastes).map(|(taste, amount)| taste[activity] * amount).sum();
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
