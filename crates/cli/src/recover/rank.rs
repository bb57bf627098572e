//! The number of components: given, or found by a test of one after the other.

use ldp_pca::internal::recovery::{RankTest, TestedComponent};
use ldp_pca::recovery::{Asked, Method, Rank};

use super::share::Unit;
use crate::parameters;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::usage::no_whole_number;

/// Components before the last one that are listed.
const SHOWN: usize = 12;
/// The column of what stands beside a label.
pub(super) const INDENT: usize = 12;

/// The choice of the number of components.
#[derive(Clone, Copy, Debug)]
pub(super) enum RankChoice {
    /// Those that stand out from the noise.
    Auto,
    Given(Rank),
}

impl RankChoice {
    /// Parses `auto` or a number of components.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ if text.parse::<usize>().is_err() => {
                Err(no_whole_number(text).replacen("is not a", "is neither auto nor a", 1))
            }
            _ => parameters::rank(text).map(Self::Given),
        }
    }
}

/// How many components stand out; in `details` also those that were tested, and what they were compared with. None of
/// one feature, which has nothing to be compared with.
pub(super) fn tested(test: &RankTest, asked: &Asked, unit: Unit, details: bool) -> Option<String> {
    test.components.first()?;
    let rank = test.standing_out();
    let (next, dimension) = (rank + 1, asked.dimension);
    let found = match rank {
        0 => "no component stands out".to_owned(),
        1 => "1 component stands out".to_owned(),
        _ => format!("{rank} components stand out"),
    };
    let why = match test.components.get(rank) {
        Some(first) => format!("component {next} has p {}", p_value(first.p_value)),
        None if next == dimension => format!("component {next} is the last, with no other beside it"),
        None => format!("component {next} was not tested"),
    };
    let of = if asked.method == Method::Pca { "" } else { "; tested are plain components, in whose place these stand" };
    if !details {
        return Some(format!("rank        {found}: {why}{of}\n"));
    }
    let before = if rank == 0 { "and less than" } else { "and each before it less than" };
    let needed = if rank == 0 { " is needed" } else { "" };
    let mut text = format!("rank        {found}: {why}, {before} {}{needed}{of}\n", test.level);
    let mut heads = vec![("component", Left), ("eigenvalue", Right), ("noise alone", Right), ("p", Right)];
    let is_held_out = test.components.iter().any(|component| component.gained.is_some());
    heads.extend(is_held_out.then_some(("held out adds (95 %)", Left)));
    let mut table = Table::new(heads);
    for (index, component) in test.components.iter().enumerate() {
        if index == SHOWN && rank > SHOWN {
            table.remark(vec![], format!("{} more, each with p below {}", rank - SHOWN, test.level));
        } else if !(SHOWN..rank).contains(&index) {
            table.row(cells(index + 1, component, unit));
        }
    }
    text += &table.text(INDENT);
    let rest = test.components.get(rank).map(|first| unit.of_variance(first.rest));
    let rest = rest.map(|rest| format!("; each direction of the rest has {rest}")).unwrap_or_default();
    text += &format!(
        "{:INDENT$}p: how often noise alone gives that much, if the population is isotropic beside the components \
         before{rest} ({})\n",
        "",
        if unit.is_share() { "all variances are shares of the total" } else { unit.of_what() }
    );
    Some(text)
}

fn cells(number: usize, component: &TestedComponent, unit: Unit) -> Vec<String> {
    let [eigenvalue, edge] = unit.of_variances([component.eigenvalue, component.noise_edge]);
    let p = p_value(component.p_value).trim_start_matches("= ").to_owned();
    let mut cells = vec![number.to_string(), eigenvalue, edge, p];
    cells.extend(component.gained.map(|gained| {
        let [value, lower, upper] = unit.of_variances([gained.value, gained.interval.lower, gained.interval.upper]);
        format!("{value} ({lower} to {upper})")
    }));
    cells
}

/// A p-value to three places with its sign; what is less is only known to be so.
fn p_value(value: f64) -> String {
    if value < 0.001 { "< 0.001".to_owned() } else { format!("= {value:.3}") }
}

#[cfg(test)]
mod tests {
    use ldp_pca::recovery::Answer;

    use super::*;

    #[test]
    fn a_test_of_plain_components_says_so_beside_others() {
        let tested = |method| {
            let first = TestedComponent { eigenvalue: 0.5, rest: 0.2, noise_edge: 0.3, p_value: 0.0005, gained: None };
            let components = vec![first, TestedComponent { p_value: 0.4, ..first }];
            let test = RankTest { level: 0.05, draws: 1999, components };
            let mut answer = Answer::default();
            (answer.asked.method, answer.asked.dimension) = (method, 6);
            tested(&test, &answer.asked, Unit::of(&answer), false).unwrap()
        };
        let plain = "rank        1 component stands out: component 2 has p = 0.400";
        assert_eq!(tested(Method::Pca), format!("{plain}\n"));
        let others = format!("{plain}; tested are plain components, in whose place these stand\n");
        assert_eq!([Method::Fantope, Method::SoftThreshold].map(tested), [others.clone(), others]);
    }

    #[test]
    fn p_values_have_three_places() {
        assert_eq!([0.0005, 0.4125, 0.05].map(p_value), ["< 0.001", "= 0.412", "= 0.050"]);
    }
}
