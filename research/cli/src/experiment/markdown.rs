//! The report of a run as Markdown, with the pictures beside it, for repositories.

use ldp_pca_cli::version::COMMIT;
use ldp_pca_literature::experiments::Grid;

use super::section::Section;
use crate::shared::duration;

/// The whole page. `command` is the one that wrote it.
pub(super) fn report(sections: &[Section], command: &str) -> String {
    let mut page = format!(
        "# Tables and figures of the literature, run again\n\n\
         This page was written by `{command}`. Its numbers are computed from the rows in the CSV files beside it, \
         which have five digits of each. They are of one seed, which each part names. `ldp-pca` {}, commit {}.\n\n\
         *Agrees* counts the claims of the paper that the rows have, of those that they could fail. What a random \
         subspace has too is no agreement: errors are compared as shares of a random subspace's. Nor is a theorem \
         that holds for all data. *Yes* is all of them, *in part* some, *no* none; a *stand-in* is other data or \
         another setting than the paper's. Each part says what was counted. *Time* is the processor time of all parts \
         of an experiment.\n\n\
         | experiment | paper | scale | time | agrees |\n|---|---|---|---|---|\n",
        env!("CARGO_PKG_VERSION"),
        commits(sections)
    );
    for Section { experiment, result, missing } in sections {
        let (scale, time, agrees) = match result {
            None => ("–".to_owned(), "–".to_owned(), "not run".to_owned()),
            Some(result) => {
                let absent = if missing.is_empty() { "" } else { "; data sets are missing" };
                (
                    result.head.scale().to_string(),
                    cell(&duration(result.seconds)),
                    format!("{}{absent}", result.agreement),
                )
            }
        };
        let (name, title, paper) = (experiment.name(), experiment.title(), experiment.paper());
        page += &format!("| [{}](#{name}) | {paper} | {scale} | {time} | {agrees} |\n", cell(title));
    }
    page.extend(sections.iter().map(section));
    page
}

/// The commits of the programs that ran the experiments.
fn commits(sections: &[Section]) -> String {
    let mut commits: Vec<&str> =
        sections.iter().filter_map(|section| Some(section.result.as_ref()?.head.commit())).collect();
    commits.sort_unstable();
    commits.dedup();
    if commits.is_empty() { COMMIT.to_owned() } else { commits.join(", ") }
}

fn section(section: &Section) -> String {
    let experiment = section.experiment.as_ref();
    let (name, title) = (experiment.name(), experiment.title());
    let texts = section.texts();
    let row = |cells: [String; 3]| format!("| {} |\n", cells.join(" | "));
    let mut page = format!("\n<a id=\"{name}\"></a>\n\n## {title}\n\n`{name}` · {}\n\n", experiment.paper().citation());
    page += &row(texts.each_ref().map(|(head, _)| (*head).to_owned()));
    page += "|---|---|---|\n";
    let joined = |paragraphs: &[&str]| paragraphs.iter().map(|text| cell(text)).collect::<Vec<_>>().join("<br><br>");
    page += &row(texts.each_ref().map(|(_, paragraphs)| joined(paragraphs)));
    if let Some(result) = &section.result {
        page += &format!("\n*Agrees*: {}. {}\n", result.agreement, cell(experiment.agrees_if()));
    }
    if !section.missing.is_empty() {
        page += "\nLeft out, because these files are missing:\n\n";
        page.extend(section.missing.iter().map(|line| format!("- {line}\n")));
    }
    let Some(result) = &section.result else { return page };
    if !result.findings.figures.is_empty() {
        page += &format!("\n![{title}]({name}.svg)\n");
    }
    page.extend(result.findings.grids.iter().map(grid));
    let (file, rows) = (&result.file, result.rows());
    page += &format!("\n[{file}]({file}) ({rows} rows); again: `{}`\n", result.command(experiment));
    page += "\n<details><summary>Parameters</summary>\n\n| | |\n|---|---|\n";
    for (name, value) in result.parameters(experiment) {
        page += &format!("| {} | {} |\n", cell(name), cell(&value));
    }
    page + "\n</details>\n"
}

