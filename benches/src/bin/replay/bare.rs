//! The least that can be done with the same bytes.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpStream;

use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::wire::{decode_response, encode_request};
use bytes::Bytes;

use crate::canned::{SHARE_VERSION, batches, ends};
use crate::cpu::{Clocks, Spent};

/// Responses before the clocks run.
const WARM_UP: u64 = 50;

/// One thread: asks, reads into a buffer, checks and walks, with the next answer on its way meanwhile.
pub(crate) fn run(port: u16, wanted: u64) -> anyhow::Result<Spent> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let request = encode_request(
        &ShareFetchRequest {
            group_id: Some("replay".to_owned()),
            member_id: Some("bare".to_owned()),
            share_session_epoch: 1,
            max_records: 2_000,
            ..ShareFetchRequest::default()
        },
        SHARE_VERSION,
        1,
        None,
    )?;
    stream.write_all(&request)?;
    let mut warm = 0;
    for _ in 0..WARM_UP {
        warm += fetch(&mut stream, &request)?;
    }
    let clocks = Clocks::start();
    let mut records = 0;
    while records < wanted {
        records += fetch(&mut stream, &request)?;
    }
    Ok(clocks.spent(records, warm + records))
}

fn fetch(stream: &mut TcpStream, request: &[u8]) -> anyhow::Result<u64> {
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let size = u32::from_be_bytes(size) as usize;
    let mut frame = Vec::with_capacity(size);
    stream.take(size as u64).read_to_end(&mut frame)?;
    stream.write_all(request)?;
    let (_, response) = decode_response::<ShareFetchResponse>(Bytes::from(frame), SHARE_VERSION)?;
    let (mut records, mut sum) = (0, 0_u64);
    for batch in batches(response).flatten() {
        let batch = batch?;
        batch.verify_crc()?;
        for record in batch.records() {
            let record = record?;
            sum = sum.wrapping_add(record.offset as u64 + ends(record.key) + ends(record.value));
            records += 1;
        }
    }
    black_box(sum);
    Ok(records)
}
