//! The ledger of one person (in practice: one device): what it has promised and sent, and whether another report fits.
//!
//! This is pure logic: the caller decides where the ledger is kept, and ensures that there is only one. Four rules make
//! it sound:
//! 1. A task is booked, and the ledger saved, *before* a value of the record is looked at. Nothing gives it back: no
//!    error, no crash, no report that was never sent. Otherwise whether a report came could depend on a value, at no
//!    cost. (Booking pays for the report, not for its absence: that a report comes for every record is the mechanisms'
//!    part.)
//! 2. One report per task, and one for a task and its refinements together: those who are asked in a second wave have
//!    not answered the first. A retry sends the very same bytes again, which is post-processing and costs nothing; a
//!    fresh randomization would cost again, so there is none. A task that is booked and has no report is spent.
//! 3. A report is recorded, and the ledger saved, before the report is sent.
//! 4. All booked tasks together stay within the budget by a [`Filter`] that was fixed beforehand, since those who
//!    choose the tasks may know the earlier reports.

use serde::{Deserialize, Serialize};

use crate::mechanism::LocalRandomizer;
use crate::privacy::Guarantee;
use crate::privacy::composition::PrivacyLoss;
use crate::report::report_bytes;
use crate::task::{Task, TaskDigest};

pub use crate::privacy::filter::{Budget, Filter};

/// The version of the ledger format that this crate reads and writes.
const LEDGER_VERSION: u32 = 1;

/// The largest ledger document that is read, in bytes.
const MAX_LEDGER_BYTES: usize = 256 << 20;

/// The answer of [`book`](Ledger::book).
///
/// ```
/// # use ldp_pca::{Bounding, Budget, Decision, Epsilon, Filter, Folds, Ledger, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// // The budget has room for one report of epsilon 2.
/// let mut ledger = Ledger::new(Budget { epsilon: Epsilon::new(3.0)?, delta: None }, Filter::Sums);
/// assert!(matches!(ledger.book(&task), Decision::Grant { remaining: 1.0, .. }));
/// let other = Task::new(Schema::numeric(3)?, task.bounding(), task.mechanism_spec(), task.folds())?;
/// assert_eq!(ledger.book(&other), Decision::Refuse { remaining: 1.0, needed: 2.0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// The task is booked. Save the ledger; then randomize, [`record`](Ledger::record), save again, and send.
    Grant {
        /// The right to record the report.
        booking: Booking,
        /// The epsilon left.
        remaining: f64,
    },
    /// The task was answered before: send these bytes again.
    Resend(Vec<u8>),
    /// The task was booked before and has no report, as after a crash: there is nothing to send, now or later.
    Spent,
    /// The task's report does not fit. Nothing is booked.
    Refuse {
        /// The epsilon left.
        remaining: f64,
        /// The growth of the spent epsilon; infinite where the report never fits.
        needed: f64,
    },
}

/// The right to record one report for a task that was just booked. It cannot be copied, saved or obtained again, so
/// there is one randomization for each booking.
///
/// ```
/// # use ldp_pca::{Bounding, Budget, Decision, Epsilon, Filter, Folds, Ledger, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let mut ledger = Ledger::new(Budget { epsilon: Epsilon::new(3.0)?, delta: None }, Filter::Sums);
/// let Decision::Grant { booking, .. } = ledger.book(&task) else { panic!() };
/// // Without a report, as after a crash, the task stays booked.
/// drop(booking);
/// assert_eq!(ledger.book(&task), Decision::Spent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq)]
#[must_use = "the task is booked whether or not a report is recorded"]
pub struct Booking {
    task: TaskDigest,
    report_bytes: usize,
}

