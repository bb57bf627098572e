//! Components of the reports collected so far, computed once per state and question: off the request threads, few at a
//! time.

mod answer;
mod query;

use std::sync::{Arc, Mutex as Lock, Weak};
use std::time::{Duration, Instant};

use crate::locks::hold;
use futures_util::FutureExt as _;
use ldp_pca::recovery::Question;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

pub(super) use self::answer::{Answer, denoised};
pub(super) use self::query::read_question;
use super::config::Most;
use super::net::{Client, Portion, Shares};
use super::problem::{Problem, Reason};
use super::store::{Counts, TaskReports, is_of};

/// Questions per task whose answers are kept. Beyond them the least recently asked one is forgotten.
const KEPT: usize = 16;

/// How long an answer will do for published components, which all visitors of a page ask for, until a newer one is
/// computed.
const PUBLISHED_LASTS: Duration = Duration::from_secs(60);

/// Computations that one client without the collector's token may start, or wait for, at the same time.
const OF_ONE_CLIENT: usize = 4;

/// The limits that all tasks' recoveries share.
pub(super) struct Recoveries {
    /// The collector's own, which do not wait for anybody else's.
    of_collector: Arc<Semaphore>,
    of_anybody: Arc<Semaphore>,
    of_clients: Arc<Shares>,
    request_timeout: Duration,
    /// The number computed.
    computed: Counter,
}

/// The reports that components are asked of.
#[derive(Clone)]
pub(super) struct Waves {
    pub(super) first: Arc<dyn TaskReports>,
    /// Those of the second wave, where components of both waves are asked for.
    pub(super) second: Option<Arc<dyn TaskReports>>,
}

impl Waves {
    /// The wave that new reports come for.
    pub(super) fn last(&self) -> &Arc<dyn TaskReports> {
        self.second.as_ref().unwrap_or(&self.first)
    }

    /// All reports, in a state of the last wave.
    pub(super) fn records(&self, last: Counts) -> u64 {
        let before = if self.second.is_some() { self.first.counts().records } else { 0 };
        before + last.records
    }
}

/// The client that asks for components.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asker {
    Collector,
    Anybody(Client),
    /// As anybody, for published components.
    Visitor(Client),
}

/// Held for as long as components are computed.
type Permit = (OwnedSemaphorePermit, Option<Portion>);

impl Recoveries {
    /// At most `most` at the same time for the collector, and as many for everybody else.
    pub(super) fn new(most: usize, request_timeout: Duration, computed: Counter) -> Self {
        let permits = || Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
        let of_clients = Shares::new(usize::MAX, Most::Fixed(OF_ONE_CLIENT));
        Self { of_collector: permits(), of_anybody: permits(), of_clients, request_timeout, computed }
    }

    /// Waits until the asker may compute.
    pub(super) async fn enter(&self, asker: Asker) -> Result<Permit, Problem> {
        let (permits, portion) = match asker {
            Asker::Collector => (&self.of_collector, None),
            Asker::Anybody(client) | Asker::Visitor(client) => {
                let portion = self.of_clients.take(client, 1).map_err(|_| {
                    let detail = format!(
                        "{OF_ONE_CLIENT} kinds of components are being computed for your address: ask for others later"
                    );
                    Reason::RateLimit.because(detail)
                })?;
                (&self.of_anybody, Some(portion))
            }
        };
        let permit = Arc::clone(permits).acquire_owned().await;
        Ok((permit.map_err(Problem::internal)?, portion))
    }
}

/// The answers of a task's present state, or of one not long ago. The most recently asked question is last.
#[derive(Default)]
pub(super) struct RecoveryCache(Lock<Vec<Kept>>);

/// A question, the second wave's reports that it is about too, and the answer.
type Kept = (Question, Option<Weak<dyn TaskReports>>, Arc<Slot>);

/// The answer to one question.
#[derive(Default)]
struct Slot {
    /// Held while it is computed: others wait for it rather than compute it again.
    computing: Arc<Mutex<()>>,
    last: Lock<Option<Arc<Answer>>>,
}

