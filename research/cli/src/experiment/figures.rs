//! The figures of an experiment: small pictures side by side under one legend, for a light and for a dark page.

use ldp_pca_literature::experiments::{Axis, Figure, Point, Series, Style};
use ldp_pca_pictures::axis::{LinearAxis, label};
use ldp_pca_pictures::canvas::{Anchor, GRID, INK, MUTED, dot, line, polyline, text, through};
use ldp_pca_pictures::{MARGIN, WIDTH, described, document};
use svg::node::element::{Group, Path, Style as StyleSheet, Text};

/// Height of a picture with its title and the names of its axes.
const HEIGHT: f64 = 300.0;
/// Where its axes cross, and where they end, from its own corner.
const BOTTOM: f64 = 240.0;
const TOP: f64 = 30.0;
const LEFT: f64 = 62.0;
/// Space between two pictures.
const GAP: f64 = 24.0;
/// Height of a line of the legend.
const LINE: f64 = 22.0;

/// Methods other than ours, on a light and on a dark page: distinct in the common forms of colour blindness.
const COLORS: [(&str, &str); 8] = [
    ("#b35900", "#f0a04b"),
    ("#117a65", "#4fd1b0"),
    ("#8e44ad", "#cf9cf0"),
    ("#b03060", "#ff8fb1"),
    ("#7a6a00", "#d9c84a"),
    ("#5b6770", "#b4bec7"),
    ("#2e7d32", "#86d38a"),
    ("#a04000", "#e59866"),
];
const OURS: (&str, &str) = ("#0b5cad", "#6cb6ff");
const REFERENCE: (&str, &str) = (INK, "#e6edf3");
const THEORY: (&str, &str) = (MUTED, "#9198a1");

/// A series of the legend: its name, whose it is, and its colour.
struct Entry<'a> {
    name: &'a str,
    style: Style,
    color: (&'static str, &'static str),
    class: String,
}

/// All figures of an experiment as one SVG document. `name` keeps its identifiers apart from those of others on a page.
pub(super) fn figures(title: &str, name: &str, figures: &[Figure]) -> String {
    let legend = legend(figures);
    let columns = if figures.len() == 1 { 1 } else { 2 };
    let width = (WIDTH - 2.0 * MARGIN - GAP * (columns - 1) as f64) / columns as f64;
    let (key, key_height) = draw_legend(&legend);
    let rows = figures.len().div_ceil(columns);
    let height = key_height + rows as f64 * (HEIGHT + GAP);
    let prefix = format!("{name}-");
    let document = document(height, &prefix).add(StyleSheet::new(style_sheet(&legend)));
    let mut document = described(document, &prefix, title, &description(figures)).add(key);
    for (index, figure) in figures.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let x = MARGIN + column as f64 * (width + GAP);
        let y = key_height + row as f64 * (HEIGHT + GAP);
        document = document.add(panel(figure, &legend, width).set("transform", format!("translate({x} {y})")));
    }
    format!("{document}\n")
}