/// Tasks booked and reports sent under one budget.
///
/// ```
/// use ldp_pca::ledger::{Budget, Decision, Filter, Ledger};
/// use ldp_pca::privacy::Epsilon;
/// # use ldp_pca::{mechanism::MechanismSpec, record::Bounding, schema::Schema, task::{Folds, Task}};
/// # let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0)?, candidates: 64, cap: 8 };
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// # let save = |_: String| ();
/// let mut ledger = Ledger::new(Budget { epsilon: Epsilon::new(3.0)?, delta: None }, Filter::Sums);
/// let Decision::Grant { booking, .. } = ledger.book(&task) else { panic!() };
/// save(ledger.to_json());
/// let report = task.randomize(&task.bound(vec![0.6, 0.8])?, None)?.to_bytes();
/// ledger.record(booking, report.clone())?;
/// save(ledger.to_json());
/// assert_eq!(ledger.book(&task), Decision::Resend(report));
/// assert_eq!(Ledger::from_json(&ledger.to_json())?, ledger);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger(Document);

/// What is kept of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    budget: Budget,
    filter: Filter,
    entries: Vec<Entry>,
}

/// One booked task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    task: TaskDigest,
    /// That of a refinement: the task that it refines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    campaign: Option<TaskDigest>,
    guarantee: Guarantee,
    loss: PrivacyLoss,
    #[serde(with = "hexadecimal_or_null")]
    report: Option<Vec<u8>>,
}

impl Entry {
    /// The task.
    #[must_use]
    pub fn task(&self) -> TaskDigest {
        self.task
    }

    /// The collection that is answered once: the task, or the one that it refines.
    fn campaign(&self) -> TaskDigest {
        self.campaign.unwrap_or(self.task)
    }

    /// The guarantee of its report alone.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// The report to send, if one was recorded.
    #[must_use]
    pub fn report(&self) -> Option<&[u8]> {
        self.report.as_deref()
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

impl Ledger {
    /// Nothing booked yet. Budget and filter stay as they are from here on.
    #[must_use]
    pub fn new(budget: Budget, filter: Filter) -> Self {
        Self(Document { version: LEDGER_VERSION, budget, filter, entries: Vec::new() })
    }

    /// The budget.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.0.budget
    }

    /// The rule by which reports fit the budget.
    #[must_use]
    pub fn filter(&self) -> Filter {
        self.0.filter
    }

    /// The booked tasks, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0.entries
    }

    /// The part of the budget's epsilon that all booked tasks use ([`Filter::spent`]); 0 without tasks.
    #[must_use]
    pub fn spent(&self) -> f64 {
        self.total(None)
    }

    /// The epsilon left.
    #[must_use]
    pub fn remaining(&self) -> f64 {
        (self.0.budget.epsilon.value() - self.spent()).max(0.0)
    }

    /// Books `task` if its report fits the budget and was not booked before; otherwise changes nothing and says why. A
    /// task whose refinement is booked never fits, nor does a refinement of a booked task, or another one of the same.
    /// (A refinement of a refinement, which no tool here makes, is another campaign: the budget counts both.)
    /// Ask, and save the ledger, before anything that depends on the record.
    pub fn book(&mut self, task: &Task) -> Decision {
        let digest = task.digest();
        if let Some(entry) = self.0.entries.iter().find(|entry| entry.task == digest) {
            return entry.report.clone().map_or(Decision::Spent, Decision::Resend);
        }
        if self.0.entries.iter().any(|entry| entry.campaign() == task.campaign()) {
            return Decision::Refuse { remaining: self.remaining(), needed: f64::INFINITY };
        }
        let campaign = task.refinement().map(|_| task.campaign());
        let (guarantee, loss) = (task.guarantee(), task.mechanism().privacy_loss());
        let total = self.total(Some((guarantee, loss)));
        if total > self.0.budget.epsilon.value() {
            // If the total is infinite, so is the needed amount, however much was spent.
            let needed = if total.is_finite() { total - self.spent() } else { f64::INFINITY };
            return Decision::Refuse { remaining: self.remaining(), needed };
        }
        self.0.entries.push(Entry { task: digest, campaign, guarantee, loss, report: None });
        let booking = Booking { task: digest, report_bytes: report_bytes(task) };
        Decision::Grant { booking, remaining: self.0.budget.epsilon.value() - total }
    }

