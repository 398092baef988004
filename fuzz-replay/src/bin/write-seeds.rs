//! Writes the seeds of every target to `fuzz/corpus/` for cargo-fuzz.

use std::{fs, io};

fn main() -> io::Result<()> {
    for target in ackflow_fuzz_replay::ALL {
        let folder = ackflow_fuzz_replay::root().join("fuzz/corpus").join(target.name);
        fs::create_dir_all(&folder)?;
        for (index, seed) in target.seeds().into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{index}")), seed)?;
        }
    }
    Ok(())
}
