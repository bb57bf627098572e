//! The content of figures and printed tables, without their drawing.

use super::{Table, Value, is};

/// A picture: series over two axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its content, in a line.
    pub title: String,
    /// Left to right.
    pub x: Axis,
    /// Bottom to top.
    pub y: Axis,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
    /// Lines across the whole picture.
    pub levels: Vec<Level>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its quantity.
    pub label: String,
    /// Whether it is logarithmic: values that are not above 0 are left out.
    pub logarithmic: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true }
    }
}

/// Points joined by a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its source.
    pub style: Style,
    /// From left to right.
    pub points: Vec<Point>,
}

/// The source of a series. It sets colour and dashes, so that a reader finds ours and the references at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A method of the paper, or of another one. Each has its own colour within a figure.
    Method,
    /// This crate's.
    Ours,
    /// The answer without privacy.
    NonPrivate,
    /// A theoretical line, such as a prediction or a bound: dashed.
    Theory,
}

/// A point with the band that repetitions fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From left to right.
    pub x: f64,
    /// From bottom to top.
    pub y: f64,
    /// The band, from its smallest to its largest value.
    pub band: Option<(f64, f64)>,
}

impl Point {
    /// A point without a band.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, band: None }
    }
}

/// A line across the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its name, written along it.
    pub name: String,
    /// Its height.
    pub y: f64,
}

impl Series {
    /// The means of `y` at each `x` in the rows with these values in other columns, in ascending order of x, with the
    /// band from the tenth to the ninetieth percentile where there are several.
    #[must_use]
    pub fn means(
        name: impl Into<String>,
        style: Style,
        table: &Table,
        (x, y): (&'static str, &'static str),
        conditions: &[(&'static str, Value)],
    ) -> Self {
        let mut points: Vec<Point> = vec![];
        for at in table.distinct(x, conditions) {
            let Value::Number(number) = at else { continue };
            let here: Vec<_> = conditions.iter().cloned().chain([(x, at)]).collect();
            if let Some(summary) = table.summary(y, &here) {
                let band = (summary.count > 1).then_some((summary.low, summary.high));
                points.push(Point { x: number, y: summary.mean, band });
            }
        }
        points.sort_by(|left, right| left.x.total_cmp(&right.x));
        Self { name: name.into(), style, points }
    }

    /// [`means`](Self::means) of each of these values of the column `method`, except those without any.
    #[must_use]
    pub fn of_methods(
        methods: &[(&'static str, Style)],
        table: &Table,
        axes: (&'static str, &'static str),
        conditions: &[(&'static str, Value)],
    ) -> Vec<Self> {
        let line = |&(method, style): &(&'static str, Style)| {
            Self::means(method, style, table, axes, &[conditions, &[is("method", method)]].concat())
        };
        methods.iter().map(line).filter(|series| !series.points.is_empty()).collect()
    }
}

/// A printed table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Its content, in a line.
    pub title: String,
    /// The heads of the columns.
    pub heads: Vec<String>,
    /// Rows, each with one text per column. Numbers are aligned to the right.
    pub rows: Vec<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_means_with_bands_in_ascending_order() {
        let mut table = Table::new(&["method", "n", "error"]);
        for (method, n, error) in [("a", 20.0, 0.5), ("b", 10.0, 9.0), ("a", 10.0, 1.0), ("a", 10.0, 2.0)] {
            table.extend(vec![vec![method.into(), n.into(), error.into()]]);
        }
        let series = Series::means("A", Style::Ours, &table, ("n", "error"), &[("method", "a".into())]);
        let wide = Point { x: 10.0, y: 1.5, band: Some((1.1, 1.9)) };
        assert_eq!(series.points, [wide, Point::new(20.0, 0.5)]);
    }
}
