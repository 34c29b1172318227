//! Visitors who keep something for long, beside ten who do not: nginx and fcgiwrap as the examples set them up.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::support::{
    http::curl,
    server::{Kind, Server, WORKERS},
    site::wait_until,
};

/// Of a server's default.
const MAX_WAITERS: usize = 4;

fn ten_are_served(server: &Server) {
    thread::scope(|scope| {
        for number in 0..10 {
            scope.spawn(move || {
                let title = if number % 2 == 0 { "Emma" } else { "Nana" };
                let file = curl(&server.url(&format!("/epub?title={title}")), &["--max-time", "30"]);
                assert_eq!(file.is(200).text(), format!("{title}\n"));
            });
        }
    });
}

/// Reads ten bytes a second of a file of 50 MB until it is over.
fn read_slowly(mut stream: TcpStream, over: &AtomicBool, began: &AtomicBool) {
    let mut ten = [0; 10];
    while !over.load(Ordering::Relaxed) {
        stream.read_exact(&mut ten).unwrap();
        began.store(true, Ordering::Relaxed);
        thread::park_timeout(Duration::from_secs(1));
    }
}

/// With one worker, which a reader must not keep.
fn a_slow_reader_keeps_nobody_waiting(kind: Kind) {
    let server = match Server::start_with(kind, 1, "") {
        Ok(server) => server,
        Err(missing) => return crate::support::outside::skipped("a slow reader", &missing),
    };
    for title in ["Emma", "Nana", "Huge"] {
        server.site.ask(title).exits(75);
    }
    server.site.tick().exits(0);
    // What nobody reads fills the buffers of both ends, which hold a few megabytes at most.
    let mut stream = TcpStream::connect(server.base.split('/').nth(2).unwrap()).unwrap();
    stream.write_all(b"GET /export/epub?title=Huge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let (over, began) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_slowly(stream, &over, &began));
        wait_until("the slow reader reads", || began.load(Ordering::Relaxed));
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ten_are_served(&server)));
        over.store(true, Ordering::Relaxed);
        reader.thread().unpark();
        served.unwrap();
    });
}

#[test]
fn a_slow_reader_beside_ten_visitors_keeps_nobody_waiting_where_nginx_sends_the_files() {
    a_slow_reader_keeps_nobody_waiting(Kind::NginxAccel);
}

#[test]
fn a_slow_reader_beside_ten_visitors_keeps_nobody_waiting_where_we_send_the_files() {
    a_slow_reader_keeps_nobody_waiting(Kind::Nginx);
}

#[test]
fn as_many_as_may_wait_leave_workers_for_ten_visitors() {
    assert!(usize::from(WORKERS) > MAX_WAITERS);
    let server = match Server::start_with(Kind::NginxAccel, WORKERS, "max_wait = \"1h\"\n") {
        Ok(server) => server,
        Err(missing) => return crate::support::outside::skipped("those who wait", &missing),
    };
    for title in ["Emma", "Nana"] {
        server.site.ask(title).exits(75);
    }
    server.site.tick().exits(0);
    let wait = |number: usize| -> Child {
        let url = server.url(&format!("/epub?title=Slow{number}&wait=1h"));
        let mut command = Command::new("curl");
        command.args(["-sS", "--noproxy", "*", "-o", "/dev/null", &url]).stdout(Stdio::null()).spawn().unwrap()
    };
    let waiting: Vec<Child> = (0..MAX_WAITERS).map(wait).collect();
    wait_until("all are seated", || server.site.count("SELECT count(*) FROM job") == 4);
    ten_are_served(&server);
    waiting.into_iter().for_each(crate::support::site::kill);
}
