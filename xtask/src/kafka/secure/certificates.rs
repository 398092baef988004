//! Certificates for brokers and clients, by openssl.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Of key stores.
pub(super) const PASSWORD: &str = "changeit";

/// What is made, and the hosts that it names: keys of three kinds, one that names another host, and a client's.
const LEAVES: [(&str, &[&str], &str); 5] = [
    ("rsa", &["rsa:2048"], HERE),
    ("ec", &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], HERE),
    ("ed", &["ed25519"], HERE),
    ("other", &["rsa:2048"], "DNS:other.example.com"),
    ("client", &["rsa:2048"], "DNS:client"),
];
const HERE: &str = "DNS:localhost,IP:127.0.0.1";

/// Makes an authority (`ca.pem`), one that nobody trusts (`stranger-ca.pem`) and what the former certifies: `NAME.pem` holds key and certificate, `NAME.p12` the
/// same for Java. `expired.pem` was valid in 2020, `stranger.pem` is a client's of the other authority, `encrypted.pem` is `client.pem` with its key encrypted.
pub(in crate::kafka) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(folder.join("ca.cnf"), CA_CONFIG)?;
    fs::write(folder.join("index.txt"), "")?;
    for ca in ["ca", "stranger-ca"] {
        let subject = format!("/CN={ca}");
        let (key, pem) = (format!("{ca}.key"), format!("{ca}.pem"));
        openssl(
            folder,
            &[
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", &subject, "-keyout", &key,
                "-out", &pem,
            ],
        )?;
    }
    for (name, algorithm, hosts) in LEAVES {
        leaf(folder, "ca", name, algorithm, hosts, &["-days", "30"])?;
    }
    leaf(folder, "stranger-ca", "stranger", &["rsa:2048"], "DNS:client", &["-days", "30"])?;
    let in_2020 = ["-startdate", "20200101000000Z", "-enddate", "20210101000000Z"];
    leaf(folder, "ca", "expired", &["rsa:2048"], HERE, &in_2020)?;
    let password = format!("pass:{PASSWORD}");
    openssl(folder, &["pkcs8", "-topk8", "-in", "client.key", "-out", "encrypted.key", "-passout", &password])?;
    let both = fs::read_to_string(folder.join("encrypted.key"))? + &fs::read_to_string(folder.join("client.crt"))?;
    Ok(fs::write(folder.join("encrypted.pem"), both)?)
}

/// Just enough for `openssl ca`, which alone can set both ends of a certificate's time.
const CA_CONFIG: &str = "[ca]
default_ca=it
[it]
database=index.txt
new_certs_dir=.
rand_serial=yes
default_md=sha256
policy=any
unique_subject=no
[any]
commonName=supplied
";

fn leaf(folder: &Path, ca: &str, name: &str, algorithm: &[&str], hosts: &str, time: &[&str]) -> Result<()> {
    let file = |ending: &str| format!("{name}.{ending}");
    let (key, csr, crt, pem, p12, ext) = (file("key"), file("csr"), file("crt"), file("pem"), file("p12"), file("ext"));
    fs::write(folder.join(&ext), format!("subjectAltName={hosts}\n"))?;
    let subject = format!("/CN={name}");
    openssl(
        folder,
        &[&["req", "-new", "-nodes", "-newkey"], algorithm, &["-subj", &subject, "-keyout", &key, "-out", &csr]]
            .concat(),
    )?;
    let (authority, authority_key) = (format!("{ca}.pem"), format!("{ca}.key"));
    let sign = ["ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", &authority, "-keyfile", &authority_key];
    openssl(folder, &[&sign[..], time, &["-extfile", &ext, "-in", &csr, "-out", &crt]].concat())?;
    let both = fs::read_to_string(folder.join(&key))? + &fs::read_to_string(folder.join(&crt))?;
    fs::write(folder.join(&pem), both)?;
    let password = format!("pass:{PASSWORD}");
    openssl(folder, &["pkcs12", "-export", "-in", &pem, "-out", &p12, "-passout", &password])
}

fn openssl(folder: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output();
    let output = output.context("cannot run `openssl`, which makes certificates: install it (package openssl)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "openssl {}: {said}", arguments.join(" "));
    Ok(())
}
