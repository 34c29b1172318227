//! Whatever refuses requests or ticks makes `status` critical, in the words in which they say it.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use Deed::{Done as Did, ReadOnly};

use crate::support::{
    site::{Done, Site},
    web,
};

/// What happens to a site.
enum Deed {
    /// Somebody does something to it.
    Done(fn(&Site)),
    /// This part of it is mounted read-only.
    ReadOnly(&'static str),
}

/// The name, what happens, and a part of the sentence; whether requests are refused, or ticks alone.
const TABLE: [(&str, Deed, &str, bool); 19] = [
    ("another machine", Did(|site| sql(site, "UPDATE meta SET machine_id = 'x'")), "belongs to another machine", false),
    ("a read-only site", ReadOnly("s"), "s/queue cannot be written: Read-only file system; mount it", true),
    ("a read-only queue", ReadOnly("s/queue"), "s/queue cannot be written: Read-only file system; mount it", true),
    ("a read-only work/", ReadOnly("s/work"), "s/work cannot be written: Read-only file system; mount it", false),
    ("a read-only cache", ReadOnly("s/cache"), "s/cache cannot be written: Read-only file system; mount it", false),
    ("no database at all", Did(|site| remove(site, "s/queue/pressroom.db")), "there is no database yet; run `", true),
    ("another file", Did(overwrite), "is not a database of pressroom", true),
    ("a foreign database", Did(|site| sql(site, "PRAGMA application_id = 7")), "is not a database of pressroom", true),
    ("a newer database", Did(|site| sql(site, "PRAGMA user_version = 99")), "install the newer pressroom", true),
    (
        "a trigger",
        Did(|site| sql(site, "CREATE TRIGGER t AFTER INSERT ON job BEGIN SELECT 1; END")),
        "trigger t was added",
        false,
    ),
    ("a database for reading", Did(|site| mode(site, "s/queue/pressroom.db", 0o400)), "has mode 0400, not 0660", true),
    (
        "root's database",
        Did(|site| give_to_root(site, "s/queue/pressroom.db")),
        "pressroom.db belongs to group root",
        true,
    ),
    (
        "root's log of it",
        Did(|site| give_to_root(site, "s/queue/pressroom.db-wal")),
        "-wal belongs to group root",
        true,
    ),
    ("a closed queue", Did(|site| mode(site, "s/queue", 0)), "s/queue has mode 0000, not 2770", true),
    ("root's work/", Did(|site| give_to_root(site, "s/work")), "s/work belongs to user root", false),
    ("root's cache/", Did(|site| give_to_root(site, "s/cache")), "s/cache belongs to user root", true),
    ("root's lock", Did(|site| give_to_root(site, "s/tick.lock")), "s/tick.lock belongs to user root", false),
    ("no work/", Did(|site| remove_dir(site, "s/work")), "s/work is missing; run `pressroom check --create", false),
    ("no site", Did(|site| remove_dir(site, "s")), "there is no state directory", true),
];

fn sql(site: &Site, text: &str) {
    site.database().execute_batch(text).expect(text);
}

fn remove(site: &Site, below: &str) {
    fs::remove_file(site.path(below)).expect(below);
}

fn remove_dir(site: &Site, below: &str) {
    fs::remove_dir_all(site.path(below)).expect(below);
}

fn overwrite(site: &Site) {
    fs::write(site.path("s/queue/pressroom.db"), "no database ".repeat(1000)).expect("written");
}

fn mode(site: &Site, below: &str, mode: u32) {
    fs::set_permissions(site.path(below), fs::Permissions::from_mode(mode)).expect(below);
}

/// As a restore of a backup might leave it.
fn give_to_root(site: &Site, below: &str) {
    let path = site.path(below);
    std::os::unix::fs::chown(&path, Some(0), Some(0)).expect(below);
    mode(site, below, if path.is_dir() { 0o700 } else { 0o600 });
}

/// The command, as the site's user, after the deed.
fn after(site: &Site, deed: &Deed, command: &Command) -> Done {
    let user = site.user().to_string();
    let mounts = match deed {
        Deed::Done(_) => "true".into(),
        ReadOnly(part) => {
            let part = site.path(part).display().to_string();
            format!("mount --bind {part} {part} && mount -o remount,ro,bind {part}")
        }
    };
    let script = format!("{mounts} && exec setpriv --reuid {user} --regid {user} --clear-groups \"$0\" \"$@\"");
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", &script]).arg(command.get_program()).args(command.get_args());
    unshare.current_dir("/").env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Done::of(&mut unshare)
}

/// The line about it, without what stands before it.
fn sentence(text: &str, part: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains(part))?;
    let line = line.trim_start_matches("pressroom: ").trim_start_matches("critical: ");
    Some(line.trim_start_matches("claim: ").to_owned())
}

#[test]
fn whatever_refuses_requests_or_ticks_is_critical_in_their_own_words() {
    if !crate::support::outside::has_mounts("whatever_refuses_requests_or_ticks_is_critical_in_their_own_words") {
        return;
    }
    for (name, deed, part, refuses_requests) in TABLE {
        let site = Site::new().by_nobody().more("[status]\nadmins = [\"anna\"]\n").create();
        site.run(&["tick"]).exits(0).stderr("");
        site.run(&["status"]).exits(0);
        if let Deed::Done(deed) = &deed {
            deed(&site);
        }
        let run = |words: &[&str]| after(&site, &deed, &site.command(words));
        let request = run(&["request", "epub", "title=Emma"]);
        let tick = run(&["tick"]);
        let status = run(&["status"]);
        assert!([Some(74), Some(78)].contains(&tick.output.status.code()), "{name}: {:?} {}", tick.output, tick.err());
        let told = sentence(&tick.err(), part).unwrap_or_else(|| panic!("{name}: tick says {}", tick.err()));
        let shown = sentence(&status.exits(2).out(), part);
        assert_eq!(shown.as_ref(), Some(&told), "{name}: status says {}", status.out());
        if refuses_requests {
            assert_eq!(sentence(&request.err(), part).as_ref(), Some(&told), "{name}: {}", request.err());
        } else {
            request.exits(75);
        }
        let json = run(&["status", "--format", "json"]).exits(2).json();
        assert_eq!(json["state"], "critical", "{name}");
        let found = json["findings"].as_array().expect("findings");
        assert!(
            found.iter().any(|finding| finding["text"] == told.as_str() && finding["level"] == "critical"),
            "{json}"
        );
        run(&["status", "--format", "prometheus"]).exits(2).says("pressroom_state 2").says("pressroom_finding{code=");
        let mut page = web::program(&site, "status", "GET", "");
        page.env("REMOTE_USER", "anna").env("HTTP_ACCEPT", "application/json");
        let page = after(&site, &deed, &page);
        let plain = page.out().replace("\\\"", "\"");
        assert!(plain.contains(&told), "{name}: no {told:?} on the page: {plain}");
    }
}
