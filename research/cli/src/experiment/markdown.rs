//! The report of a run as Markdown, with the pictures beside it, for repositories.

use ldp_pca_cli::output::duration;
use ldp_pca_cli::version::COMMIT;
use ldp_pca_literature::experiments::Grid;

use super::section::Section;

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
