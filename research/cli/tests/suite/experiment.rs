//! `experiment`: what it lists, writes and keeps, and what it refuses.

use std::io::Read as _;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::support::{Folder, npy};

/// The experiment that takes whatever records there are.
const NAME: &str = "wang-xu-figures-1-2";

/// A folder with records under the name of one of its three data sets: eight features with strong and weak ones.
fn with_records(records: usize) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1u32 << 24) - 0.5
    };
    let bytes: Vec<u8> =
        (0..records * 8).flat_map(|index| (uniform() / (1 + index % 8) as f64).to_le_bytes()).collect();
    folder.write("data/covertype.npy", npy("<f8", false, &format!("({records}, 8)"), &bytes));
    folder
}

fn run(seed: u64) -> String {
    format!("experiment run {NAME} --quick --data data --out out --seed {seed} --json")
}

/// What a run says of its only experiment.
fn outcome(folder: &Folder, line: &str) -> Value {
    folder.run(line).json()["experiments"][0].take()
}

#[test]
fn the_list_names_every_experiment_with_the_data_it_needs() {
    let folder = Folder::new();
    let listed = folder.json("experiment list");
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), ldp_pca_literature::experiments::all().len());
    let one = listed.iter().find(|experiment| experiment["name"] == "wang-xu-table-1").unwrap();
    assert_eq!(one["paper"], "Wang & Xu");
    assert!(one["data"][0]["publisher"].as_str().unwrap().starts_with("https://"), "{one}");
    folder.run("experiment list").prints(&["wang-xu-figure-3\n", "isolet5.npy.gz"]);
}

#[test]
fn a_run_leaves_rows_a_picture_and_one_page_and_says_what_it_left_out() {
    let folder = with_records(400);
    let outcome = outcome(&folder, &run(1));
    assert!(outcome["status"] == "done" && outcome["kept"] == 0, "{outcome}");
    // Buzz, Year and KDD Cup 99 are not there, and where to get them is said.
    assert_eq!(outcome["missing"].as_array().unwrap().len(), 3);
    assert!(outcome["missing"][0].as_str().unwrap().contains("https://"), "{outcome}");
    let rows = folder.read_text(&format!("out/{NAME}.csv"));
    assert!(rows.starts_with("data,panel,n,p,k,"), "{rows}");
    assert_eq!(rows.lines().count() as u64, 1 + outcome["rows"].as_u64().unwrap());
    let picture = folder.read_text(&format!("out/{NAME}.svg"));
    well_formed(&picture, &[]);
    let page = folder.read_text("out/index.html");
    well_formed(page.strip_prefix("<!doctype html>\n").unwrap(), &["meta"]);
    for part in ["The paper says", "We measure", "<h3>Why</h3>", "prefers-color-scheme", "<svg", NAME, "buzz"] {
        assert!(page.contains(part), "{part}");
    }
    // It asks nobody for anything.
    for part in ["<script", "<link", "<img", "<iframe", "src=", "@import", "url(", "href=\"http"] {
        assert!(!page.contains(part), "{part}");
    }
    // The same page for repositories says how it was made, and whether the rows have what the paper says.
    let markdown = folder.read_text("out/README.md");
    let command = format!("`ldp-pca-research experiment run {NAME} --quick --seed 1 --data DIR`");
    let picture = format!("]({NAME}.svg)");
    for part in [&command, "| The paper says | We measure | Why |", &picture, "data sets are missing"] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let tables = markdown.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>();
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    for pair in tables.windows(2).filter(|pair| pair[1].starts_with("|---")) {
        assert_eq!(columns(pair[0]), columns(pair[1]), "{}", pair[0]);
    }
    // Progress and notes are for terminals.
    assert_eq!(folder.run(&run(1)).ok().stderr, "");
}