/// The dark page's colours. Those of the light one are attributes of the elements, for programs without style sheets.
fn style_sheet(legend: &[Entry<'_>]) -> String {
    let mut rules = String::from(".ep-ink{fill:#e6edf3}.ep-muted{fill:#9198a1}.ep-grid{stroke:#3d444d}");
    for Entry { color, class, .. } in legend {
        rules += &format!(".{class}-l{{stroke:{0}}}.{class}-f{{fill:{0}}}", color.1);
    }
    format!("@media (prefers-color-scheme:dark){{{rules}}}")
}

/// A secondary word.
fn muted(x: f64, y: f64, content: &str, anchor: Anchor) -> Text {
    text(x, y, content, anchor, MUTED).set("class", "ep-muted")
}

/// Every series once, with a colour that is the same in all pictures.
fn legend(figures: &[Figure]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = vec![];
    let mut colors = COLORS.iter().enumerate().cycle();
    for series in figures.iter().flat_map(|figure| &figure.series) {
        if entries.iter().any(|entry| entry.name == series.name) {
            continue;
        }
        let (class, color) = match series.style {
            Style::Ours => ("ep-ours".to_owned(), OURS),
            Style::NonPrivate => ("ep-reference".to_owned(), REFERENCE),
            Style::Theory => ("ep-theory".to_owned(), THEORY),
            Style::Method => {
                colors.next().map_or(("ep-0".to_owned(), COLORS[0]), |(index, color)| (format!("ep-{index}"), *color))
            }
        };
        entries.push(Entry { name: &series.name, style: series.style, color, class });
    }
    entries
}

fn draw_legend(legend: &[Entry<'_>]) -> (Group, f64) {
    let (mut x, mut y) = (MARGIN, 18.0);
    let mut group = Group::new();
    for entry in legend {
        // Letters of this size take some seven units, capitals ten.
        let letter = |letter: char| if letter.is_uppercase() { 9.8 } else { 7.2 };
        let width = 48.0 + entry.name.chars().map(letter).sum::<f64>();
        if x + width > WIDTH - MARGIN && x > MARGIN {
            (x, y) = (MARGIN, y + LINE);
        }
        group = group
            .add(stroke(&[(x, y - 4.5), (x + 26.0, y - 4.5)], entry))
            .add(text(x + 33.0, y, entry.name, Anchor::START, INK).set("class", "ep-ink"));
        x += width;
    }
    (group, y + LINE)
}

/// A line in the colour and the dashes of a series.
fn stroke(points: &[(f64, f64)], entry: &Entry<'_>) -> Path {
    let path = polyline(points, entry.color.0).set("class", format!("{}-l", entry.class));
    match entry.style {
        Style::Ours => path.set("stroke-width", 3),
        Style::Method => path.set("stroke-width", 2),
        Style::NonPrivate => {
            path.set("stroke-width", 1.5).set("stroke-dasharray", "1 3").set("stroke-linecap", "round")
        }
        Style::Theory => path.set("stroke-width", 1.5).set("stroke-dasharray", "7 4"),
    }
}

/// An axis with its marks: positions of values, linear or of their logarithms.
struct Ruler {
    scale: LinearAxis,
    logarithmic: bool,
}

impl Ruler {
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let logarithmic = axis.logarithmic;
        let places: Vec<f64> = values.filter_map(|value| place(logarithmic, value)).collect();
        let (low, high) = places
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| (low.min(*place), high.max(*place)));
        // An axis whose values start near zero begins at zero.
        let zero = (!logarithmic && low >= 0.0 && low < 0.5 * high).then_some(0.0);
        Self { scale: LinearAxis::around(places.into_iter().chain(zero), start, end), logarithmic }
    }

    fn position(&self, value: f64) -> Option<f64> {
        place(self.logarithmic, value).map(|place| self.scale.position(place))
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return self.scale.ticks();
        }
        let (low, high) = self.scale.range();
        let step = (((high - low) / 6.0).ceil() as usize).max(1);
        let marks = |factors: &[f64]| self.scale.decades(step, factors);
        // The coarsest with three marks.
        let finest = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
        let coarser = [&[1.0][..], &[1.0, 2.0, 5.0]].map(marks).into_iter().find(|marks| marks.len() > 2);
        coarser.unwrap_or_else(|| marks(&finest))
    }
}

/// Where a value is on the scale, if it has a place there.
fn place(logarithmic: bool, value: f64) -> Option<f64> {
    Some(if logarithmic { value.log10() } else { value }).filter(|place| place.is_finite())
}

