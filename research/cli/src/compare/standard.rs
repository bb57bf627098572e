//! The comparison on standard data sets that research/docs/comparison.md shows.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use chacha20::ChaCha12Rng;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::Rank;
use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::files::{NpyRows, unpacked};
use ldp_pca_cli::output::{grouped, note};
use ldp_pca_literature::baselines::Sample;
use ldp_pca_literature::baselines::catalogue::{KEPT_ROWS, PROVIDERS};
use ldp_pca_literature::experiments::data::{DataSet, Scaling};
use ldp_pca_simulation::SpikedModel;
use rand::SeedableRng;
use serde::Serialize;

use super::Setting;
use super::result::{CompareResult, RowResult};
use super::text::{budget, error_text};
use crate::experiment::folder::read_connections;
use crate::shared::duration;

const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// The epsilon of the promises and times in the document.
const EXAMPLE: f64 = 1.0;

/// Dimension, signal and number of the synthetic records.
const SPIKED: (usize, f64, u64) = (40, 20.0, 100_000);

/// Dimension, signal and number of the synthetic records with sparse components, and the nonzero rows of these.
const SPARSE: (usize, f64, u64) = (400, 20.0, 100_000);
const NONZERO_ROWS: usize = 20;

/// The components of both.
const SYNTHETIC_RANK: usize = 3;

/// A data set of the document.
struct StandardSet {
    name: &'static str,
    what: &'static str,
    rank: usize,
    /// The nonzero rows of the components, where they are known. Methods then have settings for sparse components.
    nonzero_rows: Option<usize>,
    load: fn(&Path) -> Result<Sample>,
}

const SETS: [StandardSet; 4] = [
    StandardSet {
        name: "KDD Cup 99",
        what: "the ten per cent of UCI, coded as in Chaudhuri et al. (2013): categories as columns of 0 and 1, each \
            feature divided by its largest value, \
               all records by the largest norm. Most records are shorter than 1",
        rank: 4,
        nonzero_rows: None,
        load: connections,
    },
    StandardSet {
        name: "isolet5",
        what: "part 5 of UCI's ISOLET, each record divided by its norm. With so few records of so many features no \
            local method can find \
               anything, at any of these epsilons",
        rank: 10,
        nonzero_rows: None,
        load: isolet,
    },
    StandardSet {
        name: "spiked",
        what: "synthetic: `x = y / |y|`, `y = g + sqrt(20) V f` with standard normal g and f and a uniformly random \
            orthonormal V of 40 × 3, all drawn from \
               ChaCha12 with seed 1",
        rank: SYNTHETIC_RANK,
        nonzero_rows: None,
        load: |_| synthetic(SPIKED, None),
    },
    StandardSet {
        name: "sparse",
        what: "synthetic, as spiked, with V of 400 × 3 that is zero but for 20 random rows",
        rank: SYNTHETIC_RANK,
        nonzero_rows: Some(NONZERO_ROWS),
        load: |_| synthetic(SPARSE, Some(NONZERO_ROWS)),
    },
];

/// The result on one of them.
#[derive(Serialize)]
pub(super) struct SetResult {
    name: &'static str,
    #[serde(skip)]
    what: &'static str,
    #[serde(flatten)]
    result: CompareResult,
}

/// Compares on all of them, whose files are in `folder`.
pub(super) fn compare(folder: &Path, setting: &Setting) -> Result<Vec<SetResult>> {
    let epsilons = EPSILONS.iter().map(|&epsilon| Ok(Epsilon::new(epsilon)?)).collect::<Result<Vec<_>>>()?;
    let run = |StandardSet { name, what, rank, nonzero_rows, load }: &StandardSet| {
        note(format_args!("{name}"));
        let sample = load(folder)?;
        Ok(SetResult { name, what, result: setting.compare(&sample, Rank::new(*rank)?, &epsilons, *nonzero_rows)? })
    };
    SETS.iter().map(run).collect()
}

/// The file of a data set of the papers.
fn open(folder: &Path, name: &str) -> Result<(std::path::PathBuf, File)> {
    let unknown = || CliError::Failed(format!("there is no data set '{name}'"));
    let set = DataSet::named(name).ok_or_else(unknown)?;
    let path = folder.join(set.file);
    match File::open(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(CliError::file(&path, set)),
        Err(error) => Err(CliError::file(&path, error)),
    }
}

fn connections(folder: &Path) -> Result<Sample> {
    let (path, file) = open(folder, "kddcup99")?;
    let read = read_connections(&path, file)?;
    let all: Vec<usize> = (0..read.records()).collect();
    read.sample(&all, Scaling::LargestNorm).in_file(&path)
}

