//! The features of an answer on two of its components.

use ldp_pca::recovery::Answer;
use svg::node::element::{Group, Title};

use super::canvas::{ACCENT, Anchor, GRID, INK, MUTED, PALE, dot, line, printable, rectangle, shortened, text};
use super::{WIDTH, alone, descending};

/// The square of the map, between the names at both sides.
const SIDE: f64 = 440.0;
const LEFT: f64 = (WIDTH - SIDE) / 2.0;
const RIGHT: f64 = LEFT + SIDE;
const TOP: f64 = 36.0;
const BOTTOM: f64 = TOP + SIDE;
/// Names at one side, and what each takes: large letters fit too.
const MOST_NAMES: usize = 12;
const ROW: f64 = 32.0;
const NAME_LENGTH: usize = 18;
/// A feature nearer to the centre than this share of the farthest has no name.
const NAMED: f64 = 0.2;

/// A feature with its loadings on both components, and its place.
struct Feature<'a> {
    name: &'a str,
    loadings: [f64; 2],
    place: (f64, f64),
}

/// The map of two components, each with its index and its name, as a picture of its own for a page.
pub fn map(answer: &Answer, [across, up]: [(usize, &str); 2]) -> String {
    let loadings = [across.0, up.0].map(|index| &*answer.found.components[index]);
    let largest = loadings.into_iter().flatten().fold(0.0, |most: f64, loading| most.max(loading.abs()));
    let scale = 0.94 * SIDE / 2.0 / largest.max(f64::MIN_POSITIVE);
    let center = (LEFT + SIDE / 2.0, TOP + SIDE / 2.0);
    let names = answer.asked.feature_names.iter().enumerate();
    let features: Vec<Feature<'_>> = names
        .map(|(row, name)| {
            let loadings = loadings.map(|loadings| loadings[row]);
            Feature { name, loadings, place: (center.0 + scale * loadings[0], center.1 - scale * loadings[1]) }
        })
        .collect();
    let lengths: Vec<f64> = features.iter().map(|feature| feature.loadings[0].hypot(feature.loadings[1])).collect();
    let order = descending(&lengths);
    let least = NAMED * order.first().map_or(0.0, |&row| lengths[row]);
    let named: Vec<&Feature<'_>> =
        order.iter().take_while(|&&row| lengths[row] >= least).map(|&row| &features[row]).collect();
    let mut group = frame(center, [across.1, up.1]);
    for (is_right, edge, anchor) in [(false, LEFT - 12.0, Anchor::END), (true, RIGHT + 12.0, Anchor::START)] {
        let side = named.iter().copied().filter(|feature| (feature.place.0 >= center.0) == is_right);
        group = names_at(group, side.take(MOST_NAMES).collect(), edge, anchor);
    }
    for feature in &features {
        let [first, second] = feature.loadings;
        let name = format!("{}: {first:+.2}, {second:+.2}", printable(feature.name));
        group = group.add(dot(feature.place.0, feature.place.1, 4.5, ACCENT).add(Title::new(name)));
    }
    let told = named.iter().take(MOST_NAMES).map(|feature| {
        let [first, second] = feature.loadings;
        format!("{} {first:+.2}, {second:+.2}", feature.name)
    });
    let told: Vec<String> = told.collect();
    let description = format!("Weights on {} and on {}: {}.", across.1, up.1, told.join("; "));
    alone("map-", &format!("Features on {} and {}", across.1, up.1), &description, group, BOTTOM + 40.0)
}

/// The square with its axes.
fn frame(center: (f64, f64), [across, up]: [&str; 2]) -> Group {
    Group::new()
        .add(rectangle(LEFT, TOP, SIDE, SIDE, "none").set("stroke", GRID))
        .add(line(LEFT, center.1, RIGHT, center.1, PALE))
        .add(line(center.0, TOP, center.0, BOTTOM, PALE))
        .add(text(center.0, BOTTOM + 26.0, &format!("{across} →"), Anchor::MIDDLE, INK))
        .add(text(center.0, TOP - 12.0, &format!("↑ {up}"), Anchor::MIDDLE, INK))
}

/// Adds the names of these features at one side, in the order of their heights and apart from each other, with lines
/// that lead to their places.
fn names_at(mut group: Group, mut features: Vec<&Feature<'_>>, edge: f64, anchor: Anchor) -> Group {
    features.sort_by(|left, right| left.place.1.total_cmp(&right.place.1));
    let mut heights: Vec<f64> = features.iter().map(|feature| feature.place.1).collect();
    let mut above = f64::NEG_INFINITY;
    for height in &mut heights {
        *height = height.max(above + ROW);
        above = *height;
    }
    let mut below = BOTTOM + ROW;
    for height in heights.iter_mut().rev() {
        *height = height.min(below - ROW);
        below = *height;
    }
    for (feature, height) in features.into_iter().zip(heights) {
        let (x, y) = feature.place;
        group = group.add(line(edge, height, x, y, PALE)).add(text(
            edge,
            height + 5.0,
            &shortened(feature.name, NAME_LENGTH),
            anchor,
            MUTED,
        ));
    }
    group
}
