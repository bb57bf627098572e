//! `backup`: a copy of a folder, as it is at one moment for each task, while a server may have it open.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::super::database::Database;
use super::super::{make_folders, move_folder, names, remove_folder};
use super::{Progress, all_folders, meter};
use crate::durable::{folder_of, make_folder, new_folder, sync_folder, write_whole};
use crate::store::{At, StoreError};

/// The result of [`backup`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// Tasks, those that are deleted and not erased among them.
    pub tasks: u64,
    /// Their reports.
    pub reports: u64,
    /// Small files: keys and tokens.
    pub files: u64,
    /// Losses of the tasks that nobody has acknowledged.
    pub damage: Vec<String>,
}

/// Copies tasks, keys and tokens to the folder `to`, which is not there: it is there whole, or not at all.
///
/// # Errors
/// [`StoreError`] when something cannot be read or is not intact, or `to` cannot be made.
pub fn backup(root: &Path, to: &Path, progress: Progress<'_>) -> Result<BackedUp, StoreError> {
    if to.exists() {
        let error = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(StoreError::io("back up into", to, error));
    }
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = to.with_file_name(name);
    remove_folder(&part).at("remove", &part)?;
    make_folder(folder_of(&part)).at("make", &part)?;
    // It is this user's, whoever owns the folder that it is in.
    new_folder(&part).at("make", &part)?;
    let done = copy_all(root, &part, progress).inspect_err(|_| {
        // It may have filled a disk.
        let _ = remove_folder(&part);
    })?;
    move_folder(&part, to).at("make", to)?;
    Ok(done)
}

fn copy_all(root: &Path, part: &Path, progress: Progress<'_>) -> Result<BackedUp, StoreError> {
    make_folders(part)?;
    let mut done = BackedUp::default();
    let mut meter = meter(progress, all_folders(root)?.iter().map(|(folder, ..)| folder));
    // Once more for those that were deleted before they were copied, also where another one of the same task was put in
    // their place: better twice than never.
    for _ in 0..2 {
        for (from, digest, _) in all_folders(root)? {
            let to = part.join(from.strip_prefix(root).unwrap_or(&from));
            // It may have been deleted or erased meanwhile, also while it was copied.
            if to.exists() || !from.exists() {
                continue;
            }
            make_folder(&to).at("make", &to)?;
            let content = match Database::copy(&from, &to, digest) {
                Err(_) if !from.exists() => {
                    remove_folder(&to).at("remove", &to)?;
                    continue;
                }
                copied => copied?,
            };
            done.damage.extend(content.row.damage.iter().map(|damage| format!("task {digest}: {damage}")));
            meter(Database::bytes_in(&from));
            (done.tasks, done.reports) = (done.tasks + 1, done.reports + content.reports);
        }
    }
    for name in names(root)? {
        let path = root.join(&name);
        if path.is_file() && name != "lock" && !name.ends_with(".tmp") {
            let content = fs::read(&path).at("read", &path)?;
            write_whole(part, &name, &content).at("write", &part.join(&name))?;
            done.files += 1;
        }
    }
    ["tasks", "deleted"].iter().try_for_each(|name| sync_folder(&part.join(name))).at("write", part)?;
    Ok(done)
}
