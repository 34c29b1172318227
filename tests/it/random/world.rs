//! The site of the random test: its exporters, what may be asked for, and its clock.

use std::{
    fs,
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::support::{dice::Dice, site::Site};

/// Milliseconds for which a file that was answered as ready stays where it is.
pub const GRACE: i64 = 2000;

/// A part of such titles as are asked for once, for later.
pub const LATE: &str = "late";

/// Queues and the runs that each may have at once.
pub const QUEUES: [(&str, usize); 4] = [("default", 2), ("express", 1), ("narrow", 1), ("sync", 1)];

/// Runs at once on the whole site, fewer than the queues have together.
pub const HOST: usize = 4;

const HEAD: &str = r#"
state_dir = "s"
[cache]
min_free = "0B"
ttl = "3s"
grace = "2s"
[host]
max_running = 4
min_free_memory = "0B"
"#;

/// `books` are the queues `default` and `express` together: an exporter is not told in which of them it runs.
const CONFIG: &str = r#"
[queue.default]
max_running = 2
max_per_client = 6
new_per_client = "100000/10m"
[queue.express]
max_running = 1
[queue.narrow]
max_running = 1
[queue.sync]
max_running = 1

[exporter.book]
command = ["/bin/sh", "../../../make", "books", "3", "book", "{title}", "{output}"]
filename = "{title}.epub"
max_attempts = 3
retry_delay = "20ms"
failure_ttl = "1s"
breaker = { failures = 8, pause = "1s" }
timeout = "1m"
[exporter.book.params.title]
required = true
[exporter.book.params.pages]
integer = "1..1000"
key = false
default = 100
[[exporter.book.lane]]
queue = "express"
when = { pages = "..20" }

[exporter.stuck]
command = ["/bin/sh", "../../../make", "books", "3", "stuck", "{title}", "{output}"]
filename = "{title}.txt"
max_attempts = 2
retry_delay = "20ms"
failure_ttl = "1s"
breaker = { failures = 8, pause = "1s" }
timeout = "300ms"
kill_after = "100ms"
escalate = 1.0
[exporter.stuck.params.title]
required = true
[exporter.stuck.params.pages]
integer = "1..1000"
key = false
default = 100
[[exporter.stuck.lane]]
queue = "express"
when = { pages = "..20" }

[exporter.pdf]
source = "book"
command = ["/bin/sh", "../../../make", "books", "3", "pdf", "{title}", "{output}", "{source}"]
filename = "{title}.pdf"
max_attempts = 3
retry_delay = "20ms"
failure_ttl = "1s"
breaker = { failures = 8, pause = "1s" }
[exporter.pdf.params.title]
required = true

[exporter.slides]
queue = "narrow"
command = ["/bin/sh", "../../../make", "narrow", "1", "slides", "{title}", "{output}"]
filename = "{title}.odp"
max_attempts = 3
retry_delay = "20ms"
failure_ttl = "1s"
breaker = { failures = 8, pause = "1s" }
[exporter.slides.params.title]
required = true

[exporter.sync]
output = "none"
queue = "sync"
command = ["/bin/sh", "../../../make", "sync", "1", "sync", "{title}", "none"]
max_attempts = 3
retry_on = ["temporary", "lost"]
retry_delay = "20ms"
failure_ttl = "1s"
breaker = { failures = 8, pause = "1s" }
[exporter.sync.params.title]
required = true
"#;

/// Every exporter's program. Its locks are held as long as anything of its tree lives: one of its file, one of the seats
/// of its queue, one of the site's seats. One that finds none free writes it into `faults`.
const MAKE: &str = r#"
cd ../../..
group=$1 seats=$2 name=$3/$4 file=$3-$4 title=$4 output=$5 source=$6
seat() {
    for try in 1 2 3; do
        number=0
        while [ $number -lt $2 ]; do
            eval "exec $3>>busy/$1.$number"
            flock -n $3 && return
            number=$((number + 1))
        done
    done
    echo "more than $2 at once in $1: $name $PRESSROOM_ATTEMPT" >>faults
}
note() {
    read up idle </proc/uptime
    echo "$1 $name $PRESSROOM_ATTEMPT $raw $offset $$ $up" >>record
}
exec 9>>busy/$file
flock -n 9 || echo "two at once of $name: $PRESSROOM_ATTEMPT" >>faults
seat $group $seats 8
seat host 4 7
raw=$(date +%s%3N)
read offset <clock
note start
case $title in
bad*) echo 'no such book' >"$PRESSROOM_MESSAGE"; note end; exit 1;;
once*) rm busy/$file.failed 2>/dev/null || { : >busy/$file.failed; note end; exit 75; };;
long*) sleep 2.2;;
slow*) sleep 0.4;;
stuck*) trap '' TERM; sleep 1000;;
daemon*) (setsid sleep 1000 &); sleep 0.05;;
esac
[ "$output" != none ] || { note end; exit 0; }
echo "$name $PRESSROOM_ATTEMPT" >"$output"
[ -z "$source" ] || cat "$source" >>"$output"
sleep 0.02
echo whole >>"$output"
note end
"#;

