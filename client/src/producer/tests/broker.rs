//! A broker that answers questions about the cluster by itself and leaves what is produced to the test.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ackflow_protocol::messages::init_producer_id::InitProducerIdResponse;
use ackflow_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackflow_protocol::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use ackflow_protocol::records::Batches;
use ackflow_protocol::wire::{ApiKey, ErrorCode, Uuid};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::net::testing::{Peer, Received, Wire};
use crate::producer::ProducerConfig;

/// What must happen, happens within this.
pub(super) const SOON: Duration = Duration::from_secs(10);
/// What must not happen is waited for so long.
pub(super) const A_WHILE: Duration = Duration::from_millis(150);

pub(super) const TOPIC: &str = "t";
pub(super) const TOPIC_ID: Uuid = Uuid([7; 16]);

/// What the brokers of a cluster say of it.
#[derive(Clone, Default)]
pub(super) struct Cluster {
    pub(super) metadata: Arc<Mutex<MetadataResponse>>,
    /// Answers to requests for a producer id; without one, it is 1000, epoch 0.
    pub(super) ids: Arc<Mutex<VecDeque<InitProducerIdResponse>>>,
}

impl Cluster {
    /// Says that the topic has partitions with these leaders, or -1.
    pub(super) fn leaders(&self, leaders: &[i32], epoch: i32) {
        let partition = |(index, leader): (usize, &i32)| MetadataResponsePartition {
            partition_index: index as i32,
            leader_id: *leader,
            leader_epoch: epoch,
            ..Default::default()
        };
        self.metadata.lock().unwrap().topics = vec![MetadataResponseTopic {
            name: Some(TOPIC.into()),
            topic_id: TOPIC_ID,
            partitions: leaders.iter().enumerate().map(partition).collect(),
            ..Default::default()
        }];
    }

    /// Starts a broker that the metadata names.
    pub(super) async fn broker(&self, id: i32) -> Broker {
        let peer = Peer::bind().await;
        let port = peer.port();
        self.metadata.lock().unwrap().brokers.push(MetadataResponseBroker {
            node_id: id,
            host: "127.0.0.1".into(),
            port: i32::from(port),
            rack: None,
        });
        let (asked, requests) = mpsc::unbounded_channel();
        let cluster = self.clone();
        tokio::spawn(async move {
            loop {
                let wire = peer.accept().await;
                tokio::spawn(serve(wire, cluster.clone(), asked.clone()));
            }
        });
        Broker { id, port, requests }
    }
}

/// A cluster of one broker, with one topic of one partition.
pub(super) async fn single() -> (Cluster, Broker) {
    let cluster = Cluster::default();
    let broker = cluster.broker(1).await;
    cluster.leaders(&[1], 0);
    (cluster, broker)
}

pub(super) struct Broker {
    pub(super) id: i32,
    pub(super) port: u16,
    requests: mpsc::UnboundedReceiver<Produce>,
}

impl Broker {
    /// Settings that find this broker, with pauses that tests can wait for.
    pub(super) fn config(&self) -> ProducerConfig {
        let mut config = ProducerConfig::new(&format!("127.0.0.1:{}", self.port)).unwrap();
        config.linger = Duration::ZERO;
        config.client.retry_backoff = Duration::from_millis(5);
        config.client.retry_backoff_max = Duration::from_millis(20);
        config.client.net.reconnect_backoff = Duration::from_millis(1);
        config.client.net.reconnect_backoff_max = Duration::from_millis(5);
        // Those who ask about telemetry would do so between the requests that a test is about.
        config.client.metrics.push = false;
        config
    }

    /// The next request to produce.
    pub(super) async fn produce(&mut self) -> Produce {
        timeout(SOON, self.requests.recv()).await.expect("a request comes").unwrap()
    }

    /// Makes sure that no request comes.
    pub(super) async fn nothing(&mut self) {
        if let Ok(request) = timeout(A_WHILE, self.requests.recv()).await {
            panic!("unexpected: {:?}", request.unwrap().only());
        }
    }

    /// Confirms everything from now on.
    pub(super) fn confirm_all(mut self) {
        tokio::spawn(async move {
            while let Some(request) = self.requests.recv().await {
                request.answer(ErrorCode::NONE);
            }
        });
    }

    pub(super) fn endpoint(&self) -> NodeEndpoint {
        NodeEndpoint { node_id: self.id, host: "127.0.0.1".into(), port: i32::from(self.port), rack: None }
    }
}

