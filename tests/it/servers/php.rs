//! `docs/examples/export.php` under php-fpm, with the pool that the distribution ships.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nix::unistd::geteuid;

use crate::support::{
    http::curl,
    server::{Kind, Server, example, free_port},
    site::wait_until,
};

/// The program and its pool file, whatever the version.
fn installed() -> Option<(PathBuf, PathBuf)> {
    let version = fs::read_dir("/etc/php").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let both = version.map(|version| {
        let program = PathBuf::from(format!("/usr/sbin/php-fpm{version}"));
        (program, PathBuf::from(format!("/etc/php/{version}/fpm/pool.d/www.conf")))
    });
    both.into_iter().find(|(program, pool)| program.exists() && pool.exists())
}

/// The pool as it is shipped, but for its socket. A pool has no PATH: `clear_env` is on unless one turns it off.
fn pool(server: &Server, shipped: &Path) -> String {
    let text = fs::read_to_string(shipped).unwrap();
    assert!(!text.lines().any(|line| line.starts_with("clear_env") || line.starts_with("env[")), "{text}");
    let socket = server.site.path("web/php.socket");
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some(("listen", _)) => format!("listen = {}\n", socket.display()),
        Some(("user" | "group" | "listen.owner" | "listen.group", _)) if !geteuid().is_root() => String::new(),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

fn page(server: &Server, program: &str) {
    let text = example("export.php").replace("/etc/pressroom/pressroom.toml", server.site.config().to_str().unwrap());
    server.write("web/export.php", &text.replace("/usr/local/bin/pressroom", program).replace(", 'lang' => 'en'", ""));
}

/// php-fpm and one more nginx in front of it; gives the page's address.
fn start(server: &mut Server, program: PathBuf, shipped: &Path) -> String {
    let web = server.site.path("web").display().to_string();
    let global = format!("[global]\npid = {web}/php.pid\nerror_log = {web}/php.log\n");
    let conf = server.write("php-fpm.conf", &format!("{global}{}", pool(server, shipped)));
    let mut fpm = Command::new(program);
    fpm.args(["--nodaemonize", "-d", &format!("error_log={web}/pages.log"), "--fpm-config"]).arg(conf);
    server.write("web/pages.log", "");
    fs::set_permissions(server.site.path("web/pages.log"), std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .unwrap();
    server.spawn(fpm);
    wait_until("php-fpm listens", || server.site.path("web/php.socket").exists());
    let port = free_port();
    let user = if geteuid().is_root() { "user www-data;\n" } else { "" };
    let temp =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|what| format!("{what}_temp_path {web}/p{what};\n"));
    let nginx = server.write(
        "php-nginx.conf",
        &format!(
            "{user}daemon off;\npid {web}/nginx2.pid;\nevents {{ }}\nhttp {{\naccess_log off;\n{}server {{\n\
             listen 127.0.0.1:{port};\nroot {web};\nlocation ~ \\.php$ {{\ninclude /etc/nginx/fastcgi.conf;\n\
             fastcgi_pass unix:{web}/php.socket;\n}}\n}}\n}}\n",
            temp.concat()
        ),
    );
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-e").arg(server.site.path("web/error.log")).arg("-c").arg(nginx);
    server.spawn(command);
    wait_until("nginx listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    format!("http://127.0.0.1:{port}/export.php")
}

#[test]
fn the_php_page_works_with_the_pool_that_is_shipped_and_logs_what_it_cannot_use() {
    let Some((fpm, pool)) = installed() else {
        return crate::support::outside::skipped("the PHP page", "php-fpm is not installed");
    };
    let mut server = match Server::start(Kind::Nginx) {
        Ok(server) => server,
        Err(missing) => return crate::support::outside::skipped("the PHP page", &missing),
    };
    let url = start(&mut server, fpm, &pool);
    let log = server.site.path("web/pages.log");
    page(&server, env!("CARGO_BIN_EXE_pressroom"));
    let title = "?title=%C3%84gypten+%3Cb%3E";
    let queued = curl(&format!("{url}{title}"), &[]);
    queued.is(202).has("cache-control", "no-store");
    let refresh = queued.header("refresh").to_owned();
    let again = refresh.split_once("; url=?").unwrap_or_else(|| panic!("{queued:?}")).1.to_owned();
    assert!(curl(&format!("{url}?{again}"), &[]).is(202).header("refresh").ends_with(&again), "the beginning is kept");
    // Somebody has forgotten the page.
    let forgotten = again.rsplit_once('=').unwrap().0.to_owned() + "=1000000000";
    curl(&format!("{url}?{forgotten}"), &[]).is(202).has("refresh", "");
    curl(&format!("{url}?title=%00"), &[]).is(400);
    server.site.tick().exits(0);
    let file = curl(&format!("{url}{title}"), &[]);
    file.is(200).has("content-type", "application/epub+zip");
    let name = "attachment; filename=\"_gypten <b>.epub\"; filename*=UTF-8''%C3%84gypten%20%3Cb%3E.epub";
    assert_eq!(file.has("content-disposition", name).text(), "Ägypten <b>\n");
    assert_eq!(fs::read_to_string(&log).unwrap(), "");
    for (program, said) in [("/bin/false", "ended with status 1: it"), ("/nowhere/pressroom", "/nowhere/pressroom")] {
        page(&server, program);
        // The old page is kept for two seconds.
        wait_until("the page is another one", || curl(&format!("{url}{title}"), &[]).status == 503);
        let logged = fs::read_to_string(&log).unwrap();
        assert!(logged.contains("export.php: ") && logged.contains(said), "{logged:?}");
    }
}