/// What somebody may ask for.
#[derive(Clone)]
pub struct Wanted {
    pub exporter: &'static str,
    pub title: String,
}

impl Wanted {
    pub fn choose(dice: &mut Dice) -> Self {
        let (exporter, kinds): (_, &[(&str, u64)]) = match dice.roll(12) {
            0..=4 => ("book", &[("quick", 10), ("once", 4), ("slow", 3), ("long", 2), ("daemon", 2), ("bad", 2)]),
            5..=7 => ("pdf", &[("quick", 10), ("once", 4), ("slow", 4), ("bad", 2)]),
            8 => ("stuck", &[("stuck", 2)]),
            9 | 10 => ("slides", &[("quick", 6), ("once", 2), ("slow", 2), ("long", 1), ("bad", 1)]),
            _ => ("sync", &[("quick", 2), ("long", 2), ("once", 1)]),
        };
        let mut left = dice.roll(kinds.iter().map(|(_, many)| many).sum());
        for (kind, many) in kinds {
            if left < *many {
                return Self { exporter, title: format!("{kind}{left}") };
            }
            left -= many;
        }
        unreachable!("the dice roll below the sum")
    }

    /// As exporters name it.
    pub fn name(&self) -> String {
        format!("{}/{}", self.exporter, self.title)
    }

    /// As jobs name it.
    pub fn filename(&self) -> String {
        let extension = match self.exporter {
            "book" => ".epub",
            "pdf" => ".pdf",
            "stuck" => ".txt",
            "slides" => ".odp",
            _ => "",
        };
        self.name() + extension
    }

    pub fn is_task(&self) -> bool {
        self.exporter == "sync"
    }

    /// Whether it was asked for once and for later, and is left alone since.
    pub fn is_late(&self) -> bool {
        self.title.contains(LATE)
    }

    /// Whether it can be made at all.
    pub fn is_good(&self) -> bool {
        !self.title.starts_with("bad") && !self.title.starts_with("stuck")
    }
}

/// The site, and the clock that its programs see, in milliseconds.
pub struct World {
    pub site: Site,
    clock: Mutex<Clock>,
}

struct Clock {
    ahead: i64,
    /// What was before this moment cannot be compared: the clock was set back.
    floor: i64,
}

impl World {
    pub fn new() -> Self {
        let site = Site::new().head(HEAD).more(CONFIG);
        fs::create_dir(site.path("busy")).expect("a directory");
        fs::write(site.path("make"), MAKE).expect("a program");
        site.clock(0.0);
        Self { site: site.create(), clock: Mutex::new(Clock { ahead: 0, floor: 0 }) }
    }

    pub fn now(&self) -> i64 {
        real() + self.clock.lock().expect("the clock").ahead
    }

    /// Whether what happened then can be compared with what has happened since.
    pub fn is_comparable(&self, moment: i64) -> bool {
        self.clock.lock().expect("the clock").floor <= moment
    }

    pub fn move_clock(&self, by: i64) {
        let mut clock = self.clock.lock().expect("the clock");
        if by < 0 {
            clock.floor = clock.floor.max(real() + clock.ahead);
        }
        clock.ahead += by;
        let seconds = std::time::Duration::from_millis(clock.ahead.unsigned_abs()).as_secs_f64();
        self.site.clock(if clock.ahead < 0 { -seconds } else { seconds });
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.site.path(name)).unwrap_or_default()
    }
}

fn real() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(time.as_millis()).expect("not so far ahead")
}
