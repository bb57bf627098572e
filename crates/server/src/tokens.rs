//! Access control by bearer tokens (RFC 6750), compared in constant time over their digests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use ldp_pca::internal::decimal::plural;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::config::{Secret, TokenConfig};
use super::error::ServerError;
use super::problem::{Problem, Reason};
use super::secrets::{FEWEST_CHARACTERS, SecretFile, make_if_missing};

/// What the tokens in examples have in them, which everybody knows.
const EXAMPLE: &str = "replace-me";

/// The role of a token. Neither includes the other: adding tasks does not require seeing components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Adds, changes and deletes tasks, and asks for many report ids.
    Admin,
    /// Sees components and sums, whose differences are single reports.
    Collector,
}

/// All tokens.
pub(super) struct Tokens {
    admin: Vec<Token>,
    collector: Vec<Token>,
}

/// A token's digest, and its name in the log.
struct Token {
    name: Arc<str>,
    digest: [u8; 32],
}

impl Role {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Collector => "collector",
        }
    }
}

impl Tokens {
    /// The configured tokens, and those in the files of `data` where none are configured; also the files that were
    /// created.
    pub(super) fn load(config: &TokenConfig, data: &Path) -> Result<(Self, Vec<PathBuf>), ServerError> {
        let mut made = Vec::new();
        let mut load = |role: &'static str, listed: &[Secret], file: &Option<PathBuf>| {
            let tokens = named(role, listed, file.as_deref())?;
            if !tokens.is_empty() {
                return Ok(tokens);
            }
            let path = TokenConfig::made_file(data, role);
            if make_if_missing(&path)? {
                made.push(path.clone());
            }
            lines(role, &path, Vec::new())
        };
        let tokens = Self {
            admin: load("admin", &config.admin, &config.admin_file)?,
            collector: load("collector", &config.collector, &config.collector_file)?,
        };
        Ok((tokens, made))
    }

    /// Checks the configured tokens and their files.
    pub(super) fn check_files(config: &TokenConfig) -> Result<(), ServerError> {
        named("admin", &config.admin, config.admin_file.as_deref())?;
        named("collector", &config.collector, config.collector_file.as_deref()).map(drop)
    }

    /// The names of all tokens, by role.
    pub(super) fn names(&self) -> [(&'static str, String); 2] {
        [(Role::Admin, &self.admin), (Role::Collector, &self.collector)].map(|(role, tokens)| {
            let names: Vec<&str> = tokens.iter().map(|token| &*token.name).collect();
            (role.name(), names.join(", "))
        })
    }

    /// The role and the name of the request's token, if it has a known one.
    pub(super) fn who(&self, headers: &HeaderMap) -> Option<(Role, Arc<str>)> {
        let digest: [u8; 32] = Sha256::digest(presented(headers).ok()??).into();
        let (admin, collector) = (one_of(&self.admin, &digest), one_of(&self.collector, &digest));
        admin.map(|name| (Role::Admin, name)).or(collector.map(|name| (Role::Collector, name)))
    }

    /// The name of the request's token, which must be one of this role.
    pub(super) fn check(&self, headers: &HeaderMap, role: Role) -> Result<Arc<str>, Problem> {
        let (needed, good, other) = match role {
            Role::Admin => ("an admin", &self.admin, &self.collector),
            Role::Collector => ("a collector", &self.collector, &self.admin),
        };
        let Some(token) = presented(headers)? else {
            return Err(Reason::TokenMissing
                .because(format!("this needs {needed}'s token: send it as 'Authorization: Bearer <token>'")));
        };
        let digest: [u8; 32] = Sha256::digest(token).into();
        match (one_of(good, &digest), one_of(other, &digest)) {
            (Some(name), _) => Ok(name),
            (None, Some(_)) => {
                Err(Reason::TokenRole
                    .because(format!("the token is valid, but not for this: it needs {needed}'s token")))
            }
            (None, None) => Err(Reason::TokenUnknown.because(format!(
                "the server does not know this token: it needs {needed}'s token as configured or created"
            ))),
        }
    }

    /// Whether the request has a token of this role. Without a token it has none; with a bad one it is refused. A
    /// password of HTTP Basic is none: a browser that was given one sends it to all paths of this origin.
    pub(super) fn has(&self, headers: &HeaderMap, role: Role) -> Result<bool, Problem> {
        match headers.get(header::AUTHORIZATION) {
            Some(value) if after(value, "basic ").is_none() => self.check(headers, role).map(|_| true),
            _ => Ok(false),
        }
    }
}

