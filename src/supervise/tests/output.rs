//! What exporters write.

use std::time::Duration;

use super::{World, alone};
use crate::{model::status::Outcome, supervise::StopOrder};

#[test]
fn endless_output_fills_nothing() {
    alone(|| {
        for stream in ["1", "2"] {
            let mut world = World::sh(&format!("exec tr '\\0' x </dev/zero >&{stream}"));
            world.order.limits.timeout = Duration::from_millis(500);
            let ending = world.ends(Outcome::Timeout);
            let kept = world.log().len();
            assert!((65000..=65536).contains(&kept), "{kept}");
            assert!(world.said > 1_000_000);
            assert!(ending.log_tail.len() <= 4096 && ending.log_tail.contains('x'));
        }
    });
}

#[test]
fn output_is_there_while_the_exporter_runs() {
    alone(|| {
        let mut world = World::sh("echo early; echo '30 half' >progress; sleep 1000");
        let log = world.order.log.clone();
        world = world.wish(move |seen| {
            let there = std::fs::read_to_string(&log).is_ok_and(|text| text == "early\n");
            let told = (seen.percent, seen.text.as_deref()) == (Some(30), Some("half"));
            if there && told && seen.memory > 0 { StopOrder::Cancel } else { StopOrder::GoOn }
        });
        world.ends(Outcome::Cancelled);
    });
}

#[test]
fn the_last_words_and_the_message_are_kept() {
    alone(|| {
        let ending = World::sh("echo no such book >message; echo why >&2; kill -SEGV $$").ends(Outcome::Signal);
        assert_eq!((ending.signal, ending.log_tail.as_str()), (Some(11), "why\n"));
        assert_eq!(ending.message.as_deref(), Some("no such book"));
    });
}

#[test]
fn a_real_time_signal_is_a_signal() {
    alone(|| {
        assert_eq!(World::sh("kill -40 $$").ends(Outcome::Signal).signal, Some(40));
    });
}
