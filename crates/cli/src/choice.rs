//! Options with a few named values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A name, what the help says of it, and what it stands for.
pub type Choice<T> = (&'static str, &'static str, T);

/// Parses one of these names.
pub fn one_of<T: Copy + Send + Sync>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> + use<T> {
    let names = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(|given| {
        choices.iter().find(|(name, ..)| *name == given).map(|(.., value)| *value).ok_or("it is none of the names")
    })
}