impl RecoveryCache {
    /// The components of a state with `records` reports or more. A visitor gets the last ones at once.
    pub(super) async fn answer(
        &self,
        recoveries: &Recoveries,
        asker: Asker,
        waves: &Waves,
        wanted: Question,
        records: u64,
    ) -> Result<Arc<Answer>, Problem> {
        // Reports are summed before they are counted, so an answer can be of a newer state than the count.
        let lasts = if let Asker::Visitor(_) = asker { PUBLISHED_LASTS } else { Duration::ZERO };
        let is_fresh = |answer: &Arc<Answer>| answer.found.asked.records >= records || answer.made.elapsed() < lasts;
        let slot = self.slot(wanted.clone(), waves.second.as_ref());
        let last = || hold(&slot.last).clone();
        let start = |computing: OwnedMutexGuard<()>, permit: Permit| {
            let (waves, wanted, slot) = (waves.clone(), wanted.clone(), Arc::clone(&slot));
            let computed = recoveries.computed.clone();
            // The sparse solver stops early enough that its answer is still in time.
            let deadline = Instant::now() + recoveries.request_timeout * 3 / 4;
            // Both move into the task: if the request is given up, the answer still serves the next one, and nothing
            // else is started beside it.
            spawn_blocking(move || {
                let answer = Arc::new(match &waves.second {
                    Some(second) => Answer::of_both(&*waves.first, &**second, wanted.rank)?,
                    None => Answer::to(&wanted, &*waves.first, deadline)?,
                });
                *hold(&slot.last) = Some(Arc::clone(&answer));
                computed.inc();
                drop((computing, permit));
                Ok::<_, Problem>(answer)
            })
        };
        if let (Asker::Visitor(_), Some(published)) = (asker, last()) {
            let permit = if is_fresh(&published) { None } else { recoveries.enter(asker).now_or_never() };
            if let (Some(Ok(permit)), Ok(computing)) = (permit, Arc::clone(&slot.computing).try_lock_owned()) {
                // For the next visitor.
                drop(start(computing, permit));
            }
            return Ok(published);
        }
        drop(slot.computing.lock().await);
        if let Some(answer) = last().filter(is_fresh) {
            return Ok(answer);
        }
        // Before the slot is held, so that waiting for a permit keeps nobody else from the answer.
        let permit = recoveries.enter(asker).await?;
        let computing = Arc::clone(&slot.computing).lock_owned().await;
        if let Some(answer) = last().filter(is_fresh) {
            return Ok(answer);
        }
        start(computing, permit).await.unwrap_or_else(|error| Err(Problem::internal(error)))
    }

    fn slot(&self, wanted: Question, second: Option<&Arc<dyn TaskReports>>) -> Arc<Slot> {
        let mut answers = hold(&self.0);
        let is_asked = |(kept, of, _): &Kept| {
            *kept == wanted
                && match (of, second) {
                    (Some(of), Some(second)) => is_of(of, second),
                    (of, second) => of.is_none() && second.is_none(),
                }
        };
        let slot = match answers.iter().position(is_asked) {
            Some(place) => answers.remove(place).2,
            None => Arc::default(),
        };
        if answers.len() == KEPT {
            answers.remove(0);
        }
        answers.push((wanted, second.map(Arc::downgrade), Arc::clone(&slot)));
        slot
    }

    /// The predicted error of the components asked for last, as a share of a random subspace's, and their number.
    pub(super) fn predicted_error(&self) -> Option<(usize, f64)> {
        hold(&self.0).iter().rev().find_map(|(.., slot)| hold(&slot.last).as_ref()?.predicted_error)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    /// The result, if it is ready.
    fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }

    fn anybody(last: u8) -> Asker {
        Asker::Anybody(Client::from(IpAddr::from([192, 0, 2, last])))
    }

    #[test]
    fn the_collector_does_not_wait_for_clients_and_no_client_takes_all_the_time() {
        let recoveries = Recoveries::new(1, Duration::ZERO, Counter::default());
        let computing = at_once(recoveries.enter(anybody(1))).unwrap().unwrap();
        let mut waiting: Vec<_> = (0..OF_ONE_CLIENT - 1).map(|_| Box::pin(recoveries.enter(anybody(1)))).collect();
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.iter_mut().all(|enter| enter.as_mut().poll(&mut context).is_pending()));
        assert!(at_once(recoveries.enter(anybody(1))).unwrap().is_err(), "one more of the same client is refused");
        let collector = at_once(recoveries.enter(Asker::Collector)).unwrap().unwrap();
        assert!(at_once(recoveries.enter(Asker::Collector)).is_none(), "its own wait for one another");
        assert!(at_once(recoveries.enter(anybody(2))).is_none());
        drop((collector, computing));
        assert!(at_once(recoveries.enter(Asker::Collector)).unwrap().is_ok());
    }
}
