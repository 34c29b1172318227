//! Who asks, and how many files one client may ask for.

use super::JSON;
use crate::support::web::{get, program, reply, site};

#[test]
fn too_many_from_one_client_are_limited() {
    let site = site().more("[queue.default]\nmax_per_client = 2\nmax_queued = 4\n").create();
    for title in ["A", "B"] {
        get(&site, &format!("title={title}"), &[]).is(202);
    }
    let limited = get(&site, "title=C", JSON);
    assert_eq!(limited.is(429).is_passing().json()["state"], "limited");
    assert!(limited.retry_after() > 0);
    // Asking again for what one has asked for already is no new wish, and others are others.
    get(&site, "title=A", &[]).is(202);
    get(&site, "title=C", &[("REMOTE_ADDR", "192.0.2.8")]).is(202);
    get(&site, "title=D", &[("REMOTE_USER", "anna")]).is(202);
    let full = get(&site, "title=E", &[("REMOTE_USER", "anna")]);
    full.is(503).is_passing().says("Too many files are waiting already.");
    assert!(full.retry_after() > 0);
    let stored = site.text("SELECT client FROM job WHERE filename = 'epub/A.epub'");
    assert!(stored.len() == 32 && stored.bytes().all(|byte| byte.is_ascii_hexdigit()), "{stored}");
}

#[test]
fn a_visitor_who_asks_for_too_many_new_files_is_told_when_to_come_again() {
    let site = site().more("[queue.default]\nnew_per_client = \"2/10m\"\n").create();
    for title in ["A", "B", "A"] {
        get(&site, &format!("title={title}"), &[]).is(202);
    }
    let limited = get(&site, "title=C", JSON);
    assert_eq!(limited.is(429).is_passing().json()["state"], "limited");
    let after = limited.retry_after();
    assert!((480..=600).contains(&after), "{after}");
    get(&site, "title=A", &[]).is(202);
    get(&site, "title=C", &[("REMOTE_ADDR", "192.0.2.8")]).is(202);
}

#[test]
fn a_refusal_tells_when_there_will_probably_be_room() {
    let site = site().more("[queue.default]\nmax_running = 4\nmax_per_client = 2\nmax_queued = 5\n").create();
    site.ask("Emma");
    site.tick();
    site.database().execute("UPDATE attempt SET duration = 120000", []).unwrap();
    for (title, client) in [("A", "a"), ("B", "a"), ("C", "b"), ("D", "c")] {
        get(&site, &format!("title={title}"), &[("REMOTE_USER", client)]).is(202);
    }
    // Four jobs of two minutes on four seats, two of them the client's.
    assert_eq!(get(&site, "title=E", &[("REMOTE_USER", "a")]).is(429).retry_after(), 60);
    get(&site, "title=E", &[("REMOTE_USER", "d")]).is(202);
    // A place in the queue is free when the next tick has come, and then each half minute.
    let full = get(&site, "title=F", &[("REMOTE_USER", "d")]).is(503).retry_after();
    assert!((30..=60).contains(&full), "{full}");
}

#[test]
fn the_client_is_the_variable_that_is_configured() {
    let site = site().more("[http]\nclient = \"HTTP_X_REAL_IP\"\n[queue.default]\nmax_per_client = 1\n").create();
    get(&site, "title=A", &[("HTTP_X_REAL_IP", "203.0.113.1")]).is(202);
    get(&site, "title=B", &[("HTTP_X_REAL_IP", "203.0.113.1")]).is(429);
    get(&site, "title=B", &[("HTTP_X_REAL_IP", "203.0.113.2")]).is(202);
}

#[test]
fn without_the_configured_variable_the_address_counts_and_status_and_check_say_so() {
    for client in ["HTTP_X_REAL_IP", "x-forwarded-for:1", "x-forwarded-for:192.0.2.0/24"] {
        let rules = format!("[http]\nclient = \"{client}\"\n[queue.default]\nmax_per_client = 1\n");
        let site = site().more(&rules).create();
        site.tick();
        site.run(&["status"]).exits(0);
        assert!(get(&site, "title=A", &[]).is(202).log.contains("REMOTE_ADDR"), "{client}");
        assert_eq!(get(&site, "title=B", &[]).is(429).log, "", "it is logged once");
        get(&site, "title=B", &[("REMOTE_ADDR", "192.0.2.8")]).is(202);
        site.run(&["status"]).exits(1).says("warning: a visitor came").says("client in [http]");
        assert_eq!(site.run(&["status", "--format", "json"]).json()["findings"][0]["code"], "client_missing");
        site.run(&["check"]).says("client in [http]");
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(site.path("s/queue/unnamed")).unwrap());
        assert_eq!(mode & 0o7777, 0o660);
    }
}