fn grid(grid: &Grid) -> String {
    let row =
        |cells: &[String]| format!("| {} |\n", cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "));
    let rule = format!("|{}\n", "---|".repeat(grid.heads.len()));
    let rows: String = grid.rows.iter().map(|cells| row(cells)).collect();
    format!("\n*{}*\n\n{}{rule}{rows}", cell(&grid.title), row(&grid.heads))
}

/// A text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
mod described;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::path::Path;

    use flate2::read::GzDecoder;
    use ldp_pca_literature::experiments::data::DATA_SETS;
    use ldp_pca_literature::experiments::{Experiment, Scale, Table, Value, all};

    use super::super::data_of;
    use super::super::kept::{Complete, Head};
    use super::*;

    const DOCUMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

    pub(super) fn document(name: &str) -> String {
        fs::read_to_string(Path::new(DOCUMENTS).join(name)).unwrap()
    }

    pub(super) fn named(name: &str) -> Box<dyn Experiment> {
        all().into_iter().find(|experiment| experiment.name() == name).unwrap()
    }

    /// The cells of a line of a CSV file.
    fn cells(line: &str) -> Vec<String> {
        let (mut cells, mut quoted) = (vec![String::new()], false);
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                _ => cells.last_mut().unwrap().push(character),
            }
        }
        cells
    }

    /// The committed rows of an experiment, and the ending of their file.
    pub(super) fn committed(experiment: &dyn Experiment) -> (Table, &'static str) {
        let path = |ending: &str| Path::new(DOCUMENTS).join(format!("results/{}.{ending}", experiment.name()));
        let ending = if path("csv").exists() { "csv" } else { "csv.gz" };
        let bytes = fs::read(path(ending)).unwrap();
        let mut text = String::new();
        match ending {
            "csv" => (&bytes[..]).read_to_string(&mut text).unwrap(),
            _ => GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap(),
        };
        let mut lines = text.lines().map(cells);
        assert_eq!(lines.next().unwrap(), experiment.columns());
        let rows: Vec<Vec<String>> = lines.collect();
        // A column with a word has only words: an empty cell is one, too.
        let is_word = |text: &String| !text.is_empty() && text.parse::<f64>().is_err();
        let words: Vec<bool> =
            (0..experiment.columns().len()).map(|column| rows.iter().any(|row| is_word(&row[column]))).collect();
        let value = |(text, word): (String, &bool)| {
            if *word { Value::from(text) } else { Value::from(text.parse().unwrap_or(f64::NAN)) }
        };
        let mut table = Table::new(experiment.columns());
        table.extend(rows.into_iter().map(|row| row.into_iter().zip(&words).map(value).collect()).collect());
        (table, ending)
    }

    /// The lines of a page that do not depend on the program or on its time.
    fn lasting(page: &str) -> Vec<String> {
        let passing = ["This page was written by", "| program |"];
        let lines = page.lines().filter(|line| !passing.iter().any(|start| line.starts_with(start)));
        let without_time = |line: &str| {
            let mut cells: Vec<&str> = line.split(" | ").collect();
            if line.starts_with("| [") {
                cells.remove(3);
            }
            cells.join(" | ")
        };
        lines.map(without_time).collect()
    }

    /// The text with a mark in place of each number, and the numbers.
    pub(super) fn numbers(text: &str) -> (String, Vec<String>) {
        let (mut marked, mut numbers, mut rest) = (String::new(), vec![], text);
        while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|character: char| !character.is_ascii_digit() && !".,".contains(character));
            let number = from[..end.unwrap_or(from.len())].trim_end_matches(['.', ',']);
            marked += before;
            marked += "#";
            numbers.push(number.replace(',', ""));
            rest = &from[number.len()..];
        }
        (marked + rest, numbers)
    }

    /// Whether the texts are equal, but for one in the last decimal place or in the fifth digit of a number: the
    /// committed rows have five digits, and the page was written from all.
    fn alike(one: &str, other: &str) -> bool {
        let ((one, ours), (other, theirs)) = (numbers(one), numbers(other));
        let places = |number: &String| number.split_once('.').map(|(_, decimals)| decimals.len() as i32);
        let near = |(ours, theirs): (&String, &String)| {
            let [one, other] = [ours, theirs].map(|number| number.parse::<f64>().unwrap_or(f64::NAN));
            let near = |places: i32| (one - other).abs() < 1.01 * 10f64.powi(-places) + 5e-5 * one;
            ours == theirs || places(ours) == places(theirs) && places(ours).is_some_and(near)
        };
        one == other && ours.len() == theirs.len() && ours.iter().zip(&theirs).all(near)
    }

    #[test]
    fn the_committed_page_is_what_its_rows_say() {
        let section = |experiment: Box<dyn Experiment>| {
            let (table, ending) = committed(experiment.as_ref());
            let mut missing = data_of(experiment.as_ref(), Scale::Full);
            missing.retain(|set| !table.distinct("data", &[]).contains(&Value::from(set.name)));
            let missing = missing.iter().map(ToString::to_string).collect();
            let head = Head::new(experiment.as_ref(), Scale::Full, 1);
            Section::new(experiment, Some(Complete { head, table, seconds: 0.0 }), missing, ending)
        };
        let sections: Vec<Section> = all().into_iter().map(section).collect();
        let (written, found) = (lasting(&report(&sections, "")), lasting(&document("results/README.md")));
        for (written, found) in written.iter().zip(&found) {
            assert!(alike(written, found), "write the page again:\n{written}\n{found}");
        }
        assert_eq!(written.len(), found.len());
    }

    #[test]
    fn numbers_are_compared_to_their_last_decimal_place() {
        assert!(alike("0.53 ± 0.10 in 4 of 1,680.", "0.54 ± 0.09 in 4 of 1,680."));
        for other in ["0.55 ± 0.10 in 4 of 1,680.", "0.53 ± 0.10 in 3 of 1,680.", "0.53 ± 0.10 in 4 of 1,680, ."] {
            assert!(!alike("0.53 ± 0.10 in 4 of 1,680.", other), "{other}");
        }
    }

    /// What was measured stands in the page that the program writes, and nowhere else.
    #[test]
    fn the_description_of_the_experiments_has_no_measured_numbers() {
        const NAMED: [&str; 4] = ["Theorem", "Lemma", "Example", "section"];
        let text = document("experiments.md");
        // The numbers of that part are those of the tests of `ldp_pca_literature::theorems`.
        let (before, theorems) = text.split_once("\n## What the theorems state").unwrap();
        let (theorems, after) = theorems.split_once("\n## ").unwrap();
        assert!(["0.0048", "0.19", "2.68"].iter().all(|number| theorems.contains(number)));
        for part in [before, after] {
            let prose: String = part.split('`').step_by(2).collect::<Vec<_>>().join(" ");
            let words: Vec<&str> = prose.split_whitespace().collect();
            for pair in words.windows(2) {
                let decimal = numbers(pair[1]).1.iter().any(|number| number.contains('.'));
                assert!(!decimal || NAMED.contains(&pair[0].trim_start_matches('(')), "{} {}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn every_later_work_has_an_address() {
        let text = document("since-2022.md");
        for line in text.lines().filter(|line| line.starts_with("| ")).skip(1) {
            let address = line.trim_end_matches(" |").rsplit(" | ").next().unwrap();
            assert!(address.starts_with('[') && address.contains("](https://"), "{line}");
        }
    }

    #[test]
    fn the_data_sets_have_the_features_that_are_documented() {
        let text = document("experiments.md");
        for set in DATA_SETS {
            let start = format!("| `{}` |", set.name);
            if let Some(line) = text.lines().find(|line| line.starts_with(&start)) {
                let features = line.rsplit('|').nth(1).unwrap();
                assert!(numbers(features).1.contains(&set.features.to_string()), "{line}");
            }
        }
    }
}
