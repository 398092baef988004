//! Tokens of endpoints that give them, fail, lie, and take their time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_testkit::{TokenAnswer, TokenEndpoint};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use tokio::time::{sleep, timeout};

use super::*;
use crate::config::Secret;
use crate::net::sasl::token::{Token, TokenProvider};
use crate::net::testing::Log;
use crate::net::{Backoff, Security};

const SOON: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

fn keeper_with(endpoint: &TokenEndpoint, change: impl FnOnce(&mut Endpoint)) -> Keeper {
    let mut asked = Endpoint {
        target: Target::parse(&endpoint.url()).unwrap(),
        client: Client {
            id: "me".into(),
            secret: Secret::new("hunter2"),
            scope: Some("kafka".into()),
            is_urlencoded: false,
        },
        extensions: [("traceId".to_owned(), "7".to_owned())].into(),
        security: Security::default(),
        connect_timeout: SOON,
        read_timeout: SOON,
    };
    change(&mut asked);
    Keeper::new(Source::Endpoint(Box::new(asked)), Refresh::default(), Backoff::new(PAUSE, PAUSE))
}

fn keeper(endpoint: &TokenEndpoint) -> Keeper {
    keeper_with(endpoint, |_| ())
}

async fn get(keeper: &Keeper) -> Result<Token, Failure> {
    let got = timeout(SOON, keeper.token()).await.expect("an answer in time");
    got.map_err(|error| *error.downcast().expect("an error of its own"))
}

async fn text(keeper: &Keeper) -> String {
    get(keeper).await.unwrap().text.reveal().to_owned()
}

