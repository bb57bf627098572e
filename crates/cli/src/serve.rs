//! The `serve` command: an aggregator over HTTP.

use core::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ldp_pca::task::Task;
use ldp_pca_server::{
    LogConfig, LogFormat, Server, ServerConfig, ServerError, keep_files_private, raise_file_limit, socket_address,
};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::error::{CliError, Result};
use super::files;
use super::output::{grouped, note, plural, print_line};
use super::remedy;

/// Collect reports over HTTP
///
/// Everything acknowledged is on disk. Tasks come over HTTP (`ldp-pca task put`) or with --task; those that the folder
/// already holds are served too. Ctrl-C finishes the current requests, then stops.
#[derive(Args)]
pub(super) struct Serve {
    #[command(flatten)]
    settings: Settings,
    /// A task to collect for; may be repeated
    #[arg(short, long)]
    task: Vec<PathBuf>,
    /// Say what is wrong with the settings, and serve nothing
    ///
    /// The tasks, the certificate and the tokens are read, too
    #[arg(long)]
    check: bool,
}

/// The settings of an aggregator: those of a file, and the options that win over it.
#[derive(Args)]
pub(super) struct Settings {
    /// The folder that holds tasks and reports; created if missing
    #[arg(long, required_unless_present = "config")]
    data: Option<PathBuf>,
    /// A file of settings in TOML (docs/operate/settings.toml has all); options given here win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port; port 0 takes any free one [default: 127.0.0.1:8080]
    ///
    /// As 0.0.0.0:8080 or localhost:8080
    #[arg(long, value_parser = socket_address)]
    listen: Option<SocketAddr>,
    /// A folder with the page to serve at /
    #[arg(long)]
    www: Option<PathBuf>,
    /// Show components to everybody, without the collector's token
    #[arg(long, help_heading = "Tasks")]
    open_recovery: bool,
    /// Also accept reports that made their own ids, where a task does not say otherwise; a modified client can then
    /// choose among more directions
    #[arg(long, help_heading = "Tasks")]
    no_issued_ids: bool,
    /// The form of the log on standard error
    #[arg(long, value_name = "pretty|json", value_parser = log_format, help_heading = "Log")]
    log_format: Option<LogFormat>,
    /// error, warn, info, debug (a line for every request) or trace, or a filter [default: info]
    #[arg(long, value_name = "LEVEL", help_heading = "Log")]
    log_level: Option<String>,
}

impl Serve {
    pub(super) fn run(self) -> Result<()> {
        let config = self.settings.config()?;
        if self.check {
            let tasks = self.tasks()?;
            Server::check(&config).map_err(failed)?;
            let tasks = match tasks.len() {
                0 => String::new(),
                1 => ", and so is the task".to_owned(),
                count => format!(", and so are the {count} tasks"),
            };
            let less_safe = config.less_safe();
            let (good, end) =
                if less_safe.is_empty() { ("good", "") } else { ("valid", "; less safe than their defaults are:") };
            print_line(format_args!("the settings are {good}{tasks}{end}"))?;
            return less_safe.iter().try_for_each(|setting| print_line(format_args!("  {setting}")));
        }
        start_log(&config.log, true)?;
        let log = config.log.format;
        ended(log, self.tasks().and_then(|tasks| self.serve(config, tasks)))
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        self.task.iter().map(|path| files::task(path)).collect()
    }

    fn serve(&self, config: ServerConfig, tasks: Vec<Task>) -> Result<()> {
        // Every connection is an open file.
        raise_file_limit();
        // New files are this user's alone, whatever the process inherited.
        keep_files_private();
        runtime()?.block_on(async {
            let _hangups = on_hangup(config.tls.is_some());
            let (admin, log, less_safe) = (config.admin_token_file(), config.log.format, config.less_safe());
            let say = |warning: bool, text: String| match (log, warning) {
                (LogFormat::Pretty, _) => note(text),
                (LogFormat::Json, false) => tracing::info!("{text}"),
                (LogFormat::Json, true) => tracing::warn!("{text}"),
            };
            let server = Server::bind(config, tasks).await.map_err(failed)?;
            say_listening(log, server.local_addr());
            for setting in less_safe {
                say(true, format!("less safe than the default: {setting}"));
            }
            for path in server.made_tokens() {
                say(false, format!("made {}: its token grants the role that the file is named after", path.display()));
            }
            for task in server.tasks() {
                let (records, ceiling) = (plural(task.records, "report"), grouped(task.ceiling));
                say(false, format!("task {}: {records} so far, {ceiling} at most", task.digest));
                if task.damaged_reports > 0 {
                    let lost = "acknowledged reports are lost (`ldp-pca store acknowledge`)";
                    say(true, format!("  warning: {} {lost}", task.damaged_reports));
                }
            }
            let results = format!("http://{}/tasks", server.local_addr());
            say(false, format!("results, in a browser: {results}, with a collector's token as the password"));
            if server.tasks().is_empty() {
                let token = admin.map(|path| format!(" --token-file {}", path.display())).unwrap_or_default();
                let put = format!("ldp-pca task put task.json --url http://{}{token}", server.local_addr());
                say(false, format!("no task yet: {put}"));
            }
            server.serve(stopped()).await.map_err(CliError::failed)
        })
    }
}

