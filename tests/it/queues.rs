//! `pressroom queues`, seen through requests and ticks.

use crate::support::admin::site;

#[test]
fn a_paused_queue_takes_requests_and_starts_nothing_until_it_is_resumed() {
    let site = site();
    site.run(&["queues", "pause", "default"]).exits(0).stdout("queue default is paused\n");
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
    site.run(&["tick", "--dry-run", "--allow-root"]).says("(epub/Emma.epub): queue default is paused");
    site.run(&["queues", "resume", "default"]).exits(0).stdout("queue default is open\n");
    site.tick();
    site.ask("Emma").exits(0);
}

#[test]
fn a_draining_queue_turns_requests_away_and_still_serves_what_is_there() {
    let site = site();
    site.ask("Emma");
    site.tick();
    site.run(&["queues", "drain", "default"]).exits(0).stdout("queue default is draining\n");
    site.ask("Emma").exits(0);
    site.ask("Nana").exits(69).says("unavailable ");
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
    site.run(&["queues", "resume", "default"]).exits(0);
    site.ask("Nana").exits(75);
}

#[test]
fn the_list_shows_modes_and_how_full_each_queue_is() {
    let site = site();
    site.ask_for(&["Emma", "Nana"]);
    site.run(&["queues", "pause", "default"]);
    site.run(&["queues", "list"]).exits(0).says("QUEUE").says("paused").says("2 of 500").says("0 of 4");
    let queue = &site.run(&["queues", "list", "--format", "json"]).objects()[0];
    assert_eq!((queue["name"].as_str(), queue["mode"].as_str()), (Some("default"), Some("paused")));
    assert_eq!((queue["queued"].as_u64(), queue["max_running"].as_u64()), (Some(2), Some(4)));
}

#[test]
fn a_queue_that_does_not_exist_is_told_and_nothing_is_changed() {
    let site = site();
    site.run(&["queues", "pause", "default", "colour"])
        .exits(66)
        .warns("there is no queue \"colour\"; there are default");
    site.run(&["queues", "list"]).says("open");
    site.run(&["queues", "pause"]).exits(64);
}
