//! Plans how many people to ask, before anybody is asked: `cargo run --release --example plan`.
//!
//! The error is the share of the components that is missed: 0 if they are found exactly, near 1 for each component if
//! nothing is found. It follows from epsilon, the number of questions, and the components' share of the variation.

use std::error::Error;

use ldp_pca::mechanism::MechanismFamily;
use ldp_pca::{Bounding, Epsilon, Planner, Rank, Spectrum};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // Twelve questions. One pattern holds 30 % of the variation, a second one 20 %; the rest is spread over the others.
    // These are guesses. Take yours from an earlier survey, and plan for weaker patterns than you hope for.
    let (questions, patterns) = (12, vec![0.3, 0.2]);
    let bulk = 0.5 / 10.0;
    let family = MechanismFamily::DoubleCap { candidates: None, cap: None };
    let planner = Planner::new(Spectrum::new(questions, patterns, bulk)?, Rank::new(2)?, family, Bounding::UnitNorm)?;

    println!("two components of {questions} questions; a random subspace has the error {:.2}", planner.uninformed());
    for epsilon in [1.0, 2.0, 4.0] {
        let epsilon = Epsilon::new(epsilon)?;
        for error in [0.5, 0.1, 0.02] {
            match planner.records_for(epsilon, error)? {
                Some(people) => println!("epsilon {epsilon}, error {error}: {people} people"),
                None => println!("epsilon {epsilon}, error {error}: no number of people is enough"),
            }
        }
    }

    // The inverse question: the epsilon that is enough for a given number of people.
    match planner.epsilon_for(20_000, 0.1)? {
        Some(epsilon) => println!("20000 people, error 0.1: epsilon {epsilon:.2}"),
        None => println!("20000 people are too few for an error of 0.1"),
    }
    Ok(())
}
