use std::{
    env,
    process::{Child, Command, Stdio},
    thread,
};

use super::*;
use crate::{model::status::Status, store::StoreError};

const WRITERS: usize = 16;
const EACH: usize = 40;

fn count(store: &Store) -> u64 {
    store.view().queue("default").unwrap().queued
}

fn insert_some(path: &std::path::Path, writer: &str) -> anyhow::Result<()> {
    for number in 0..EACH {
        // As `request` does it: a connection of its own for each.
        let mut store = Store::open(path)?;
        store.immediate(|tx| Ok(tx.insert(&wish(&format!("{writer}-{number}")))?))?;
    }
    Ok(())
}

#[test]
fn sixteen_threads_write_and_nobody_is_told_busy() {
    let base = Base::new();
    let path = base.path();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let path = &path;
                    move || insert_some(path, &writer.to_string())
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap().expect("no error");
        }
    });
    assert_eq!(count(&base.store), (WRITERS * EACH) as u64);
}

#[test]
#[ignore = "a part of the next test, in a process of its own"]
fn one_writing_process() {
    let Some(path) = env::var_os("STORE_CROWD_DB") else { return };
    insert_some(path.as_ref(), &std::process::id().to_string()).expect("no error");
}

#[test]
fn sixteen_processes_write_and_nobody_is_told_busy() {
    let base = Base::new();
    let writer = || -> Child {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "store::sqlite::tests::crowd::one_writing_process", "--ignored"])
            .env("STORE_CROWD_DB", base.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..WRITERS).map(|_| writer()).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(count(&base.store), (WRITERS * EACH) as u64);
    assert_eq!(base.store.integrity().unwrap(), [""; 0]);
}

#[test]
fn eight_claimers_claim_each_job_once() {
    const JOBS: u32 = 60;
    let mut base = Base::new();
    for number in 0..JOBS {
        base.queued(&number.to_string());
    }
    let path = base.path();
    let claimed: usize = thread::scope(|scope| {
        let claimers: Vec<_> = (0..8)
            .map(|claimer| {
                let path = &path;
                scope.spawn(move || claim_all(path, claimer))
            })
            .collect();
        claimers.into_iter().map(|claimer| claimer.join().unwrap()).sum()
    });
    assert_eq!((claimed, count(&base.store)), (JOBS as usize, 0));
    let started = base.store.view().started().unwrap();
    assert!(started.iter().all(|job| job.status == Status::Started && job.attempts == 1));
}

/// Looks without the lock, as two ticks that race would, and then claims.
fn claim_all(path: &std::path::Path, claimer: usize) -> usize {
    let mut store = Store::open(path).unwrap();
    let mut won = 0;
    while let Some(job) = store.view().next_ready(&["default".into()], &[], &[]).unwrap() {
        let attempt = id(format!("{claimer:02}{:024}", job.id));
        won +=
            usize::from(store.immediate(|tx| Ok(tx.claim(&job, &attempt, &limits(), NOON, NOON)?)).unwrap().is_some());
    }
    won
}

#[test]
fn readers_read_on_while_somebody_holds_the_write_lock() {
    let mut base = Base::new();
    base.queued("Emma");
    let reader = Store::open(&base.path()).unwrap();
    let seen = base.store.immediate(|tx| {
        tx.insert(&wish("Faust"))?;
        assert!(reader.view().job(&file("Faust"))?.is_none(), "it is not committed");
        Ok(reader.view().job(&file("Emma"))?.is_some())
    });
    assert!(seen.unwrap());
    assert!(reader.view().job(&file("Faust")).unwrap().is_some());
}

#[test]
fn whoever_finds_it_busy_in_the_end_is_told_so() {
    let mut base = Base::new();
    let mut other = Store::open(&base.path()).unwrap();
    other.conn.busy_handler(None::<fn(i32) -> bool>).unwrap();
    let refused = base.store.immediate(|_| Ok(other.immediate(|tx| Ok(tx.insert(&wish("Emma"))?)).unwrap_err()));
    assert!(matches!(refused.unwrap().downcast_ref(), Some(StoreError::Busy)));
}

#[test]
fn a_full_disk_is_told_as_such() {
    let mut base = Base::new();
    let pages: i64 = base.store.conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    base.store.conn.pragma_update(None, "max_page_count", pages).unwrap();
    let filling = base.store.immediate(|tx| {
        (0..1000).try_for_each(|number| tx.insert(&wish(&number.to_string())).map(drop))?;
        Ok(())
    });
    assert!(matches!(filling.unwrap_err().downcast_ref(), Some(StoreError::DiskFull)));
    assert_eq!(count(&base.store), 0);
}
