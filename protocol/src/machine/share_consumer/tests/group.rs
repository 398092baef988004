use super::rig::*;
use crate::machine::ClientRequest;

#[test]
fn a_new_member_finds_its_coordinator_joins_and_fetches() {
    let mut rig = Rig::joined(&[1, 2]);
    let requests: Vec<_> = rig.log.iter().map(|sent| std::mem::discriminant(&sent.request)).collect();
    assert_eq!(requests.len(), 5, "{:?}", rig.log);
    let fetch = rig.take_session(1);
    assert_eq!(fetch.fetch().share_session_epoch, 0);
    assert_eq!(fetch.fetch().topics[0].partitions.len(), 1);
    let fetch = rig.take_session(2);
    assert!(matches!(fetch.request, ClientRequest::ShareFetch(_)));
    assert_eq!(rig.last_assignment().unwrap().len(), 2);
}