    /// Records the report that is about to be sent for the task of `booking`.
    ///
    /// # Errors
    /// [`LedgerError::ReportLength`] when `report` does not have the length of the task's reports,
    /// [`LedgerError::NotBooked`] for a booking of another ledger. The booking is used up, and the task stays booked
    /// without a report.
    #[expect(clippy::needless_pass_by_value, reason = "a booking is used up")]
    pub fn record(&mut self, booking: Booking, report: Vec<u8>) -> Result<(), LedgerError> {
        let Booking { task, report_bytes } = booking;
        if report.len() != report_bytes {
            return Err(LedgerError::ReportLength { expected: report_bytes, found: report.len() });
        }
        let waits = |entry: &&mut Entry| entry.task == task && entry.report.is_none();
        self.0.entries.iter_mut().find(waits).ok_or(LedgerError::NotBooked(task))?.report = Some(report);
        Ok(())
    }

    /// The document to keep.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, names and hexadecimal digits: nothing can fail.
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// Reads a document. Unknown fields, other versions and a task that occurs twice are errors.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn from_json(text: &str) -> Result<Self, LedgerError> {
        let malformed = |error: serde_json::Error| LedgerError::Json(error.to_string());
        if text.len() > MAX_LEDGER_BYTES {
            return Err(LedgerError::TooLong(text.len()));
        }
        let VersionOnly { version } = serde_json::from_str(text).map_err(malformed)?;
        if version != LEDGER_VERSION {
            return Err(LedgerError::Version(version));
        }
        let document: Document = serde_json::from_str(text).map_err(malformed)?;
        for name in [Entry::task, Entry::campaign] {
            let mut names: Vec<TaskDigest> = document.entries.iter().map(name).collect();
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(LedgerError::Twice(pair[0]));
            }
        }
        Ok(Self(document))
    }

    /// The epsilon that all booked reports and `further` use.
    fn total(&self, further: Option<(Guarantee, PrivacyLoss)>) -> f64 {
        let booked = self.0.entries.iter().map(|entry| (entry.guarantee, entry.loss));
        self.0.filter.spent(self.0.budget, &booked.chain(further).collect::<Vec<_>>())
    }
}

/// Why a ledger refused a report or a document.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Not the JSON of a ledger.
    #[error("not a valid ledger: {0}")]
    Json(String),
    /// Another version.
    #[error(
        "the ledger has version {0}, and this software reads version {LEDGER_VERSION}: use a release that knows it"
    )]
    Version(u32),
    /// A document beyond the limit.
    #[error("the ledger has {0} bytes: at most {MAX_LEDGER_BYTES} are read")]
    TooLong(usize),
    /// A task that occurs twice in a document.
    #[error("task {0} is booked twice: use a copy of the ledger from before it was edited")]
    Twice(TaskDigest),
    /// A booking that this ledger did not give.
    #[error(
        "task {0} is not booked in this ledger, or has its report: book it first, and send a recorded report again"
    )]
    NotBooked(TaskDigest),
    /// A report of the wrong length.
    #[error("the report has {found} bytes, and those of this task have {expected}")]
    ReportLength {
        /// The length of the task's reports.
        expected: usize,
        /// The length found.
        found: usize,
    },
}

