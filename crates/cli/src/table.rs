//! A table of words and numbers, as wide as it needs to be.

/// Rows of cells under their headings. A remark takes the place of the cells that its row lacks.
pub struct Table {
    heads: Vec<(&'static str, Align)>,
    rows: Vec<(Vec<String>, String)>,
}

/// The side of its column that a cell is at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// To the left, as words.
    Left,
    /// To the right, as numbers.
    Right,
}

const GAP: usize = 2;

impl Table {
    /// A table with these headings, and no row.
    pub fn new(heads: Vec<(&'static str, Align)>) -> Self {
        Self { heads, rows: vec![] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.remark(cells, String::new());
    }

    /// Adds a row that ends with a remark.
    pub fn remark(&mut self, cells: Vec<String>, remark: String) {
        self.rows.push((cells, remark));
    }

    fn widths(&self) -> Vec<usize> {
        let cell = |row: &(Vec<String>, _), column: usize| row.0.get(column).map_or(0, |cell| length(cell));
        let column = |(column, (head, _)): (usize, &(&str, Align))| {
            self.rows.iter().map(|row| cell(row, column)).fold(length(head), usize::max)
        };
        self.heads.iter().enumerate().map(column).collect()
    }

    /// A line for each row, as long as its remark makes it.
    pub fn text(&self, indent: usize) -> String {
        let widths = self.widths();
        let line = |cells: &[&str], remark: &str| {
            let mut line = " ".repeat(indent);
            for ((cell, (_, align)), &width) in cells.iter().zip(&self.heads).zip(&widths) {
                line += &if *align == Align::Left { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                line += &" ".repeat(GAP);
            }
            format!("{}\n", (line + remark).trim_end())
        };
        let heads: Vec<&str> = self.heads.iter().map(|(head, _)| *head).collect();
        let row = |(cells, remark): &(Vec<String>, String)| {
            line(&cells.iter().map(String::as_str).collect::<Vec<_>>(), remark)
        };
        line(&heads, "") + &self.rows.iter().map(row).collect::<String>()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_remarks_stand_beside_them() {
        let mut table = Table::new(vec![("name", Align::Left), ("error", Align::Right), ("time", Align::Right)]);
        table.row(vec!["long name".into(), "1".into(), "10 s".into()]);
        table.remark(vec!["b".into()], "will not do it, it says".into());
        let expected = "  name       error  time\n  long name      1  10 s\n  b          will not do it, it says\n";
        assert_eq!(table.text(2), expected);
    }
}
