//! What the leader leaves behind is held to the limits until it is gone.

use std::time::Duration;

use super::{World, alone};
use crate::{
    model::status::Outcome,
    supervise::{Progress, StopOrder},
};

const LONG: Duration = Duration::from_secs(50);

/// A child that does not hear SIGTERM and does this when the leader has ended.
/// It asks whose child it is before it lets the leader end: later it could take us for the leader and wait for ever.
fn left(deed: &str) -> World {
    let script = format!(
        "import os,signal,time\nif os.fork()==0:\n signal.signal(15,signal.SIG_IGN)\n me=os.getppid()\n open('up','w').close()\n \
         while os.getppid()==me: time.sleep(0.01)\n {deed}\n while 1: time.sleep(1000)\n\
         while not os.path.exists('up'): time.sleep(0.01)\nos._exit(0)"
    );
    World::python(&script).limits(|limits| limits.kill_after = LONG)
}

#[test]
fn memory_and_size_are_limited_after_the_leaders_end() {
    alone(|| {
        let mut hungry = left("x=bytearray(b'x')*(200<<20)").limits(|limits| limits.memory = Some(100 << 20));
        assert!(hungry.ends(Outcome::Memory).peak_memory > 100 << 20);
        let mut large = left("open('f','wb').write(bytes(40<<20))").limits(|limits| limits.work_size = Some(20 << 20));
        large.ends(Outcome::FileSize);
    });
}

#[test]
fn a_cancel_after_the_leaders_end_is_heeded() {
    alone(|| {
        let mut world = left("open('alone','w').close()");
        let sign = world.file("alone");
        world = world.wish(move |_: &Progress| if sign.exists() { StopOrder::Cancel } else { StopOrder::GoOn });
        assert_eq!(world.ends(Outcome::Cancelled).exit_code, Some(0));
    });
}

#[test]
fn what_a_child_says_after_the_leaders_end_is_heard() {
    alone(|| {
        // By the shell itself: a process that it starts for this would be asked to end, too.
        let script = "sh -c 'trap \"printf %0200000d 0; echo; echo last words; exit\" TERM; touch up; \
                      while :; do sleep 0.01; done' & until [ -e up ]; do sleep 0.01; done; exit 0";
        let mut world = World::sh(script).limits(|limits| limits.kill_after = LONG);
        let ending = world.ends(Outcome::Ok);
        assert!(ending.log_tail.ends_with("\nlast words\n"), "{}", ending.log_tail);
        assert!(world.said > 200_000, "{} bytes", world.said);
    });
}

/// The next attempt may have been started: nobody is given any time.
#[test]
fn an_attempt_that_was_taken_from_us_is_killed_at_once() {
    alone(|| {
        let script = "trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done";
        let mut world = World::sh(script).limits(|limits| limits.kill_after = LONG).wish(|_| StopOrder::Taken);
        let ending = world.ends(Outcome::Lost);
        assert_eq!(ending.signal, Some(9), "{ending:?}");
        assert!(!ending.log_tail.contains("asked"), "{ending:?}");
    });
}
