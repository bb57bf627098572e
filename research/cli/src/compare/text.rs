//! The result of `compare` as text.

use ldp_pca::internal::schema::Fit;
use ldp_pca_cli::output::{plural, wrote};
use ldp_pca_cli::table::{Align, Table};
use ldp_pca_literature::baselines::{Adjacency, EpsilonDelta, MethodGuarantee};

use super::result::{AtEpsilon, CompareResult, RowResult};
use crate::shared::duration;

/// The indentation of tables and notes.
const INDENT: usize = 2;

/// Characters of a line.
const WIDTH: usize = 120;

/// Characters of a line of a remark, beside the name of its method.
const REMARK: usize = 56;

const HEADS: [(&str, Align); 9] = [
    ("method", Align::Left),
    ("trusted", Align::Left),
    ("error", Align::Right),
    ("middle half", Align::Left),
    ("q_F", Align::Right),
    ("of PCA", Align::Right),
    ("time", Align::Right),
    ("proved", Align::Left),
    ("about", Align::Left),
];
/// The columns that are left out where lines get too long, in this order: the notes say what promises are about.
const DISPENSABLE: [usize; 3] = [8, 3, 5];

impl CompareResult {
    pub(super) fn text(&self) -> String {
        let records = &self.records;
        let mut text = format!(
            "{} of {} of {}{}; delta {:e}\n",
            plural(self.rank as u64, "component"),
            plural(records.records, "record"),
            plural(self.dimension as u64, "feature"),
            records.bounding.map(|bounding| format!(" ({bounding})")).unwrap_or_default(),
            self.delta.value()
        );
        for sentence in records.unread.iter().flat_map(Fit::told) {
            text += &format!("{sentence}\n");
        }
        let facts = format!(
            "Without privacy they capture {:.4} of a total variance of {:.4}, which took {}. The error is ||sin \
                Theta||_F^2 from them, {:.2} on average \
             for a random subspace: the median of {}, and where the middle half lies.",
            self.most_captured,
            self.total_variance,
            duration(self.second_moment_seconds),
            self.random_subspace,
            plural(self.trials, "estimate"),
        );
        text += &paragraph(&facts, 0);
        for at in &self.epsilons {
            text += &format!("\nepsilon {}\n{}", at.epsilon, at.table());
        }
        text += &self.notes();
        text += &format!("\ntime {}\n", duration(self.seconds));
        text + &wrote(self.plot.as_ref())
    }

    /// The relations of the guarantees, and the guarantees that differ from their papers' claims, once for each method.
    fn notes(&self) -> String {
        let mut text = String::new();
        for adjacency in [Adjacency::AnyTwoRecords, Adjacency::ReplaceOne, Adjacency::AddOrRemoveOne] {
            let mut methods: Vec<&str> = vec![];
            for row in self.epsilons.iter().flat_map(|at| &at.rows) {
                let is_so = row.guarantee.is_some_and(|guarantee| guarantee.adjacency == adjacency);
                if is_so && !methods.contains(&row.method) {
                    methods.push(row.method);
                }
            }
            if !methods.is_empty() {
                text += &paragraph(&format!("Promises about {adjacency}: {}.", methods.join("; ")), INDENT);
            }
        }
        let mut said = vec![];
        for (at, row) in self.epsilons.iter().flat_map(|at| at.rows.iter().map(move |row| (at, row))) {
            let Some(guarantee) = row.guarantee.filter(|guarantee| !guarantee.holds()) else { continue };
            if said.contains(&row.method) {
                continue;
            }
            said.push(row.method);
            let (claimed, proved) =
                (budget(guarantee.claimed), guarantee.proved.map_or_else(|| "nothing".to_owned(), budget));
            let claim = format!("* {} claims {claimed} at epsilon {}, and {proved} is proved", row.method, at.epsilon);
            text += &paragraph(&format!("{claim}: {}", guarantee.argument), INDENT);
        }
        if text.is_empty() { text } else { format!("\n{text}") }
    }
}

impl AtEpsilon {
    /// The table with the columns that fit a line.
    fn table(&self) -> String {
        let fits = |table: &String| table.lines().all(|line| line.chars().count() <= WIDTH);
        let mut tables = (0..DISPENSABLE.len()).map(|count| self.columns(&DISPENSABLE[..count]).text(INDENT));
        tables.find(fits).unwrap_or_else(|| self.columns(&DISPENSABLE).text(INDENT))
    }

