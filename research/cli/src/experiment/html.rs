//! The report of a run: one self-contained HTML page.

use ldp_pca_literature::experiments::{Experiment, Grid};

use super::figures::figures;
use super::section::{Measured, Section};

fn section(section: &Section) -> String {
    let experiment = section.experiment.as_ref();
    let name = experiment.name();
    let mut html = format!(
        "<section id=\"{name}\">\n<h2>{}</h2>\n<p class=\"source\"><code>{name}</code> · {}</p>\n\
         <div class=\"says\">\n",
        escaped(experiment.title()),
        escaped(experiment.paper().citation())
    );
    for (head, paragraphs) in section.texts() {
        let paragraphs: String = paragraphs.iter().map(|text| format!("<p>{}</p>\n", escaped(text))).collect();
        html += &format!("<div><h3>{head}</h3>\n{paragraphs}</div>\n");
    }
    html += "</div>\n";
    if !section.missing.is_empty() {
        html += "<div class=\"missing\"><p>Left out, because these files are missing:</p>\n<ul>\n";
        for line in &section.missing {
            html += &format!("<li>{}</li>\n", escaped(line));
        }
        html += "</ul></div>\n";
    }
    if let Some(result) = &section.result {
        html += &after(experiment, result);
    }
    html + "</section>\n"
}

/// Pictures, tables, and how it was run.
fn after(experiment: &dyn Experiment, result: &Measured) -> String {
    let (name, findings) = (experiment.name(), &result.findings);
    let mut html = format!("<p>Agrees: {}. {}</p>\n", result.agreement, escaped(experiment.agrees_if()));
    if !findings.figures.is_empty() {
        let picture = figures(experiment.title(), name, &findings.figures);
        html += &format!("<figure>\n{picture}</figure>\n");
    }
    for grid in &findings.grids {
        html += &grid_html(grid);
    }
    html += "<details><summary>Parameters and files</summary>\n<dl>\n";
    for (name, value) in result.parameters(experiment) {
        html += &format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(&value));
    }
    html += &format!("</dl>\n<p><a href=\"{0}\">{0}</a> ({1} rows)", result.file, result.rows());
    if !findings.figures.is_empty() {
        html += &format!(", <a href=\"{name}.svg\">{name}.svg</a>");
    }
    html + &format!(". Again: <code>{}</code></p>\n</details>\n", result.command(experiment))
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
    for Section { experiment, .. } in sections {
        html += &format!("<li><a href=\"#{}\">{}</a></li>\n", experiment.name(), escaped(experiment.title()));
    }
    html += "</ul></nav>\n";
    html.extend(sections.iter().map(section));
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
