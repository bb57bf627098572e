//! Lines, marks and words in the style of the picture.

use svg::Node;
use svg::node::element::path::Data;
use svg::node::element::{Circle, Group, Line, Path, Rectangle, Text};

use super::axis::{LinearAxis, label};
use super::{LEFT, RIGHT};

/// Words.
pub const INK: &str = "#1f2328";
/// Secondary words.
pub const MUTED: &str = "#59636e";
/// Lines behind the data.
pub const GRID: &str = "#e4e7eb";
/// What is kept. This colour and the next two are distinct in every common form of colour blindness.
pub const ACCENT: &str = "#0b5cad";
/// What is not kept.
pub const PALE: &str = "#808b97";
/// What is compared with.
pub const WARNING: &str = "#b35900";

/// The alignment of a text at its position.
#[derive(Clone, Copy)]
pub struct Anchor(&'static str);

impl Anchor {
    /// It begins there.
    pub const START: Self = Self("start");
    /// Its middle is there.
    pub const MIDDLE: Self = Self("middle");
    /// It ends there.
    pub const END: Self = Self("end");
}

/// A text at a position.
pub fn text(x: f64, y: f64, content: &str, anchor: Anchor, color: &str) -> Text {
    let text = Text::new(printable(content)).set("x", round(x)).set("y", round(y));
    text.set("fill", color).set("text-anchor", anchor.0)
}

/// Without the characters that no XML document may hold.
pub(super) fn printable(content: &str) -> String {
    let is_none = |character: char| character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}');
    content.replace(is_none, "\u{fffd}")
}

/// At most that many characters, with an ellipsis before the last third where some are missing: names often differ at
/// their end, as those of a column's categories do.
pub(super) fn shortened(content: &str, most: usize) -> String {
    let characters: Vec<char> = content.chars().collect();
    if characters.len() <= most {
        return content.to_owned();
    }
    let last = most / 3;
    let first = most - 1 - last;
    characters[..first].iter().chain(&['…']).chain(&characters[characters.len() - last..]).collect()
}

/// The element with these numbers.
fn with_numbers<E: Node>(mut element: E, numbers: [(&str, f64); 4]) -> E {
    numbers.into_iter().for_each(|(name, number)| element.assign(name, round(number)));
    element
}

/// A thin line.
pub fn line(x1: f64, y1: f64, x2: f64, y2: f64, color: &str) -> Line {
    let ends = [("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)];
    with_numbers(Line::new(), ends).set("stroke", color).set("stroke-width", 1)
}

pub(super) fn rectangle(x: f64, y: f64, width: f64, height: f64, fill: &str) -> Rectangle {
    let sides = [("x", x), ("y", y), ("width", width), ("height", height)];
    with_numbers(Rectangle::new(), sides).set("fill", fill)
}

/// A filled circle.
pub fn dot(x: f64, y: f64, radius: f64, color: &str) -> Circle {
    Circle::new().set("cx", round(x)).set("cy", round(y)).set("r", radius).set("fill", color)
}

/// A dashed line, for what is compared with.
pub fn dashed(x1: f64, y1: f64, x2: f64, y2: f64, color: &str) -> Line {
    line(x1, y1, x2, y2, color).set("stroke-dasharray", "6 4").set("stroke-width", 1.5)
}

/// The way through points.
pub fn through<'a>(points: impl IntoIterator<Item = &'a (f64, f64)>) -> Data {
    points.into_iter().enumerate().fold(Data::new(), |data, (index, &(x, y))| {
        let point = (round(x), round(y));
        if index == 0 { data.move_to(point) } else { data.line_to(point) }
    })
}

/// A line through points.
pub fn polyline(points: &[(f64, f64)], color: &str) -> Path {
    Path::new().set("d", through(points)).set("fill", "none").set("stroke", color).set("stroke-width", 1.5)
}

/// A panel with its heading and the line that explains it, which take 44 units.
pub fn heading(title: &str, explanation: &str) -> Group {
    Group::new()
        .add(text(super::MARGIN, 14.0, title, Anchor::START, INK).set("font-size", 15).set("font-weight", 600))
        .add(text(super::MARGIN, 33.0, explanation, Anchor::START, MUTED))
}

/// A grid line at `y` with its label.
pub(super) fn level(group: Group, y: f64, label: &str) -> Group {
    group.add(line(LEFT, y, RIGHT, y, GRID)).add(text(LEFT - 8.0, y + 4.5, label, Anchor::END, MUTED))
}

/// Grid lines and labels of a vertical axis.
pub(super) fn vertical_axis(group: Group, scale: &LinearAxis) -> Group {
    scale.ticks().into_iter().fold(group, |group, tick| level(group, scale.position(tick), &label(tick)))
}

/// Two decimals are a hundredth of a pixel, and keep the file small.
pub(super) fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn long_names_keep_their_start_and_their_end() {
        assert_eq!(shortened("protocol=tcp", 12), "protocol=tcp");
        assert_eq!(shortened("dst_host_rate=high", 12), "dst_hos…high");
        assert_eq!(shortened("äöüäöüäöü", 6), "äöü…öü");
    }
}
