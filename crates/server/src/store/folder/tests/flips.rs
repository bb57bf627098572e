//! One flipped bit, or a cut, anywhere in a folder: all is as it was, or somebody is told, and keeps what is left.
//!
//! `cargo test -p ldp-pca-server --lib ten_thousand_flips -- --ignored --nocapture` prints the table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

use super::super::maintenance::{acknowledge, repair, restore, verify};
use super::model::{Held, exported, files_below, folder, open, options, problems, quiet};
use crate::store::tests::{commit, compact, dense, ids, reports_with_rng, sum, tasks};
use crate::store::{Erase, FolderStore, ReportStore, TaskSettings};
use ldp_pca::report::Report;
use ldp_pca::task::Task;

/// A folder in memory, with what its tasks hold. The last one is deleted.
struct Whole {
    files: BTreeMap<PathBuf, Vec<u8>>,
    tasks: Vec<(Task, Held)>,
}

impl Whole {
    fn new(killed: bool) -> Self {
        let (place, mut rng) = (folder(), ChaCha8Rng::seed_from_u64(31));
        let settings =
            TaskSettings { max_records: Some(1000), expires: Some(4_000_000_000), ..TaskSettings::default() };
        let store = FolderStore::open(place.path(), &[], options()).unwrap();
        let tasks = [compact(), dense(), tasks().remove(1)].map(|task| {
            let mut held = Held { settings: settings.clone(), ..Held::default() };
            store.put(task.clone(), settings.clone()).unwrap();
            let all = reports_with_rng(&task, &mut rng, 70);
            let send = |all: &[Report]| all.chunks(7).for_each(|part| _ = commit(&store, &task, part).unwrap());
            send(&all[..35]);
            store.erase_reports(task.digest(), &ids(&all[3..6])).unwrap();
            send(&all[35..]);
            held.erase(all[3..6].iter().cloned());
            held.add(all[..3].iter().chain(&all[6..]).cloned());
            (task, held)
        });
        store.delete(tasks[2].0.digest(), Erase::AfterGrace).unwrap();
        if killed {
            quiet(&store);
        } else {
            store.close();
        }
        let named = |path: PathBuf| (path.strip_prefix(place.path()).unwrap().to_owned(), fs::read(&path).unwrap());
        let files = files_below(place.path()).into_iter().filter(|path| !path.ends_with("lock")).map(named);
        Self { files: files.collect(), tasks: tasks.to_vec() }
    }

    /// A folder with one file changed, or without it.
    fn with(&self, name: &Path, content: Option<&[u8]>) -> TempDir {
        let root = folder();
        for (path, whole) in &self.files {
            let Some(bytes) = (if path == name { content } else { Some(&whole[..]) }) else { continue };
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), bytes).unwrap();
        }
        root
    }

    /// Who is told of a change.
    fn told(&self, root: &Path) -> &'static str {
        let good = verify(root, &mut |_, _| {}).unwrap().is_good();
        let damage = |store: &FolderStore| store.tasks().iter().any(|task| !task.damage().places.is_empty());
        let ((deleted, held), served) = self.tasks.split_last().unwrap();
        match open(root) {
            Err(_) => return "refused",
            Ok(store) if damage(&store) => {
                drop(store);
                // It lasts.
                assert!(damage(&open(root).unwrap()) && !problems(root).is_empty());
                return "told";
            }
            Ok(store) => {
                served.iter().for_each(|(task, held)| held.assert_in(&store, task.digest()));
                assert_eq!(store.tasks().len(), served.len());
            }
        }
        if !good {
            return "verify";
        }
        assert_eq!(restore(root, deleted.digest()).unwrap().damage, [""; 0]);
        held.assert_in(&open(root).unwrap(), deleted.digest());
        "harmless"
    }

    /// What a repair makes of a changed folder, of which at most so many reports are damaged.
    fn repaired(&self, root: &Path, at_most: u64) -> &'static str {
        if !repair(root, &mut |_, _| {}).unwrap().problems.is_empty() {
            return "left as it is";
        }
        let erased: u64 = verify(root, &mut |_, _| {}).unwrap().tasks.iter().map(|task| task.erased).sum();
        restore(root, self.tasks[2].0.digest()).unwrap();
        let store = open(root).unwrap();
        let (mut missing, mut lost) = (9 - erased, 0);
        for (task, held) in &self.tasks {
            let found = exported(root, task, true).unwrap();
            assert!(found.iter().all(|report| held.counted.get(report.id().as_bytes()) == Some(report)));
            let served = store.task(task.digest()).unwrap();
            assert_eq!(served.counts().records, found.len() as u64);
            assert_eq!(served.aggregate(), sum(task, &found));
            missing += (held.counted.len() - found.len()) as u64;
            lost += served.damage().lost;
        }
        assert_eq!(lost, missing);
        assert!(lost <= at_most, "{lost} lost");
        drop(store);
        acknowledge(root, None).unwrap();
        assert_eq!(problems(root), [""; 0]);
        if lost > 0 { "some lost" } else { "repaired" }
    }
}

