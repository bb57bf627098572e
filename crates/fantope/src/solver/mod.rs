//! The sparse solver: operator splitting on a working set, certified on the whole problem.
//!
//! 1. The leading eigenvectors of the soft-thresholded estimate suggest a working set of rows ([`working_set`]).
//! 2. The problem is solved there by an accelerated form of the published iteration, block by block where the
//!    thresholded graph is disconnected ([`splitting`], [`part`]).
//! 3. The dual matrix is extended to all rows ([`extension`]). Where that certifies the gap, the solution is optimal on
//!    the whole problem. Otherwise the rows that prevent it join the working set.

mod cross;
mod extension;
mod part;
mod splitting;
#[cfg(test)]
pub(crate) mod tests;
mod thresholded;
mod working_set;

use std::ops::ControlFlow;

use nalgebra::DMatrix;

use self::cross::Multipliers;
use self::extension::{Effort, Evidence, Extension};
use self::splitting::Splitting;
use self::thresholded::Thresholded;
use self::working_set::WorkingSet;
use super::closed_form::closed_form;
use super::level::{WIDEST_TOLERANCE, check_noise_level, noise_tolerance};
use super::outcome::{FantopeSolution, Found, HistoryEntry, Progress, SolverStatus};
use super::scaled::{LIFT, ScaledProblem, largest_magnitudes, lifted};
use super::{FantopeError, FantopeProblem};
use crate::linalg::SymmetricEigen;

/// Stopping rules and what the solver remembers. Name the fields that differ from the default:
/// `SolverSettings { tolerance: 1e-8, ..SolverSettings::default() }`.
///
/// ```
/// use fantope::{FantopeSolver, SolverSettings};
/// let mut settings = SolverSettings::default();
/// settings.tolerance = 1e-3;
/// assert!(FantopeSolver::new(settings).is_ok());
/// settings.failure = 0.0;
/// assert!(FantopeSolver::new(settings).is_err(), "no random bound is certain");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverSettings {
    /// Relative duality gap at which the solution counts as optimal (see [`FantopeSolution::relative_gap`]). Default
    /// 1e-6.
    pub tolerance: f64,
    /// The largest number of iterations, each one eigendecomposition of the working set. Default 100,000.
    pub max_iterations: usize,
    /// Iterations between two certificates of the working set, each of which costs its eigenvalues. Default 10.
    pub check_every: usize,
    /// Steps that Anderson acceleration remembers; 0 turns it off. Default 5.
    pub memory: usize,
    /// Probability that a bound on the eigenvalues beyond the working set is wrong
    /// ([`Certificate::Probable`](super::Certificate::Probable)), in `(0, 1)`. Default 1e-15.
    pub failure: f64,
    /// Largest dimension at which a certificate that asks for it decomposes the whole matrix, at a cost of `d³`.
    /// Default 1,500.
    ///
    /// At this dimension or below, eigenvalues that tie beyond the working set can still be distinguished.
    pub exact_dimension: usize,
    /// Seed of the random vectors that eigenvalue bounds start from. It must not depend on the estimate. Default 0.
    pub seed: u64,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            max_iterations: 100_000,
            check_every: 10,
            memory: 5,
            failure: 1e-15,
            exact_dimension: 1500,
            seed: 0,
        }
    }
}

/// Solves the sparse problem ([`FantopeProblem`]) with a certified gap.
///
/// The solution for `a S + c I` with penalty `a penalty` is the same for every `a > 0` and `c`, up to rounding: the
/// estimate is centred and scaled first. Nothing `d × d` is stored beside the estimate unless the working set demands
/// it. No iteration is spent where the solution is known: `k = d`; no penalty; a penalty of at least every off-diagonal
/// `|S_ij|`.
///
/// Memory and time follow the working set: the support and its surroundings if the signal is clear of the noise, and
/// everything if it is not.
///
/// ```
/// use fantope::{FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings};
/// use nalgebra::DMatrix;
///
/// let estimate = DMatrix::from_row_slice(2, 2, &[1.0, 0.05, 0.05, 0.2]);
/// let problem = FantopeProblem::new(&estimate, Rank::new(1)?, Penalty::new(0.1)?)?;
/// let solver = FantopeSolver::new(SolverSettings::default())?;
/// let solution = solver.solve(&problem)?;
/// assert_eq!(solution.support, [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FantopeSolver {
    settings: SolverSettings,
}

