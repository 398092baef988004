//! The messages of SCRAM (RFC 5802), as far as a client writes and reads them. Channels are not bound, so the header is `n,,`.

use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, u32};
use nom::combinator::{all_consuming, rest, verify};
use nom::multi::many0_count;
use nom::sequence::preceded;
use nom::{IResult, Parser};

/// The header of a client that binds no channel.
const HEADER: &str = "n,,";
/// The header in base64, as the last message repeats it.
const HEADER_BASE64: &str = "biws";

/// The client's first message without its header: `n=user,r=nonce`.
pub fn client_first_bare(user: &str, nonce: &str) -> String {
    format!("n={},r={nonce}", escaped(user))
}

/// The client's first message.
pub fn client_first(bare: &str) -> String {
    format!("{HEADER}{bare}")
}

/// The client's last message without its proof: `c=biws,r=nonce`, with the nonce of both.
pub fn client_final_without_proof(nonce: &str) -> String {
    format!("c={HEADER_BASE64},r={nonce}")
}

/// The client's last message. `proof` is base64.
pub fn client_final(without_proof: &str, proof: &str) -> String {
    format!("{without_proof},p={proof}")
}

/// A user's name, in which `,` and `=` would mean something else.
fn escaped(user: &str) -> String {
    user.replace('=', "=3D").replace(',', "=2C")
}

/// The server's first message: `r=nonce,s=salt,i=iterations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFirst<'a> {
    /// The client's nonce, and the server's after it.
    pub nonce: &'a str,
    /// The salt of the password, in base64.
    pub salt: &'a str,
    /// How often the password is hashed.
    pub iterations: u32,
}

impl<'a> ServerFirst<'a> {
    /// Reads the message. `None` where it is another one, or wants an extension (`m=`), which there is none of.
    pub fn parse(message: &'a str) -> Option<Self> {
        let attributes =
            (preceded(tag("r="), printable), preceded(tag(",s="), base64), preceded(tag(",i="), u32), extensions);
        let (_, (nonce, salt, iterations, _)) = all_consuming(attributes).parse(message).ok()?;
        Some(Self { nonce, salt, iterations })
    }
}

/// The server's last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFinal<'a> {
    /// `v=`: its signature, in base64, which proves that it knows the password.
    Signature(&'a str),
    /// `e=`: why it refuses the client.
    Error(&'a str),
}

impl<'a> ServerFinal<'a> {
    /// Reads the message. `None` where it is another one.
    pub fn parse(message: &'a str) -> Option<Self> {
        let error: IResult<_, _> = preceded(tag("e="), rest).parse(message);
        if let Ok((_, error)) = error {
            return Some(Self::Error(error));
        }
        let (_, (signature, _)) = all_consuming((preceded(tag("v="), base64), extensions)).parse(message).ok()?;
        Some(Self::Signature(signature))
    }
}

fn printable(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_graphic() && c != ',').parse(text)
}

fn base64(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c)).parse(text)
}

/// `,x=value` any number of times: a client passes over those that it does not know. `m` would be one that it must know.
fn extensions(text: &str) -> IResult<&str, usize> {
    let name = verify(nom::character::complete::anychar, |c| c.is_ascii_alphabetic() && *c != 'm');
    let value = take_while1(|c: char| c != ',' && c != '\0');
    many0_count((char(','), name, char('='), value)).parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(client_first(&client_first_bare("a,b=c", "x")), "n,,n=a=2Cb=3Dc,r=x");
    }

    #[test]
    fn the_servers_messages_are_read() {
        let first = ServerFirst::parse("r=abcXYZ,s=QSXCR+Q6sek8bf92,i=4096,x=more").unwrap();
        assert_eq!(first, ServerFirst { nonce: "abcXYZ", salt: "QSXCR+Q6sek8bf92", iterations: 4096 });
        assert_eq!(ServerFinal::parse("v=cm1m"), Some(ServerFinal::Signature("cm1m")));
        assert_eq!(ServerFinal::parse("e=other-error"), Some(ServerFinal::Error("other-error")));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for message in [
            "",
            "r=,s=QQ==,i=1",
            "m=x,r=a,s=QQ==,i=4096",
            "r=a,s=QQ==,i=4096,m=x",
            "r=a,s=?,i=4096",
            "r=a,s=QQ==,i=-1",
            "r=a,s=QQ==,i=99999999999",
            "r=a,s=QQ==",
            "r=a b,s=QQ==,i=4096",
            "s=QQ==,r=a,i=4096",
        ] {
            assert_eq!(ServerFirst::parse(message), None, "{message}");
        }
        assert_eq!(ServerFinal::parse("v="), None);
        assert_eq!(ServerFinal::parse("v=a,b"), None);
        assert_eq!(ServerFinal::parse("x=a"), None);
    }
}
