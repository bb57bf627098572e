//! The report of a run: one self-contained HTML page.

use ldp_pca_literature::experiments::{Experiment, Findings, Grid, Scale, Table};

use super::kept::Head;
use crate::output::grouped;
use crate::plot;

/// The page's section about one experiment.
pub(super) struct Section {
    name: &'static str,
    title: &'static str,
    html: String,
}

impl Section {
    /// Its rows; none where it was not run or its data are missing.
    pub(super) fn new(experiment: &dyn Experiment, result: Option<&(Head, Table)>, missing: &[String]) -> Self {
        let (name, title) = (experiment.name(), experiment.title());
        let mut html = format!(
            "<section id=\"{name}\">\n<h2>{}</h2>\n<p class=\"source\"><code>{name}</code> · {}</p>\n",
            escaped(title),
            escaped(experiment.paper().citation())
        );
        html += "<div class=\"says\">\n";
        html += &column("The paper says", experiment.paper_says().split("\n\n"));
        let rest = match result {
            Some((head, table)) => {
                let findings = experiment.findings(head.scale(), table);
                html += &column("We measure", &findings.measured);
                html += &column("Why they differ", &findings.differences);
                after(experiment, head, table, &findings)
            }
            None => {
                html += &column("We measure", ["Nothing: it did not finish."]);
                String::new()
            }
        };
        html += "</div>\n";
        if !missing.is_empty() {
            html += "<div class=\"missing\"><p>Left out, because these files are missing:</p>\n<ul>\n";
            for line in missing {
                html += &format!("<li>{}</li>\n", escaped(line));
            }
            html += "</ul></div>\n";
        }
        html += &rest;
        html += "</section>\n";
        Self { name, title, html }
    }
}

fn column(head: &str, paragraphs: impl IntoIterator<Item: AsRef<str>>) -> String {
    let paragraphs = paragraphs.into_iter().map(|text| format!("<p>{}</p>\n", escaped(text.as_ref())));
    let html: String = paragraphs.collect();
    format!("<div><h3>{head}</h3>\n{}</div>\n", if html.is_empty() { "<p>See below.</p>\n" } else { &html })
}

/// Pictures, tables, and how it was run.
fn after(experiment: &dyn Experiment, head: &Head, table: &Table, findings: &Findings) -> String {
    let mut html = String::new();
    if !findings.figures.is_empty() {
        let picture = plot::figures(experiment.title(), experiment.name(), &findings.figures);
        html += &format!("<figure>\n{picture}</figure>\n");
    }
    for grid in &findings.grids {
        html += &grid_html(grid);
    }
    html += "<details><summary>Parameters and files</summary>\n<dl>\n";
    for (name, value) in experiment.parameters(head.scale()) {
        html += &format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(&value));
    }
    let (name, scale, rows) = (experiment.name(), head.scale(), grouped(table.len() as u64));
    html += &format!("<dt>scale</dt><dd>{scale}</dd>\n<dt>seed</dt><dd>{}</dd>\n", head.seed);
    if let Some(builds) = head.builds() {
        html += &format!("<dt>program</dt><dd>{builds}</dd>\n");
    }
    html += "</dl>\n";
    html += &format!("<p><a href=\"{name}.csv\">{name}.csv</a> ({rows} rows)");
    if !findings.figures.is_empty() {
        html += &format!(", <a href=\"{name}.svg\">{name}.svg</a>");
    }
    let quick = if scale == Scale::Quick { " --quick" } else { "" };
    html + &format!(". Again: <code>ldp-pca experiment run {name}{quick} --seed {}</code></p>\n</details>\n", head.seed)
}

fn grid_html(grid: &Grid) -> String {
    let heads: String = grid.heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escaped(head))).collect();
    let cell =
        |text: &String| format!("<td{}>{}</td>", if is_number(text) { " class=\"number\"" } else { "" }, escaped(text));
    let row = |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
    let (title, rows) = (escaped(&grid.title), grid.rows.iter().map(row).collect::<String>());
    let head = format!("<caption>{title}</caption>\n<thead><tr>{heads}</tr></thead>\n");
    format!("<div class=\"grid\"><table>\n{head}<tbody>\n{rows}</tbody>\n</table></div>\n")
}

/// Whether a text is aligned to the right: "12,000", "−0.5", "1e-4", "–" for nothing.
fn is_number(text: &str) -> bool {
    text == "–" || text.replace([',', '−'], "").parse::<f64>().is_ok()
}

/// Escapes for text and attributes, without characters that no document may hold.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            character if character.is_control() && character != '\n' => html.push('\u{fffd}'),
            character => html.push(character),
        }
    }
    html
}

/// The whole page.
pub(super) fn report(sections: &[Section]) -> String {
    let mut html = String::from(HEAD);
    html += "<nav aria-label=\"Experiments\"><ul>\n";
    for Section { name, title, .. } in sections {
        html += &format!("<li><a href=\"#{name}\">{}</a></li>\n", escaped(title));
    }
    html += "</ul></nav>\n";
    for section in sections {
        html += &section.html;
    }
    html += &format!("<footer><p>ldp-pca {}</p></footer>\n</main>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"));
    html
}

const HEAD: &str = include_str!("head.html");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_stand_to_the_right() {
        assert_eq!(escaped("a<b> & \"c\"'\u{7}"), "a&lt;b&gt; &amp; &quot;c&quot;&#39;\u{fffd}");
        assert!(["12,000", "-0.5", "1e-4", "–", "0.12"].into_iter().all(is_number));
        assert!(!["isolet5", "1,560 × 617", "all", ""].into_iter().any(is_number));
    }
}