impl Settings {
    /// The settings of the file, if any, overridden by those of the command line.
    pub(super) fn config(&self) -> Result<ServerConfig> {
        let mut config = match &self.config {
            Some(path) => {
                let text = files::text(path)?;
                parse_settings(&text).map_err(|problem| CliError::Usage(format!("{}, {problem}", path.display())))?
            }
            None => ServerConfig::new(""),
        };
        set(&mut config.data, &self.data);
        set(&mut config.listen, &self.listen);
        set(&mut config.log.format, &self.log_format);
        set(&mut config.log.level, &self.log_level);
        set(&mut config.www, &self.www.clone().map(Some));
        config.open_recovery |= self.open_recovery;
        config.issued_ids &= !self.no_issued_ids;
        if config.data.as_os_str().is_empty() {
            let problem = "no folder for tasks and reports is given: use --data, or data in the --config file";
            return Err(CliError::usage(problem));
        }
        Ok(config)
    }
}

/// The settings of this text in TOML, or what is wrong with it and where. That never quotes a line, which may hold a
/// token.
pub fn parse_settings(text: &str) -> Result<ServerConfig, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&character| character != '\n').count() + 1;
        format!("line {line}, column {column}: {}", error.message().trim_end().replace('\n', "; "))
    })
}

pub(super) fn failed(error: ServerError) -> CliError {
    match error {
        ServerError::Config(problem) => CliError::Usage(problem),
        ServerError::Store(error) => CliError::Failed(format!("{error}{}", remedy::of_store(&error))),
        error => CliError::failed(error),
    }
}

fn set<T: Clone>(field: &mut T, given: &Option<T>) {
    if let Some(given) = given {
        field.clone_from(given);
    }
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "pretty" => Ok(LogFormat::Pretty),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("'{text}' is neither pretty nor json")),
    }
}

/// Starts the server's log on standard error, whose lines say when they were written where it has `times`.
pub(super) fn start_log(log: &LogConfig, times: bool) -> Result<()> {
    // A word that is not a level would be read as the name of a module.
    let is_word = log.level.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let refused = |error: &dyn Display| {
        CliError::Usage(format!("the log level '{}': {error}; use error, warn, info, debug or trace", log.level))
    };
    let filter = if is_word {
        let level = log.level.parse::<LevelFilter>().map_err(|error| refused(&error))?;
        Targets::new().with_default(level)
    } else {
        log.level.parse::<Targets>().map_err(|error| refused(&error))?
    };
    let lines = fmt().with_max_level(LevelFilter::TRACE).with_writer(std::io::stderr).with_target(false);
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    match (log.format, times) {
        (LogFormat::Json, true) => lines.json().flatten_event(true).finish().with(filter).init(),
        (LogFormat::Json, false) => lines.json().flatten_event(true).without_time().finish().with(filter).init(),
        (LogFormat::Pretty, true) => lines.with_ansi(ansi).finish().with(filter).init(),
        (LogFormat::Pretty, false) => lines.with_ansi(ansi).without_time().finish().with(filter).init(),
    }
    Ok(())
}

/// Says on standard output where a server listens: programs read this line to learn the port. It is JSON where the log
/// is: containers and services write both to one place.
pub(super) fn say_listening(log: LogFormat, address: SocketAddr) {
    let message = format!("listening on http://{address}");
    // Without a reader the server goes on.
    let _ = match log {
        LogFormat::Pretty => print_line(message),
        LogFormat::Json => print_line(serde_json::json!({"level": "INFO", "message": message})),
    };
}

