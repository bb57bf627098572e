//! Second waves that open by themselves, when enough reports of the first are there (docs/guides/two-waves.md).
//!
//! 1. *Closed.* The first wave's settings say that it is over: from then on its reports are a fixed set.
//! 2. *Opened.* The second wave's task is a function of the sums of that set. It is put, and the first wave's settings
//!    name it.
//!
//! Each step is durable before the next begins, and can be repeated. So a start goes on where a crash stopped, and
//! never opens another second wave. Reports can be erased between the two: the store opens a second wave only by the
//! sums of the reports that are there, and where too few are left, the first wave goes on.
//!
//! Before the first step the present sums are asked whether a second wave pays. If not, nothing is changed; they are
//! asked again when there are twice as many reports.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::iter::successors;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::app::App;
use super::audit::AuditLine;
use super::store::{Batch, NextWave, Put, RefinementPlan, StoreError, TaskReports};
use ldp_pca::internal::waves::{RefineError, SecondTask, WaveRefusal};
use ldp_pca::recovery::Rank;
use ldp_pca::task::{Task, TaskDigest};

/// How often the numbers of reports are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(10);

/// Why a second wave is not open yet, although the first one is large enough.
type Failure = Box<dyn Error + Send + Sync>;

/// What is known of the tasks that are refined some day.
#[derive(Default)]
struct Refining {
    /// The plan of a task, and the next number of reports at which it is asked.
    due: HashMap<TaskDigest, (RefinementPlan, u64)>,
    /// Until when a task is left alone after a failure, and the failure.
    failed: HashMap<TaskDigest, (Instant, String)>,
}

/// Looks at all tasks regularly, without end.
pub(super) async fn refine_forever(app: Arc<App>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut refining = Refining::default();
    loop {
        ticks.tick().await;
        let tasks = app.store.tasks();
        refining.keep(&tasks.iter().map(|reports| reports.task().digest()).collect());
        for reports in tasks {
            refining.look_at(&app, &reports).await;
        }
    }
}

/// Opens the second waves of the first waves that a process closed before it ended.
pub(super) async fn resume(app: &Arc<App>) {
    let mut refining = Refining::default();
    for reports in app.store.tasks() {
        if reports.settings().is_closed() {
            refining.look_at(app, &reports).await;
        }
    }
}

/// A second wave's task of the size that this plan asks for.
pub(super) fn placeholder(task: &Task, plan: RefinementPlan) -> Result<Task, RefineError> {
    SecondTask::placeholder(task, Rank::new(plan.rank)?)
}

impl Refining {
    /// Forgets all tasks but these.
    fn keep(&mut self, tasks: &HashSet<TaskDigest>) {
        self.due.retain(|digest, _| tasks.contains(digest));
        self.failed.retain(|digest, _| tasks.contains(digest));
    }

    async fn look_at(&mut self, app: &Arc<App>, reports: &Arc<dyn TaskReports>) {
        let (digest, settings) = (reports.task().digest(), reports.settings());
        if settings.refined_by.is_some() || self.failed.get(&digest).is_some_and(|(until, _)| Instant::now() < *until) {
            return;
        }
        let outcome = match settings.plan() {
            None => {
                self.due.remove(&digest);
                return;
            }
            Some(plan) if settings.is_closed() => open(app, reports, plan).await,
            Some(plan) => self.consider(app, reports, plan).await,
        };
        let Err(failure) = outcome else {
            self.failed.remove(&digest);
            return;
        };
        let failure = failure.to_string();
        if self.failed.get(&digest).is_none_or(|(_, before)| *before != failure) {
            tracing::warn!(task = %digest, error = %failure, "the second wave cannot be opened now; it is tried again");
        }
        self.failed.insert(digest, (Instant::now() + PAUSE, failure));
    }

    /// Opens the second wave if there are enough reports, and it pays. One that somebody put is not of their sums: then
    /// the first wave stays open.
    async fn consider(
        &mut self,
        app: &Arc<App>,
        reports: &Arc<dyn TaskReports>,
        plan: RefinementPlan,
    ) -> Result<(), Failure> {
        let (digest, records) = (reports.task().digest(), reports.counts().records);
        if records < plan.after {
            self.due.remove(&digest);
            return Ok(());
        }
        let due = self.due.get(&digest).filter(|(of, _)| *of == plan).map_or(plan.after, |(_, at)| *at);
        let enough = records >= due.max(least(app, reports, plan));
        let is_open = matches!(app.expired(&reports.settings()), Ok(None));
        if !enough || !is_open || app.store.second_wave_of(digest).is_some() {
            return Ok(());
        }
        let (made, records) = second_task(reports, plan).await?;
        let refusal = made.waves.refused.as_ref().map(|refused| match refused {
            WaveRefusal::FirstWave { .. } => "the first wave finds too little",
            _ => "a second wave would gain too little",
        });
        if let Some(refusal) = refusal {
            let at = next_after(plan.after, records);
            self.due.insert(digest, (plan, at));
            tracing::info!(task = %digest, records, next = at, "no second wave for now: {refusal}");
            return Ok(());
        }
        if close(app, digest, plan).await? {
            tracing::info!(task = %digest, records, "the first wave is over");
            open(app, reports, plan).await?;
        }
        Ok(())
    }
}

