//! One call of the admin client, and what came of it as a line of JSON: our side of `cargo xtask prove admin`, which asks Kafka's own tools about the
//! same.

mod access;
mod cluster;
mod configs;
mod consumer_groups;
mod partitions;
mod share_groups;
mod topics;
mod transactions;

use std::fmt::Display;

use ackflow_client::admin::{Admin, Results, TopicPartition};
use ackflow_client::{ClientConfig, ClientError};
use anyhow::{Context, Result, bail};
use clap::Parser;
use serde_json::{Map, Value};

/// Make one call of the admin client, and print what came of it as JSON.
#[derive(Parser)]
struct Args {
    /// Addresses of the cluster.
    bootstrap: String,
    /// The call, by the name of its function.
    call: String,
    /// Its arguments, as the file of the call reads them.
    #[arg(allow_hyphen_values = true)]
    arguments: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args = Args::parse();
    let admin = Admin::new(ClientConfig::new(&args.bootstrap)?);
    let arguments: Vec<&str> = args.arguments.iter().map(String::as_str).collect();
    println!("{}", call(&admin, &args.call, &arguments).await?);
    Ok(())
}

async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Value> {
    let mut made = topics::call(admin, call, arguments).await?;
    if made.is_none() {
        made = partitions::call(admin, call, arguments).await?;
    }
    if made.is_none() {
        made = configs::call(admin, call, arguments).await?;
    }
    if made.is_none() {
        made = consumer_groups::call(admin, call, arguments).await?;
    }
    if made.is_none() {
        made = share_groups::call(admin, call, arguments).await?;
    }
    if made.is_none() {
        made = access::call(admin, call, arguments).await?;
    }
    if made.is_none() {
        made = cluster::call(admin, call, arguments).await?;
    }
    if made.is_none() {
        made = transactions::call(admin, call, arguments).await?;
    }
    match made {
        Some(value) => Ok(value),
        None => bail!("there is no call {call} with {} argument(s)", arguments.len()),
    }
}

/// The values of results by key, where there is no error among them.
fn all<K: Display, T>(results: Results<K, T>, value: impl Fn(T) -> Value) -> Result<Value> {
    let mut all = Map::new();
    for (key, result) in results {
        all.insert(key.to_string(), value(result?));
    }
    Ok(all.into())
}

/// The same for results that say nothing but that all went well.
fn done<K: Display>(results: Results<K, ()>) -> Result<Value> {
    all(results, |()| Value::Bool(true))
}

/// What came of each: `true`, or the error as text.
fn outcomes<K: Display>(results: Results<K, ()>) -> Value {
    let outcome =
        |result: Result<(), ClientError>| result.map_or_else(|error| error.to_string().into(), |()| true.into());
    Value::Object(results.into_iter().map(|(key, result)| (key.to_string(), outcome(result))).collect())
}

fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<T> {
    text.parse().with_context(|| format!("{text} is not a number"))
}

fn partition(topic: &str, index: &str) -> Result<TopicPartition> {
    Ok(TopicPartition::new(topic, number(index)?))
}

/// `1,2,3`.
fn numbers(text: &str) -> Result<Vec<i32>> {
    text.split(',').map(number).collect()
}

/// `key=value`.
fn pair(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').with_context(|| format!("{text} is not key=value"))
}
