//! The `dps-pca provide` command: a provider's part in a session.

use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::internal::sampling::system_rng;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::output::{Format, bar, grouped, note, wrote};
use ldp_pca_cli::records::{self, Opening, RecordFile, Row};
use ldp_pca_cli::writing::{Kind, Target};
use ldp_pca_cli::{aggregator, files, parameters};
use ldp_pca_dps::{DpsPcaError, Message, NoiseSource, Provider, Session, SessionGuarantee, SessionId, State};
use ldp_pca_records::looks_like_names;
use serde::Serialize;

use super::folder::COLLECTOR;
use super::memory::Memory;
use super::sessions::{Sent, Sessions};
use super::{described, session_id, write_components};

/// Take part in a session with your records
///
/// Sends one noisy matrix per round, and waits for the other providers in between. It answers every round once: after a
/// crash, run it again with the same --memory.
#[derive(Args)]
#[command(override_usage = "ldp-pca-research dps-pca provide [OPTIONS] --session <SESSION> --token-file <FILE>
       --memory <FILE> --epsilon <EPSILON> --delta <DELTA> <RECORDS>")]
pub(crate) struct Provide {
    /// Records of numbers, as `compare` reads them
    #[arg(help = records::RECORDS)]
    records: PathBuf,
    /// The id of the session
    #[arg(long, value_parser = session_id)]
    session: SessionId,
    /// A file with this provider's token
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// The file that remembers what was sent; created if missing
    ///
    /// One per session and provider
    #[arg(long, value_name = "FILE")]
    memory: PathBuf,
    /// The most that the session may reveal about a record: epsilon, and delta
    #[arg(long, value_parser = parameters::epsilon)]
    epsilon: Epsilon,
    /// See --epsilon
    #[arg(long, value_parser = parameters::delta)]
    delta: Delta,
    /// The coordinator
    #[arg(long, value_parser = aggregator::url, default_value = aggregator::DEFAULT_URL)]
    url: String,
    /// Seconds to keep trying while nothing answers
    #[arg(long, default_value_t = aggregator::DEFAULT_PATIENCE)]
    patience: u64,
    #[command(flatten)]
    opening: Opening,
    /// Where to write the components, as an NPY matrix
    ///
    /// Of features times components
    #[arg(short, long, value_parser = Target::parser(Kind::MATRIX))]
    output: Option<Target>,
    /// Draw from a fixed seed, for tests: such messages are NOT private
    #[arg(long, value_name = "SEED", help_heading = "Tests")]
    insecure_seed: Option<u64>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Summary {
    session: String,
    provider: u32,
    rounds: u32,
    records: u64,
    /// Records that were longer than the session's bound and were scaled to it.
    scaled: u64,
    guarantee: SessionGuarantee,
    private: bool,
    components: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Target>,
}

/// A provider's records, ready to answer.
struct Own {
    provider: Provider,
    records: u64,
    scaled: u64,
}

impl Provide {
    pub(super) fn run(self) -> Result<()> {
        if self.insecure_seed.is_some() {
            note("warning: with --insecure-seed the messages are not private");
        }
        let token = files::token(&self.token_file)?;
        let number = token.split_once('-').and_then(|(number, _)| number.parse().ok());
        let number: u32 = number.filter(|number| *number != COLLECTOR).ok_or_else(|| {
            CliError::file(&self.token_file, "not a provider's token: one begins with a number and a dash")
        })?;
        let sessions = Sessions::new(&self.url, token, self.patience)?;
        let session = sessions.session(self.session)?;
        let guarantee = self.check_budget(&session)?;
        let mut memory = Memory::open(&self.memory, session.id(), number)?;
        let own = read_records(&self.records, &self.opening, &session)?;
        note(format!("provider {number} of {}: {} records", session.parameters().providers, grouped(own.records)));
        let last = self.answer_all(&sessions, &session, &mut memory, &own.provider)?;
        write_components(self.output.as_ref(), &session, &last)?;
        let summary = Summary {
            session: session.id().to_string(),
            provider: number,
            rounds: memory.rounds(),
            records: own.records,
            scaled: own.scaled,
            guarantee,
            private: self.insecure_seed.is_none(),
            components: last.basis,
            output: self.output,
        };
        self.format.print(&summary, |summary| {
            let mut text = format!(
                "answered {} rounds on {} records, {}\n",
                summary.rounds,
                grouped(summary.records),
                if summary.private {
                    format!("{}-private for each", summary.guarantee)
                } else {
                    "private for none: the noise follows from a seed".to_owned()
                }
            );
            if summary.scaled > 0 {
                text += &format!("scaled {} records to the session's bound\n", grouped(summary.scaled));
            }
            text + &described(&summary.components) + &wrote(summary.output.as_ref())
        })
    }