/// A JWT that ends so long from now.
fn jwt(name: &str, ends_in: f64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    let claims = format!(r#"{{"sub":"{name}","exp":{}}}"#, now + ends_in);
    format!("eyJhbGciOiJub25lIn0.{}.", URL_SAFE_NO_PAD.encode(claims))
}

#[tokio::test]
async fn an_endpoint_is_asked_as_kafka_asks_it_and_once_for_all_connections() {
    let endpoint = TokenEndpoint::start(|_| TokenAnswer { delay: PAUSE, ..TokenAnswer::token("abc", 3600) });
    let endpoint = endpoint.await.unwrap();
    let keeper = Arc::new(keeper(&endpoint));
    let all: Vec<_> = (0..20)
        .map(|_| {
            let keeper = Arc::clone(&keeper);
            tokio::spawn(async move { get(&keeper).await.unwrap() })
        })
        .collect();
    for one in all {
        let token = one.await.unwrap();
        assert_eq!((token.text.reveal(), token.extensions["traceId"].as_str()), ("abc", "7"));
    }
    let asked = endpoint.asked();
    assert_eq!(asked.len(), 1);
    let head = asked[0].head.to_lowercase();
    assert!(head.starts_with("post /token http/1.1\r\n"), "{head}");
    let credentials = format!("authorization: basic {}", BASE64.encode("me:hunter2").to_lowercase());
    for line in ["content-type: application/x-www-form-urlencoded", "accept: application/json", &credentials] {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=kafka");
}

// Mutation: client/src/net/sasl/oauth/keeper.rs
// - () = sleep_until(next), if is_kept => return,
// + () = sleep_until(next), if false => return,
#[tokio::test]
async fn row_64_a_token_is_replaced_before_it_ends_though_nobody_asks_for_it() {
    let endpoint = TokenEndpoint::start(|before| TokenAnswer::token(&format!("t{before}"), 2)).await.unwrap();
    let keeper = keeper(&endpoint);
    assert_eq!(text(&keeper).await, "t0");
    // 1.6 to 1.7 s, whatever is left of the buffer of 300 s.
    let began = Instant::now();
    while endpoint.asked().len() < 2 {
        assert!(began.elapsed() < SOON, "nobody has asked again");
        sleep(Duration::from_millis(10)).await;
    }
    assert!((1_500..2_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    timeout(SOON, async {
        while text(&keeper).await != "t1" {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    drop(keeper);
    sleep(Duration::from_millis(2_500)).await;
    assert_eq!(endpoint.asked().len(), 2, "a client that has gone asks no more");
}

// Mutation: client/src/net/sasl/oauth/keeper.rs
// - shared.state.send_modify(|state| state.failed = Some((failure, next)));
// + shared.state.send_replace(State { held: None, failed: Some((failure, next)) });
#[tokio::test]
async fn row_64_a_token_is_kept_to_its_end_though_it_cannot_be_replaced() {
    let endpoint = TokenEndpoint::start(|before| match before {
        1..4 => TokenAnswer::new(500, "not now"),
        _ => TokenAnswer::token(&format!("t{before}"), 3),
    });
    let endpoint = endpoint.await.unwrap();
    let keeper = keeper(&endpoint);
    assert_eq!(text(&keeper).await, "t0");
    let mut last = "t0".to_owned();
    timeout(SOON, async {
        while last != "t4" {
            last = text(&keeper).await;
            assert!(last == "t0" || last == "t4", "{last}");
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    let asked = endpoint.asked();
    assert_eq!(asked.len(), 5);
    for two in asked[1..].windows(2) {
        let pause = two[1].at - two[0].at;
        assert!(pause >= PAUSE.mul_f64(0.7), "after a failure there is a pause, not {pause:?}");
    }
}

// Mutation: client/src/net/sasl/oauth/keeper.rs
// - self.held.as_ref().filter(|held| held.lasts(held.margin)).map(|held| &held.token)
// + self.held.as_ref().map(|held| &held.token)
#[tokio::test]
async fn row_64_a_token_that_ends_as_a_connection_is_made_is_replaced_first() {
    let endpoint = TokenEndpoint::start(|before| match before {
        0 => TokenAnswer::token("first", 1),
        1 => TokenAnswer { delay: Duration::from_millis(500), ..TokenAnswer::token("second", 3600) },
        _ => TokenAnswer::new(500, ""),
    });
    let endpoint = endpoint.await.unwrap();
    let keeper = keeper(&endpoint);
    assert_eq!(text(&keeper).await, "first");
    // It ends after 1 s, is asked for again then at the earliest, and the answer takes its time.
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(text(&keeper).await, "second");
}

// Mutation: client/src/net/sasl/oauth/keeper.rs
// - let (failure, _) = self.failed.as_ref().filter(|(_, until)| Instant::now() < *until)?;
// + let (failure, _) = self.failed.as_ref().filter(|_| false)?;
#[tokio::test]
async fn row_64_an_endpoint_that_refuses_is_asked_seldom_and_told_with_the_remedy() {
    let refusal = r#"{"error":"invalid_client","error_description":"hunter2 is\nwrong"}"#;
    let endpoint = TokenEndpoint::start(move |_| TokenAnswer::new(401, refusal)).await.unwrap();
    let keeper = keeper(&endpoint);
    let (began, mut answers) = (Instant::now(), 0);
    while began.elapsed() < PAUSE * 10 {
        let failure = get(&keeper).await.unwrap_err();
        assert!(!failure.passes);
        let text = failure.to_string();
        for expected in [&endpoint.url(), "401", "invalid_client", "[hidden] is wrong", "clientSecret"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("hunter2") && !format!("{failure:?}").contains("hunter2"), "{text}");
        answers += 1;
        sleep(Duration::from_millis(1)).await;
    }
    let asked = endpoint.asked().len();
    assert!(answers > 50 && (2..=14).contains(&asked), "{answers} answers, {asked} questions");
    let before = endpoint.asked().len();
    sleep(PAUSE * 5).await;
    assert!(endpoint.asked().len() <= before + 1, "where nobody wants a token, nobody asks for one");
}

// Mutation: client/src/net/sasl/oauth/keeper.rs
// - match repeats.is_news(Instant::now().into_std(), &failure.to_string()) {
// + match repeats.is_news(Instant::now().into_std(), &failures.to_string()) {
#[tokio::test]
async fn the_log_hears_once_of_an_endpoint_that_fails_in_the_same_way_again_and_again() {
    let endpoint = TokenEndpoint::start(|before| match before {
        0..3 => TokenAnswer::new(503, ""),
        _ => TokenAnswer::new(500, ""),
    });
    let endpoint = endpoint.await.unwrap();
    let log = Log::listen();
    let keeper = keeper(&endpoint);
    while endpoint.asked().len() < 6 {
        get(&keeper).await.unwrap_err();
        sleep(Duration::from_millis(10)).await;
    }
    let (lines, of) = (log.lines(), |what: &str| log.lines().iter().filter(|line| line.contains(what)).count());
    assert_eq!((of("WARN"), of("answered 503"), of("answered 500")), (2, 1, 1), "{lines:?}");
}

#[tokio::test]
async fn what_an_endpoint_says_instead_of_a_token_is_an_error_that_names_it() {
    let long = format!(r#"{{"access_token":"{}"}}"#, "x".repeat(300_000));
    let cases = [
        (TokenAnswer::new(200, "<html>"), "its answer is no JSON", false),
        (TokenAnswer::new(200, r#"{"token":"a"}"#), "its answer has no access_token", false),
        (TokenAnswer::new(200, r#"{"access_token":"a b"}"#), "what it gives is no token", false),
        (TokenAnswer::new(200, r#"{"access_token":""}"#), "what it gives is no token", false),
        (TokenAnswer::new(200, long), "its answer is longer than 262144 bytes", false),
        (TokenAnswer::token(&jwt("old", -5.0), 0), "has expired already", true),
        (TokenAnswer::token(&jwt("odd", 1e30), 3600), "exp of the token that it gives is no time", false),
        (TokenAnswer::new(302, ""), "it answered 302", false),
        (TokenAnswer::new(404, ""), "it answered 404", false),
        (TokenAnswer::new(429, ""), "it answered 429", true),
        (TokenAnswer::new(503, ""), "it answered 503", true),
    ];
    for (answer, expected, passes) in cases {
        let endpoint = TokenEndpoint::start(move |_| answer.clone()).await.unwrap();
        let failure = get(&keeper(&endpoint)).await.unwrap_err();
        let text = failure.to_string();
        assert!(text.contains(&endpoint.url()) && text.contains(expected), "{expected}: {text}");
        assert_eq!(failure.passes, passes, "{expected}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_slow_or_not_there_is_told_in_time() {
    let slow = TokenEndpoint::start(|_| TokenAnswer { delay: SOON, ..TokenAnswer::new(200, "") }).await.unwrap();
    let began = Instant::now();
    let failure = get(&keeper_with(&slow, |endpoint| endpoint.read_timeout = PAUSE)).await.unwrap_err();
    assert!(failure.passes && failure.reason.contains("sasl.login.read.timeout.ms=100"), "{failure}");
    assert!(began.elapsed() < SOON / 5);
    let gone = slow.port();
    drop(slow);
    let elsewhere = TokenEndpoint::start(|_| TokenAnswer::new(200, "")).await.unwrap();
    let target = Target::parse(&format!("http://127.0.0.1:{gone}/token")).unwrap();
    let failure = get(&keeper_with(&elsewhere, |endpoint| endpoint.target = target)).await.unwrap_err();
    assert!(failure.passes && failure.reason.contains("it cannot be connected to"), "{failure}");
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_its_question_to_the_others() {
    let endpoint = TokenEndpoint::start(|_| TokenAnswer { delay: PAUSE, ..TokenAnswer::token("abc", 3600) });
    let endpoint = endpoint.await.unwrap();
    let keeper = keeper(&endpoint);
    assert!(timeout(PAUSE / 10, keeper.token()).await.is_err());
    assert_eq!(text(&keeper).await, "abc");
    assert_eq!(endpoint.asked().len(), 1);
}

#[test]
fn a_runtime_that_has_ended_took_no_token_with_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "first\n").unwrap();
    let source = Source::File { path: file.path().to_owned(), extensions: Default::default() };
    let keeper = Keeper::new(source, Refresh::default(), Backoff::new(PAUSE, PAUSE));
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(text(&keeper)), "first");
    }
    std::fs::remove_file(file.path()).unwrap();
    let source = Source::File { path: file.path().to_owned(), extensions: Default::default() };
    let keeper = Keeper::new(source, Refresh::default(), Backoff::new(PAUSE, PAUSE));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let failure = runtime.block_on(get(&keeper)).unwrap_err();
    assert!(failure.reason.contains("it cannot be read"), "{failure}");
}
