//! The `task types` command: a TypeScript module for a task.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use ldp_pca::schema::{Column, ColumnKind, Unseen};
use ldp_pca::task::Task;
use serde::Serialize;

use crate::error::Result;
use crate::files;

/// Print a TypeScript module with a task and the type of its records
///
/// The module has the task itself, so that `Task.parse(task)` of the npm package knows the columns; its digest, for
/// `Task.fetch`; the type of a record; and the values that categorical columns list.
#[derive(Args)]
pub(crate) struct Types {
    /// The task file (see `task new`)
    task: PathBuf,
}

impl Types {
    pub(super) fn run(self) -> Result<()> {
        write!(std::io::stdout().lock(), "{}", module(&files::task(&self.task)?))?;
        Ok(())
    }
}

fn module(task: &Task) -> String {
    let read = || task.schema().columns().iter().filter(|column| column.kind != ColumnKind::Ignored);
    let columns: Vec<String> = task.schema().columns().iter().map(json).collect();
    let lines: String = columns.iter().map(|column| format!("  {column},\n")).collect();
    // The JSON of the task, which is TypeScript too, with each column in a line of its own.
    let document = task.to_json().replacen(&format!("[{}]", columns.join(",")), &format!("[\n{lines}]"), 1);
    let fields: String =
        read().map(|column| format!("  readonly {}: {};\n", json(&column.name), value(column))).collect();
    let labels: String = read().filter_map(listed).map(|line| format!("  {line},\n")).collect();
    format!(
        "// Made by `ldp-pca task types`. A task never changes: make this again for another one.\n\n\
         /** The task, for `Task.parse`. */\n\
         export const task = {document} as const;\n\n\
         /** Its digest, for `Task.fetch<typeof task.schema>(url, {{ digest }})`. */\n\
         export const digest = \"{}\";\n\n\
         /** A record: a value for every column, or none where a question was skipped. */\n\
         export interface TaskRecord {{\n{fields}}}\n\n\
         /** The values that categorical columns list. */\n\
         export const labels = {{\n{labels}}} as const;\n",
        task.digest()
    )
}

/// The type of a column's values. A column that counts unseen values as `other` may hold any text.
fn value(column: &Column) -> String {
    let mut held: Vec<String> = match &column.kind {
        ColumnKind::Categorical { values, unseen: Unseen::Zero } => values.iter().map(json).collect(),
        ColumnKind::Categorical { unseen: Unseen::Other, .. } => vec!["string".to_owned()],
        ColumnKind::Numeric { .. } | ColumnKind::Ignored => vec!["number".to_owned()],
    };
    held.extend(["null", "undefined"].map(str::to_owned));
    held.join(" | ")
}

fn listed(column: &Column) -> Option<String> {
    match &column.kind {
        ColumnKind::Categorical { values, .. } => Some(format!("{}: {}", json(&column.name), json(values))),
        _ => None,
    }
}

/// Writes texts, numbers, and values made of them as JSON.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
