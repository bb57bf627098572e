//! The settings file of `serve`.

#[path = "../../src/cli/serve/config.rs"]
mod config;

use ldp_pca::server::ServerConfig;

use super::Result;

/// Reads the settings of a server.
pub(crate) fn config(text: &str) -> Result<ServerConfig> {
    config::parse(text)
}
