//! Exporters that misbehave, each under the real supervisor.
//!
//! The supervisor adopts every orphan and blocks signals, which is right for a run and wrong for the process of many
//! tests. So each of these tests executes itself once more, alone in a process, see [`alone`].

mod ending;
mod kernel;
mod leaving;
mod limits;
mod output;
mod starting;
mod world;

use self::world::{World, alone};
