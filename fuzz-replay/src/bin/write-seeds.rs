//! Writes the seeds of every target to `fuzz/corpus/` for cargo-fuzz, and prints how many there are of each.

use std::{fs, io};

fn main() -> io::Result<()> {
    for target in ackflow_fuzz_replay::ALL {
        let folder = ackflow_fuzz_replay::root().join("fuzz/corpus").join(target.name);
        fs::create_dir_all(&folder)?;
        for file in fs::read_dir(&folder)? {
            let file = file?;
            // Those of an earlier time; what a fuzzer has found stays.
            if file.file_name().to_string_lossy().starts_with("seed-") {
                fs::remove_file(file.path())?;
            }
        }
        let seeds = target.seeds();
        for (index, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{index}")), seed)?;
        }
        println!("{}\t{}", target.name, seeds.len());
    }
    Ok(())
}
