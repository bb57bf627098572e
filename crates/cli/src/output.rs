//! Results for people and for programs, and progress on a terminal.

use std::io::{Stdout, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ldp_pca::privacy::Epsilon;
use ldp_pca_pictures::numbers::whole_percent;
use serde::Serialize;

use super::error::{CliError, Result};

pub use ldp_pca_pictures::numbers::{Decimal, first, fixed, fixed_down, fixed_up, grouped, plural, three_digits};

/// The form of the printed result.
#[derive(Args, Clone, Copy)]
pub struct Format {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// How much of a result the text has.
#[derive(Args, Clone, Copy)]
pub struct Details {
    /// Print everything that is known, not only what matters first
    #[arg(long = "details")]
    pub wanted: bool,
}

impl Format {
    /// Prints `result` as JSON, or `text` of it, in lines that fit a terminal: on standard output, or where that is
    /// taken on standard error.
    pub fn print<T: Serialize>(self, result: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        self.print_laid_out(result, |result| fitted(&text(result)))
    }

    /// Prints `result` as JSON, or `text` of it, which chooses the length of its lines itself: on standard output, or
    /// where that is taken on standard error.
    pub fn print_laid_out<T: Serialize>(self, result: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        let is_taken = TAKEN.load(Ordering::Relaxed);
        let mut out: Box<dyn Write> = if is_taken { Box::new(stderr().lock()) } else { Box::new(stdout().lock()) };
        if self.json {
            serde_json::to_writer_pretty(&mut out, result).map_err(std::io::Error::from)?;
            writeln!(out)?;
        } else {
            writeln!(out, "{}", text(result).trim_end())?;
        }
        out.flush()?;
        Ok(())
    }
}

/// Whether standard output has the content of a file.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Standard output, for the content of a file.
pub(super) fn take_stdout() -> Stdout {
    TAKEN.store(true, Ordering::Relaxed);
    stdout()
}

/// An epsilon with so many decimals, or with three digits where few of these would count. Never less than it is.
pub(super) fn at_most(epsilon: Epsilon, places: usize) -> String {
    let is_near = (10f64.powi(1 - places as i32)..1e10).contains(&epsilon.value());
    if is_near { format!("{epsilon:.places$}") } else { three_digits(epsilon.value(), f64::ceil) }
}

/// A bar for work of known size; silent where standard error is not a terminal. Like the others here, it is cleared
/// when it is dropped.
pub fn bar(label: &'static str, length: u64) -> ProgressBar {
    // The template is a constant; were it wrong, the default bar would do.
    let style = ProgressStyle::with_template("{msg:12} {bar:30} {human_pos}/{human_len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(label)
}

/// A bar for reading a file of `length` bytes.
pub(super) fn reading(label: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:12} {bar:30} {bytes}/{total_bytes} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(label)
}

/// A spinner for work of unknown size.
pub fn spinner(label: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(label);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// A remark for people, on standard error.
pub fn note(text: impl core::fmt::Display) {
    // When standard error is closed, nobody can read it.
    let _ = writeln!(stderr(), "{text}");
}

/// Prints a line of a result for people.
pub(super) fn print_line(text: impl core::fmt::Display) -> Result<()> {
    Ok(writeln!(stdout(), "{text}")?)
}

/// Whether the arguments ask for JSON. They are not parsed, as what is wrong with them is reported in this form too.
pub(super) fn is_json() -> bool {
    std::env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// The error that ends a command: the last line of standard error, as text or as a document.
pub(super) fn error(error: &CliError) {
    if is_json() { note(error.document()) } else { note(format_args!("error: {error}")) }
}

/// "wrote FILE".
pub fn wrote(target: Option<impl core::fmt::Display>) -> String {
    target.map(|target| format!("{WROTE}{target}\n")).unwrap_or_default()
}

const WROTE: &str = "wrote ";

/// A share in percent, with one place.
pub(super) fn tenths(share: f64) -> String {
    // Of a mean that is 0 up to rounding no sign is shown.
    format!("{:.1} %", (1000.0 * share).round() / 10.0 + 0.0)
}

/// A share of the structure in words.
pub(super) fn of_structure(share: f64) -> String {
    format!("{} of the structure", whole(share))
}

/// A share in whole percent. What is below all is not shown as all.
pub(super) fn whole(share: f64) -> String {
    format!("{} %", whole_percent(share))
}

/// An error with the scale that it is on.
pub(super) fn on_scale(error: f64, uninformed: f64) -> String {
    format!("||sin Theta||_F^2 = {error:.4} (0 is the same subspace, {uninformed:.2} a random one)")
}

/// Characters of a line of text.
const WIDTH: usize = 90;
/// The widest label that what is broken off its line is indented by.
const LABEL: usize = 16;

/// Breaks the lines that are too long at spaces. What is broken off stands below the text beside the label. Names of
/// files stay whole.
pub(super) fn fitted(text: &str) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut rest, mut indent) = (line, 0);
        while !line.starts_with(WROTE)
            && let Some(end) = break_of(rest, WIDTH - indent)
        {
            fitted += &format!("{:indent$}{}\n", "", rest[..end].trim_end());
            rest = rest[end..].trim_start();
            indent = hanging(line);
        }
        fitted += &format!("{:indent$}{rest}\n", "");
    }
    fitted
}

/// Where a line of more than `width` characters is broken: at its last space that leaves something on both sides. Two
/// spaces, between the entries of a list, come first where they fill half of the width.
fn break_of(line: &str, width: usize) -> Option<usize> {
    let (end, last) = line.char_indices().nth(width)?;
    let start = &line[..end + last.len_utf8()];
    let indent = line.len() - line.trim_start().len();
    let space = |(place, letter): (usize, char)| (letter == ' ' && place > indent).then_some(place);
    let after = || line[end..].char_indices().find_map(|(place, letter)| space((end + place, letter)));
    let entry = start.rfind("  ").filter(|&place| place > indent.max(width / 2));
    entry.or_else(|| start.char_indices().rev().find_map(space)).or_else(after)
}

/// The column of the text beside a label, which two spaces separate; two more than the indentation without one.
fn hanging(line: &str) -> usize {
    let indent = line.len() - line.trim_start().len();
    let label = line[indent..].find("  ").map(|end| line.len() - line[indent + end..].trim_start().len());
    label.filter(|&column| column <= LABEL && line.is_char_boundary(column)).unwrap_or(indent + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_epsilons_keep_three_digits_and_are_rounded_up() {
        let of = |value, places| at_most(Epsilon::new(value).unwrap(), places);
        assert_eq!([of(2.0, 6), of(0.123_456_4, 6), of(0.5, 4)], ["2.000000", "0.123457", "0.5000"]);
        assert_eq!([of(1.2e-6, 6), of(1.2001e-9, 4)], ["1.20e-6", "1.21e-9"]);
    }

    #[test]
    fn a_share_of_the_structure_is_shown_as_all_of_it_only_where_it_is() {
        for (share, text) in [(0.934, "93"), (0.991, "99.1"), (0.999_99, "99.9"), (1.0, "100"), (-0.004, "0")] {
            assert_eq!(of_structure(share), format!("{text} % of the structure"));
        }
        assert_eq!([tenths(0.954_32), tenths(-0.000_2)], ["95.4 %", "0.0 %"]);
    }

    #[test]
    fn long_lines_are_broken_at_spaces_below_the_text_beside_their_label() {
        let words = "word ".repeat(40);
        let long = format!("label       {words}\n  1. {words}\nwrote {words}\n{}\n", "x".repeat(200));
        let text = fitted(&long);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("label       word") && lines[1].starts_with("            word"), "{text}");
        assert!(lines.iter().any(|line| line.starts_with("    word")), "{text}");
        let whole = |line: &&&str| line.starts_with("wrote") || line.starts_with('x');
        assert_eq!(lines.iter().filter(whole).count(), 2);
        assert!(lines.iter().filter(|line| !whole(line)).all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(fitted(&"+0.1 name  ".repeat(20)).lines().all(|line| line.trim_start().starts_with('+')));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text), words(&long));
        for short in ["", "short\n", "label   a  b\n\n  c\n"] {
            assert_eq!(fitted(short), short);
        }
        // A word too long for a line, letters of several bytes, and a line of spaces.
        for odd in [format!("é {} é", "ü".repeat(300)), " ".repeat(200), "é".repeat(90) + " é"] {
            assert_eq!(words(&fitted(&odd)), words(&odd));
        }
    }
}