/// The name of the token with this digest. All are compared, whichever it is.
fn one_of(tokens: &[Token], digest: &[u8; 32]) -> Option<Arc<str>> {
    let place = tokens
        .iter()
        .zip(0u64..)
        .fold(u64::MAX, |found, (token, place)| u64::conditional_select(&found, &place, token.digest.ct_eq(digest)));
    usize::try_from(place).ok().and_then(|place| tokens.get(place)).map(|token| Arc::clone(&token.name))
}

/// The listed tokens, and those of the file.
fn named(role: &str, listed: &[Secret], file: Option<&Path>) -> Result<Vec<Token>, ServerError> {
    let place = || format!("a token in the configuration's tokens.{role}");
    let tokens = listed.iter().zip(0..).map(|(token, number)| read(token.text(), role, number, place));
    let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
    match file {
        Some(path) => lines(role, path, tokens),
        None => Ok(tokens),
    }
}

/// With the tokens of a file, one a line.
fn lines(role: &str, path: &Path, mut tokens: Vec<Token>) -> Result<Vec<Token>, ServerError> {
    let text = SecretFile::Tokens.read(path)?;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        tokens.push(read(line, role, tokens.len(), || format!("line {} of {}", index + 1, path.display()))?);
    }
    if tokens.is_empty() {
        let remedy = "write one a line, or delete the file and restart";
        return Err(ServerError::Unusable(format!("{} has no token: {remedy}", path.display())));
    }
    Ok(tokens)
}

/// A token, or its name, a space and the token, which must be strong enough. Errors do not contain it.
fn read(line: &str, role: &str, number: usize, place: impl Fn() -> String) -> Result<Token, ServerError> {
    let (name, token) = match line.trim().split_once(char::is_whitespace) {
        Some((name, token)) if name.chars().count() < FEWEST_CHARACTERS => (name.into(), token.trim()),
        _ => (format!("{role} {}", number + 1).into(), line.trim()),
    };
    let found = token.chars().count();
    let problem = if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        "a space or another character than ASCII: use letters and digits".to_owned()
    } else if found < FEWEST_CHARACTERS {
        let found = plural(found as u64, "character");
        format!("{found}: use {FEWEST_CHARACTERS} or more random ones, as 'openssl rand -hex 32' makes them")
    } else if token.to_ascii_lowercase().contains(EXAMPLE) {
        "the token of an example, which everybody knows: make one with 'openssl rand -hex 32', or leave it out and the \
         first start makes one"
            .to_owned()
    } else {
        return Ok(Token { name, digest: Sha256::digest(token).into() });
    };
    Err(ServerError::Unusable(format!("{} has {problem}", place())))
}

/// The token of a request.
fn presented(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let token = after(value, "bearer ");
    token.map(Some).ok_or_else(|| Reason::TokenUnknown.because("the Authorization header is not 'Bearer <token>'"))
}

/// What follows a scheme in the header.
pub(super) fn after<'a>(value: &'a HeaderValue, scheme: &str) -> Option<&'a [u8]> {
    let (found, rest) = value.as_bytes().split_at_checked(scheme.len())?;
    found.eq_ignore_ascii_case(scheme.as_bytes()).then(|| rest.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_an_example_is_refused_wherever_it_stands_and_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens");
        for example in ["replace-me-0123456789abcdef0123456789", "0123456789abcdef-please-REPLACE-ME-0123456789"] {
            std::fs::write(&file, format!("alice {}\nbob {example}\n", "a1".repeat(32))).unwrap();
            let (admin, admin_file) = (vec![Secret::new(example)], Some(file.clone()));
            for (config, place) in [
                (TokenConfig { admin: admin.clone(), ..TokenConfig::default() }, "tokens.admin"),
                (TokenConfig { collector: admin, ..TokenConfig::default() }, "tokens.collector"),
                (TokenConfig { admin_file, ..TokenConfig::default() }, "line 2 of "),
            ] {
                let refused = Tokens::check_files(&config).unwrap_err().to_string();
                let named = refused.contains(place) && refused.contains("openssl rand -hex 32");
                assert!(named && !refused.contains("0123"), "{refused}");
                assert!(Tokens::load(&config, folder.path()).is_err(), "a server starts with it");
            }
        }
        let own = vec![Secret::new("0123456789abcdef0123456789abcdef")];
        assert!(Tokens::check_files(&TokenConfig { admin: own, ..TokenConfig::default() }).is_ok());
    }
}
