//! An examination of an aggregator, before its start or while it runs: settings, folder, secrets, addresses, clock.
//!
//! It changes nothing. To a folder that no server has open it writes a file, and removes it.

use std::convert::identity;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{self, Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderValue, Request, Response, header};

use super::Server;
use super::agent::{agent, at_fault, local_agent, printable, target};
use super::config::{ServerConfig, TokenConfig};
use super::durable::{free_bytes, owner_and_rights, probe};
use super::error::ServerError;
use super::issuing::Issuer;
use super::net::is_proxy;
use super::oblivious::GatewayKeys;
use super::request::text;
use super::routes::OPENAPI;
use super::store::unix_time;
use super::tokens::Tokens;

/// A finding of [`examine`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked: `configuration`, `folder`, `disk`, `secrets`, `audit`, `address`, `public` or `time`.
    pub name: &'static str,
    /// How serious it is.
    pub state: CheckState,
    /// What was found.
    pub message: String,
    /// What to do; `None` where there is nothing to do, or the message says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// It is as it should be.
    Ok,
    /// It works, and may not be what is meant.
    Warning,
    /// A start fails, reports do not arrive, or a secret is not kept.
    Problem,
}

/// Less free space than this is little: 1 GiB.
const LITTLE_ROOM: i64 = 1 << 30;

/// The start of 2026 (UTC), in seconds since 1970: no release is older.
const RELEASED: u64 = 1_767_225_600;

const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The longest that a request may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);

/// The largest answer that is read.
const LARGEST_ANSWER: u64 = 32 << 20;

/// Examines the aggregator of these settings, and what answers at `url`, its public address without a slash at the end.
/// It is to run on the machine of the server, as its user. A request may take ten seconds.
#[must_use]
pub fn examine(config: &ServerConfig, url: Option<&str>) -> Vec<Check> {
    let (held, configuration) = (is_held(&config.data), configuration(config));
    let mut secrets = secrets(config);
    // What is wrong with a file that the settings name is told once.
    secrets.retain(|check| check.message != configuration[0].message);
    let all = [
        ("configuration", configuration),
        ("folder", folder(config, held)),
        ("disk", room(&config.data).into_iter().collect()),
        ("secrets", secrets),
        ("audit", audit(config).into_iter().collect()),
        ("address", vec![address(config, held)]),
        ("public", url.map(|url| public(config, held, url)).unwrap_or_default()),
        ("time", vec![clock()]),
    ];
    all.into_iter().flat_map(|(name, checks)| checks.into_iter().map(move |check| Check { name, ..check })).collect()
}

/// A finding whose name is still to be given.
fn check(state: CheckState, message: impl Into<String>, remedy: Option<String>) -> Check {
    Check { name: "", state, message: message.into(), remedy }
}

fn ok(message: impl Into<String>) -> Check {
    check(CheckState::Ok, message, None)
}

fn warning(message: impl Into<String>, remedy: impl Into<String>) -> Check {
    check(CheckState::Warning, message, Some(remedy.into()))
}

fn problem(message: impl Into<String>, remedy: impl Into<String>) -> Check {
    check(CheckState::Problem, message, Some(remedy.into()))
}

/// An error of the server, which has its remedy.
fn failure(error: &ServerError) -> Check {
    check(CheckState::Problem, error.to_string(), None)
}

/// The settings as a whole, and each that is less safe than its default.
fn configuration(config: &ServerConfig) -> Vec<Check> {
    let whole = Server::check(config).map_or_else(|error| failure(&error), |()| ok("the settings are valid"));
    let less_safe = config.less_safe().into_iter();
    let less_safe = less_safe.map(|setting| warning(setting, "leave it out for the default, unless this is meant"));
    std::iter::once(whole).chain(less_safe).collect()
}

