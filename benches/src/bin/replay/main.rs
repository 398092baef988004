//! What the client itself costs: a process without a broker behind it answers from memory, over loopback, and this one
//! consumes. The answering process's CPU time does not count, so its speed does not matter either.
//!
//! Beside it stands the least that can be done with the same bytes: one thread that reads a response into a buffer,
//! checks each batch and walks its records.

mod bare;
mod canned;
mod client;
mod cpu;
mod server;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;
use canned::Shape;
use clap::{Parser, Subcommand};
use cpu::Spent;
use serde_json::json;

/// Measure the CPU time that the share consumer takes for a record, answered from memory over loopback.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Option<Role>,
    /// Records of each response.
    #[arg(long, default_value_t = 2_000)]
    records: usize,
    /// Bytes of each value; there are no keys.
    #[arg(long, default_value_t = 100)]
    value_size: usize,
    /// The largest batch of the responses, in bytes.
    #[arg(long, default_value_t = 16 << 10)]
    batch_size: usize,
    /// Records to consume in each round.
    #[arg(long, default_value_t = 20_000_000)]
    wanted: u64,
    /// Rounds; the fastest counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

#[derive(Subcommand)]
enum Role {
    /// Answer on a port of its own, which is printed first, until standard input ends; then print what was accepted.
    Serve,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let shape = Shape { records: args.records, value_size: args.value_size, batch_size: args.batch_size };
    if let Some(Role::Serve) = args.command {
        return server::serve(shape);
    }
    let mut best = [None::<Spent>; SIDES.len()];
    for round in 0..args.rounds {
        for turn in 0..SIDES.len() {
            // Each goes first in turn.
            let side = (round + turn) % SIDES.len();
            let mut server = Server::start(&args)?;
            let spent = (SIDES[side].run)(server.port, args.wanted)?;
            let accepted = server.stop()?;
            anyhow::ensure!(
                !SIDES[side].accepts || accepted == spent.all_records,
                "{} records were consumed and {accepted} accepted",
                spent.all_records
            );
            println!("{:<36}{spent}", SIDES[side].name);
            if best[side].is_none_or(|best| spent.cpu_ns_a_record() < best.cpu_ns_a_record()) {
                best[side] = Some(spent);
            }
        }
    }
    let mut line = serde_json::Map::new();
    for (side, best) in SIDES.iter().zip(best) {
        let best = best.context("there is at least one round")?;
        let figures = json!({
            "records_per_cpu_s": (1e9 / best.cpu_ns_a_record()).round(),
            "cpu_ns_per_record": (best.cpu_ns_a_record() * 10.0).round() / 10.0,
            "records_per_s": best.records_a_second().round(),
        });
        line.insert(side.key.to_owned(), figures);
    }
    println!("{}", serde_json::Value::Object(line));
    Ok(())
}

/// One way to consume.
struct Side {
    key: &'static str,
    name: &'static str,
    /// Consumes at least so many records from the port.
    run: fn(u16, u64) -> anyhow::Result<Spent>,
    accepts: bool,
}

const SIDES: [Side; 3] = [
    Side { key: "client", name: "OwnedShareConsumer, one thread", run: client::on_one_thread, accepts: true },
    Side {
        key: "client_two_threads",
        name: "OwnedShareConsumer, two threads",
        run: client::on_two_threads,
        accepts: true,
    },
    Side { key: "bare_loop", name: "bare loop", run: bare::run, accepts: false },
];

/// The process that answers.
struct Server {
    port: u16,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(args: &Args) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--records", &args.records.to_string(), "--value-size", &args.value_size.to_string()]);
        command.args(["--batch-size", &args.batch_size.to_string(), "serve"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        let input = child.stdin.take();
        let port = number(&mut output).context("the server prints its port")?;
        Ok(Self { port: u16::try_from(port)?, child, input, output })
    }

    /// Ends it, and gives how many records were accepted there.
    fn stop(&mut self) -> anyhow::Result<u64> {
        if let Some(mut input) = self.input.take() {
            input.flush()?;
        }
        let accepted = number(&mut self.output).context("the server prints what was accepted")?;
        self.child.wait()?;
        Ok(accepted)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input; this is for one that hangs.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn number(output: &mut impl BufRead) -> anyhow::Result<u64> {
    let mut line = String::new();
    output.read_line(&mut line)?;
    line.trim().parse().with_context(|| format!("`{}` is no number", line.trim()))
}
