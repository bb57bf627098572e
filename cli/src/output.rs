//! Results for people and for programs, and progress on a terminal.

use std::io::{Write as _, stderr, stdout};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
pub(super) use ldp_pca_literature::experiments::grouped;
use serde::Serialize;

use super::error::Result;

/// The form of the printed result.
#[derive(Args, Clone, Copy)]
pub(super) struct Format {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Format {
    /// Prints `result` as JSON, or `text` of it.
    pub(super) fn print<T: Serialize>(self, result: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        let mut out = stdout().lock();
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

/// A bar for work of known size; silent where standard error is not a terminal. Like the others here, it is cleared
/// when it is dropped.
pub(super) fn bar(label: &'static str, length: u64) -> ProgressBar {
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
pub(super) fn spinner(label: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(label);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// A remark for people, on standard error.
pub(super) fn note(text: impl core::fmt::Display) {
    // When standard error is closed, nobody can read it.
    let _ = writeln!(stderr(), "{text}");
}

/// The first `most` entries, with an ellipsis where there are more.
pub(super) fn first<T: ToString>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut items = items.into_iter();
    let mut shown: Vec<String> = items.by_ref().take(most).map(|item| item.to_string()).collect();
    shown.extend(items.next().map(|_| "…".to_owned()));
    shown.join(", ")
}

/// "wrote FILE".
pub(super) fn wrote(path: Option<&Path>) -> String {
    path.map(|path| format!("wrote {}\n", path.display())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 999, 1000, 494_021, 1_000_000].map(super::grouped),
            ["0", "999", "1,000", "494,021", "1,000,000"]
        );
    }
}