/// Whether a program has locked the folder, as a server does.
fn is_held(folder: &Path) -> bool {
    let files = [File::options().write(true).open(folder.join("lock")), File::open(folder)];
    files.into_iter().flatten().any(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn folder(config: &ServerConfig, held: bool) -> Vec<Check> {
    let (folder, shown) = (&config.data, config.data.display());
    let Ok(found) = fs::metadata(folder) else {
        if above(folder).is_some_and(|above| above.is_dir() && may_write(&above)) {
            return vec![ok(format!("{shown} is made at the first start"))];
        }
        return vec![problem(format!("this user can neither see nor make {shown}"), "make it for the server's user")];
    };
    let (mut checks, (own, rights)) = (Vec::new(), owner_and_rights(&found));
    if !own {
        let remedy = "run this as the server's user: under systemd by systemd-run, as docs/operate/run.md shows";
        checks.push(problem(format!("{shown} belongs to another user"), remedy));
    }
    if rights != 0 {
        let state = if rights & 0o022 == 0 { CheckState::Warning } else { CheckState::Problem };
        let message = format!("others than its owner have rights to {shown}");
        checks.push(check(state, message, Some(format!("chmod 700 {shown}"))));
    }
    // A server with a database locks no folder.
    if !held && config.store.is_none() {
        let tried = probe(folder);
        let remedy = "give the folder to the server's user (chown), and look at the disk";
        checks.extend(tried.err().map(|error| problem(format!("{shown} cannot be written to: {error}"), remedy)));
    }
    if checks.is_empty() {
        let open = if held { "a program has it open" } else { "no server has it open" };
        checks.push(ok(format!("{shown} is this user's alone, and {open}")));
    }
    checks
}

/// The free space, where the system says it.
fn room(folder: &Path) -> Option<Check> {
    let folder = above(folder)?;
    let free = free_bytes(&folder)?;
    let message = format!("{:.1} GiB are free for {}", free as f64 / LITTLE_ROOM as f64, folder.display());
    let remedy = "make the disk larger, or delete a task that is not needed";
    Some(if free < LITTLE_ROOM { warning(message, remedy) } else { ok(message) })
}

/// The files of secrets, read as a start reads them. A missing one is made by it, or is wrong in the settings.
fn secrets(config: &ServerConfig) -> Vec<Check> {
    type Read = fn(&Path) -> Result<(), ServerError>;
    let (data, tokens) = (&config.data, &config.tokens);
    let read_tokens: Read =
        |path| Tokens::check_files(&TokenConfig { admin_file: Some(path.to_owned()), ..TokenConfig::default() });
    let collector = || tokens.collector.is_empty().then(|| TokenConfig::made_file(data, "collector"));
    let files: [(Option<PathBuf>, Read); 5] = [
        (Some(config.issuing_key()), |path| Issuer::load(path).map(drop)),
        (Some(config.gateway_keys()), |path| GatewayKeys::load(path).map(drop)),
        (config.admin_token_file(), read_tokens),
        (tokens.collector_file.clone().or_else(collector), read_tokens),
        // The settings were checked with it.
        (config.tls.as_ref().map(|files| files.key.clone()), |_| Ok(())),
    ];
    let mut checks = Vec::new();
    for (path, read) in files.into_iter().filter_map(|(path, read)| Some((path?, read))) {
        if matches!(path.try_exists(), Ok(false)) {
            continue;
        }
        // Reading it says why there are none.
        let rights = fs::metadata(&path).map_or(0, |found| owner_and_rights(&found).1);
        // A file that the operator keeps elsewhere may be for a group.
        let shared = if path.starts_with(data) { rights } else { rights & 0o007 };
        let shown = path.display();
        let remedy = format!("chmod 600 {shown}, and replace what is in it if somebody may have read it");
        let open = (shared != 0).then(|| problem(format!("others than its owner have rights to {shown}"), remedy));
        let bad = read(&path).err().map(|error| failure(&error));
        let good = (open.is_none() && bad.is_none()).then(|| ok(format!("{shown} can be read, and is not shared")));
        checks.extend([open, bad, good].into_iter().flatten());
    }
    if checks.is_empty() { vec![ok("the first start makes the keys and the tokens")] } else { checks }
}

fn audit(config: &ServerConfig) -> Option<Check> {
    let path = config.log.audit.as_ref()?;
    let (whole, data) = (path::absolute(path).unwrap_or_default(), path::absolute(&config.data).unwrap_or_default());
    let folder = whole.parent().unwrap_or(&whole);
    // The start makes its own folder before the file.
    let can_make = folder == data || folder.is_dir() && may_write(folder);
    let good = if path.exists() { !path.is_dir() && may_write(path) } else { can_make };
    if good {
        return Some(ok(format!("{} can be written to", path.display())));
    }
    let remedy = "make its folder, and give it to the server's user (chown)";
    Some(problem(format!("{} cannot be written to", path.display()), remedy))
}

/// Whether the address is free, or what answers there.
fn address(config: &ServerConfig, held: bool) -> Check {
    let address = config.listen;
    match TcpListener::bind(address) {
        Ok(_) if held && address.port() != 0 => warning(
            format!("nothing listens on {address}, though a program has the folder open"),
            "if that is the server, start it again with these settings",
        ),
        Ok(_) => ok(format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse && config.tls.is_some() => {
            ok(format!("{address} is in use; with TLS, only the public address can be asked"))
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => neighbour(config, held),
        Err(source) => failure(&ServerError::Listen { address, source }),
    }
}

/// What answers at the address of the settings.
fn neighbour(config: &ServerConfig, held: bool) -> Check {
    let address = config.listen;
    let local = format!("http://localhost:{}", address.port());
    let url = if address.ip().is_unspecified() { local } else { format!("http://{address}") };
    let ask = |path| ask_through(&local_agent(LONGEST_REQUEST), &url, path);
    if !ask("/healthz").is_ok_and(|answer| is_alive(&answer)) {
        let remedy = "end it, or choose another address or port in listen";
        return problem(format!("another program than an aggregator has {address}"), remedy);
    }
    if !held && config.store.is_none() {
        let remedy = "name its folder in data, or choose another address or port in listen";
        return problem(format!("the aggregator at {address} does not have the folder open"), remedy);
    }
    match ask("/readyz") {
        Ok(answer) if answer.status() == 200 => {}
        answer => {
            let why = printable(&answer.map_or_else(identity, |answer| detail(&answer)));
            return problem(format!("the aggregator at {address} is not ready: {why}"), "look at its log");
        }
    }
    if ask("/metrics").is_ok_and(|answer| release(&answer).is_some_and(|found| found != RELEASE)) {
        let remedy = "start it again with this program, or examine it with its own";
        return warning(format!("another release than {RELEASE} answers at {address}"), remedy);
    }
    ok(format!("the aggregator at {address} can store reports"))
}

/// What devices and pages meet at the public address.
fn public(config: &ServerConfig, held: bool, url: &str) -> Vec<Check> {
    let (message, remedy) = match ask(url, "/healthz") {
        Ok(answer) if is_alive(&answer) => return reached(config, url, &answer),
        Ok(answer) => match target(&format!("{url}/healthz"), &answer) {
            Some(target) => (format!("{url} redirects to {target}"), "give devices the address that it leads to"),
            None => {
                let message = format!("{url} answers {}, and not as an aggregator", answer.status());
                // What a proxy says of a server that does not run.
                let is_down = answer.status().is_server_error() && !held && config.store.is_none();
                let remedy = "check the address, and where the proxy sends requests";
                (message, if is_down { "start the server, or check where the proxy sends requests" } else { remedy })
            }
        },
        Err(message) => (message, "check the name, the certificate and the proxy"),
    };
    vec![problem(message, remedy)]
}

/// What an answer at the public address shows, and what else can be asked there.
fn reached(config: &ServerConfig, url: &str, answer: &Response<String>) -> Vec<Check> {
    let mut checks = vec![ok(format!("an aggregator answers at {url}"))];
    if url.starts_with("http://") {
        let remedy = "let the proxy end TLS, or give the server a certificate (tls)";
        checks.push(warning(format!("{url} is without TLS: reports and tokens travel in the clear"), remedy));
    }
    // Pages ask for tasks.
    let asked = ask(url, "/tasks").map(|answer| answer.into_parts().0.headers).unwrap_or_default();
    if asked.get_all(header::ACCESS_CONTROL_ALLOW_ORIGIN).iter().map(HeaderValue::as_bytes).ne([b"*"]) {
        let remedy = "let the proxy pass Access-Control-Allow-Origin on, once; a task has its own limits (origins)";
        checks.push(warning(format!("{url} keeps pages of other origins out"), remedy));
    }
    // Through a public address, requests come to one that this machine alone reaches from a proxy.
    let address = config.listen.ip();
    if address.is_loopback() && config.tls.is_none() && !is_proxy(address, &config.trusted_proxies) {
        let message = "the proxy before the server is not trusted: all its clients share the limits of one";
        checks.push(warning(message, format!("trusted_proxies = [\"{address}\"]")));
    }
    if ask(url, "/metrics").is_ok_and(|answer| release(&answer).is_some()) {
        checks.push(warning(format!("{url}/metrics names the tasks to everybody"), "hide it in the proxy"));
    }
    if ask(url, "/openapi.json").is_ok_and(|answer| answer.status() == 200 && answer.body() != OPENAPI) {
        let remedy = "upgrade it, or examine it with its own program";
        checks.push(warning(format!("another release than {RELEASE} answers at {url}"), remedy));
    }
    if let Ok(date) = httpdate::parse_http_date(text(answer.headers(), header::DATE)) {
        let apart = SystemTime::now().duration_since(date).unwrap_or_else(|error| error.duration());
        let message = format!("the clocks of this machine and of {url} are {} s apart", apart.as_secs());
        checks.push(if apart > config.fixed.clock_skew { problem(message, "set both by NTP") } else { ok(message) });
    }
    checks
}

fn clock() -> Check {
    if unix_time() < RELEASED {
        return problem("the clock of this machine is years late", "set it by NTP");
    }
    ok("the clock of this machine is later than the release")
}

/// Asks as a page of another origin would. The answer may have any status; the error says who does not answer.
fn ask(url: &str, path: &str) -> Result<Response<String>, String> {
    ask_through(&agent(LONGEST_REQUEST, url)?, url, path)
}

fn ask_through(agent: &Agent, url: &str, path: &str) -> Result<Response<String>, String> {
    let answer = || -> Result<Response<String>, ureq::Error> {
        let request = Request::get(format!("{url}{path}")).header(header::ORIGIN, "https://page.example").body(())?;
        let (head, mut body) = agent.run(request)?.into_parts();
        Ok(Response::from_parts(head, body.with_config().limit(LARGEST_ANSWER).read_to_string()?))
    };
    answer().map_err(|error| format!("{} does not answer: {error}", at_fault(agent, url, &error)))
}

/// Whether it is an aggregator's answer at `/healthz`.
fn is_alive(answer: &Response<String>) -> bool {
    answer.status() == 200 && serde_json::from_str::<Value>(answer.body()).is_ok_and(|found| found["status"] == "ok")
}

/// What an answer says, also by a problem in JSON.
fn detail(answer: &Response<String>) -> String {
    let found = serde_json::from_str::<Value>(answer.body()).unwrap_or_default();
    found["detail"].as_str().unwrap_or(answer.body()).to_owned()
}

/// The release that metrics name.
fn release(answer: &Response<String>) -> Option<&str> {
    Some(answer.body().split_once("_build_info{version=\"")?.1.split_once('"')?.0)
}

/// The path itself, or the first folder around it that is there.
fn above(path: &Path) -> Option<PathBuf> {
    let whole = path::absolute(path).ok()?;
    whole.ancestors().find(|path| path.exists()).map(Path::to_owned)
}

/// Whether this user may write to a file or a folder.
#[cfg(unix)]
fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(_: &Path) -> bool {
    true
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::SocketAddr;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::LogConfig;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Settings of a folder as a server leaves it, and of any free port.
    fn settings(folder: &Path) -> ServerConfig {
        set_mode(folder, 0o700);
        let config = ServerConfig { listen: ([127, 0, 0, 1], 0).into(), ..ServerConfig::new(folder) };
        Tokens::load(&config.tokens, folder).unwrap();
        Issuer::load(&config.issuing_key()).unwrap();
        GatewayKeys::load(&config.gateway_keys()).unwrap();
        config
    }

    /// What is wrong, with its remedy.
    fn problems(checks: Vec<Check>) -> Vec<(&'static str, String)> {
        let wrong = checks.into_iter().filter(|check| check.state == CheckState::Problem);
        wrong.map(|check| (check.name, format!("{}; {}", check.message, check.remedy.unwrap_or_default()))).collect()
    }

    #[test]
    fn a_folder_as_a_server_leaves_it_has_no_problem_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let missing = ServerConfig { data: folder.path().join("a/b"), ..settings(folder.path()) };
        let config = settings(folder.path());
        for config in [&missing, &config] {
            let checks = examine(config, None);
            let names: Vec<&str> = checks.iter().map(|check| check.name).collect();
            for name in ["configuration", "folder", "disk", "secrets", "address", "time"] {
                assert!(names.contains(&name), "{name}: {checks:?}");
            }
            let found = problems(checks);
            assert!(found.is_empty(), "{found:?}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_secret_that_others_can_read_is_a_problem_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let config = settings(folder.path());
        for name in ["issuing.key", "gateway.keys", "admin.token", "collector.token"] {
            let path = folder.path().join(name);
            for mode in [0o640, 0o604, 0o602] {
                set_mode(&path, mode);
                let [("secrets", said)] = &problems(examine(&config, None))[..] else { panic!("{name} {mode:o}") };
                assert!(said.contains(&format!("chmod 600 {}", path.display())), "{said}");
            }
            set_mode(&path, 0o600);
        }
        // Elsewhere, a group may have it, and nobody else.
        let other = tempfile::tempdir().unwrap();
        let key = other.path().join("issuing.key");
        fs::rename(config.issuing_key(), &key).unwrap();
        let config = ServerConfig { issuing_key_file: Some(key.clone()), ..config };
        for (mode, count) in [(0o640, 0), (0o644, 1)] {
            set_mode(&key, mode);
            assert_eq!(problems(examine(&config, None)).len(), count, "{mode:o}");
        }
    }

    #[test]
    fn each_thing_that_is_wrong_is_found_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let config = settings(folder.path());
        fs::write(folder.path().join("admin.token"), "short").unwrap();
        set_mode(folder.path(), 0o770);
        let audit = LogConfig { audit: Some(folder.path().join("no/audit.jsonl")), ..LogConfig::default() };
        // An address that no machine has.
        let listen = "192.0.2.1:0".parse().unwrap();
        let found = problems(examine(&ServerConfig { log: audit, listen, max_connections: 0, ..config }, None));
        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["configuration", "folder", "secrets", "audit", "address"], "{found:?}");
    }

    #[test]
    fn nothing_is_written_to_a_folder_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let config = settings(folder.path());
        let lock = File::create(folder.path().join("lock")).unwrap();
        lock.lock().unwrap();
        let before = fs::metadata(folder.path()).unwrap().modified().unwrap();
        let checks = examine(&config, None);
        assert!(checks.iter().any(|check| check.message.ends_with("a program has it open")), "{checks:?}");
        assert_eq!(fs::metadata(folder.path()).unwrap().modified().unwrap(), before);
    }

    /// The address of a server that always answers so.
    fn always(answer: &'static str) -> String {
        format!("http://{}", answers(std::iter::repeat(answer)))
    }

    /// The address of a server that gives these answers.
    fn answers(all: impl Iterator<Item = &'static str> + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (mut stream, answer) in listener.incoming().map(Result::unwrap).zip(all) {
                assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn what_says_that_it_is_not_ready_cannot_write_to_the_terminal() {
        let alive = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}";
        let unready = "HTTP/1.1 503 No\r\ncontent-length: 5\r\n\r\n\u{1b}[31m";
        let listen = answers([alive, unready].into_iter());
        let found = neighbour(&ServerConfig { listen, ..ServerConfig::new("") }, true).message;
        assert!(found.ends_with("is not ready: \\u{1b}[31m"), "{found}");
    }

    #[test]
    fn a_public_address_that_leads_elsewhere_or_lives_in_another_time_is_a_problem() {
        let config = ServerConfig::new("");
        let moved = "HTTP/1.1 308 Moved\r\nlocation: https://other.example/\r\ncontent-length: 0\r\n\r\n";
        let early = "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-length: 15\r\n\r\n\
            {\"status\":\"ok\"}";
        for (answer, said) in [
            (moved, "redirects to https://other.example/"),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "and not as an aggregator"),
            (early, "s apart"),
        ] {
            let [(_, found)] = &problems(public(&config, true, &always(answer)))[..] else { panic!("{answer}") };
            assert!(found.contains(said), "{found}");
        }
        let down = always("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        for (held, remedy) in [(true, "where the proxy sends"), (false, "start the server")] {
            assert!(public(&config, held, &down)[0].remedy.as_deref().unwrap().contains(remedy));
        }
        let checks = public(&config, true, &always(early));
        let warnings: Vec<&str> = checks.iter().map(|check| &*check.message).collect();
        for said in ["without TLS", "other origins out", "is not trusted", "another release"] {
            assert!(warnings.iter().any(|message| message.contains(said)), "{said}: {warnings:?}");
        }
    }
}
