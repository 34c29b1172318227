//! The program on what an earlier version left.

use std::fs;

use crate::support::site::Site;

const LEFT: &[&str] = &[include_str!("../fixtures/version-1.sql")];

/// A site with that database in place of its own; its exporters are those that the jobs of the fixture name.
fn inherited(sql: &str) -> Site {
    let site = Site::new().more(
        "[queue.slow]\n[exporter.pdf]\nsource = \"epub\"\ncommand = [\"/bin/cp\", \"{source}\", \"{output}\"]\nfilename = \"{title}.pdf\"\n\
         [exporter.reindex]\noutput = \"none\"\ncommand = [\"/bin/true\"]\n",
    );
    let site = site.create();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(site.path(&format!("s/queue/pressroom.db{ending}")));
    }
    site.database().execute_batch(sql).unwrap();
    site.database().pragma_update(None, "journal_mode", "wal").unwrap();
    site
}

#[test]
fn a_site_goes_on_with_the_database_of_an_earlier_version() {
    for sql in LEFT {
        let site = inherited(sql);
        // Only a tick upgrades it: neither a look nor a request.
        site.run(&["jobs", "show", "epub/Bad.epub"]).exits(78).warns("the next tick upgrades it");
        site.run(&["status"]).exits(2).says("schema version 1");
        site.ask("New").exits(69).stdout("unavailable the queue is waiting to be upgraded\n");
        site.run(&["queues", "pause", "slow"]).exits(78);
        assert_eq!(site.count("SELECT user_version FROM pragma_user_version"), 1);
        site.brief_tick().exits(0);
        site.run(&["jobs", "show", "epub/Bad.epub"]).exits(0).says("failed_unknown");
        site.run(&["jobs", "history", "epub/Candide.epub"]).exits(0).says("ok");
        site.run(&["queues", "list"]).exits(0).says("paused");
        site.tick().exits(0);
        assert!(site.cached("epub/Emma.epub").exists());
        site.run(&["jobs", "list", "--status", "started", "--format", "json"]).exits(0).stdout("");
        site.run(&["check", "--create", "--allow-root"]).exits(0); // for the mode of the file that this test has laid
        site.run(&["check"]).exits(0);
    }
}
