//! Rows that the web user has written by hand.

use std::fs;

use super::{EMMA, World, queued, started};

const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

#[test]
fn a_source_that_a_row_names_is_neither_read_nor_published() {
    let world = World::new();
    world.web("request private").exits(75);
    world.settle();
    assert_eq!(world.text("s/cache/private/payroll.txt"), "payroll\n");
    fs::write(world.site.path("id_ed25519"), "secret").unwrap();
    let file = format!("'{}'", world.site.path("id_ed25519").display());
    world.sql(&queued("pdf/Emma.pdf", &[("source", "'private/payroll.txt'")]));
    world.sql(&queued("pdf/Nana.pdf", &[("source", &file)]));
    world.sql(&queued("pdf/Nora.pdf", &[("source", "'epub/../../../id_ed25519'")]));
    let mail = world.settle();
    assert_eq!(world.text("s/cache/pdf/Emma.pdf"), EMMA, "made from the source that the configuration names");
    assert_eq!(
        (world.text("s/cache/pdf/Nana.pdf"), world.text("s/cache/pdf/Nora.pdf")),
        (String::new(), String::new())
    );
    assert_eq!(mail.matches("its source is not valid; it was removed").count(), 2, "{mail}");
}

#[test]
fn an_attempt_that_a_row_names_by_a_path_ends_nobody_and_tells_nothing() {
    let world = World::new();
    let mut bystander = world.bystander(&[]);
    let plant = world.site.path("plant");
    fs::create_dir(&plant).unwrap();
    fs::write(plant.join("x.lock"), bystander.note()).unwrap();
    fs::write(plant.join("x.log"), "secret").unwrap();
    if let Some(cron) = super::cron_number() {
        for name in ["x.lock", "x.log"] {
            std::os::unix::fs::chown(plant.join(name), Some(cron), None).unwrap();
        }
    }
    world.sql(&started("epub/Emma.epub", "'../../plant/x'"));
    let mail = world.cron("tick --wait").exits(0).err();
    assert!(mail.contains("its attempt is not valid; it was removed"), "{mail}");
    bystander.lives();
    assert_eq!(world.site.count("SELECT count(*) FROM job"), 0, "its seat is free");
    assert_eq!(world.site.count("SELECT count(*) FROM attempt WHERE log_tail LIKE '%secret%'"), 0);
    for words in ["jobs log epub/Emma.epub", "jobs show epub/Emma.epub", "status", "jobs history"] {
        assert!(!world.cron(words).out().contains("secret"), "{words}");
    }
}

#[test]
fn an_attempt_of_another_site_is_not_ended_on_the_word_of_a_row() {
    let world = World::new();
    let mut bystander = world.bystander(&[("PRESSROOM_ATTEMPT", ULID)]);
    world.sql(&started("epub/Emma.epub", &format!("'{ULID}'")));
    world.settle();
    bystander.lives();
}

#[test]
fn limits_that_a_row_leaves_open_are_the_configured_ones() {
    let world = World::new();
    let open = r#"'{"timeout":864000,"kill_after":864000,"memory_limit":null,"cpu_time_limit":null,"file_size":null,
                    "work_size":null,"open_files":null,"data":null,"address_space":null,"processes":null}'"#;
    let high = r#"'{"timeout":1e18,"kill_after":1e18,"memory_limit":9e15,"cpu_time_limit":1e18,"file_size":99999999999,
                    "work_size":99999999999,"open_files":1048576,"data":1,"address_space":1,"processes":1}'"#;
    let high = high.replace("9e15", "9000000000000000");
    world.sql(&queued("epub/Emma.epub", &[("limits", open)]));
    world.sql(&queued("epub/Nana.epub", &[("limits", &high)]));
    world.sql(&queued("epub/Nora.epub", &[("limits", "'[[[]]]'")]));
    world.settle();
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
    assert_eq!(world.text("s/cache/epub/Nora.epub"), EMMA.replace("Emma", "Nora"));
    // What retries may raise is at most four times the limit; the number of open files is never raised.
    assert_eq!(world.text("s/cache/epub/Nana.epub"), "Nana\n201\n78125\n100\n");
    let longest = "SELECT max(json_extract(limits, '$.timeout')) FROM attempt";
    assert_eq!(world.site.count(&format!("SELECT CAST(({longest}) AS INTEGER)")), 240);
}

