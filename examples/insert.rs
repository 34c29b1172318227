//! The floor of queueing: one row into one table, durably, and nothing else. `make bench` compares `pressroom request`
//! with it.
//!
//! The log of the database is kept when the connection closes, since copying it back and deleting it would double
//! the cost; all else is as rusqlite has it: its busy handler of five seconds, SQLite's automatic checkpoints.

use std::env;

use rusqlite::{Connection, Result, TransactionBehavior, config::DbConfig};

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [path, name] = words.as_slice() else {
        eprintln!("usage: insert DATABASE NAME");
        std::process::exit(64);
    };
    insert(&mut open(path)?, name)
}

fn open(path: &str) -> Result<Connection> {
    let conn = Connection::open(path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // A new database needs this once; an existing one is in this mode already, and asking costs a read.
    conn.pragma_update(None, "journal_mode", "wal")?;
    conn.pragma_update(None, "synchronous", "full")?;
    Ok(conn)
}

fn insert(conn: &mut Connection, name: &str) -> Result<()> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, at INTEGER)",
    )?;
    transaction.execute("INSERT INTO job (name, at) VALUES (?, unixepoch())", [name])?;
    transaction.commit()
}
