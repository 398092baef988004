//! What the crate `arbitrary` asks of types.

use arbitrary::{Arbitrary, Result, Unstructured};

use super::request::every_api;
use super::{Input, Valid, ValidRecords, ValidRequest};
use crate::wire::Message;

impl<'a, M: Message> Arbitrary<'a> for Valid<M> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        chosen(u, Self::choose)
    }
}

impl<'a> Arbitrary<'a> for ValidRequest {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        chosen(u, |input| Self::choose(every_api().as_ref(), input))
    }
}

impl<'a> Arbitrary<'a> for ValidRecords {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        chosen(u, Self::choose)
    }
}

/// Takes of the bytes what is chosen by.
fn chosen<'a, T>(u: &mut Unstructured<'a>, choose: impl FnOnce(&mut Input<'a>) -> T) -> Result<T> {
    let mut input = Input::new(u.peek_bytes(u.len()).unwrap_or_default());
    let value = choose(&mut input);
    u.bytes(u.len() - input.left())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::heartbeat::HeartbeatRequest;

    #[test]
    fn two_messages_share_the_bytes() {
        let data = [3, 2, 0, 1, 9, 1, 2, 0, 8, 7, 7, 7];
        let mut u = Unstructured::new(&data);
        let first: Valid<HeartbeatRequest> = u.arbitrary().unwrap();
        let left = u.len();
        let second: Valid<HeartbeatRequest> = u.arbitrary().unwrap();
        assert_eq!(first, Valid::new(&data));
        assert_eq!(second, Valid::new(&data[data.len() - left..]));
        assert!(u.len() < left && left < data.len());
    }
}
