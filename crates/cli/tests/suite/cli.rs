//! The command line through the real binary, as a newcomer uses and misuses it.

#[cfg(feature = "parquet")]
mod columnar;
mod encode;
mod figures;
mod flow;
mod formats;
mod help;
mod norms;
mod pipes;
mod plan;
mod recover;
mod refusals;
mod replacing;
#[cfg(feature = "parquet")]
mod reports;
mod scores;
mod secrets;
mod shell;
mod streams;
#[cfg(unix)]
mod transcripts;
mod wrong_commands;