impl FantopeSolver {
    /// A solver with these settings.
    ///
    /// # Errors
    ///
    /// [`FantopeError::InvalidSetting`].
    pub fn new(settings: SolverSettings) -> Result<Self, FantopeError> {
        settings.check()?;
        Ok(Self { settings })
    }

    /// Solves a problem. Running out of iterations is a status, not an error.
    ///
    /// # Errors
    ///
    /// [`FantopeError::TooLarge`] when sums overflow, [`FantopeError::Eigen`] when an eigendecomposition fails.
    pub fn solve(&self, problem: &FantopeProblem) -> Result<FantopeSolution, FantopeError> {
        self.solve_with(problem, None, &mut |_| ControlFlow::Continue(()))
    }

    /// [`solve`](Self::solve) from the solution of a similar problem (of the same dimension and rank) when given.
    ///
    /// `progress` is called at every certificate and may stop the solver, which sets a time budget. Running out of it
    /// is a status, too.
    ///
    /// # Errors
    ///
    /// [`FantopeError::OtherStart`] when the start does not fit, [`FantopeError::TooLarge`] when sums overflow,
    /// [`FantopeError::Eigen`] when an eigendecomposition fails.
    pub fn solve_with(
        &self,
        problem: &FantopeProblem,
        start: Option<&FantopeSolution>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<FantopeSolution, FantopeError> {
        if start.is_some_and(|start| !start.fits(problem)) {
            return Err(FantopeError::OtherStart { dimension: problem.dimension(), rank: problem.rank().value() });
        }
        let magnitudes = largest_magnitudes(problem.estimate());
        if let Some(lifted) = lifted(problem, &magnitudes)? {
            let start = start.cloned().map(|start| FantopeSolution { dual: start.dual.times(LIFT), ..start });
            return Ok(self.solve_with(&lifted, start.as_ref(), progress)?.lowered());
        }
        let scaled = ScaledProblem::new(problem, magnitudes.centred)?;
        if let Some(solution) = closed_form(problem, &scaled, magnitudes.off_diagonal, self.settings.tolerance)? {
            return Ok(solution);
        }
        let thresholded = Thresholded::new(&scaled);
        let (working, splitting) = match start {
            Some(start) => WorkingSet::resume(&scaled, start, self.settings)?,
            None => WorkingSet::choose(&scaled, &thresholded, self.settings)?,
        };
        let mut run = Run {
            settings: &self.settings,
            scaled,
            thresholded,
            working,
            splitting,
            multipliers: Multipliers::default(),
            iterations: 0,
            spell: SPELL,
            certificates_before: start.map_or(0, |start| start.certificates),
            best: Best::default(),
            progress,
        };
        let status = run.finish()?;
        run.into_solution(problem, status)
    }

    /// [`solve_with`](Self::solve_with), only as closely as noise lets anyone see: to the gap that adds one to two
    /// hundredths of the noise to the guaranteed error of `X`, at most 1e-3 and at least the tolerance of the settings.
    ///
    /// `noise_level` is the standard deviation of the noise in an off-diagonal entry of the estimate. The solver goes
    /// to 1e-3 first, which says how much more is needed, and on from there in a second run. The history is that of the
    /// run that the solution is from, and counts its iterations alone.
    ///
    /// # Errors
    ///
    /// [`FantopeError::InvalidNoiseLevel`], else as [`solve_with`](Self::solve_with) in the first run. Where the second
    /// fails, the solution of the first is returned as stalled.
    pub fn solve_within_noise(
        &self,
        problem: &FantopeProblem,
        noise_level: f64,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<FantopeSolution, FantopeError> {
        check_noise_level(noise_level)?;
        let settings = self.settings;
        let to = |tolerance: f64| Self { settings: SolverSettings { tolerance, ..settings } };
        let mut ended = None;
        let rough = to(settings.tolerance.max(WIDEST_TOLERANCE)).solve_with(problem, None, &mut |state| {
            let flow = progress(state);
            ended = flow.is_break().then_some(SolverStatus::Cancelled);
            flow
        })?;
        let tolerance = noise_tolerance(problem, &rough, noise_level).max(settings.tolerance);
        if rough.status != SolverStatus::Optimal || rough.relative_gap <= tolerance {
            return Ok(rough);
        }
        let (before, max_iterations) = (rough.iterations, settings.max_iterations);
        if before >= max_iterations {
            ended = ended.or(Some(SolverStatus::BudgetExhausted));
        }
        if let Some(status) = ended {
            return Ok(FantopeSolution { status, ..rough });
        }
        let mut rest = to(tolerance);
        rest.settings.max_iterations = max_iterations - before;
        let fine = rest.solve_with(problem, Some(&rough), &mut |state| {
            let relative_gap = state.relative_gap.min(rough.relative_gap);
            progress(&Progress { iterations: before + state.iterations, max_iterations, relative_gap, ..*state })
        });
        let Ok(fine) = fine else { return Ok(FantopeSolution { status: SolverStatus::Stalled, ..rough }) };
        let (status, certificates, iterations) = (fine.status, fine.certificates, before + fine.iterations);
        // A run that is cut short may not have reached what it started from.
        let best = if fine.relative_gap <= rough.relative_gap { fine } else { rough };
        Ok(FantopeSolution { status, certificates, iterations, ..best })
    }
}

impl SolverSettings {
    fn check(&self) -> Result<(), FantopeError> {
        let require = FantopeError::require;
        require(self.tolerance >= 0.0, "tolerance", self.tolerance, "a number of at least 0")?;
        require(self.max_iterations >= 1, "max_iterations", self.max_iterations as f64, "at least 1")?;
        require(self.check_every >= 1, "check_every", self.check_every as f64, "at least 1")?;
        require(self.memory <= 1000, "memory", self.memory as f64, "at most 1000")?;
        require(self.failure > 0.0 && self.failure < 1.0, "failure", self.failure, "above 0 and below 1")
    }
}

/// The best feasible point and the best bound so far, in scaled units; they need not come from the same iteration.
#[derive(Default)]
struct Best {
    primal: Option<Primal>,
    dual: Option<Evidence>,
    history: Vec<HistoryEntry>,
}

struct Primal {
    value: f64,
    rows: Vec<usize>,
    /// The eigenvectors of `X` on these rows and their positive weights.
    factor: SymmetricEigen,
}

/// The result of an attempt to certify.
enum Verdict {
    Certified(Evidence),
    /// Rows that the penalty cannot keep out, the most important first.
    Missing(Vec<usize>),
    /// The working set is not yet solved well enough for a certificate to show more than its own gap.
    Unsolved,
}

/// Everything that changes while a problem is solved.
struct Run<'a> {
    settings: &'a SolverSettings,
    scaled: ScaledProblem<'a>,
    thresholded: Thresholded<'a>,
    working: WorkingSet,
    splitting: Splitting,
    /// The start of the search for multipliers that cancel the rows beyond the working set.
    multipliers: Multipliers,
    iterations: usize,
    /// Iterations on a working set that is not solved yet before the next certificate.
    spell: usize,
    /// The certificates of the solution that this run starts from, which depends on their random vectors.
    certificates_before: u64,
    best: Best,
    progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

/// The gap that the first working sets are solved to: they only show which rows are missing.
const FIRST_TOLERANCE: f64 = 1e-2;

/// A working set on which an iteration costs less than a certificate of the whole problem.
const FEW_ROWS: usize = 100;

/// The first iterations on a working set before a certificate shows which rows are missing; twice as many each time
/// that it is still not solved.
const SPELL: usize = 200;

/// The iterations without progress that count as a standstill: a minimum, and a share of those done.
const PATIENCE: (usize, f64) = (1000, 0.5);

impl Run<'_> {
    fn finish(&mut self) -> Result<SolverStatus, FantopeError> {
        let mut inner = FIRST_TOLERANCE.max(self.settings.tolerance);
        loop {
            if self.working.is_everything(&self.scaled) {
                inner = self.settings.tolerance;
            }
            let (ended, block) = self.solve_block(inner)?;
            let evidence = match self.certify(&block, ended.is_none())? {
                Verdict::Certified(evidence) => evidence,
                Verdict::Missing(rows) => {
                    self.grow(&rows);
                    continue;
                }
                Verdict::Unsolved => {
                    inner = 0.8 * self.settings.tolerance;
                    continue;
                }
            };
            if self.relative_gap() <= self.settings.tolerance {
                return Ok(SolverStatus::Optimal);
            }
            let can_grow = !evidence.growth.is_empty();
            // A standstill on these rows says nothing about the problem while others are missing.
            let stands_still = can_grow && ended == Some(SolverStatus::Stalled);
            if let Some(status) = ended.filter(|_| !stands_still) {
                return Ok(status);
            }
            let block_gap = self.scaled.relative_gap(block.value, block.bound);
            let expected = self.scaled.relative_gap(block.value, evidence.estimate);
            let wants_rows = can_grow && (stands_still || expected > 2.0 * block_gap);
            if !wants_rows && block_gap > 0.8 * self.settings.tolerance {
                let step = if self.working.rows.len() <= FEW_ROWS { 0.0 } else { 0.1 * block_gap };
                inner = step.max(0.8 * self.settings.tolerance);
            } else if can_grow {
                self.grow(&evidence.growth);
            } else {
                return Ok(SolverStatus::Stalled);
            }
        }
    }

    /// Adds the most important of these rows to the working set.
    fn grow(&mut self, wanted: &[usize]) {
        self.splitting = self.working.grow(&self.scaled, &self.splitting, &self.multipliers, wanted);
        self.spell = SPELL;
    }

    /// Iterates on the working set until its own gap is at most `tolerance` or the run has to end; returns which.
    fn solve_block(&mut self, tolerance: f64) -> Result<(Option<SolverStatus>, Block), FantopeError> {
        let mut block = Block { value: f64::NEG_INFINITY, bound: f64::INFINITY, dual: Vec::new() };
        let (mut least_gap, mut last_progress, first) = (f64::INFINITY, self.iterations, self.iterations);
        loop {
            self.splitting.advance()?;
            self.iterations += 1;
            let exhausted = self.iterations >= self.settings.max_iterations;
            if !self.splitting.iterations.is_multiple_of(self.settings.check_every) && !exhausted {
                continue;
            }
            let mut gap = self.improve(&mut block, tolerance)?;
            if gap < 0.9 * least_gap {
                (least_gap, last_progress) = (gap, self.iterations);
            }
            let report = Progress {
                iterations: self.iterations,
                max_iterations: self.settings.max_iterations,
                working_set: self.working.rows.len(),
                relative_gap: self.relative_gap(),
                working_set_gap: gap,
                tolerance: self.settings.tolerance,
            };
            let interrupted = (self.progress)(&report).is_break();
            let patience = PATIENCE.0.max((PATIENCE.1 * self.iterations as f64) as usize);
            let standstill = self.iterations - last_progress >= patience || self.splitting.stands_still();
            if interrupted || exhausted || standstill {
                // Whatever it shows, the end needs a proven bound.
                gap = self.improve(&mut block, f64::INFINITY)?;
            }
            if interrupted {
                return Ok((Some(SolverStatus::Cancelled), block));
            } else if exhausted {
                return Ok((Some(SolverStatus::BudgetExhausted), block));
            } else if gap <= tolerance {
                return Ok((None, block));
            } else if self.iterations - first >= self.spell && !self.working.is_everything(&self.scaled) {
                // Rows may be missing, which no further iteration here brings in.
                self.spell *= 2;
                self.improve(&mut block, f64::INFINITY)?;
                return Ok((None, block));
            } else if standstill {
                if self.splitting.stands_still() || !self.splitting.restart() {
                    return Ok((Some(SolverStatus::Stalled), block));
                }
                last_progress = self.iterations;
            }
            self.splitting.adapt_rho();
        }
    }

    /// Takes the iterate's value and bound if they are better, and returns the gap, proven where it is within
    /// `tolerance`.
    fn improve(&mut self, block: &mut Block, tolerance: f64) -> Result<f64, FantopeError> {
        let value = self.splitting.value();
        block.value = block.value.max(value);
        if self.best.primal.as_ref().is_none_or(|best| value > best.value) {
            let (rows, factor) = (self.working.rows.clone(), self.working.factor(&self.splitting));
            self.best.primal = Some(Primal { value, rows, factor });
        }
        let dual = self.splitting.dual();
        if tolerance.is_finite()
            && let Some(least) = self.splitting.glimpse(&dual)?
        {
            let gap = self.scaled.relative_gap(block.value, least.min(block.bound));
            if gap > tolerance {
                return Ok(gap);
            }
        }
        let bound = self.working.block_bound(&self.splitting, &dual, &self.scaled)?;
        if bound < block.bound {
            block.bound = bound;
            block.dual = dual;
        }
        Ok(self.scaled.relative_gap(block.value, block.bound))
    }

    /// Extends the dual matrix of the working set to all rows; `spare` skips certificates that are not worth their
    /// cost.
    fn certify(&mut self, block: &Block, spare: bool) -> Result<Verdict, FantopeError> {
        let value = self.best.primal.as_ref().map_or(f64::NEG_INFINITY, |best| best.value);
        let effort = Effort {
            settings: *self.settings,
            number: self.certificates() + 1,
            wanted: &|bound| self.scaled.relative_gap(value, bound) <= self.settings.tolerance,
        };
        let verdict = if self.working.is_everything(&self.scaled) {
            Verdict::Certified(self.working.whole(&self.scaled, &self.splitting, block))
        } else {
            let (scaled, thresholded, splitting) = (&self.scaled, &self.thresholded, &self.splitting);
            let extension = self.working.extend(scaled, thresholded, splitting, &block.dual, &mut self.multipliers)?;
            let few = spare && self.working.rows.len() <= FEW_ROWS;
            let glance = if few { self.glance(&extension, block)? } else { None };
            match glance {
                Some(verdict) => verdict,
                None => Verdict::Certified(extension.evidence(&self.scaled, &effort)?),
            }
        };
        let Verdict::Certified(evidence) = &verdict else { return Ok(verdict) };
        if self.best.dual.as_ref().is_none_or(|best| evidence.bound < best.bound) {
            self.best.dual = Some(evidence.clone());
        }
        self.best.history.push(HistoryEntry {
            iterations: self.iterations,
            working_set: self.working.rows.len(),
            objective: self.scaled.in_units(value),
            dual_bound: self.scaled.bound_in_units(self.best_bound()),
            relative_gap: self.relative_gap(),
        });
        Ok(verdict)
    }

    /// The gap that the extension cannot close, whatever the Lanczos steps of a certificate find.
    fn glance(&self, extension: &Extension<'_>, block: &Block) -> Result<Option<Verdict>, FantopeError> {
        let Some(bulk) = self.working.bulk else { return Ok(None) };
        let gap = self.scaled.relative_gap(block.value, block.bound);
        let expected = self.scaled.relative_gap(block.value, extension.sum_of_largest(bulk)?);
        if expected <= self.settings.tolerance {
            return Ok(None);
        }
        let missing = extension.missing();
        if expected > 2.0 * gap && !missing.is_empty() {
            return Ok(Some(Verdict::Missing(missing)));
        }
        Ok((gap > 0.8 * self.settings.tolerance).then_some(Verdict::Unsolved))
    }

    /// How many there were, with those of the solution that this run started from.
    fn certificates(&self) -> u64 {
        self.certificates_before + self.best.history.len() as u64
    }

    fn best_bound(&self) -> f64 {
        self.best.dual.as_ref().map_or(f64::INFINITY, |best| best.bound)
    }

    fn relative_gap(&self) -> f64 {
        let value = self.best.primal.as_ref().map_or(f64::NEG_INFINITY, |best| best.value);
        self.scaled.relative_gap(value, self.best_bound())
    }

    fn into_solution(self, problem: &FantopeProblem, status: SolverStatus) -> Result<FantopeSolution, FantopeError> {
        let certificates = self.certificates();
        let sparse_block = self.working.assembled(&self.splitting, &self.splitting.sparse());
        let rows = self.working.rows;
        let (primal, dual) = match (self.best.primal, self.best.dual) {
            (Some(primal), Some(dual)) => (primal, dual),
            // A run ends only after a certificate, which sets both.
            _ => unreachable!("the run ended without a certificate"),
        };
        // The working set only grows: a solution on fewer rows is zero on the others.
        let mut vectors = DMatrix::zeros(rows.len(), primal.factor.vectors.ncols());
        for (place, row) in primal.rows.iter().enumerate() {
            let at = rows.binary_search(row).unwrap_or_else(|at| at);
            vectors.set_row(at, &primal.factor.vectors.row(place));
        }
        let found = Found {
            value: primal.value,
            bound: dual.bound,
            vectors,
            weights: primal.factor.values,
            sparse_block,
            dual: dual.dual.times(self.scaled.scale),
            rows,
        };
        Ok(FantopeSolution {
            status,
            certificate: dual.certificate,
            iterations: self.iterations,
            history: self.best.history,
            certificates,
            ..FantopeSolution::new(problem, &self.scaled, found)?
        })
    }
}

/// The best value and bound on one working set.
struct Block {
    value: f64,
    bound: f64,
    /// `Z` of every part, zero on the diagonal.
    dual: Vec<DMatrix<f64>>,
}
