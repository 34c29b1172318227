use super::*;
use crate::{
    model::status::Status,
    store::{Mode, sqlite::schema::SCHEMA},
};

/// The schema on one line, so that a list may be broken anywhere.
fn schema() -> String {
    SCHEMA.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

#[test]
fn it_lists_exactly_the_codes() {
    let codes: Vec<_> = Status::ALL.iter().map(|status| status.code().to_string()).collect();
    assert!(schema().contains(&format!("CHECK (status IN ({}))", codes.join(", "))));
    assert_eq!(schema().matches("status IN (").count(), 1);
}

#[test]
fn it_lists_exactly_the_outcomes() {
    let list = format!("CHECK (result IN ({}))", quoted(Outcome::ALL.iter().map(|outcome| outcome.name())));
    assert_eq!(schema().matches(&list).count(), 2, "in job and in attempt");
    assert_eq!(schema().matches("result IN (").count(), 2);
}

#[test]
fn it_lists_exactly_the_modes() {
    let list = quoted(Mode::ALL.iter().map(|mode| mode.name()));
    assert!(schema().contains(&format!("CHECK (mode IN ({list}))")));
}

#[test]
fn every_table_is_strict() {
    let base = Base::new();
    let loose: Vec<String> = base
        .store
        .view()
        .all("SELECT name FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%' AND strict = 0", [], |row| row.get(0))
        .unwrap();
    assert_eq!(loose, [""; 0]);
}

#[test]
fn a_column_that_does_not_exist_in_a_status_is_refused() {
    let mut base = Base::new();
    base.queued("queued");
    base.started("started");
    let failed = base.started("failed");
    base.tx(|tx| tx.finish_failed(&failed, &ended(Outcome::Exit), NOON));
    for (name, wrong) in [
        ("queued", "started = 1"),
        ("queued", "failed = 1"),
        ("queued", "again = 1"),
        ("queued", "cancel = 1"),
        ("queued", "percent = 5"),
        ("queued", "waits = 2"),
        ("started", "started = NULL"),
        ("started", "attempt = NULL"),
        ("started", "attempts = 0"),
        ("started", "waits = 1"),
        ("started", "percent = 101"),
        ("started", "failed = 1"),
        ("failed", "failed = NULL"),
        ("failed", "result = NULL"),
        ("failed", "result = 'bad luck'"),
        ("failed", "again = 1"),
        ("failed", "cancel = 1"),
        ("failed", "status = 4"),
        ("failed", "priority = 11"),
        ("failed", "params = '[]'"),
    ] {
        let sql = format!("UPDATE job SET {wrong} WHERE filename = ?");
        let refused = base.store.view().change(&sql, [file(name)]);
        assert!(refused.is_err(), "{name} with {wrong}");
    }
}
