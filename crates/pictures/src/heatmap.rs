//! The loadings: one row per feature, one column per component.

use ldp_pca::recovery::Answer;
use svg::node::element::{Group, Title};

use super::canvas::{ACCENT, Anchor, GRID, INK, MUTED, heading, line, rectangle, shortened, text};
use super::numbers::signed;
use super::{MARGIN, Panel, WIDTH};

/// The most features and components shown: more would be illegible.
const MOST_ROWS: usize = 40;
const MOST_COLUMNS: usize = 30;

const TOP: f64 = 76.0;
const ROW: f64 = 21.0;
const LEFT: f64 = MARGIN + 220.0;
/// Space for the leverages at the right.
const LEVERAGES: f64 = 170.0;
const NAME_LENGTH: usize = 28;
/// A cell this wide has room for its number.
const NUMBERED: f64 = 40.0;

pub(super) fn panel(answer: &Answer, order: &[usize]) -> Panel {
    let Answer { asked, found, .. } = answer;
    let columns = found.components.len().min(MOST_COLUMNS);
    let space = WIDTH - MARGIN - LEVERAGES - LEFT;
    let cell = (space / columns.max(1) as f64).min(84.0);
    // Features that take no part are left out.
    let part = order.iter().filter(|&&row| found.leverages[row] > 1e-12).count();
    let rows = &order[..part.min(MOST_ROWS)];
    let mut group = heading("Loadings", &explanation(answer, part, rows.len(), columns));
    for column in 0..columns {
        let center = LEFT + (column as f64 + 0.5) * cell;
        group = group.add(text(center, TOP - 8.0, &(column + 1).to_string(), Anchor::MIDDLE, MUTED));
    }
    let bars = LEFT + columns as f64 * cell + 20.0;
    group = group.add(text(bars, TOP - 8.0, "Leverage", Anchor::START, MUTED));
    for (position, &row) in rows.iter().enumerate() {
        let top = TOP + position as f64 * ROW;
        let name = &asked.feature_names[row];
        let mut label = text(LEFT - 10.0, top + 15.0, &shortened(name, NAME_LENGTH), Anchor::END, INK);
        if name.chars().count() > NAME_LENGTH {
            label = label.add(Title::new(super::printable(name)));
        }
        group = group.add(label);
        for (column, component) in found.components.iter().take(columns).enumerate() {
            group = cell_of(group, LEFT + column as f64 * cell, top, cell, component[row]);
        }
        group = leverage(group, bars, top, found.leverages[row]);
    }
    let bottom = TOP + rows.len() as f64 * ROW;
    Panel { content: legend(group, bottom + 18.0), height: bottom + 44.0 }
}

fn explanation(Answer { asked, found, .. }: &Answer, part: usize, rows: usize, columns: usize) -> String {
    let features = match (part == asked.feature_names.len(), rows == part) {
        (true, true) => format!("All {part} features"),
        (false, true) => format!("The {part} features that take part"),
        (_, false) => format!("The {rows} of {part} features with the highest leverage (sum of squared loadings)"),
    };
    let all = found.components.len();
    let shown = (columns < all).then(|| format!("; the first {columns} of {all} components"));
    format!("{features}, most important first{}.", shown.unwrap_or_default())
}

fn cell_of(mut group: Group, left: f64, top: f64, width: f64, loading: f64) -> Group {
    group = group.add(rectangle(left, top, (width - 1.0).max(0.5), ROW - 1.0, &color(loading)));
    if width >= NUMBERED && loading != 0.0 {
        // White words on the dark ends of the scale, dark ones in the middle.
        let ink = if loading.abs() > 0.55 { "#ffffff" } else { INK };
        let number = text(left + width / 2.0, top + 14.5, &signed(loading), Anchor::MIDDLE, ink);
        group = group.add(number.set("font-size", 11));
    }
    group
}

fn leverage(group: Group, left: f64, top: f64, leverage: f64) -> Group {
    const FULL: f64 = 80.0;
    let length = FULL * leverage.clamp(0.0, 1.0);
    group
        .add(rectangle(left, top + 4.0, FULL, ROW - 9.0, GRID))
        .add(rectangle(left, top + 4.0, length, ROW - 9.0, ACCENT))
        .add(text(left + FULL + 8.0, top + 15.0, &format!("{leverage:.2}"), Anchor::START, MUTED).set("font-size", 11))
}

/// The colours with the numbers they stand for.
fn legend(mut group: Group, top: f64) -> Group {
    const STEPS: usize = 41;
    const LENGTH: f64 = 205.0;
    let step = LENGTH / STEPS as f64;
    for index in 0..STEPS {
        let loading = 2.0 * index as f64 / (STEPS - 1) as f64 - 1.0;
        // Overlapping by a little leaves no seams.
        group = group.add(rectangle(LEFT + index as f64 * step, top, step + 0.5, 10.0, &color(loading)));
    }
    group = group.add(line(LEFT, top + 10.0, LEFT + LENGTH, top + 10.0, GRID));
    for (value, name) in [(0.0, "−1"), (0.5, "0"), (1.0, "1")] {
        group = group.add(text(LEFT + value * LENGTH, top + 24.0, name, Anchor::MIDDLE, MUTED).set("font-size", 11));
    }
    group.add(text(LEFT - 10.0, top + 10.0, "Loading", Anchor::END, MUTED))
}

/// Blue for negative, white for 0, red for positive: lightness falls evenly to both sides, and the two hues are
/// distinct in every common form of colour blindness (the ends of ColorBrewer's RdBu, Brewer & Harrower 2003).
fn color(loading: f64) -> String {
    const NEGATIVE: [f64; 3] = [33.0, 102.0, 172.0];
    const POSITIVE: [f64; 3] = [178.0, 24.0, 43.0];
    let end = if loading < 0.0 { NEGATIVE } else { POSITIVE };
    // Most loadings are small: a power below 1 spreads them.
    let amount = loading.abs().min(1.0).powf(0.8);
    let [red, green, blue] = end.map(|end| (255.0 + (end - 255.0) * amount).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}
