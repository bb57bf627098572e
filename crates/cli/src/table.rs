//! A table of words and numbers, as wide as it needs to be.

/// Rows of cells under their headings. A remark takes the place of the cells that its row lacks.
pub struct Table {
    heads: Vec<(&'static str, Align)>,
    rows: Vec<(Vec<String>, Option<String>)>,
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
/// Characters of a line where the output is not a terminal.
const WIDTH: usize = 120;
/// The least width of a remark, where the cells before it leave less.
const LEAST_REMARK: usize = 24;

/// Characters of a line on standard output.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(WIDTH, |(terminal_size::Width(width), _)| usize::from(width).max(40))
}

impl Table {
    /// A table with these headings, and no row.
    pub fn new(heads: Vec<(&'static str, Align)>) -> Self {
        Self { heads, rows: vec![] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push((cells, None));
    }

    /// Adds a row that ends with a remark.
    pub fn remark(&mut self, cells: Vec<String>, remark: String) {
        self.rows.push((cells, Some(remark)));
    }

    /// The width of the columns, without the remarks to their right.
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        let cell = |row: &(Vec<String>, _), column: usize| row.0.get(column).map_or(0, |cell| length(cell));
        let column = |(column, (head, _)): (usize, &(&str, Align))| {
            self.rows.iter().map(|row| cell(row, column)).fold(length(head), usize::max)
        };
        self.heads.iter().enumerate().map(column).collect()
    }

    /// Lines of at most `width` characters as far as that depends on remarks, which are wrapped.
    pub fn text(&self, width: usize, indent: usize) -> String {
        let widths = self.widths();
        let line = |cells: &[&str]| {
            let mut line = " ".repeat(indent);
            for ((cell, (_, align)), &width) in cells.iter().zip(&self.heads).zip(&widths) {
                line += &if *align == Align::Left { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                line += &" ".repeat(GAP);
            }
            line
        };
        let heads: Vec<&str> = self.heads.iter().map(|(head, _)| *head).collect();
        let mut lines = vec![line(&heads)];
        for (cells, remark) in &self.rows {
            let mut start = line(&cells.iter().map(String::as_str).collect::<Vec<_>>());
            let column = length(&start);
            let room = width.saturating_sub(column).max(LEAST_REMARK);
            for part in remark.as_ref().map_or(vec![String::new()], |remark| wrapped(remark, room)) {
                lines.push(start + &part);
                start = " ".repeat(column);
            }
        }
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Lines of at most `width` characters, broken at spaces; a longer word has a line of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_remarks_are_wrapped_beside_them() {
        let mut table = Table::new(vec![("name", Align::Left), ("error", Align::Right), ("time", Align::Right)]);
        table.row(vec!["long name".into(), "1".into(), "10 s".into()]);
        table.remark(vec!["b".into()], "will not do it without a very good reason, it says".into());
        assert_eq!(table.width(), 9 + 2 + 5 + 2 + 4);
        let expected = "  name       error  time\n  long name      1  10 s\n  b          will not do it without \
            a\n             \
                        very good reason, it\n             says\n";
        assert_eq!(table.text(37, 2), expected);
        assert_eq!(wrapped("", 5), Vec::<String>::new());
        assert_eq!(wrapped("a incomprehensible b", 5), ["a", "incomprehensible", "b"]);
    }
}
