//! Terminal: what memtoll says of the text buffer.

use crate::Arguments;
use crate::programs::{Recorded, build, program};
use memtoll_bench::tables;
use std::path::Path;

pub fn write(arguments: &Arguments) -> Result<(), String> {
    build("terminal")?;
    let readme = Path::new("casestudies/terminal/README.md");
    let before = Recorded::new(&program("terminal-before", "casestudies/terminal/README.md"), arguments)?;
    tables::write(readme, "costs", &tables::screen(&before.costs()?))
}