#[test]
fn a_visitor_cannot_make_up_the_hop_that_the_sites_own_proxy_added() {
    for client in ["x-forwarded-for:1", "x-forwarded-for:192.0.2.0/24"] {
        let rules = format!("[http]\nclient = \"{client}\"\n[queue.default]\nmax_per_client = 1\n");
        let site = site().more(&rules).create();
        let by = |title: &str, forwarded: &str| get(&site, title, &[("HTTP_X_FORWARDED_FOR", forwarded)]);
        by("title=A", "6.6.6.6, 203.0.113.1").is(202);
        by("title=B", "6.6.6.7, 203.0.113.1").is(429);
        by("title=B", "::ffff:203.0.113.1").is(429);
        by("title=B", "203.0.113.1, 203.0.113.2").is(202);
    }
}

#[test]
fn check_warns_of_a_header_that_any_visitor_can_make_up() {
    let warned = |client: &str| site().more(&format!("[http]\nclient = \"{client}\"\n")).create().run(&["check"]).out();
    assert!(warned("HTTP_X_FORWARDED_FOR").contains("warning: client in [http] takes the whole X-Forwarded-For"));
    assert!(!warned("x-forwarded-for:1").contains("X-Forwarded-For"));
}

/// One network is one client, by whichever way it asks; no row tells who it is.
#[test]
fn a_client_is_the_same_one_over_http_and_on_the_command_line() {
    let site = site().more("[queue.default]\nmax_per_client = 1\n").create();
    let ask = |title: &str, client: &str| site.run(&["request", "epub", &format!("title={title}"), "--client", client]);
    ask("A", "2001:db8::1").exits(75);
    ask("B", "2001:db8::2:3").exits(69).says("limited");
    get(&site, "title=B", &[("REMOTE_ADDR", "2001:db8::9")]).is(429);
    get(&site, "title=C", &[("REMOTE_ADDR", "192.0.2.7")]).is(202);
    ask("D", "::ffff:192.0.2.7").exits(69);
    ask("E", "anna").exits(75);
    get(&site, "title=F", &[("REMOTE_USER", "anna")]).is(429);
    let clients = site.text("SELECT group_concat(client) FROM job");
    assert!(clients.split(',').all(|client| client.len() == 32), "{clients}");
    for client in ["2001:db8::7", "192.0.2.7", "::ffff:192.0.2.7", "anna"] {
        site.run(&["jobs", "list", "--client", client]).exits(0).says("epub/");
    }
}

#[test]
fn names_are_stored_as_they_are_if_the_configuration_says_so_and_addresses_never() {
    let head = "state_dir = \"s\"\nclient_names = \"plain\"\n[cache]\nmin_free = \"0B\"\n";
    let site = site().head(head).create();
    site.run(&["request", "epub", "title=A", "--client", "ann"]).exits(75);
    get(&site, "title=B", &[("REMOTE_USER", "bob")]).is(202);
    site.run(&["request", "epub", "title=C", "--client", "192.0.2.7"]).exits(75);
    let client = |title: &str| site.text(&format!("SELECT client FROM job WHERE filename = 'epub/{title}.epub'"));
    assert_eq!((&*client("A"), &*client("B"), client("C").len()), ("ann", "bob", 32));
    for (client, file) in [("ann", "A.epub"), ("192.0.2.7", "C.epub")] {
        site.run(&["jobs", "list", "--client", client]).exits(0).says(file);
    }
}

#[test]
fn a_name_that_nginx_has_not_checked_counts_for_nothing() {
    let site = site().more("[status]\nadmins = [\"anna\"]\npublic = true\n").create();
    let nginx = [("SERVER_SOFTWARE", "nginx/1.22.1"), ("REMOTE_USER", "anna")];
    get(&site, "title=A", &nginx).is(202);
    site.run(&["jobs", "list", "--client", "192.0.2.7"]).exits(0).says("A.epub");
    let see = |more: &[(&str, &str)]| {
        let mut command = program(&site, "status", "GET", "page=jobs");
        reply(command.envs(nginx).envs(more.iter().copied()))
    };
    assert!(see(&[]).is(403).log.contains("AUTH_TYPE"));
    see(&[("AUTH_TYPE", "Basic")]).is(200);
}
