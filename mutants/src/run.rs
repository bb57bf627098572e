//! Runs tests, one process for a few of them, with a mutant switched on.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// A test, and what it reaches when no mutant is on.
#[derive(Clone, Debug)]
pub struct Test {
    pub name: String,
    pub executable: PathBuf,
    pub seconds: f64,
    pub reached: HashSet<u32>,
}

/// Tests of one process take about so long in all: starting one takes some hundredths of a second.
const BATCH_SECONDS: f64 = 0.3;

/// Bytes of address space: a mutant that fills the memory fails.
const MEMORY_KIB: u64 = 24 << 20;

pub struct Runner<'a> {
    /// Where tests run, as cargo would.
    pub folder: &'a Path,
    /// For files of this program's.
    pub scratch: &'a Path,
    pub jobs: usize,
}

impl Runner<'_> {
    /// All tests of `executable` whose name begins with one of `prefixes` (any without) and that pass within `limit`
    /// when no mutant is on.
    pub fn baseline(&self, executable: &Path, prefixes: &[String], limit: Duration) -> Result<Vec<Test>, Error> {
        let output =
            Command::new(executable).current_dir(self.folder).args(["--list", "--format", "terse"]).output()?;
        let text = String::from_utf8(output.stdout)?;
        let ignored = Command::new(executable)
            .current_dir(self.folder)
            .args(["--list", "--format", "terse", "--ignored"])
            .output()?;
        let ignored = String::from_utf8(ignored.stdout)?;
        let ignored: HashSet<&str> = ignored.lines().collect();
        let names: Vec<&str> = text
            .lines()
            .filter(|line| !ignored.contains(line))
            .filter_map(|line| line.strip_suffix(": test"))
            .filter(|name| prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix.as_str())))
            .collect();
        let found = Mutex::new(Vec::new());
        self.for_each(names.len(), "tests alone", |index| {
            let name = names[index];
            let file = self.scratch.join(format!("reached-{index}"));
            let _ = fs::remove_file(&file);
            let start = Instant::now();
            let passed = self.passes(executable, &[name], &[("MUTANTS_REACHED", &file.to_string_lossy())], limit);
            let reached = fs::read_to_string(&file).unwrap_or_default();
            let _ = fs::remove_file(&file);
            if passed.is_none() {
                let reached = reached.split_whitespace().filter_map(|number| number.parse().ok()).collect();
                let seconds = start.elapsed().as_secs_f64();
                found.lock().expect("no test panics here").push(Test {
                    name: name.to_owned(),
                    executable: executable.to_owned(),
                    seconds,
                    reached,
                });
            } else {
                eprintln!("  left out, since it fails or takes more than {} s: {name}", limit.as_secs());
            }
        });
        Ok(found.into_inner().expect("no test panics here"))
    }

    /// The first test that fails when `number` is on, the quickest ones first, those of `own` before others.
    pub fn caught_by(&self, number: u32, tests: &[Test], own: &str) -> Option<String> {
        let reaching = tests.iter().filter(|test| test.reached.contains(&number)).collect();
        self.first_failure(reaching, own, 0.2, number)
    }

    /// The first of all `tests` that fails, the quickest ones first, those of `own` before others: for executables that
    /// were built again with a mutant in the source, which nothing switches on.
    pub fn caught_by_any(&self, tests: &[Test], own: &str) -> Option<String> {
        self.first_failure(tests.iter().collect(), own, 1.0, 0)
    }

    /// Tests that do not begin with `own` count as slower by `later` seconds.
    fn first_failure(&self, mut tests: Vec<&Test>, own: &str, later: f64, number: u32) -> Option<String> {
        let weight = |test: &Test| test.seconds + if test.name.starts_with(own) { 0.0 } else { later };
        tests.sort_by(|left, right| weight(left).total_cmp(&weight(right)));
        let number = number.to_string();
        let mut rest = &tests[..];
        while !rest.is_empty() {
            let mut seconds = 0.0;
            let mut length = 0;
            while length < rest.len()
                && (length == 0 || seconds + rest[length].seconds < BATCH_SECONDS)
                && rest[length].executable == rest[0].executable
            {
                seconds += rest[length].seconds;
                length += 1;
            }
            let (batch, others) = rest.split_at(length);
            let names: Vec<&str> = batch.iter().map(|test| test.name.as_str()).collect();
            let limit = Duration::from_secs_f64(5.0 + 6.0 * seconds);
            if let Some(failure) = self.passes(&batch[0].executable, &names, &[("MUTANT", &number)], limit) {
                return Some(failure);
            }
            rest = others;
        }
        None
    }

    /// `None` if all of `names` pass, or which of them fails (or does not end).
    fn passes(
        &self,
        executable: &Path,
        names: &[&str],
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> Option<String> {
        let output = self.scratch.join(format!("output-{:?}", thread::current().id()));
        let file = fs::File::create(&output).ok()?;
        let mut child = Command::new("sh")
            .current_dir(self.folder)
            .arg("-c")
            .arg(format!("ulimit -v {MEMORY_KIB} -c 0; exec \"$0\" \"$@\""))
            .arg(executable)
            .args(["--exact", "--test-threads=1"])
            .args(names)
            .envs(environment.iter().copied())
            .env("CARGO_MANIFEST_DIR", self.folder)
            .env("PROPTEST_RNG_SEED", "20261121")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell is there");
        let start = Instant::now();
        let mut pause = Duration::from_millis(2);
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                _ if start.elapsed() > limit => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                _ => thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(50));
        };
        if ended.is_some_and(|status| status.success()) {
            return None;
        }
        let text = fs::read(&output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let failed = text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        // One that does not end, or that ends the process, is the last one that was begun.
        let last = text.lines().rev().find_map(|line| line.strip_prefix("test ")?.split(" ... ").next());
        let name = failed.or(last).unwrap_or(names[0]);
        Some(if ended.is_none() { format!("{name} (does not end)") } else { name.to_owned() })
    }

    /// Calls `of` for 0 to `count` in threads, with progress on a terminal.
    pub fn for_each(&self, count: usize, what: &str, of: impl Fn(usize) + Sync) {
        use std::io::IsTerminal;
        let next = AtomicUsize::new(0);
        let terminal = std::io::stderr().is_terminal();
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= count {
                            break;
                        }
                        if terminal {
                            eprint!("\r  {what}: {} of {count}", index + 1);
                        }
                        of(index);
                    }
                });
            }
        });
        if terminal {
            eprintln!();
        }
    }
}