fn isolet(folder: &Path) -> Result<Sample> {
    let (path, file) = open(folder, "isolet5")?;
    let mut rows = NpyRows::new(&path, unpacked(&path, file)?)?;
    let (mut row, mut values, mut dimension) = (vec![], vec![], 0);
    while let Some(number) = rows.next_row(&mut row)? {
        let record = BoundedRecord::new(row.clone(), Bounding::UnitNorm);
        values.extend_from_slice(record.map_err(|error| CliError::at(&path, "line", number, error))?.coordinates());
        dimension = row.len();
    }
    Sample::new(dimension, values).in_file(&path)
}

fn synthetic((dimension, signal, records): (usize, f64, u64), nonzero_rows: Option<usize>) -> Result<Sample> {
    let (mut rng, rank) = (ChaCha12Rng::seed_from_u64(1), Rank::new(SYNTHETIC_RANK)?);
    let model = SpikedModel::draw(dimension, rank, signal, nonzero_rows, &mut rng).map_err(CliError::failed)?;
    let values = (0..records).flat_map(|_| model.record(&mut rng)).collect();
    Sample::new(dimension, values).map_err(CliError::failed)
}

/// The document.
pub(super) fn markdown(sets: &[SetResult]) -> String {
    let mut text = String::from(HEAD);
    let setting = sets.first().map(|set| (set.result.trials, set.result.delta.value(), set.result.seed));
    let (trials, delta, seed) = setting.unwrap_or_default();
    for SetResult { name, what, result } in sets {
        let _ = writeln!(
            text,
            "- **{name}**: {} records, {} features, {} components; {what}. The components without privacy capture \
                {:.4} of a total variance of {:.4}; a random \
             subspace has an error of {:.2}.",
            grouped(result.records.records),
            result.dimension,
            result.rank,
            result.most_captured,
            result.total_variance,
            result.random_subspace
        );
    }
    let _ = write!(
        text,
        "\n`delta` is {delta:e} for methods that have one, the seed is {seed}, and every figure is the median of up to \
         {trials} estimates. DPS-PCA has {PROVIDERS} providers; all other settings are the methods' defaults, except \
         on *sparse*. There the methods for sparse components have their own: DPS-PCA keeps {} rows, five times the \
         nonzero ones as in its paper; Wang & Xu's Algorithm 2 has the penalty of its Lemma 15 and takes as many steps \
         as it needs, up to 3,000; double-cap + Fantope is the sparse recovery of `ldp-pca recover`.\n\n\
         ## The error\n\nThe error is `‖sin Θ‖²_F` from the components without privacy, at epsilon 0.5 · 1 · 2 · 4. \
         A – means that the method refuses, for a reason given below.\n\n",
        KEPT_ROWS * NONZERO_ROWS
    );
    let (table, claims) = errors(sets);
    text += &table;
    text += "\n\\* Less than the paper claims:\n\n";
    text += &claims;
    let _ = write!(
        text,
        "\n## Captured variance and time\n\n`q_F`, as a share of the variance that the components without \
         privacy capture, and the time of one estimate on one core from given second moments, at epsilon {EXAMPLE}.\n\n"
    );
    text += &captured(sets);
    text += "\n## Refusals\n\n";
    text += &refusals(sets);
    text
}

const HEAD: &str = "\
# Methods side by side

The cost of a guarantee depends on whom one trusts with the records. This page compares every method of the crate on \
the same data sets. This command writes it, from the folder with the data sets' files, in some minutes:

```sh
cargo run --release -p ldp-pca-research -- compare --standard ../shared/data --time-limit 10 \
> research/docs/comparison.md
```

`ldp-pca-research compare --records FILE --rank k --epsilon 1,2` makes the same comparison on records of your own. The \
documentation of `ldp_pca_literature::baselines` describes the methods, and argues for the guarantee of each.

Epsilons are comparable only under the same neighbouring relation. *Any two records* is the local guarantee: nobody \
sees a record, and epsilon limits what a report says about its sender. *One record replaced* and *one record more or \
less* are about the published result of somebody who has seen everything.

";

/// All rows of a method, set by set and epsilon by epsilon.
fn methods(sets: &[SetResult]) -> Vec<Vec<Vec<&RowResult>>> {
    let count = sets.first().and_then(|set| set.result.epsilons.first()).map_or(0, |at| at.rows.len());
    let rows =
        |index: usize| sets.iter().map(|set| set.result.epsilons.iter().map(|at| &at.rows[index]).collect()).collect();
    (0..count).map(rows).collect()
}