fn panel(figure: &Figure, legend: &[Entry<'_>], width: f64) -> Group {
    let right = width - 8.0;
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let bands = || points().filter_map(|point| point.band).flat_map(|(low, high)| [low, high]);
    let x = Ruler::new(&figure.x, points().map(|point| point.x), LEFT, right);
    let heights = points().map(|point| point.y).chain(bands()).chain(figure.levels.iter().map(|level| level.y));
    let y = Ruler::new(&figure.y, heights, BOTTOM, TOP);
    let title = text(LEFT, 14.0, &figure.title, Anchor::START, INK).set("class", "ep-ink").set("font-weight", 600);
    let mut group = Group::new().add(title);
    for tick in y.ticks() {
        let Some(at) = y.position(tick) else { continue };
        group = group.add(line(LEFT, at, right, at, GRID).set("class", "ep-grid")).add(muted(
            LEFT - 7.0,
            at + 4.5,
            &label(tick),
            Anchor::END,
        ));
    }
    for tick in x.ticks() {
        let Some(at) = x.position(tick) else { continue };
        group = group.add(line(at, BOTTOM, at, BOTTOM + 5.0, GRID).set("class", "ep-grid")).add(muted(
            at,
            BOTTOM + 20.0,
            &label(tick),
            Anchor::MIDDLE,
        ));
    }
    group = group.add(muted(0.5 * (LEFT + right), BOTTOM + 40.0, &figure.x.label, Anchor::MIDDLE));
    let middle = 0.5 * (TOP + BOTTOM);
    let upright = muted(14.0, middle, &figure.y.label, Anchor::MIDDLE);
    group = group.add(upright.set("transform", format!("rotate(-90 14 {middle})")));
    for level in &figure.levels {
        let Some(at) = y.position(level.y) else { continue };
        let across = line(LEFT, at, right, at, MUTED).set("class", "ep-theory-l").set("stroke-dasharray", "7 4");
        group = group.add(across).add(muted(right, at - 5.0, &level.name, Anchor::END).set("font-size", 11));
    }
    for series in &figure.series {
        if let Some(entry) = legend.iter().find(|entry| entry.name == series.name) {
            group = group.add(draw(series, entry, &x, &y));
        }
    }
    group
}

fn draw(series: &Series, entry: &Entry<'_>, x: &Ruler, y: &Ruler) -> Group {
    let mut group = Group::new();
    let at = |point: &Point, height: f64| Some((x.position(point.x)?, y.position(height)?));
    let upper: Vec<_> = series.points.iter().filter_map(|point| at(point, point.band?.1)).collect();
    let lower: Vec<_> = series.points.iter().filter_map(|point| at(point, point.band?.0)).collect();
    if upper.len() > 1 && upper.len() == lower.len() {
        let outline = through(upper.iter().chain(lower.iter().rev())).close();
        let band = Path::new().set("d", outline).set("fill", entry.color.0).set("fill-opacity", 0.14);
        group = group.add(band.set("class", format!("{}-f", entry.class)));
    }
    let line: Vec<_> = series.points.iter().filter_map(|point| at(point, point.y)).collect();
    group = group.add(stroke(&line, entry));
    for &(x, y) in &line {
        group = group.add(dot(x, y, 2.8, entry.color.0).set("class", format!("{}-f", entry.class)));
    }
    group
}

/// The description for readers who cannot see the pictures: the ends of every line.
fn description(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        text += &format!("{}: {} over {}.", figure.title, figure.y.label, figure.x.label);
        for Series { name, points, .. } in &figure.series {
            match points[..] {
                [] => {}
                [only] => text += &format!(" {name}: {:.3} at {}.", only.y, label(only.x)),
                [first, .., last] => {
                    let (from, to) = (label(first.x), label(last.x));
                    text += &format!(" {name}: {:.3} at {from} to {:.3} at {to}.", first.y, last.y);
                }
            }
        }
        for level in &figure.levels {
            text += &format!(" {} has {:.3}.", level.name, level.y);
        }
        text += " ";
    }
    text
}

#[cfg(test)]
mod tests {
    use ldp_pca_literature::experiments::Level;

    use super::*;

    fn figure(points: &[(f64, f64)], logarithmic: bool) -> Figure {
        let band = |y: f64| Some((0.5 * y, 1.5 * y));
        let series = |name: &str, style| Series {
            name: name.into(),
            style,
            points: points.iter().map(|&(x, y)| Point { x, y, band: band(y) }).collect(),
        };
        let axis = if logarithmic { Axis::logarithmic("n <records>") } else { Axis::linear("n") };
        Figure {
            title: "a & b".into(),
            x: axis.clone(),
            y: axis,
            series: vec![
                series("theirs", Style::Method),
                series("ours", Style::Ours),
                series("none", Style::NonPrivate),
            ],
            levels: vec![Level { name: "a level".into(), y: 0.5 }],
        }
    }

    #[test]
    fn any_figures_are_drawn_with_finite_numbers_and_say_what_they_show() {
        let sets: [&[(f64, f64)]; 5] = [
            &[],
            &[(1.0, 1.0)],
            &[(1.0, 0.0), (10.0, -2.0)],
            &[(1e-9, 1e-12), (1e9, 1e12)],
            &[(3.0, 3.0), (3.0, f64::NAN), (f64::INFINITY, 1.0)],
        ];
        for points in sets {
            for logarithmic in [false, true] {
                let document = figures("t <1>", "name", &[figure(points, logarithmic), figure(points, false)]);
                assert!(
                    !document.contains("NaN\"") && !document.contains("inf\"") && !document.contains("NaN "),
                    "{document}"
                );
                assert!(document.contains("a &amp; b") && document.contains("id=\"name-title\""));
                assert_eq!(document.lines().filter(|line| line.trim() == "theirs").count(), 1);
            }
        }
        let document = figures("t", "n", &[figure(&[(1.0, 2.0), (10.0, 4.0)], true)]);
        assert!(document.contains("theirs: 2.000 at 1 to 4.000 at 10"), "{document}");
    }

    #[test]
    fn logarithmic_axes_have_a_handful_of_round_marks() {
        for (low, high) in [(500.0, 8000.0), (2.5e5, 5e5), (0.1, 4.0), (1.0, 1e6), (1e-12, 1e12), (5.0, 5.0)] {
            let ruler = Ruler::new(&Axis::logarithmic(""), [low, high].into_iter(), 0.0, 1.0);
            let ticks = ruler.ticks();
            assert!((1..=10).contains(&ticks.len()) && ticks.is_sorted(), "{low} {high}: {ticks:?}");
        }
    }
}
