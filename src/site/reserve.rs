//! Space kept back, so that a full disk can still be cleaned up: deleting rows needs room for the log of the database.

use std::io;

use super::Site;

impl Site {
    /// Frees the reserve. `false`: it had been given up before.
    pub fn give_up_reserve(&self) -> io::Result<bool> {
        todo!()
    }

    /// Takes the reserve back if there is space enough again; tells whether it is whole.
    pub fn restore_reserve(&self) -> io::Result<bool> {
        todo!()
    }
}