/// Bytes as lower-case hexadecimal digits, or null.
mod hexadecimal_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::identity::{hex, read_hex};

    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(hex).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let read = |text: String| {
            let mut bytes = vec![0; text.len() / 2];
            let refused = || D::Error::custom("expected an even number of lower-case hexadecimal digits");
            read_hex(&text, &mut bytes, false).map(|()| bytes).ok_or_else(refused)
        };
        text.map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Delta;
    use crate::privacy::tests::{composition_cases, epsilon};
    use crate::record::Bounding;
    use crate::tests;

    /// Tasks differ in their number of features.
    fn cap(features: usize, e: f64) -> Task {
        tests::task(features, Bounding::UnitNorm, tests::double_cap(e, 64, 8), 1)
    }

    fn gaussian(features: usize, e: f64) -> Task {
        tests::task(features, Bounding::UnitNorm, tests::gaussian(e), 1)
    }

    fn ledger(e: f64, delta: Option<f64>, filter: Filter) -> Ledger {
        let delta = delta.map(|delta| Delta::new(delta).unwrap());
        Ledger::new(Budget { epsilon: epsilon(e), delta }, filter)
    }

    fn report(task: &Task) -> Vec<u8> {
        task.randomize(&task.bound(vec![1.0; task.dimension()]).unwrap(), None).unwrap().to_bytes()
    }

    fn booked(ledger: &mut Ledger, task: &Task) -> Booking {
        let Decision::Grant { booking, .. } = ledger.book(task) else { panic!("{} left", ledger.remaining()) };
        booking
    }

    fn answer(ledger: &mut Ledger, task: &Task) -> Vec<u8> {
        let (booking, report) = (booked(ledger, task), report(task));
        ledger.record(booking, report.clone()).unwrap();
        report
    }

    /// Whichever wave comes first, whatever the budget has room for.
    #[test]
    fn nobody_answers_both_waves() {
        use crate::waves::Refinement;
        let first = cap(3, 1.0);
        let refined = |clip| {
            let directions = nalgebra::DMatrix::identity(3, 1);
            let refinement = Refinement::from_parts(first.digest(), &directions, &[1.0], clip).unwrap();
            first.refined_by(refinement, epsilon(1.0), Some(64), Some(8)).unwrap()
        };
        let waves = [first.clone(), refined(0.5), refined(0.25)];
        let other = cap(4, 1.0);
        for answered in &waves {
            let mut ledger = Ledger::new(Budget { epsilon: epsilon(20.0), delta: None }, Filter::Sums);
            let Decision::Grant { booking, .. } = ledger.book(answered) else { panic!() };
            let report = vec![1; report_bytes(answered)];
            ledger.record(booking, report.clone()).unwrap();
            let mut ledger = Ledger::from_json(&ledger.to_json()).unwrap();
            for asked in &waves {
                let refused = Decision::Refuse { remaining: 19.0, needed: f64::INFINITY };
                let expected = if asked == answered { Decision::Resend(report.clone()) } else { refused };
                assert_eq!(ledger.book(asked), expected);
            }
            assert_eq!(ledger.entries().len(), 1);
            assert!(matches!(ledger.book(&other), Decision::Grant { .. }));
        }
    }

    #[test]
    fn a_task_is_answered_once_and_a_retry_is_free() {
        let mut ledger = ledger(4.0, None, Filter::Sums);
        let sent = answer(&mut ledger, &cap(3, 2.5));
        let before = ledger.clone();
        assert_eq!(ledger.book(&cap(3, 2.5)), Decision::Resend(sent));
        assert_eq!(ledger, before);
        assert_eq!((ledger.spent(), ledger.remaining()), (2.5, 1.5));
        // Sums that need no rounding are not rounded.
        answer(&mut ledger, &cap(4, 1.0));
        assert!(matches!(ledger.book(&cap(5, 0.5)), Decision::Grant { remaining: 0.0, .. }));
    }

    /// Whatever happens after the booking (here: nothing, and an invalid report), the task is spent, also in the
    /// document.
    #[test]
    fn a_task_is_spent_from_the_moment_it_is_booked() {
        for fails in [false, true] {
            let mut ledger = ledger(4.0, None, Filter::Sums);
            let booking = booked(&mut ledger, &cap(3, 2.5));
            let saved = ledger.to_json();
            if fails {
                assert!(matches!(ledger.record(booking, vec![0; 3]), Err(LedgerError::ReportLength { found: 3, .. })));
            }
            assert_eq!((ledger.spent(), ledger.entries()[0].report()), (2.5, None));
            assert_eq!(ledger.book(&cap(3, 2.5)), Decision::Spent);
            let mut again = Ledger::from_json(&saved).unwrap();
            assert_eq!(again, ledger);
            assert_eq!(again.book(&cap(3, 2.5)), Decision::Spent);
            assert!(matches!(again.book(&cap(4, 2.0)), Decision::Refuse { remaining: 1.5, .. }));
        }
    }

    #[test]
    fn a_booking_is_of_one_ledger() {
        let (task, mut first) = (cap(3, 1.0), ledger(4.0, None, Filter::Sums));
        let booking = booked(&mut first, &task);
        let mut second = ledger(4.0, None, Filter::Sums);
        assert!(matches!(second.record(booking, report(&task)), Err(LedgerError::NotBooked(_))));
        assert!(second.entries().is_empty());
    }

    #[test]
    fn a_report_that_does_not_fit_is_refused_and_costs_nothing() {
        let mut ledger = ledger(4.0, None, Filter::Renyi);
        answer(&mut ledger, &cap(3, 2.5));
        let before = ledger.clone();
        assert_eq!(ledger.book(&cap(4, 2.0)), Decision::Refuse { remaining: 1.5, needed: 2.0 });
        // A budget without delta has no room for a report with one.
        assert_eq!(ledger.book(&gaussian(4, 0.1)), Decision::Refuse { remaining: 1.5, needed: f64::INFINITY });
        assert_eq!(ledger, before);
    }

    /// The table that JavaScript and Python read, too: each of its pure reports is a task of its own.
    #[test]
    fn every_report_is_booked_once_and_in_full() {
        let mut tasks = 0;
        for case in composition_cases().into_iter().filter(|case| case.pure.is_some()) {
            let epsilons: Vec<f64> =
                case.parts.iter().flat_map(|part| vec![part.guarantee.epsilon; part.reports as usize]).collect();
            let mut ledger = ledger(1e3, None, Filter::Sums);
            for (place, &each) in epsilons.iter().enumerate() {
                let (task, before) = (cap(place + 1, each), ledger.spent());
                let Decision::Grant { remaining, .. } = ledger.book(&task) else { panic!("{}", case.name) };
                let now = ledger.spent();
                assert!(now - before >= each * (1.0 - 1e-9) && now - before <= each * (1.0 + 1e-9), "{}", case.name);
                assert_eq!((remaining, ledger.remaining()), (1e3 - now, 1e3 - now));
                // Asked again, it costs nothing.
                assert_eq!(ledger.book(&task), Decision::Spent);
                assert_eq!((ledger.spent(), ledger.entries().len()), (now, place + 1));
            }
            tasks += epsilons.len();
            let (spent, least) = (ledger.spent(), case.sums.epsilon);
            let roundings = 1.0 + epsilons.len() as f64 * f64::EPSILON;
            assert!(spent >= least && spent <= least * roundings, "{}: {spent} {least}", case.name);
            assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap().spent(), spent);
        }
        assert!(tasks > 300, "{tasks}");
    }

    #[test]
    fn the_budget_is_spent_to_its_last_bit_and_no_bit_more() {
        for filter in [Filter::Sums, Filter::Renyi] {
            let mut ledger = ledger(4.0, None, filter);
            let _ = booked(&mut ledger, &cap(3, 2.5));
            let before = ledger.clone();
            let Decision::Refuse { remaining, needed } = ledger.book(&cap(4, 1.5f64.next_up())) else { panic!() };
            // The sum is rounded up to the next double.
            assert_eq!((remaining, needed), (1.5, 4f64.next_up() - 2.5));
            assert_eq!(ledger, before);
            assert!(matches!(ledger.book(&cap(5, 1.5)), Decision::Grant { remaining: 0.0, .. }));
            assert!(matches!(ledger.book(&cap(6, 1e-6)), Decision::Refuse { remaining: 0.0, .. }));
            assert_eq!((ledger.spent(), ledger.remaining(), ledger.entries().len()), (4.0, 0.0, 2));
        }
        // One report alone.
        let (mut whole, mut tight) = (ledger(2.5, None, Filter::Sums), ledger(2.5f64.next_down(), None, Filter::Sums));
        let _ = booked(&mut whole, &cap(3, 2.5));
        assert!(matches!(tight.book(&cap(3, 2.5)), Decision::Refuse { .. }));
    }

    #[test]
    fn the_filter_decides_how_much_fits() {
        let of = |filter: Filter| {
            let mut ledger = ledger(4.0, Some(1e-6), filter);
            while let Decision::Grant { .. } = ledger.book(&gaussian(ledger.entries().len() + 1, 0.8)) {}
            assert!(ledger.spent() <= 4.0);
            assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
            ledger.entries().len()
        };
        // One report has all of delta, so there is no second one by sums.
        assert_eq!(of(Filter::Sums), 1);
        assert!(of(Filter::Renyi) >= 15);
        // The whole budget in one report.
        answer(&mut ledger(0.8, Some(1e-6), Filter::Sums), &gaussian(3, 0.8));
    }

    #[test]
    fn documents_that_make_no_sense_are_refused() {
        let mut ledger = ledger(4.0, None, Filter::Sums);
        answer(&mut ledger, &cap(3, 2.5));
        let text = ledger.to_json();
        let (start, end) = (text.find('[').unwrap() + 1, text.rfind(']').unwrap());
        let twice = format!("{},{}{}", &text[..end], &text[start..end], &text[end..]);
        assert!(matches!(Ledger::from_json(&twice), Err(LedgerError::Twice(_))));
        // One task of two campaigns.
        let other = text[start..end]
            .replace("\"guarantee\"", &format!("\"campaign\":\"{}\",\"guarantee\"", cap(4, 1.0).digest()));
        let twice = format!("{},{other}{}", &text[..end], &text[end..]);
        assert!(matches!(Ledger::from_json(&twice), Err(LedgerError::Twice(_))));
        for (from, to, expected) in [
            ("\"version\":1", "\"version\":2", "version 2"),
            ("\"version\":1", "\"version\":0", "version 0"),
            ("\"version\":1,", "", "version"),
            ("\"filter\":\"sums\",", "", "filter"),
            ("\"sums\"", "\"least\"", "least"),
            ("\"entries\"", "\"note\":1,\"entries\"", "note"),
            ("\"epsilon\":4.0", "\"epsilon\":-4", "epsilon is -4"),
            ("\"delta\":0.0", "\"delta\":1.5", "delta is 1.5"),
            ("\"cap\":8", "\"cap\":64", "likelier"),
            ("\"report\":\"", "\"report\":\"f", "even number"),
            ("\"report\":\"", "\"report\":\"FF", "lower-case"),
            ("\"report\":\"", "\"reports\":\"", "reports"),
            ("\"task\":\"", "\"task\":\"00", "64 lower-case"),
        ] {
            assert!(text.contains(from), "{text} lacks {from}");
            let error = Ledger::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        assert!(Ledger::from_json("").is_err());
    }

    /// A booking is recorded in the ledger that made it, whatever else waits.
    #[test]
    fn a_report_is_recorded_with_its_own_task() {
        let mut ledger = ledger(4.0, None, Filter::Sums);
        let (first, second) = (cap(3, 1.0), cap(4, 1.0));
        let bookings = [&first, &second].map(|task| booked(&mut ledger, task));
        let [_, of_second] = bookings;
        let sent = report(&second);
        ledger.record(of_second, sent.clone()).unwrap();
        assert_eq!(ledger.entries().iter().map(Entry::report).collect::<Vec<_>>(), [None, Some(&sent[..])]);
        assert_eq!(ledger.book(&first), Decision::Spent);
    }

    #[test]
    fn a_document_is_read_up_to_its_limit() {
        let mut ledger = ledger(4.0, None, Filter::Renyi);
        let _never_recorded = booked(&mut ledger, &cap(3, 2.5));
        let text = ledger.to_json();
        let padded = |length: usize| format!("{text}{}", " ".repeat(length - text.len()));
        assert_eq!(Ledger::from_json(&padded(MAX_LEDGER_BYTES)).unwrap(), ledger);
        let beyond = Ledger::from_json(&padded(MAX_LEDGER_BYTES + 1));
        assert!(matches!(beyond, Err(LedgerError::TooLong(length)) if length == MAX_LEDGER_BYTES + 1));
    }
}
