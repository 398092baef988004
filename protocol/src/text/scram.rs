//! The messages of SCRAM (RFC 5802), as clients and servers write and read them. Channels are not bound, so the header is `n,,`.

use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{alpha1, char, u32};
use nom::combinator::{all_consuming, opt, recognize, rest, verify};
use nom::multi::many0_count;
use nom::sequence::{preceded, terminated};
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

/// The client's first message, as a server reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFirst<'a> {
    /// Whom the client wants to act for, where it says so.
    pub authzid: Option<&'a str>,
    /// The user's name.
    pub user: String,
    /// The client's nonce.
    pub nonce: &'a str,
    /// The message without its header, which proofs are made of.
    pub bare: &'a str,
}

impl<'a> ClientFirst<'a> {
    /// Reads the message. `None` where it is another one, or binds a channel. What else it carries (`tokenauth=true`) is passed over.
    pub fn parse(message: &'a str) -> Option<Self> {
        let header: IResult<_, _> =
            preceded(tag("n,"), terminated(opt(preceded(tag("a="), name)), char(','))).parse(message);
        let (bare, authzid) = header.ok()?;
        let attributes = (preceded(tag("n="), name), preceded(tag(",r="), printable), extensions);
        let (_, (user, nonce, _)) = all_consuming(attributes).parse(bare).ok()?;
        Some(Self { authzid, user: unescaped(user)?, nonce, bare })
    }
}

/// The client's last message, as a server reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientFinal<'a> {
    /// The nonce of both.
    pub nonce: &'a str,
    /// The message without its proof, which proofs are made of.
    pub without_proof: &'a str,
    /// The proof, in base64.
    pub proof: &'a str,
}

impl<'a> ClientFinal<'a> {
    /// Reads the message. `None` where it is another one, or repeats a header that binds a channel.
    pub fn parse(message: &'a str) -> Option<Self> {
        let without_proof = recognize((tag("c=biws,r="), printable));
        let (_, (without_proof, proof)) =
            all_consuming((without_proof, preceded(tag(",p="), base64))).parse(message).ok()?;
        Some(Self { nonce: &without_proof["c=biws,r=".len()..], without_proof, proof })
    }
}

/// The server's first message. `salt` is base64.
pub fn server_first(nonce: &str, salt: &str, iterations: u32) -> String {
    format!("r={nonce},s={salt},i={iterations}")
}

/// The server's last message to a client that has proved itself. `signature` is base64.
pub fn server_final(signature: &str) -> String {
    format!("v={signature}")
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

/// A name with its escapes.
fn name(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c != ',' && c != '\0').parse(text)
}

/// The name that was escaped. `None` where `=` is followed by anything else.
fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('=');
    let mut user = parts.next()?.to_owned();
    for part in parts {
        let (c, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            _ => return None,
        };
        user.push(c);
        user.push_str(rest);
    }
    Some(user)
}

fn printable(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_graphic() && c != ',').parse(text)
}

fn base64(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c)).parse(text)
}

/// `,x=value` any number of times: those that are not known are passed over. `m` would be one that has to be known. Kafka's have names of several letters.
fn extensions(text: &str) -> IResult<&str, usize> {
    let name = verify(alpha1, |name: &str| name != "m");
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
    fn the_clients_messages_are_read() {
        let message = client_first(&client_first_bare("a,b=c", "x"));
        let first = ClientFirst::parse(&message).unwrap();
        let user = "a,b=c".to_owned();
        assert_eq!(first, ClientFirst { authzid: None, user, nonce: "x", bare: "n=a=2Cb=3Dc,r=x" });
        let other = ClientFirst::parse("n,a=bob,n=alice,r=x,tokenauth=true").unwrap();
        assert_eq!((other.authzid, &*other.user), (Some("bob"), "alice"));
        for message in
            ["", "p=tls-unique,,n=a,r=x", "y,,n=a,r=x", "n,,n=a=2D,r=x", "n,,n=a", "n,,n=,r=x", "n,,m=1,n=a,r=x"]
        {
            assert_eq!(ClientFirst::parse(message), None, "{message}");
        }

        let without_proof = client_final_without_proof("xy");
        let message = client_final(&without_proof, "cHJvb2Y=");
        let last = ClientFinal::parse(&message).unwrap();
        assert_eq!(last, ClientFinal { nonce: "xy", without_proof: "c=biws,r=xy", proof: "cHJvb2Y=" });
        for message in ["", "c=biws,r=xy", "c=eSws,r=xy,p=QQ==", "c=biws,r=xy,p=?", "c=biws,r=xy,p=QQ==,x=y"] {
            assert_eq!(ClientFinal::parse(message), None, "{message}");
        }
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