/// Flips a bit, and says where; cuts the file one time in seven; or takes it away. Mostly where something is written.
fn damaged(content: &[u8], rng: &mut ChaCha8Rng) -> (Option<Vec<u8>>, Option<usize>) {
    let written: Vec<usize> = (0..content.len()).filter(|place| content[*place] != 0).collect();
    let anywhere = written.is_empty() || rng.random_bool(0.3);
    let places = if anywhere { content.len() } else { written.len() };
    let place = rng.random_range(0..places);
    let place = if anywhere { place } else { written[place] };
    let mut damaged = content.to_vec();
    match rng.random_range(0..30) {
        0 => (None, None),
        1..5 => (Some(content[..place].to_vec()), None),
        _ => {
            damaged[place] ^= 1 << rng.random_range(0..8);
            (Some(damaged), Some(place))
        }
    }
}

fn flip(seed: u64, flips: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut table = BTreeMap::<String, u64>::new();
    let folders = [false, true].map(Whole::new);
    for number in 0..flips {
        let whole = &folders[number % 2];
        let files: Vec<_> = whole.files.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
        let (name, content) = files[rng.random_range(0..files.len())];
        let (damaged, place) = damaged(content, &mut rng);
        println!("{number}: {}, bit at {place:?}, {:?} bytes", name.display(), damaged.as_ref().map(Vec::len));
        let with = || whole.with(name, damaged.as_deref());
        let told = whole.told(with().path());
        // The tables are known, and a report has a checksum of its own.
        let at_most = match place {
            Some(place) if name.ends_with("reports.sqlite") && place < 4096 => 0,
            // Of a damaged log the beginning is read.
            Some(place)
                if name.ends_with("reports.sqlite")
                    && whole.tasks.iter().any(|(_, held)| is_in_a_report(content, place, held)) =>
            {
                1
            }
            _ => u64::MAX,
        };
        let then = if told == "harmless" { "" } else { whole.repaired(with().path(), at_most) };
        *table.entry(format!("{} {told} {then}", name.file_name().unwrap().display())).or_default() += 1;
    }
    table.iter().for_each(|(outcome, count)| println!("{count:5} {outcome}"));
    for told in ["harmless", "verify", "told", "refused", "repaired", "some lost"] {
        assert!(table.keys().any(|outcome| outcome.contains(told)), "none is {told}");
    }
}

fn is_in_a_report(content: &[u8], place: usize, held: &Held) -> bool {
    held.counted.values().map(Report::to_bytes).any(|bytes| {
        let start = place.saturating_sub(bytes.len() - 1);
        content[start..content.len().min(place + bytes.len())].windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn no_flipped_bit_is_silent() {
    flip(1, 150);
}

#[test]
#[ignore = "minutes: the same with many more"]
fn ten_thousand_flips() {
    std::thread::scope(|scope| {
        for seed in [2, 3] {
            scope.spawn(move || flip(seed, 5000));
        }
    });
}