/// The least number of reports in a first wave. The second wave's task shows everybody the components that they have.
fn least(app: &App, reports: &Arc<dyn TaskReports>, plan: RefinementPlan) -> u64 {
    plan.after.max(app.minimum_batch(&reports.settings()))
}

/// The least of the numbers N, 2 N, 4 N, … above `records`.
fn next_after(after: u64, records: u64) -> u64 {
    let mut numbers = successors(Some(after.max(1)), |at| at.checked_mul(2));
    numbers.find(|at| *at > records).unwrap_or(u64::MAX)
}

/// The second wave's task by the present sums, and the number of reports in them.
async fn second_task(reports: &Arc<dyn TaskReports>, plan: RefinementPlan) -> Result<(SecondTask, u64), Failure> {
    let reports = Arc::clone(reports);
    let made = spawn_blocking(move || {
        let aggregate = reports.aggregate();
        let second = SecondTask::of(&aggregate, reports.task(), Rank::new(plan.rank)?, None)?;
        Ok((second, aggregate.records()))
    });
    made.await?
}

/// The first step. `false` when somebody changed the plan or the task, put a second wave, or erased reports, meanwhile.
async fn close(app: &Arc<App>, digest: TaskDigest, plan: RefinementPlan) -> Result<bool, Failure> {
    let _alone = app.putting.lock().await;
    let Some(reports) = app.store.task(digest) else { return Ok(false) };
    let enough = reports.counts().records >= least(app, &reports, plan);
    if !enough || reports.settings().plan() != Some(plan) || app.store.second_wave_of(digest).is_some() {
        return Ok(false);
    }
    let app = Arc::clone(app);
    Ok(spawn_blocking(move || app.store.close_first_wave(digest, plan)).await??)
}

/// The second step, for a first wave that is closed.
async fn open(app: &Arc<App>, reports: &Arc<dyn TaskReports>, plan: RefinementPlan) -> Result<(), Failure> {
    let first = reports.task().digest();
    // What was written with the settings of before is there when this batch is answered.
    reports.queue().commit(Batch::empty()).await?;
    let (made, records) = second_task(reports, plan).await?;
    let least = least(app, reports, plan);
    let second = NextWave { task: made.task, records, least };
    let _alone = app.putting.lock().await;
    let opening = Arc::clone(app);
    let opened = spawn_blocking(move || {
        let opened = opening.store.open_second_wave(first, second)?;
        if opened.is_none() && records < least {
            tracing::info!(task = %first, records, least, "reports were erased: the first wave goes on");
        }
        if let Some((second, put)) = opened {
            let (task, refined_by) = (first.to_string(), second.to_string());
            opening.audit.note(&AuditLine {
                action: "task-refine",
                outcome: "done",
                role: "refinement",
                task: Some(&task),
                refined_by: Some(&refined_by),
                reports: Some(records),
                ..AuditLine::default()
            });
            let change = if put == Put::Created { "created" } else { "found" };
            tracing::info!(task = %first, %refined_by, records, change, "the second wave is open");
        }
        Ok::<_, StoreError>(())
    });
    Ok(opened.await??)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ldp_pca::mechanism::MechanismSpec;
    use ldp_pca::privacy::Epsilon;
    use ldp_pca::record::Bounding;
    use ldp_pca::schema::Schema;
    use ldp_pca::task::Folds;

    #[test]
    fn a_task_is_asked_again_at_twice_the_number() {
        for (after, records, next) in [(100, 100, 200), (100, 150, 200), (100, 200, 400), (100, 399, 400), (1, 5, 8)] {
            assert_eq!(next_after(after, records), next, "{after} {records}");
        }
        assert_eq!(next_after(1 << 63, 1 << 63), u64::MAX);
        assert_eq!(next_after(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_plan_is_for_tasks_that_can_be_refined_at_its_rank() {
        // Fewer components than features, at most 64, and at most 32,768 numbers.
        for (dimension, most) in [(16, 15), (100, 64), (513, 63)] {
            let (schema, folds) = (Schema::numeric(dimension).unwrap(), Folds::new(1).unwrap());
            let mechanism = MechanismSpec::double_cap(Epsilon::new(4.0).unwrap());
            let task = Task::new(schema, Bounding::UnitNorm, mechanism, folds).unwrap();
            for (rank, can) in [(0, false), (1, true), (most, true), (most + 1, false), (usize::MAX, false)] {
                let found = placeholder(&task, RefinementPlan { after: 1, rank }).is_ok();
                assert_eq!(found, can, "{dimension} {rank}");
            }
        }
    }

    #[test]
    fn deleted_tasks_are_forgotten() {
        let (kept, gone) = (TaskDigest::new([1; 32]), TaskDigest::new([2; 32]));
        let mut refining = Refining::default();
        for digest in [kept, gone] {
            refining.due.insert(digest, (RefinementPlan { after: 1, rank: 1 }, 1));
            refining.failed.insert(digest, (Instant::now(), String::new()));
        }
        refining.keep(&HashSet::from([kept]));
        assert!(refining.due.keys().chain(refining.failed.keys()).eq([&kept, &kept]));
    }
}
