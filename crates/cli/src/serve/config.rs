//! The settings file of `serve`.

use std::path::Path;

use ldp_pca_server::ServerConfig;

use crate::error::{CliError, Result};
use crate::files;

/// Reads the file. An error names the place, and never quotes the line, which may hold a token.
pub(super) fn read(path: &Path) -> Result<ServerConfig> {
    let text = files::text(path)?;
    parse(&text).map_err(|problem| CliError::Usage(format!("{}, {problem}", path.display())))
}

/// The settings of this text, or what is wrong with it and where.
pub(crate) fn parse(text: &str) -> core::result::Result<ServerConfig, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&character| character != '\n').count() + 1;
        format!("line {line}, column {column}: {}", error.message().trim_end().replace('\n', "; "))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ldp_pca_server::LogFormat;

    use super::*;

    /// Every name that there is, with its default, or an example behind a "# ".
    const EVERY: &str = include_str!("../../../../docs/settings.toml");

    /// The lines of the settings' fields, of which those within others are left out, and the one that no file sets.
    fn fields(config: &ServerConfig) -> Vec<String> {
        let text = format!("{config:#?}");
        let own = |line: &&str| line.starts_with("    ") && !line.starts_with("     ") && line.contains(": ");
        text.lines().filter(own).filter(|line| !line.starts_with("    fixed: ")).map(str::to_owned).collect()
    }

    #[test]
    fn the_documented_settings_are_all_that_there_are_and_have_their_defaults() {
        let (default, found) = (ServerConfig::new(""), parse(EVERY).unwrap());
        assert_eq!(format!("{found:?}"), format!("{default:?}"));
        for field in fields(&default) {
            let name = field.split(':').next().unwrap().trim();
            let table = format!("[{name}]");
            let documented = EVERY.lines().any(|line| {
                let setting = line.trim_start_matches("# ").strip_prefix(name);
                line == table || setting.is_some_and(|rest| rest.starts_with(" = "))
            });
            assert!(documented, "{name} is not in docs/settings.toml");
        }
    }

    #[test]
    fn the_examples_of_documented_settings_are_settings() {
        let is_example = |line: &str| {
            line.strip_prefix("# ")
                .and_then(|text| text.split_once(" = "))
                .is_some_and(|(name, _)| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase()))
        };
        let uncommented = |line| if is_example(line) { &line[2..] } else { line };
        let text = EVERY.lines().map(uncommented).collect::<Vec<_>>().join("\n");
        let config = parse(&text).unwrap();
        assert_eq!((config.tokens.admin.len(), config.tokens.collector.len()), (2, 1));
        assert!(config.tokens.admin_file.is_some() && config.tokens.collector_file.is_some());
        assert!(config.log.audit.is_some());
        let changed = fields(&config).iter().zip(fields(&ServerConfig::new(""))).filter(|(a, b)| *a != b).count();
        // The folder, and 10 without a default; those in tables are above.
        assert_eq!(changed, 11);
    }

    #[test]
    fn the_example_has_no_setting_that_is_less_safe_and_no_token() {
        let config = parse(include_str!("../../../../docs/aggregator.toml")).unwrap();
        assert_eq!(config.less_safe(), [""; 0]);
        assert!(config.tokens.admin.is_empty() && config.tokens.collector.is_empty());
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn durations_are_in_seconds() {
        assert_eq!(parse("request_timeout = 20.5").unwrap().request_timeout, Duration::from_millis(20_500));
    }

    #[test]
    fn a_limit_can_be_taken_away() {
        assert_eq!(parse("seeds_rate_limit = false").unwrap().seeds_rate_limit, None);
    }

    #[test]
    fn localhost_is_this_machine() {
        assert_eq!(parse("listen = \"localhost:8081\"").unwrap().listen.to_string(), "127.0.0.1:8081");
    }

    #[test]
    fn an_empty_file_has_the_defaults() {
        assert_eq!(format!("{:?}", parse("").unwrap()), format!("{:?}", ServerConfig::new("")));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_no_secret() {
        let secret = "0123456789abcdef0123456789abcdef";
        let cases = [
            ("data = \"d\"\nlissten = \"127.0.0.1:80\"", "line 2, column 1", "lissten"),
            ("[tokens]\nadmn = \"0123456789abcdef0123456789abcdef\"", "line 2, column 1", "admn"),
            ("data = \"d\"\nidle_timeout = 75", "line 2, column 1", "idle_timeout"),
            ("fixed = 1", "line 1, column 1", "fixed"),
            ("seeds_rate_limit = true", "line 1, column 20", "false for none"),
            ("[log]\nformat = \"xml\"", "line 2, column 10", "xml"),
            ("request_timeout = -1", "line 1, column 19", "-1"),
            ("max_body_bytes = \"8 MiB\"", "line 1, column 18", "8 MiB"),
            ("listen = \"localhost\"", "line 1, column 10", "socket address"),
            ("trusted_proxies = [\"10.0.0.0/40\"]", "line 1, column 19", "10.0.0.0/40"),
            ("[tokens]\nadmin = 5", "line 2, column 9", "a text in quotes"),
            ("[tokens]\nadmin = [\"0123456789abcdef0123456789abcdef\", 3]", "line 2, column 9", "a text in quotes"),
            ("[tokens]\nadmin = 0123456789abcdef0123456789abcdef", "line 2", ""),
            ("data = ", "line 1", ""),
            ("data = \"a\"\ndata = \"b\"", "line 2, column 1", "duplicate"),
        ];
        for (text, place, value) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(place) && error.contains(value), "{text}: {error}");
            assert!(!error.contains(secret), "{error}");
        }
    }
}