    /// Without some columns.
    fn columns(&self, left_out: &[usize]) -> Table {
        let kept = |column: &usize| !left_out.contains(column);
        let mut table = Table::new((0..HEADS.len()).filter(kept).map(|column| HEADS[column]).collect());
        for row in &self.rows {
            let cells: Vec<String> =
                row.cells().into_iter().enumerate().filter(|(column, _)| kept(column)).map(|(_, cell)| cell).collect();
            let reason = row.refusal.as_deref().map(|refusal| {
                // The row has its name already.
                refusal.strip_prefix(row.method).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(refusal)
            });
            match (reason, row.trials.is_empty()) {
                (Some(reason), true) => remark(&mut table, cells, &format!("refuses: {reason}")),
                (Some(reason), false) => {
                    table.row(cells);
                    let done = plural(row.trials.len() as u64, "estimate");
                    remark(&mut table, vec![String::new()], &format!("after {done}: {reason}"));
                }
                (None, _) => table.row(cells),
            }
        }
        table
    }
}

impl RowResult {
    /// Nine cells, or two where the method has no figures.
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.method.to_owned(), self.trust.word().to_owned()];
        if let (Some(figures), Some(share)) = (self.figures, self.captured_share) {
            let error = figures.sin_theta_squared;
            cells.extend([
                error_text(error.median),
                if error.lower == error.upper {
                    String::new()
                } else {
                    format!("{} to {}", error_text(error.lower), error_text(error.upper))
                },
                format!("{:.4}", figures.captured.median),
                format!("{:.1} %", 100.0 * share.median),
                duration(figures.seconds.median),
                self.guarantee.map_or_else(|| "nothing".to_owned(), proved),
                self.guarantee.map_or_else(String::new, |guarantee| guarantee.adjacency.to_string()),
            ]);
        }
        cells
    }
}

/// The guarantee that holds, with a mark where it is not the claimed one.
fn proved(guarantee: MethodGuarantee) -> String {
    let mark = if guarantee.holds() { "" } else { " *" };
    guarantee.proved.map_or_else(|| "nothing".to_owned(), budget) + mark
}

/// Epsilon, and delta where there is one, never less than they are.
pub(super) fn budget(EpsilonDelta { epsilon, delta }: EpsilonDelta) -> String {
    let epsilon = upwards(epsilon.value(), 3);
    match delta {
        None => format!("{epsilon}"),
        Some(delta) => format!("{epsilon}, {:e}", upwards(delta.value(), 2)),
    }
}

/// Rounds up to that many digits. A short number stays as it is: its last digits are its own rounding.
fn upwards(value: f64, digits: i32) -> f64 {
    let unit = digits - 1 - value.log10().floor() as i32;
    let scaled = if unit >= 0 { value * 10f64.powi(unit) } else { value / 10f64.powi(-unit) };
    let whole = (scaled * (1.0 - 1e-12)).ceil();
    if unit >= 0 { whole / 10f64.powi(unit) } else { whole * 10f64.powi(-unit) }
}

/// Three digits, and no more than five places.
pub(super) fn error_text(error: f64) -> String {
    match error {
        _ if error < 5e-6 => "0".to_owned(),
        _ if error < 0.01 => format!("{error:.5}"),
        _ if error < 0.1 => format!("{error:.4}"),
        _ if error < 1.0 => format!("{error:.3}"),
        _ => format!("{error:.2}"),
    }
}

/// Adds a row that ends with a remark, which goes on below itself.
fn remark(table: &mut Table, mut cells: Vec<String>, text: &str) {
    for line in wrapped(text, REMARK) {
        let below = vec![String::new(); cells.len()];
        table.remark(core::mem::replace(&mut cells, below), line);
    }
}

/// Lines of at most `width` characters, broken at spaces; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn paragraph(text: &str, indent: usize) -> String {
    let lines = wrapped(text, WIDTH - indent);
    lines.iter().map(|line| format!("{}{line}\n", " ".repeat(indent))).collect()
}

#[cfg(test)]
mod tests {
    use ldp_pca::privacy::{Delta, Epsilon};

    use super::*;

    #[test]
    fn promises_are_rounded_against_the_method() {
        let text = |epsilon: f64, delta: Option<f64>| {
            budget(EpsilonDelta {
                epsilon: Epsilon::new(epsilon).unwrap(),
                delta: delta.map(|delta| Delta::new(delta).unwrap()),
            })
        };
        assert_eq!([text(1.0, None), text(0.5, Some(1e-6))], ["1", "0.5, 1e-6"]);
        assert_eq!([text(1.7321, None), text(12.341, Some(1.234e-7))], ["1.74", "12.4, 1.3e-7"]);
        assert_eq!([text(0.1 + 0.2, Some(0.3)), text(123_456.0, None)], ["0.3, 3e-1", "124000"]);
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrapped("", 5), Vec::<String>::new());
        assert_eq!(wrapped("a incomprehensible b c", 5), ["a", "incomprehensible", "b c"]);
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        assert_eq!(
            [0.0, 1e-30, 0.001_234, 0.012_34, 0.1234, 2.7777].map(error_text),
            ["0", "0", "0.00123", "0.0123", "0.123", "2.78"]
        );
        assert_eq!([0.0, 0.012_34, 0.9999, 1.25, 99.7].map(duration), ["< 1 ms", "12 ms", "1.0 s", "1.2 s", "100 s"]);
    }
}
