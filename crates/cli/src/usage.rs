//! Wrong usage in one line, as all errors are, with the remedy.

use core::error::Error as _;
use core::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ldp_pca_server::UrlError;

/// How clap describes the numbers from 1.
const ANY_NUMBER_BUT_0: &str = " is not in 1..18446744073709551615";

/// What is wrong with the arguments, in one line.
pub(super) fn line(error: &clap::Error) -> String {
    if let Some(refused) = error.source().and_then(|source| source.downcast_ref::<UrlError>()) {
        // What was given may have a password.
        let option = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        return format!("invalid value '{}' for '{option}': {refused}", refused.shown);
    }
    let rendered = error.render().to_string();
    let mut parts = rendered.trim_start_matches("error: ").split("\n\n");
    let mut lines = parts.next().unwrap_or_default().lines().map(str::trim);
    let mut text = lines.next().unwrap_or_default().to_owned();
    if let Some(problem) = not_read(error) {
        // The words of Rust do not name what was given.
        let end = text.rfind("': ").map_or(text.len(), |end| end + 1);
        text = format!("{}: {problem}", &text[..end]);
    }
    let details: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    if !details.is_empty() {
        text += &format!(" {}", details.join(", "));
    }
    let tips = parts.flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("tip: "));
    // Hardly anybody means an option as a value.
    for tip in tips.filter(|tip| !tip.starts_with("to pass '--")) {
        text += &format!("; {tip}");
    }
    // An address in another place may have one, too, with a scheme before it or not.
    let scheme = text.find("://").map(|place| place + 3).filter(|start| !text[..*start].contains('@'));
    let start = scheme.or_else(|| Some(text.find('\'')? + 1));
    if let (Some(start), Some(end)) = (start, text.rfind('@'))
        && start < end
    {
        text.replace_range(start..end, "…");
    }
    if let (ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand, Some(query)) = (error.kind(), text.find('?')) {
        let end = text.rfind('\'').filter(|end| *end > query).unwrap_or(text.len());
        text.replace_range(query + 1..end, "…");
    }
    match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => text,
        _ => format!("{text} (Usage: `{} --help`)", command(error)),
    }
}

/// The command as it was called, without its arguments.
fn command(error: &clap::Error) -> String {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return "ldp-pca".to_owned() };
    let usage = usage.to_string();
    let words = usage.split_whitespace().skip_while(|word| *word == "Usage:");
    words.take_while(|word| !word.starts_with(['<', '[', '-'])).collect::<Vec<_>>().join(" ")
}

/// The remedy where a parser of Rust's own did not read a value.
fn not_read(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidValue) else { return None };
    let source = error.source()?;
    if source.is::<ParseFloatError>() {
        return Some(no_number(given));
    }
    if source.to_string().ends_with(ANY_NUMBER_BUT_0) {
        return Some("it must be at least 1".to_owned());
    }
    match source.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Some("it is out of range".to_owned()),
        _ => Some(no_whole_number(given)),
    }
}

/// That a text is no number, and how it is written as one.
pub(super) fn no_number(text: &str) -> String {
    let pointed = text.replace(',', ".");
    // 10,000 may be ten thousand; 0,001 is a thousandth.
    let is_clear =
        text.rsplit_once(',').is_some_and(|(whole, digits)| digits.len() != 3 || matches!(whole, "0" | "-0"));
    let is_number = is_clear && pointed.parse::<f64>().is_ok();
    let remedy = is_number.then(|| format!(": write {pointed}, with a decimal point"));
    format!("'{text}' is not a number{}", remedy.unwrap_or_default())
}

/// That a text is no whole number of at least 0 that can be used, and how it is written as one.
pub(super) fn no_whole_number(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return if digits == text {
            format!("'{text}' is too large")
        } else {
            format!("'{text}' is negative: leave the minus out")
        };
    }
    let groups: Vec<&str> = text.split([',', '_', '\'']).collect();
    let grouped = groups.len() > 1 && groups[1..].iter().all(|group| group.len() == 3);
    let digits = if grouped { groups.concat() } else { text.to_owned() };
    let whole = digits.parse().ok().filter(|value: &f64| value.fract() == 0.0 && (0.0..1e15).contains(value));
    let remedy = whole.map_or(String::new(), |value| format!(": write {value}"));
    format!("'{text}' is not a whole number{remedy}")
}