fn head(columns: &[String]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()))
}

fn example<'a>(rows: &[&'a RowResult]) -> Option<&'a RowResult> {
    EPSILONS.iter().position(|&epsilon| epsilon == EXAMPLE).and_then(|place| rows.get(place)).copied()
}

/// The table, and what of the papers' claims does not hold.
fn errors(sets: &[SetResult]) -> (String, String) {
    let mut columns: Vec<String> =
        ["Method", "Trusted", "Promise about", "Proved at epsilon 1"].map(str::to_owned).to_vec();
    columns.extend(sets.iter().map(|set| set.name.to_owned()));
    let (mut text, mut claims) = (head(&columns), String::new());
    for by_set in methods(sets) {
        let Some(first) = by_set.iter().flatten().next() else { continue };
        // Proved values may depend on the number of records: the last set has the most favourable ratio of them.
        let promise = by_set.iter().rev().filter_map(|rows| example(rows)?.guarantee).next();
        let (about, mut proved) = match promise {
            None => (String::new(), if first.refusal.is_some() { "–" } else { "nothing" }.to_owned()),
            Some(promise) => {
                (promise.adjacency.to_string(), promise.proved.map_or_else(|| "nothing".to_owned(), budget))
            }
        };
        if let Some(promise) = promise.filter(|promise| !promise.holds()) {
            proved += " \\*";
            let argument = promise.argument.trim_end_matches('.');
            let _ = writeln!(claims, "- {} claims {}: {argument}.", first.method, budget(promise.claimed));
        }
        let error = |row: &&RowResult| {
            row.figures.map_or_else(|| "–".to_owned(), |figures| error_text(figures.sin_theta_squared.median))
        };
        let cells = by_set.iter().map(|rows| rows.iter().map(error).collect::<Vec<_>>().join(" · "));
        let _ = writeln!(
            text,
            "| {} | {} | {about} | {proved} | {} |",
            first.method,
            first.trust.word(),
            cells.collect::<Vec<_>>().join(" | ")
        );
    }
    (text, claims)
}

fn captured(sets: &[SetResult]) -> String {
    let mut columns = vec!["Method".to_owned()];
    columns.extend(sets.iter().flat_map(|set| [set.name.to_owned(), "time".to_owned()]));
    let mut text = head(&columns);
    for by_set in methods(sets) {
        let Some(first) = by_set.iter().flatten().next() else { continue };
        let cells =
            by_set.iter().map(|rows| match example(rows).and_then(|row| Some((row.captured_share?, row.figures?))) {
                Some((share, figures)) => {
                    format!("{:.1} % | {}", 100.0 * share.median, duration(figures.seconds.median).replace('<', "&lt;"))
                }
                None => "– | –".to_owned(),
            });
        let _ = writeln!(text, "| {} | {} |", first.method, cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// Every reason once, with the places where it was given.
fn refusals(sets: &[SetResult]) -> String {
    let mut reasons: Vec<(String, Vec<String>)> = vec![];
    for (set, at) in sets.iter().flat_map(|set| set.result.epsilons.iter().map(move |at| (set, at))) {
        for reason in at.rows.iter().filter_map(|row| row.refusal.clone()) {
            let place = format!("{} at {}", set.name, at.epsilon);
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, places)) => places.push(place),
                None => reasons.push((reason, vec![place])),
            }
        }
    }
    if reasons.is_empty() {
        return "None.\n".to_owned();
    }
    let line = |(reason, places): (String, Vec<String>)| format!("- {reason} ({})\n", places.join(", "));
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sparse_records_have_three_components_on_twenty_rows() {
        let sample = synthetic((SPARSE.0, SPARSE.1, 4_000), Some(NONZERO_ROWS)).unwrap();
        assert_eq!((sample.dimension(), sample.records()), (400, 4_000));
        assert!((sample.second_moment().trace() - 1.0).abs() < 1e-12, "records of norm 1");
        // A row of the components adds 20 × 3/20 of the noise to its variance, on average. Division by the norm, which
        // is larger where the components are, takes some 8 % of that away.
        let mut variances: Vec<f64> = sample.second_moment().diagonal().iter().copied().collect();
        variances.sort_by(|one, next| next.total_cmp(one));
        let [inside, outside] =
            [&variances[..20], &variances[20..]].map(|part| part.iter().sum::<f64>() / part.len() as f64);
        assert!((inside / outside / 4.0 - 1.0).abs() < 0.15, "{inside} {outside}");
    }
}
