//! The status page behind the web servers themselves, with the configurations of `docs/examples/` and their passwords.

use crate::support::{
    http::{self, curl},
    server::{Kind, PASSWORD, Server, USERS},
    status_site::{HOSTILE, hidden},
    web,
};

/// curl's words for one who has logged in.
fn login(user: &str) -> String {
    format!("{user}:{PASSWORD}")
}

/// The same answer as the other helpers know it.
fn as_page(reply: &http::Reply) -> web::Reply {
    web::Reply { status: reply.status, headers: reply.headers.clone(), body: reply.body.clone(), log: String::new() }
}

fn the_page_needs_a_password_and_obeys_its_admin(server: &Server) {
    let url = server.status();
    server.site.ask("Bad").exits(75);
    server.site.tick();
    server.site.ask(HOSTILE).exits(75);
    curl(&url, &[]).is(401);
    curl(&url, &["-u", "anna:wrong"]).is(401);
    let (closed, open) = if server.kind == Kind::Busybox { (404, 404) } else { (401, 200) };
    curl(&format!("{url}/"), &[]).is(closed);
    curl(&format!("{url}/?page=jobs"), &["-u", &login(USERS[1])]).is(open);
    // Nobody becomes somebody by a header.
    curl(&url, &["-H", "Remote-User: anna", "-H", "Remote_User: anna", "-H", "X-Remote-User: anna"]).is(401);
    let (admin, other) = (login(USERS[0]), login(USERS[1]));
    for query in ["", "?page=jobs&status=queued", "?page=history", "?page=job&file=epub/Bad.epub"] {
        let page = curl(&format!("{url}{query}"), &["-u", &other]);
        page.is(200).has("cache-control", "no-store").has("content-type", "text/html; charset=utf-8");
        assert!(
            page.header("content-security-policy").starts_with("default-src 'none'; style-src 'nonce-"),
            "{page:?}"
        );
        assert!(page.text().contains(", for <bdi>bert</bdi>") && !page.text().contains("method=\"post\""), "{page:?}");
    }
    assert!(curl(&url, &["-u", &other]).header("refresh").starts_with("30; url=?page=overview"));
    curl(&format!("{url}?page=nonsense"), &["-u", &other]).is(404);
    curl(&url, &["-u", &other, "-I"]).is(200).has("cache-control", "no-store");
    let json = curl(&url, &["-u", &other, "-H", "Accept: application/json"]);
    assert_eq!(json.is(200).json()["queues"][0]["failed_unknown"], 1);
    acts(server, &admin, &other);
    assert!(!server.log().contains("pressroom:"), "{}", server.log());
}

fn acts(server: &Server, admin: &str, other: &str) {
    let (url, site) = (server.status(), &server.site);
    let page = curl(&format!("{url}?page=job&job=1"), &["-u", admin]);
    let token = format!("token={}", hidden(&as_page(page.is(200)), "token").unwrap());
    let target = format!("{url}?page=act");
    let send = |more: &[&str]| {
        let form = ["-d", &token, "-d", "act=retry", "-d", "job=1", "--data-urlencode", "back=page=job&job=1"];
        curl(&target, &[&form, more].concat())
    };
    send(&["-u", other]).is(403);
    send(&[]).is(401);
    send(&["-u", admin, "-H", "Sec-Fetch-Site: cross-site"]).is(403);
    send(&["-u", admin, "-H", "Origin: https://evil.example"]).is(403);
    curl(&target, &["-u", admin, "-d", "token=0", "-d", "act=retry", "-d", "job=1"]).is(403);
    assert_eq!(site.count("SELECT status FROM job WHERE id = 1"), 3);
    let origin = format!("Origin: {}", url.split('/').take(3).collect::<Vec<_>>().join("/"));
    let done = send(&["-u", admin, "-H", "Sec-Fetch-Site: same-origin", "-H", &origin, "-L"]);
    assert!(done.is(200).text().contains("Done: <bdi>queued job 1 (epub&#x2f;Bad.epub)"), "{done:?}");
    assert_eq!(site.count("SELECT status FROM job WHERE id = 1"), 0);
}

fn with(kind: Kind, test: &str) {
    match Server::start(kind) {
        Ok(server) => the_page_needs_a_password_and_obeys_its_admin(&server),
        Err(missing) => crate::support::outside::skipped(test, &missing),
    }
}

#[test]
fn behind_nginx_that_sends_files_the_page_needs_a_password_and_obeys_its_admin() {
    with(Kind::NginxAccel, "status page behind nginx that sends files");
}

#[test]
fn behind_nginx_the_page_needs_a_password_and_obeys_its_admin() {
    with(Kind::Nginx, "status page behind nginx");
}

#[test]
fn behind_apache_the_page_needs_a_password_and_obeys_its_admin() {
    with(Kind::Apache, "status page behind Apache");
}

#[test]
fn behind_lighttpd_the_page_needs_a_password_and_obeys_its_admin() {
    with(Kind::Lighttpd, "status page behind lighttpd");
}

#[test]
fn behind_servers_that_send_files_the_page_needs_a_password_and_obeys_its_admin() {
    for kind in [Kind::ApacheXSendfile, Kind::LighttpdXSendfile] {
        with(kind, "status page behind servers that send files");
    }
}

#[test]
fn behind_busybox_the_page_needs_a_password_and_obeys_its_admin() {
    with(Kind::Busybox, "status page behind busybox");
}

/// nginx calls a visitor by whatever name the visitor claims, and Debian's own `fastcgi_params` hands it on.
#[test]
fn nobody_becomes_an_admin_of_a_public_page_by_claiming_a_name() {
    for kind in [Kind::Nginx, Kind::NginxAccel, Kind::Apache, Kind::Lighttpd, Kind::Busybox] {
        match Server::start_open(kind) {
            Ok(server) => claims_are_not_believed(&server),
            Err(missing) => crate::support::outside::skipped("public status page", &missing),
        }
    }
}

fn claims_are_not_believed(server: &Server) {
    let url = server.status();
    server.site.ask("Emma").exits(75);
    for claim in [&[][..], &["-u", "anna:"], &["-u", "anna:secret"], &["-H", "Authorization: Basic YW5uYTo="]] {
        let page = curl(&url, claim);
        assert!(!page.is(200).text().contains("method=\"post\"") && !page.text().contains("anna"), "{page:?}");
        curl(&format!("{url}?page=jobs"), claim).is(403);
        let drain = ["-d", "act=drain", "-d", "queue=default", "-d", "token=0"];
        curl(&format!("{url}?page=act"), &[claim, &drain].concat()).is(403);
    }
    assert_eq!(server.site.count("SELECT count(*) FROM queue WHERE mode <> 'open'"), 0);
}
