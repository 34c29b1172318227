use super::*;
use crate::{
    model::clock::TickMark,
    store::{Mode, QueueState, ScheduleState, StoreError},
};

#[test]
fn a_queue_nobody_has_used_is_open_and_empty() {
    let mut base = Base::new();
    assert_eq!(base.store.view().queue("new").unwrap(), QueueState::default());
    base.tx(|tx| tx.set_mode("new", Mode::Draining));
    assert_eq!(base.store.view().queue("new").unwrap().mode, Mode::Draining);
    base.insert(&NewJob { queue: "new".into(), ..wish("Emma") });
    base.tx(|tx| tx.set_mode("new", Mode::Paused));
    let state = QueueState { mode: Mode::Paused, queued: 1, delayed: 0, served: Stamp(0) };
    assert_eq!(base.store.view().queues().unwrap(), [("new".to_owned(), state)]);
}

#[test]
fn the_last_tick_and_the_schedules_are_remembered() {
    let mut base = Base::new();
    assert_eq!(base.store.view().last_tick().unwrap(), None);
    let mark = TickMark { at: NOON, since_boot: Duration::from_millis(77), boot_id: "boot".into() };
    base.tx(|tx| tx.mark_tick(&mark));
    assert_eq!(base.store.view().last_tick().unwrap(), Some(mark));

    assert_eq!(base.store.view().schedule("reindex").unwrap(), None);
    for ms in [1, 17_000] {
        let state = ScheduleState { last: NOON, next: NOON.plus_ms(ms) };
        base.tx(|tx| tx.set_schedule("reindex", state));
        assert_eq!(base.store.view().schedule("reindex").unwrap(), Some(state));
    }
}

#[test]
fn each_site_has_a_key_of_its_own_and_keeps_it() {
    let (base, other) = (Base::new(), Base::new());
    let key = base.store.view().client_key().unwrap();
    assert_ne!(key, other.store.view().client_key().unwrap());
    Store::create(&base.path(), "moved").unwrap();
    assert_eq!(base.store.view().client_key().unwrap(), key);
}

#[test]
fn a_database_of_another_machine_is_refused_until_it_is_adopted() {
    let base = Base::new();
    assert_eq!(base.store.view().machine_id().unwrap().as_deref(), Some("machine"));
    assert!(base.store.expect_machine("machine").is_ok());
    assert!(base.store.expect_machine("").is_ok());
    assert!(matches!(base.store.expect_machine("other"), Err(StoreError::OtherMachine)));
    Store::create(&base.path(), "other").unwrap();
    assert!(base.store.expect_machine("other").is_ok());
    Store::create(&base.path(), "").unwrap();
    assert!(base.store.expect_machine("any").is_ok());
}