/// Logs that a server has ended. Where the log is JSON, an error is its last line.
pub(super) fn ended(log: LogFormat, served: Result<()>) -> Result<()> {
    match served {
        Ok(()) => {
            tracing::info!("stopped");
            Ok(())
        }
        Err(error) if log == LogFormat::Json => {
            tracing::error!(%error, "the server ends");
            Err(CliError::Told(error.exit_code()))
        }
        Err(error) => Err(error),
    }
}

/// The runtime of the server.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Failed(format!("cannot start the server's threads: {error}")))
}

/// SIGHUP, which service managers send to have files read again, never ends the server, from its first moment on. Where
/// there is a certificate, it is read again.
pub(super) fn on_hangup(has_certificate: bool) -> tokio::task::JoinHandle<()> {
    #[cfg(unix)]
    let hangups = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
    tokio::spawn(async move {
        #[cfg(unix)]
        if let Ok(mut hangups) = hangups {
            while hangups.recv().await.is_some() {
                if !has_certificate {
                    tracing::info!(
                        "SIGHUP: there is no certificate to read again; settings are read only at the start"
                    );
                }
            }
        }
        #[cfg(not(unix))]
        let _ = has_certificate;
    })
}

/// Waits for Ctrl-C or a termination signal, and logs which one it was.
pub(super) async fn stopped() {
    // Without signals, only the end of the process stops it.
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let terminate = async {
        #[cfg(unix)]
        if let Ok(mut signals) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            signals.recv().await;
            return;
        }
        std::future::pending::<()>().await;
    };
    let signal = tokio::select! {
        () = interrupt => "SIGINT",
        () = terminate => "SIGTERM",
    };
    tracing::info!(signal, "stopping");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Every name that there is, with its default, or an example behind a "# ".
    const EVERY: &str = include_str!("../../../docs/operate/settings.toml");

    /// The lines of the settings' fields, of which those within others are left out, and the one that no file sets.
    fn fields(config: &ServerConfig) -> Vec<String> {
        let text = format!("{config:#?}");
        let own = |line: &&str| line.starts_with("    ") && !line.starts_with("     ") && line.contains(": ");
        text.lines().filter(own).filter(|line| !line.starts_with("    fixed: ")).map(str::to_owned).collect()
    }

    #[test]
    fn the_documented_settings_are_all_that_there_are_and_have_their_defaults() {
        let (default, found) = (ServerConfig::new(""), parse_settings(EVERY).unwrap());
        assert_eq!(format!("{found:?}"), format!("{default:?}"));
        for field in fields(&default) {
            let name = field.split(':').next().unwrap().trim();
            let table = format!("[{name}]");
            let documented = EVERY.lines().any(|line| {
                let setting = line.trim_start_matches("# ").strip_prefix(name);
                line == table || setting.is_some_and(|rest| rest.starts_with(" = "))
            });
            assert!(documented, "{name} is not in docs/operate/settings.toml");
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
        let config = parse_settings(&text).unwrap();
        assert_eq!((config.tokens.admin.len(), config.tokens.collector.len()), (2, 1));
        assert!(config.tokens.admin_file.is_some() && config.tokens.collector_file.is_some());
        assert!(config.log.audit.is_some());
        let changed = fields(&config).iter().zip(fields(&ServerConfig::new(""))).filter(|(a, b)| *a != b).count();
        // The folder, and 10 without a default; those in tables are above.
        assert_eq!(changed, 11);
    }

    #[test]
    fn the_example_has_no_setting_that_is_less_safe_and_no_token() {
        let config = parse_settings(include_str!("../../../docs/operate/aggregator.toml")).unwrap();
        assert_eq!(config.less_safe(), [""; 0]);
        assert!(config.tokens.admin.is_empty() && config.tokens.collector.is_empty());
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn durations_are_in_seconds_false_takes_a_limit_away_and_localhost_is_this_machine() {
        let parsed = |text| parse_settings(text).unwrap();
        assert_eq!(parsed("request_timeout = 20.5").request_timeout, Duration::from_millis(20_500));
        assert_eq!(parsed("seeds_rate_limit = false").seeds_rate_limit, None);
        assert_eq!(parsed("listen = \"localhost:8081\"").listen.to_string(), "127.0.0.1:8081");
        assert_eq!(format!("{:?}", parsed("")), format!("{:?}", ServerConfig::new("")));
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
            let error = parse_settings(text).unwrap_err();
            assert!(error.starts_with(place) && error.contains(value), "{text}: {error}");
            assert!(!error.contains(secret), "{error}");
        }
    }
}