#[test]
fn a_trigger_is_refused_by_its_name_and_never_run() {
    let world = World::new();
    world.web("request private").exits(75);
    world.settle();
    world.sql(
        "CREATE TRIGGER evil BEFORE UPDATE OF status ON job
         BEGIN UPDATE job SET filename = 'private/payroll.txt' WHERE id = new.id; END;",
    );
    world.web("request epub title=Emma");
    for words in ["tick --wait", "check", "jobs list"] {
        world.cron(words).warns("evil");
    }
    assert_eq!(world.text("s/cache/private/payroll.txt"), "payroll\n");
    world.sql("DROP TRIGGER evil;");
    world.settle();
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
}

#[test]
fn a_queue_that_a_row_names_gives_no_seat_that_its_exporter_does_not_have() {
    let world = World::new();
    world.sql(&queued("private/payroll.txt", &[("queue", "'default'")]));
    world.settle();
    assert_eq!(world.site.text("SELECT queue FROM attempt WHERE exporter = 'private'"), "narrow");
    assert_eq!(world.text("s/cache/private/payroll.txt"), "payroll\n");
}

#[test]
fn parameters_that_do_not_name_the_file_are_refused() {
    let world = World::new();
    world.web("request private").exits(75);
    world.settle();
    let deep = format!("'{}{}'", r#"{"title":"#.repeat(5000), "}".repeat(5000));
    world.sql(&queued("private/payroll.txt", &[("exporter", "'epub'"), ("params", r#"'{"title":"x"}'"#)]));
    world.sql(&queued("epub/Nana.epub", &[("params", &deep)]));
    world.sql(&queued("epub/Nora.epub", &[("params", r#"'{"title":"Emma","title":"Nora"}'"#)]));
    world.sql(&queued("epub/Emma.epub", &[("params", r#"'{"title":"Emma","other":"1"}'"#)]));
    world.settle();
    assert_eq!(world.text("s/cache/private/payroll.txt"), "payroll\n");
    let made = world.site.count("SELECT count(*) FROM attempt WHERE result = 'ok' AND exporter = 'epub'");
    assert_eq!((made, world.text("s/cache/epub/Nora.epub")), (1, EMMA.replace("Emma", "Nora")));
}

/// One value of each column that no CHECK would let pass.
const ODD: [(&str, &str); 30] = [
    ("filename", "'epub/'"),
    ("filename", "'epub/../private/payroll.txt'"),
    ("filename", "'epub/' || printf('%.*c', 300, 'x')"),
    ("exporter", "'../epub'"),
    ("exporter", "CAST(x'ff' AS TEXT)"),
    ("params", "'no JSON'"),
    ("params", "printf('%.*c', 6000000, 'x')"),
    ("queue", "'de fault'"),
    ("priority", "11"),
    ("client", "printf('%.*c', 300000, 'x')"),
    ("source", "'/etc/shadow'"),
    ("source_after", "9223372036854775807"),
    ("status", "7"),
    ("status", "1"),
    ("waits", "9"),
    ("rank", "9223372036854775807"),
    ("submitted", "-9223372036854775808"),
    ("run_after", "-1"),
    ("queued_since", "9223372036854775807"),
    ("last_asked", "-5"),
    ("started", "9223372036854775807"),
    ("failed", "-1"),
    ("attempt", "'..'"),
    ("attempts", "4294967295"),
    ("shutdowns", "9223372036854775807"),
    ("percent", "200"),
    ("message", "printf('%.*c', 300000, 'x')"),
    ("result", "'splendid'"),
    ("again", "-9223372036854775808"),
    ("cancel", "3"),
];

#[test]
fn a_row_with_a_value_outside_every_check_stops_no_other_and_is_removed() {
    let world = World::new();
    let rows: Vec<String> =
        ODD.iter().enumerate().map(|(number, odd)| queued(&format!("epub/odd{number}.epub"), &[*odd])).collect();
    world.web("request epub title=Emma").exits(75);
    world.sql(&rows.concat());
    world.web("request epub title=Nana").exits(75);
    let listed = world.cron("jobs list --limit 0").exits(0).out();
    assert!(listed.matches("unreadable").count() > 20 && listed.contains("epub/Emma.epub"), "{listed}");
    for words in
        ["status --format json", "queues list", "jobs history", "jobs list --sort turn", "jobs list --param title=Emma"]
    {
        let done = world.cron(words);
        assert!(matches!(done.output.status.code(), Some(0..=2)), "{words}: {}", done.err());
    }
    world.cron("tick --dry-run").exits(0).says("epub/Emma.epub");
    let mut mail = world.settle();
    crate::support::site::wait_until("every row that is not ours has gone", || {
        mail.push_str(&world.cron("tick --wait").exits(0).err());
        world.site.count("SELECT count(*) FROM job WHERE status NOT IN (2, 3)") == 0
    });
    assert!(!world.cron("jobs list --limit 0").exits(0).out().contains("unreadable"));
    for title in ["Emma", "Nana"] {
        assert_eq!(world.text(&format!("s/cache/epub/{title}.epub")), EMMA.replace("Emma", title));
    }
    for column in ["filename", "exporter", "queue", "source", "rank", "priority"] {
        assert!(mail.contains(&format!("its {column} is not valid; it was removed")), "{column}: {mail}");
    }
    world.cron("check").exits(0);
}

#[test]
fn a_row_longer_than_any_of_ours_stops_no_other_and_is_removed() {
    let world = World::new();
    for column in ["filename", "exporter", "queue", "params", "source", "attempt", "client"] {
        let long = format!("'{column}' || printf('%.*c', 6000000, 'x')");
        let filename = format!("epub/{column}.epub");
        world.sql(&queued(&filename, &[(column, &long)]));
        let row = format!("'{column}', 'started', 1");
        let now = "started = 1700000000000, attempts = 1, status = 1";
        world.sql(&queued(&format!("epub/{column}2.epub"), &[(column, &long.replace("' ||", "2' ||"))]));
        world.sql(&format!("UPDATE job SET {now} WHERE id = (SELECT max(id) FROM job); -- {row}"));
    }
    world.web("request epub title=Emma").exits(75);
    world.cron("jobs list").exits(0).says("unreadable");
    world.settle();
    crate::support::site::wait_until("the long rows have gone", || {
        world.cron("tick --wait").exits(0);
        world.site.count("SELECT count(*) FROM job") == 0
    });
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
}

#[test]
fn values_of_the_other_tables_stop_nobody() {
    let world = World::new();
    world.web("request epub title=Emma").exits(75);
    world.settle();
    let most = "9223372036854775807";
    world.sql(&format!(
        "UPDATE queue SET queued = {most}, delayed = {most}, served = {most};
         INSERT INTO queue (name, mode) VALUES ('x y', 'closed');
         INSERT INTO client VALUES ('default', 'me', {most});
         UPDATE tally SET count = {most}, total = {most};
         INSERT INTO schedule VALUES ('epub', {most}, -{most});
         INSERT INTO sample VALUES ({most}, 'default', {most}, {most}), (1, 'default', -1, {most});
         INSERT INTO news VALUES ('../x');
         UPDATE meta SET tick_at = {most}, tick_boottime = -{most}, cache_files = -1, history_size = {most};
         UPDATE attempt SET number = 4294967296, duration = -1, limits = '[[', id = '../../../etc/passwd', ended = {most};"
    ));
    for words in ["status", "status --format json", "status --format prometheus", "queues list", "jobs history"] {
        let done = world.cron(words);
        assert!(matches!(done.output.status.code(), Some(0..=2)), "{words}: {}", done.err());
    }
    world.cron("tick --wait").exits(0);
    world.web("request epub title=Nana").exits(75);
    world.settle();
    assert_eq!(world.text("s/cache/epub/Nana.epub"), EMMA.replace("Emma", "Nana"));
    world.cron("check").exits(0);
}

#[test]
fn a_job_whose_attempt_has_lost_its_row_still_gives_its_seat_back() {
    let world = World::new();
    world.sql(&started("epub/Emma.epub", &format!("'{ULID}'")));
    let mail = world.settle();
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA, "{mail}");
}

/// STRICT is a word in the schema, which can be taken out and put back.
#[test]
fn a_value_of_another_type_stops_no_other() {
    let world = World::new();
    world.web("request epub title=Emma").exits(75);
    let alter = |from: &str, to: &str| {
        world.sql(&format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = substr(sql, 1, length(sql) - {}) || '{to}' WHERE name IN ('job', 'attempt');",
            from.len()
        ));
    };
    alter(") STRICT", ")");
    for (number, column) in
        ["filename", "exporter", "params", "queue", "client", "status", "rank", "attempt", "submitted"]
            .iter()
            .enumerate()
    {
        for value in ["x'00ff'", "'text'", "1.5"] {
            world.try_sql(&queued(&format!("epub/odd{number}.epub"), &[(column, value)]));
        }
    }
    alter(")", ") STRICT");
    assert!(world.site.count("SELECT count(*) FROM job") > 9);
    world.cron("jobs list").exits(0).says("unreadable");
    crate::support::site::wait_until("the odd rows have gone", || {
        world.cron("tick --wait").exits(0);
        world.site.count("SELECT count(*) FROM job") == 0
    });
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
}

/// The site's own row, and the counter of the ids.
#[test]
fn what_no_site_can_do_without_is_made_anew() {
    let world = World::new();
    let most = "9223372036854775807";
    for (number, damage) in [
        "DELETE FROM meta".to_owned(),
        "UPDATE meta SET client_key = x'00'".to_owned(),
        "INSERT INTO meta (one, client_key, machine_id) VALUES (0, x'00', 'other'), (2, x'00', 'other')".to_owned(),
        format!("UPDATE sqlite_sequence SET seq = {most}"),
        format!("UPDATE job SET id = {most} - 1; UPDATE sqlite_sequence SET seq = {most} - 1"),
        format!("INSERT INTO arrival SELECT queue, client, at + 1, {most} FROM arrival"),
    ]
    .iter()
    .enumerate()
    {
        world.web(&format!("request epub title=Emma{number} --client 192.0.2.1")).exits(75);
        world.sql(damage);
        crate::support::site::wait_until("a tick has found it", || {
            world.cron("tick --wait").exits(0);
            world.site.count("SELECT count(*) FROM job") == 0
        });
        world.web(&format!("request epub title=Nana{number} --client 192.0.2.1")).exits(75);
        world.settle();
        let nana = world.text(&format!("s/cache/epub/Nana{number}.epub"));
        assert_eq!(nana, EMMA.replace("Emma", &format!("Nana{number}")), "{damage}");
        world.cron("check").exits(0);
    }
}

#[test]
fn figures_beyond_any_sum_are_shown_all_the_same() {
    let world = World::new();
    world.sql(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
         INSERT INTO tally SELECT 'epub', 'run', 'ok', i, 1 << 40, 1 << 60 FROM n;",
    );
    let done = world.cron("status --format prometheus");
    assert!(done.out().contains(r#"pressroom_run_seconds_count{exporter="epub"} 21990232555520"#), "{}", done.err());
}

#[test]
fn another_journal_mode_costs_no_attempt() {
    let world = World::new();
    world.web("request epub title=Emma").exits(75);
    world.sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    world.cron("tick --wait").exits(0);
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
    assert!(world.site.path("s/queue/pressroom.db-wal").exists());
}

#[test]
fn rows_that_wait_for_each_other_in_a_circle_end_no_command() {
    let world = World::new();
    for words in ["request pdf title=Emma", "request pdf title=Nana"] {
        world.web(words).exits(75);
    }
    world.sql(
        "UPDATE job SET waits = 2, source = CASE filename WHEN 'pdf/Emma.pdf' THEN 'pdf/Nana.pdf'
                                            WHEN 'pdf/Nana.pdf' THEN 'pdf/Emma.pdf' ELSE filename END",
    );
    world.cron("tick --wait").exits(0);
    for words in ["request pdf title=Emma", "request pdf title=Nana", "request epub title=Emma"] {
        world.web(words).exits(75);
    }
    for words in ["jobs list", "jobs show 1", "status", "check"] {
        let done = world.cron(words);
        assert!(matches!(done.output.status.code(), Some(0..=2)), "{words}: {}", done.err());
    }
}
