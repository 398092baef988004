//! Acknowledgements of share groups in transactions, as the draft KIP-1289 has them.

use ackflow_protocol::machine::transaction::{ShareAcknowledgements, ShareGroupMetadata};

use crate::error::ClientError;
use crate::producer::Producer;

impl Producer {
    /// Makes these acknowledgements count where the transaction is committed: what was consumed by a share group and what was made of it count together, or the
    /// group delivers it again. Take them from
    /// [`ShareConsumer::acknowledgements_for_transaction`](crate::share::ShareConsumer::acknowledgements_for_transaction) or a
    /// [`Delivery`](crate::share::Delivery), and `member` from the same consumer's
    /// [`share_group_metadata`](crate::share::ShareConsumer::share_group_metadata), just before. May be called several times in a transaction; a transaction may
    /// hold nothing else.
    ///
    /// It waits until the brokers that hold the records have put them aside: from then on no lock ends, and the transaction alone decides. Where one of them
    /// refuses, because a lock was lost before, or does not answer, nothing of the transaction can count: abort it. Records that no broker has put aside come
    /// again when their locks end.
    ///
    /// This is the draft KIP-1289, generation C, which no released Kafka has; the wire format, and this with it, may change or go in any release. It is used only
    /// where the broker offers TxnShareAcknowledge, the finalized `share.version` is 3 or more, and transactions are of version 2 (KIP-890).
    ///
    /// Cancel-safe: the acknowledgements go into the transaction all the same, and its end waits for them.
    ///
    /// # Errors
    /// [`ErrorKind::Abortable`](crate::ErrorKind::Abortable) as said above, and where the cluster lacks what it takes: the error names the broker and what is
    /// missing. Else as [`commit_transaction`](Self::commit_transaction).
    pub async fn send_share_acknowledgements_to_transaction(
        &self,
        acknowledgements: ShareAcknowledgements,
        member: &ShareGroupMetadata,
    ) -> Result<(), ClientError> {
        let (doing, member) = ("sending acknowledgements to a transaction", member.clone());
        self.transact(doing, |machine| machine.send_share_acknowledgements(acknowledgements, member)).await
    }
}
