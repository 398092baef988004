//! Addresses of brokers, and the list of them in `bootstrap.servers`.

use std::fmt;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, multispace0, u16};
use nom::combinator::{all_consuming, opt, verify};
use nom::multi::separated_list1;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use crate::error::ClientError;

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The port, not 0.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Where to find a first broker: the value of `bootstrap.servers`. It holds at least one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapServers(Vec<Address>);

/// The property that holds the list.
pub(crate) const BOOTSTRAP_SERVERS: &str = "bootstrap.servers";

impl BootstrapServers {
    /// Reads `host:port,host:port`. IPv6 addresses stand in brackets; a protocol before an address (`PLAINTEXT://`) is
    /// allowed, as in Kafka, and means nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the part that is not an address.
    pub fn parse(list: &str) -> Result<Self, ClientError> {
        match all_consuming(delimited(multispace0, addresses, multispace0)).parse(list) {
            Ok((_, addresses)) => Ok(Self(addresses)),
            Err(_) => {
                let bad = list.split(',').map(str::trim).find(|part| all_consuming(address).parse(part).is_err());
                let reason = match bad {
                    None | Some("") => "an address is missing".to_owned(),
                    Some(bad) => format!("{bad} is not an address"),
                };
                Err(ClientError::config(
                    BOOTSTRAP_SERVERS,
                    list,
                    &reason,
                    "give host:port, several of them with commas between; an IPv6 address stands in brackets",
                ))
            }
        }
    }

    /// The addresses, in the order in which they were given.
    pub fn addresses(&self) -> &[Address] {
        &self.0
    }
}

impl fmt::Display for BootstrapServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, address) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{address}")?;
        }
        Ok(())
    }
}

fn addresses(input: &str) -> IResult<&str, Vec<Address>> {
    separated_list1(delimited(multispace0, char(','), multispace0), address).parse(input)
}

fn address(input: &str) -> IResult<&str, Address> {
    let protocol = terminated(take_while1(|c: char| c.is_ascii_alphanumeric() || "-._%".contains(c)), tag("://"));
    let bracketed = delimited(char('['), take_while1(|c: char| c.is_ascii_hexdigit() || ":.%".contains(c)), char(']'));
    let name = take_while1(|c: char| c.is_alphanumeric() || "-._%".contains(c));
    let port = verify(u16, |port| *port > 0);
    let (rest, (host, port)) =
        preceded(opt(protocol), (alt((bracketed, name)), preceded(char(':'), port))).parse(input)?;
    Ok((rest, Address { host: host.to_owned(), port }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_kafka_reads_them() {
        let list = " b-1.example.com:9092 ,[::1]:9093,PLAINTEXT://10.0.0.1:19092 ";
        let servers = BootstrapServers::parse(list).unwrap();
        assert_eq!(servers.to_string(), "b-1.example.com:9092,[::1]:9093,10.0.0.1:19092");
        assert_eq!(servers.addresses()[1], Address { host: "::1".into(), port: 9093 });
    }

    #[test]
    fn what_is_no_address_is_named() {
        for (list, named) in [
            ("", "an address is missing"),
            ("a:1,", "an address is missing"),
            ("a:1,b", "b is not an address"),
            ("a:0", "a:0 is not an address"),
            ("a:65536", "a:65536 is not an address"),
            ("::1:9092", "::1:9092 is not an address"),
            ("a b:1", "a b:1 is not an address"),
        ] {
            let error = BootstrapServers::parse(list).unwrap_err().to_string();
            assert!(error.contains("bootstrap.servers=") && error.contains(named), "{list:?}: {error}");
        }
    }
}
