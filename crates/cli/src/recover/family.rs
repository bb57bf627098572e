//! The tasks of a family in the result, with what their weights mean.

use ldp_pca::recovery::Answer;

use crate::output::grouped;
use crate::table::{Align, Table};

/// The column of what stands beside a label.
const INDENT: usize = 12;

/// A line for each task of a family, and one for what the estimate is of.
pub(super) fn family(answer: &Answer) -> String {
    let Some(members) = &answer.asked.family else { return String::new() };
    let with_delta = members.iter().any(|member| member.delta > 0.0);
    let mut heads = vec![("epsilon", Align::Right)];
    heads.extend(with_delta.then_some(("delta", Align::Right)));
    heads.extend([("reports", Align::Right), ("weight", Align::Right)]);
    let mut table = Table::new(heads);
    for member in members {
        let mut cells = vec![member.epsilon.to_string()];
        cells.extend(with_delta.then(|| member.delta.to_string()));
        cells.extend([grouped(member.records), format!("{:.4}", member.weight)]);
        table.row(cells);
    }
    format!(
        "family      {} tasks, weighted by the inverse variance of their noise\n{}{:INDENT$}people of a task with less \
         noise count more: an estimate of all people only if the choice of a task does not depend on the record\n",
        members.len(),
        table.text(usize::MAX, INDENT),
        ""
    )
}
