//! Exporters that want more than they may have.

use std::time::Duration;

use super::{World, alone};
use crate::model::status::Outcome;

const MB: u64 = 1 << 20;

#[test]
fn cpu_is_counted_over_the_tree() {
    alone(|| {
        let mut world = World::sh("for i in 1 2; do sh -c 'while :; do :; done' & done; wait")
            .limits(|limits| limits.cpu = Some(Duration::from_secs(1)));
        assert!(world.ends(Outcome::Cpu).cpu_used >= Duration::from_secs(1));
    });
}

#[test]
fn cpu_of_children_too_short_to_be_seen_is_counted() {
    alone(|| {
        let mut world = World::sh("while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'; done")
            .limits(|limits| limits.cpu = Some(Duration::from_secs(1)));
        world.ends(Outcome::Cpu);
    });
}

#[test]
fn memory_is_counted_over_the_tree() {
    alone(|| {
        let script = "import os,time\nfor i in range(10):\n if os.fork()==0:\n  x=bytearray(30<<20); time.sleep(1000)\ntime.sleep(1000)";
        let mut world = World::python(script).limits(|limits| limits.memory = Some(200 * MB));
        assert!(world.ends(Outcome::Memory).peak_memory > 200 * MB);
    });
}

#[test]
fn memory_that_grows_on_is_not_given_its_time() {
    alone(|| {
        let script = "import signal,time\nsignal.signal(15,signal.SIG_IGN)\nx=[]\nwhile 1:\n x.append(bytearray(4<<20)); time.sleep(0.01)";
        let mut world = World::python(script).limits(|limits| {
            limits.memory = Some(100 * MB);
            limits.kill_after = Duration::from_secs(50);
        });
        let ending = world.ends(Outcome::Memory);
        assert!(ending.duration < Duration::from_secs(40), "{ending:?}");
    });
}

#[test]
fn mapped_memory_counts_as_well() {
    alone(|| {
        let script =
            "import mmap,time\nm=mmap.mmap(-1,300<<20)\nfor i in range(0,300<<20,4096): m[i]=1\ntime.sleep(1000)";
        World::python(script).limits(|limits| limits.memory = Some(150 * MB)).ends(Outcome::Memory);
    });
}

#[test]
fn shared_memory_counts_once() {
    alone(|| {
        let script = "import mmap,os,time\nm=mmap.mmap(-1,60<<20)\nfor i in range(0,60<<20,4096): m[i]=1\nfor c in range(5):\n \
                      if os.fork()==0:\n  s=sum(m[i] for i in range(0,60<<20,4096)); time.sleep(1); os._exit(0)\n\
                      for c in range(5): os.wait()";
        let ending = World::python(script).limits(|limits| limits.memory = Some(200 * MB)).ends(Outcome::Ok);
        assert!(ending.peak_memory < 200 * MB, "{ending:?}");
    });
}

/// Many have much in common. When they end the plain sum falls, and another may grow behind it.
#[test]
fn memory_that_grows_while_others_end_is_seen() {
    alone(|| {
        let script = "import os,time\nx=bytearray(b'x')*(120<<20)\nkids=[]\nfor i in range(4):\n p=os.fork()\n \
                      if p==0: time.sleep(1000)\n kids.append(p)\ntime.sleep(1.5)\nfor p in kids: os.kill(p,9); os.wait()\n\
                      y=bytearray(b'y')*(200<<20)\ntime.sleep(2)";
        let mut world = World::python(script).limits(|limits| limits.memory = Some(190 * MB));
        assert!(world.ends(Outcome::Memory).peak_memory > 190 * MB);
    });
}

#[test]
fn cpu_of_children_that_nobody_waits_for_is_counted() {
    alone(|| {
        let script = "import os,signal,time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile 1:\n p=os.fork()\n \
                      if p==0:\n  while time.process_time()<0.1: pass\n  os._exit(0)\n \
                      try: os.waitpid(p,0)\n except ChildProcessError: pass";
        let mut world = World::python(script).limits(|limits| {
            limits.cpu = Some(Duration::from_secs(3));
            limits.timeout = Duration::from_mins(3);
        });
        world.ends(Outcome::Cpu);
    });
}

#[test]
fn a_refused_allocation_near_the_limit_is_memory() {
    alone(|| {
        let script = "x=bytearray(97<<20)\nraise MemoryError";
        let mut world = World::python(script).limits(|limits| limits.memory = Some(106 * MB));
        world.ends(Outcome::Memory);
    });
}

#[test]
fn an_output_beyond_its_size_is_file_size() {
    alone(|| {
        let small = |world: World| world.limits(|limits| limits.file_size = Some(MB));
        assert_eq!(small(World::sh("exec head -c 100000000 /dev/zero >out")).ends(Outcome::FileSize).signal, Some(25));
        small(World::sh("head -c 100000000 /dev/zero >out")).ends(Outcome::FileSize);
        small(World::python("open('out','wb').write(bytes(100<<20))")).ends(Outcome::FileSize);
        small(World::sh("trap '' XFSZ; head -c 100000000 /dev/zero >out; exit 0")).ends(Outcome::FileSize);
    });
}

#[test]
fn a_work_directory_beyond_its_size_is_file_size() {
    alone(|| {
        let script = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero >file$i; done";
        let mut world = World::sh(script).limits(|limits| limits.work_size = Some(20 * MB));
        assert!(world.ends(Outcome::FileSize).peak_work > 20 * MB);
    });
}

#[test]
fn files_without_a_name_count_and_those_with_four_count_once() {
    alone(|| {
        let limited = |script| World::python(script).limits(|limits| limits.work_size = Some(30 * MB));
        let unlinked =
            "import os,time\nf=open('f','wb')\nos.unlink('f')\nf.write(bytes(40<<20))\nf.flush()\ntime.sleep(1000)";
        limited(unlinked).ends(Outcome::FileSize);
        let never_named =
            "import os,time\nf=os.open('.',os.O_TMPFILE|os.O_RDWR)\nos.write(f,bytes(40<<20))\ntime.sleep(1000)";
        limited(never_named).ends(Outcome::FileSize);
        let four =
            "import os,time\nopen('f','wb').write(bytes(10<<20))\nfor n in 'abc': os.link('f',n)\ntime.sleep(2.5)";
        limited(four).ends(Outcome::Ok);
    });
}

#[test]
fn a_work_directory_is_counted_to_its_end() {
    alone(|| {
        let script = "import os,time\nfor i in range(200100): os.mknod(str(i))\nos.mkdir('z')\n\
                      open('z/f','wb').write(bytes(40<<20))\ntime.sleep(1000)";
        let mut world = World::python(script).limits(|limits| {
            limits.work_size = Some(30 * MB);
            limits.timeout = Duration::from_mins(10); // so many files take a while on a busy machine
        });
        world.ends(Outcome::FileSize);
    });
}

#[test]
fn a_removed_or_locked_work_directory_does_not_stop_the_watcher() {
    alone(|| {
        World::sh("rm -rf \"$HOME\"").limits(|limits| limits.work_size = Some(MB)).ends(Outcome::Ok);
        World::sh("mkdir d; touch d/f; chmod 000 d .").limits(|limits| limits.work_size = Some(MB)).ends(Outcome::Ok);
    });
}
