//! Settings that are less safe than their defaults.

use ldp_pca::internal::decimal::Decimal;

use super::{RateLimit, ServerConfig};

impl ServerConfig {
    /// A line for each setting that is less safe than its default: its name, its value, and what that gives up. Parties
    /// that a setting names, such as proxies and relays, are the operator's choice, and so is the size of limits.
    #[must_use]
    pub fn less_safe(&self) -> Vec<String> {
        let default = Self::new("");
        let (rate, most) = (self.seeds_rate_limit, default.seeds_rate_limit);
        let more_ids = most
            .is_some_and(|most| rate.is_none_or(|rate| rate.per_second > most.per_second || rate.burst > most.burst));
        let open = !self.listen.ip().is_loopback() && self.tls.is_none();
        let verbose = ["debug", "trace"].iter().any(|level| self.log.level.contains(level));
        let settings = [
            (
                "listen",
                open.then(|| self.listen.to_string()),
                "other machines reach it without TLS: reports and tokens travel in the clear, unless a proxy before it \
                 ends TLS",
            ),
            (
                "minimum_batch",
                (self.minimum_batch < default.minimum_batch).then(|| self.minimum_batch.to_string()),
                "components are shown from fewer than 100 reports on, where they are mostly noise and say much about \
                 each report",
            ),
            (
                "open_recovery",
                self.open_recovery.then(|| "true".into()),
                "everybody sees components, without the collector's token",
            ),
            (
                "open_erasure",
                self.open_erasure.map(|limit| shown(Some(limit))),
                "whoever learns a report's id can have the report erased, without an admin's token",
            ),
            (
                "issued_ids",
                (!self.issued_ids).then(|| "false".into()),
                "a modified client can choose its report's id, and so push the components further",
            ),
            (
                "seeds_rate_limit",
                more_ids.then(|| shown(rate)),
                "one client gets more ids, among which a modified one can choose",
            ),
            (
                "deletion_grace",
                (self.deletion_grace < default.deletion_grace).then(|| self.deletion_grace.as_secs_f64().to_string()),
                "a task that was deleted by mistake can be brought back for so many seconds only",
            ),
            ("log.level", verbose.then(|| format!("{:?}", self.log.level)), "the log shows when each request came"),
            (
                "log.addresses",
                (self.log.addresses && self.log.audit.is_some()).then(|| "true".into()),
                "the audit trail keeps the addresses of those who erase their reports",
            ),
        ];
        let weaker = settings.into_iter().filter_map(|(name, value, cost)| Some((name, value?, cost)));
        weaker.map(|(name, value, cost)| format!("{name} = {value}: {cost}")).collect()
    }
}

/// A limit as a file has it.
fn shown(limit: Option<RateLimit>) -> String {
    limit.map_or("false".into(), |RateLimit { per_second, burst }| {
        format!("{{ per_second = {}, burst = {burst} }}", Decimal(per_second))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::config::{LogConfig, TlsFiles};

    #[test]
    fn each_setting_that_is_less_safe_is_named_with_its_value_and_its_cost() {
        let default = || ServerConfig::new("data");
        let log = |level: &str, addresses| LogConfig {
            level: level.into(),
            audit: Some(PathBuf::from("audit")),
            addresses,
            ..LogConfig::default()
        };
        let rate = |per_second, burst| Some(RateLimit { per_second, burst });
        let anywhere = "0.0.0.0:8080".parse().unwrap();
        for (config, named) in [
            (ServerConfig { listen: anywhere, ..default() }, "listen = 0.0.0.0:8080: "),
            (ServerConfig { minimum_batch: 99, ..default() }, "minimum_batch = 99: "),
            (ServerConfig { open_recovery: true, ..default() }, "open_recovery = true: "),
            (
                ServerConfig { open_erasure: rate(0.5, 3), ..default() },
                "open_erasure = { per_second = 0.5, burst = 3 }: ",
            ),
            (ServerConfig { issued_ids: false, ..default() }, "issued_ids = false: "),
            (ServerConfig { seeds_rate_limit: None, ..default() }, "seeds_rate_limit = false: "),
            (
                ServerConfig { seeds_rate_limit: rate(5.5, 100), ..default() },
                "seeds_rate_limit = { per_second = 5.5, burst = 100 }: ",
            ),
            (
                ServerConfig { seeds_rate_limit: rate(5.0, 101), ..default() },
                "seeds_rate_limit = { per_second = 5, burst = 101 }: ",
            ),
            (ServerConfig { deletion_grace: Duration::ZERO, ..default() }, "deletion_grace = 0: "),
            (
                ServerConfig { log: log("info,ldp_pca=debug", false), ..default() },
                "log.level = \"info,ldp_pca=debug\": ",
            ),
            (ServerConfig { log: log("info", true), ..default() }, "log.addresses = true: "),
        ] {
            let found = config.less_safe();
            assert!(found.len() == 1 && found[0].starts_with(named) && found[0].len() > named.len() + 20, "{found:?}");
        }
        let (certificate, key) = (PathBuf::from("certificate"), PathBuf::from("key"));
        for config in [
            default(),
            ServerConfig { listen: anywhere, tls: Some(TlsFiles { certificate, key }), ..default() },
            ServerConfig { seeds_rate_limit: rate(1.0, 20), minimum_batch: 1000, ..default() },
            ServerConfig { deletion_grace: Duration::from_secs(90_000), log: log("warn", false), ..default() },
        ] {
            assert_eq!(config.less_safe(), [""; 0]);
        }
    }
}
