//! The web server's user and the crontab's user are two, sharing one group, whatever their umasks.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::support::{
    accounts::{CRON, WEB, become_and_run, shared_site, two_users},
    site::Site,
};

fn mode(site: &Site, below: &str) -> u32 {
    fs::metadata(site.path(below)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn two_users_of_one_group_share_a_site_whatever_their_umasks() {
    if !two_users("two_users_of_one_group_share_a_site_whatever_their_umasks") {
        return;
    }
    for (web_umask, cron_umask) in [("022", "022"), ("077", "077"), ("022", "077"), ("077", "022")] {
        let (site, program) = shared_site(r#"printf book >"$1""#);
        let web = |words: &str| become_and_run(&site, &program, WEB, web_umask, words);
        let cron = |words: &str| become_and_run(&site, &program, CRON, cron_umask, words);
        web("request epub title=Emma").exits(75).stdout("queued 1\n");
        cron("tick --wait").exits(0).stdout("").stderr("");
        cron("request epub title=Nana").exits(75).stdout("queued 1\n");
        cron("tick --wait").exits(0).stderr("");
        web("request epub title=Emma").exits(0);
        let path = site.cached("epub/Emma.epub");
        let read =
            Command::new("setpriv").args(["--reuid", WEB, "--regid", WEB, "--init-groups", "cat"]).arg(path).output();
        assert_eq!(read.unwrap().stdout, b"book");
        web("tick").exits(74).warns("tick.lock");
        assert_eq!(mode(&site, "s/cache/epub/Emma.epub"), 0o440);
        assert_eq!(mode(&site, "s/cache/epub"), 0o2750);
        assert_eq!((mode(&site, "s/work"), mode(&site, "s/log"), mode(&site, "s/queue")), (0o700, 0o700, 0o2770));
        for name in ["pressroom.db", "pressroom.db-wal", "pressroom.db-shm", "doorbell", "reserve"] {
            assert_eq!(mode(&site, &format!("s/queue/{name}")), 0o660, "{name} with umasks {web_umask} {cron_umask}");
        }
    }
}