    /// The session's privacy loss, if it is allowed.
    fn check_budget(&self, session: &Session) -> Result<SessionGuarantee> {
        let found = session.guarantee().map_err(CliError::failed)?;
        let within = found.epsilon.value() <= self.epsilon.value() && found.delta <= self.delta;
        if within {
            return Ok(found);
        }
        Err(CliError::Failed(format!(
            "the session is {found}-private, and ({}, {}) is allowed: nothing was sent; ask for another session, or \
                raise \
             --epsilon or --delta",
            self.epsilon, self.delta
        )))
    }

    /// All rounds; the state after the last.
    fn answer_all(
        &self,
        sessions: &Sessions,
        session: &Session,
        memory: &mut Memory,
        provider: &Provider,
    ) -> Result<State> {
        let id = session.id();
        let bar = bar("rounds", session.parameters().rounds.into());
        let mut state = sessions.state(id)?;
        loop {
            bar.set_position(u64::from(state.round.saturating_sub(1)));
            if state.finished {
                return Ok(state);
            }
            if let Some(failed) = state.failed {
                return Err(CliError::Failed(format!("the session has failed: {failed}")));
            }
            let (round, known) = (state.round, memory.rounds());
            let taken = state.answered.unwrap_or(0);
            if round > session.parameters().rounds || round > known + 1 || taken > known {
                return Err(CliError::Failed(format!(
                    "the server is at round {round} of {} and has {taken} answers of this provider, and {} knows of \
                        {known}: \
                     another run has answered, and answering twice would cost the privacy twice; nothing was sent",
                    session.parameters().rounds,
                    self.memory.display()
                )));
            }
            if round > known {
                memory.keep(&self.message(session, provider, &state)?)?;
            }
            state = match memory.message(round) {
                Some(message) if taken < round => match sessions.send(id, message)? {
                    Sent::Taken => sessions.state_after(id, round)?,
                    Sent::TooLate => sessions.state(id)?,
                },
                _ => sessions.state_after(id, round)?,
            };
        }
    }

    /// The answer to a round, as it is sent.
    fn message(&self, session: &Session, provider: &Provider, state: &State) -> Result<Message> {
        let refused = |error: &dyn core::fmt::Display| {
            CliError::Failed(format!("round {}: {error}; nothing was sent", state.round))
        };
        let basis = session.check_basis(&state.basis).map_err(|error| refused(&error))?;
        let answer = match self.insecure_seed {
            Some(seed) => {
                provider.answer(&basis, session.scale(), &mut NoiseSource::insecure(seed).of_round(state.round))
            }
            None => provider.answer(&basis, session.scale(), &mut system_rng()?),
        };
        let cells = answer.map_err(|error: DpsPcaError| refused(&error))?;
        Ok(Message { round: state.round, cells })
    }
}

/// Reads the records. Each has as many numbers as the session has features.
fn read_records(path: &Path, opening: &Opening, session: &Session) -> Result<Own> {
    let (dimension, bound) = (session.parameters().dimension, session.parameters().norm_bound);
    let mut values = Vec::new();
    let (mut records, mut scaled) = (0, 0);
    let mut numbers = Vec::new();
    let file = RecordFile::open(path, opening, looks_like_names)?;
    let (notation, part) = (file.notation(), file.part());
    file.for_each(|line, row| {
        let refused = |problem: String| Err(CliError::at(path, part, line, problem));
        numbers.clear();
        match row {
            Row::Numbers(row) => numbers.extend_from_slice(row),
            Row::Text(row) => {
                if let Some(problem) = row.problem {
                    return refused(problem);
                }
                for (place, field) in (1..).zip(row.cells) {
                    if let Some(problem) = notation.problem(field) {
                        return refused(format!("field {place} has {problem}"));
                    }
                    let Ok(number) = notation.pointed(field).trim().parse() else {
                        return refused(format!("field {place} is not a number: encode records as numbers first"));
                    };
                    numbers.push(number);
                }
            }
        }
        if numbers.len() != dimension {
            return refused(format!(
                "the record has {} numbers, but the session has {dimension} features",
                numbers.len()
            ));
        }
        if let Some(place) = numbers.iter().position(|value: &f64| !value.is_finite()) {
            return refused(format!("field {} is not a finite number", place + 1));
        }
        records += 1;
        scaled += u64::from(numbers.iter().map(|value| value * value).sum::<f64>().sqrt() > bound);
        values.extend_from_slice(&numbers);
        Ok(())
    })?;
    if records == 0 {
        return Err(CliError::file(path, "there are no records"));
    }
    let provider = Provider::new(dimension, &mut values.chunks_exact(dimension), Some(bound));
    let provider = provider.in_file(path)?;
    Ok(Own { provider, records, scaled })
}