/// What goes out on a connection.
enum Out {
    Answer(Received, ProduceResponse),
    Cut,
}

/// A request to produce, and the way to answer it.
pub(super) struct Produce {
    received: Received,
    request: ProduceRequest,
    out: mpsc::UnboundedSender<Out>,
}

/// A batch as it came.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    pub(super) partition: i32,
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
    pub(super) sequence: i32,
    pub(super) values: Vec<String>,
    pub(super) bytes: bytes::Bytes,
}

impl Produce {
    pub(super) fn batches(&self) -> Vec<Sent> {
        let partitions = self.request.topic_data.iter().flat_map(|topic| &topic.partition_data);
        let batch = |data: &ackflow_protocol::messages::produce::PartitionProduceData| {
            let bytes = data.records.clone().unwrap();
            let batch = Batches::new(bytes.clone()).next().unwrap().unwrap();
            batch.verify_crc().unwrap();
            assert_eq!(batch.size_in_bytes(), bytes.len(), "one batch a partition");
            let text = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
            Sent {
                partition: data.index,
                producer_id: batch.producer_id(),
                epoch: batch.producer_epoch(),
                sequence: batch.base_sequence(),
                values: batch.records().map(|record| text(record.unwrap().value)).collect(),
                bytes,
            }
        };
        partitions.map(batch).collect()
    }

    /// The only batch.
    pub(super) fn only(&self) -> Sent {
        let batches = self.batches();
        assert_eq!(batches.len(), 1, "{batches:?}");
        batches.into_iter().next().unwrap()
    }

    /// Answers for all partitions. Offsets are 100 times the sequence number.
    pub(super) fn answer(self, code: ErrorCode) {
        self.answer_with(Vec::new(), |_, response| response.error_code = code);
    }

    /// Says that another broker leads, and where it is.
    pub(super) fn answer_with_leader(self, leader: &Broker, epoch: i32) {
        self.answer_with(vec![leader.endpoint()], |_, response| {
            response.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            response.current_leader = LeaderIdAndEpoch { leader_id: leader.id, leader_epoch: epoch };
        });
    }

    pub(super) fn answer_with(
        self,
        node_endpoints: Vec<NodeEndpoint>,
        mut change: impl FnMut(&Sent, &mut PartitionProduceResponse),
    ) {
        let partition_response = |sent: &Sent| {
            let mut response = PartitionProduceResponse {
                index: sent.partition,
                base_offset: i64::from(sent.sequence) * 100,
                ..Default::default()
            };
            change(sent, &mut response);
            response
        };
        let topic = TopicProduceResponse {
            name: TOPIC.into(),
            topic_id: TOPIC_ID,
            partition_responses: self.batches().iter().map(partition_response).collect(),
        };
        let response = ProduceResponse { responses: vec![topic], node_endpoints, ..Default::default() };
        // The connection may have gone.
        let _ = self.out.send(Out::Answer(self.received, response));
    }

    /// Confirms everything, then closes the connection.
    pub(super) fn answer_then_cut(self) {
        let out = self.out.clone();
        self.answer(ErrorCode::NONE);
        let _ = out.send(Out::Cut);
    }

    /// Cuts the connection.
    pub(super) fn cut(self) {
        let _ = self.out.send(Out::Cut);
    }
}

async fn serve(mut wire: Wire, cluster: Cluster, asked: mpsc::UnboundedSender<Produce>) {
    let (out, mut outgoing) = mpsc::unbounded_channel();
    let mut byte = [0];
    loop {
        tokio::select! {
            // Reading a request is not cancel-safe, waiting for one is.
            waited = wire.0.peek(&mut byte) => {
                if waited.is_err() {
                    return;
                }
                let Some(received) = wire.try_request().await else { return };
                match received.header.request_api_key {
                    ApiKey::METADATA => {
                        let metadata = cluster.metadata.lock().unwrap().clone();
                        wire.answer(&received, &metadata).await;
                    }
                    ApiKey::INIT_PRODUCER_ID => {
                        let id = cluster.ids.lock().unwrap().pop_front();
                        let first = InitProducerIdResponse { producer_id: 1000, producer_epoch: 0, ..Default::default() };
                        wire.answer(&received, &id.unwrap_or(first)).await;
                    }
                    _ => {
                        let request = received.decode();
                        let _ = asked.send(Produce { received, request, out: out.clone() });
                    }
                }
            }
            answer = outgoing.recv() => match answer {
                Some(Out::Answer(to, response)) => wire.answer(&to, &response).await,
                _ => return,
            },
        }
    }
}
