//! The tables of the manifest, and their version.

use rusqlite::Transaction;

/// The tables' version.
pub(super) const VERSION: i64 = 1;

/// Checksums are before the long columns, so that they are read without them.
pub(super) const TABLES: [&str; 4] = [
    "CREATE TABLE tasks (
        digest BLOB PRIMARY KEY,
        settings TEXT NOT NULL,
        created INTEGER NOT NULL,
        deleted INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT",
    "CREATE TABLE segments (
        task BLOB NOT NULL,
        number INTEGER NOT NULL,
        reports INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        footer INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        ids BLOB NOT NULL,
        PRIMARY KEY (task, number)
    ) STRICT",
    "CREATE TABLE snapshots (
        task BLOB NOT NULL,
        part INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (task, part)
    ) STRICT",
    "CREATE TABLE state (
        tasks INTEGER NOT NULL,
        segments INTEGER NOT NULL,
        snapshots INTEGER NOT NULL,
        sum INTEGER NOT NULL,
        changes INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT",
];

/// Creates them in a database without any.
pub(super) fn make_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    TABLES.iter().try_for_each(|table| transaction.execute(table, []).map(drop))?;
    transaction.pragma_update(None, "user_version", VERSION)
}