#[test]
fn large_rows_are_compressed_on_request_and_the_pages_name_the_file() {
    let folder = Folder::new();
    let run = |more: &str| folder.run(&format!("experiment run liu-figure-1 ge-figure-2 --out out{more}")).ok();
    let exists = |name: &str| folder.path("out").join(name).exists();
    run("");
    let rows = folder.read_text("out/liu-figure-1.csv");
    run(" --gzip");
    assert!(!exists("liu-figure-1.csv") && exists("ge-figure-2.csv") && !exists("ge-figure-2.csv.gz"));
    let mut unpacked = String::new();
    GzDecoder::new(&folder.read("out/liu-figure-1.csv.gz")[..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, rows);
    for page in ["out/README.md", "out/index.html"] {
        let page = folder.read_text(page);
        assert!(page.contains("liu-figure-1.csv.gz") && !page.contains("ge-figure-2.csv.gz"), "{page}");
    }
    run("");
    assert!(exists("liu-figure-1.csv") && !exists("liu-figure-1.csv.gz"));
    assert!(!folder.read_text("out/README.md").contains(".gz"));
}

/// Every element that begins ends, in the right order, and nothing stands outside of one.
fn well_formed(document: &str, void: &[&str]) {
    let mut open = vec![];
    let mut rest = document;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(!name.is_empty(), "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "<{tag}>");
        } else if !tag.ends_with('/') && !void.contains(&&*name) {
            open.push(name);
        }
        let quotes = tag.matches('"').count();
        assert!(quotes.is_multiple_of(2), "<{tag}>");
    }
    assert_eq!(open, Vec::<String>::new());
    assert_eq!(rest.trim(), "");
}

#[test]
fn finished_cells_are_kept_until_seed_or_records_change() {
    let folder = with_records(400);
    let cells = |line: &str| {
        let outcome = outcome(&folder, line);
        (outcome["cells"].as_u64().unwrap(), outcome["kept"].as_u64().unwrap())
    };
    let csv = || folder.read(&format!("out/{NAME}.csv"));
    let (all, _) = cells(&run(1));
    let first = csv();
    assert_eq!(cells(&run(1)), (0, all));
    // Killed while it wrote the last line.
    let kept = format!("out/{NAME}.cells");
    let bytes = folder.read(&kept);
    folder.write(&kept, &bytes[..bytes.len() - 40]);
    assert_eq!(cells(&run(1)), (1, all - 1));
    assert_eq!(csv(), first);
    assert_eq!(cells(&run(2)), (all, 0));
    assert_ne!(csv(), first);
    // Another file under the same name.
    let other = with_records(401);
    folder.write("data/covertype.npy", other.read("data/covertype.npy"));
    assert_eq!(cells(&run(2)), (all, 0));
    // A file of another kind is replaced as a whole but not lost: it is the second file that is set aside.
    folder.write(&kept, b"not ours\n{}\n");
    assert_eq!(cells(&run(2)), (all, 0));
    assert_eq!(folder.read_text(&format!("{kept}.old2")), "not ours\n{}\n");
}

#[test]
fn a_killed_run_goes_on_where_it_ended() {
    let folder = with_records(20_000);
    let mut child = folder.command(run(1).split_whitespace()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let kept = folder.path(&format!("out/{NAME}.cells"));
    // The head and the first cell, or the end if it was faster than we look.
    while !std::fs::read_to_string(&kept).is_ok_and(|text| text.lines().count() >= 2 && text.ends_with('\n')) {
        assert!(started.elapsed() < Duration::from_secs(300), "no cell was finished");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = outcome(&folder, &run(1));
    assert!(outcome["kept"].as_u64().unwrap() >= 1, "{outcome}");
    let interrupted = folder.read(&format!("out/{NAME}.csv"));
    folder.run(&run(1).replace("--out out", "--out again")).ok();
    assert_eq!(folder.read(&format!("again/{NAME}.csv")), interrupted);
}

#[test]
fn what_cannot_be_run_is_refused_or_named_with_where_to_get_it() {
    let folder = Folder::new();
    folder.refused("experiment run", 2, &["NAME"]);
    folder.refused("experiment run all --data nowhere", 2, &["--data nowhere is not a folder"]);
    let missing = folder.run("experiment run wang-xu-table-1 --quick --out out");
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stdout.contains("isolet5 is missing: get it from https://"), "{missing:?}");
    assert!(missing.stderr.contains("not finished: wang-xu-table-1"), "{missing:?}");
    // The page says it too.
    assert!(folder.read_text("out/index.html").contains("isolet5 is missing"));
}

#[test]
fn a_file_that_is_not_the_data_set_fails_its_experiment_and_is_named() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/covertype.npy", b"not numbers");
    let run = folder.run(&run(1));
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("\"failed\"") && run.stdout.contains("not a readable NPY file"), "{run:?}");
    // Another run writes there.
    let folder = with_records(400);
    folder.run(&self::run(1)).ok();
    let file = std::fs::File::open(folder.path(&format!("out/{NAME}.cells"))).unwrap();
    file.lock().unwrap();
    folder.refused(&self::run(1), 1, &["another run is writing it"]);
}
