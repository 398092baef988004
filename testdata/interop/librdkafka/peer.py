"""librdkafka as a peer: ../README.md says what it reads and prints."""

import base64
import json
import sys
import time

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Producer,
    TopicPartition,
)

STALLED_S = 60
TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: "CreateTime", TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime"}


def main(args):
    if len(args) == 3 and args[0] == "write":
        write(args[1], lines(args[2]))
    elif len(args) == 4 and args[0] == "read":
        read(args[1], lines(args[2]), args[3])
    elif len(args) == 6 and args[0] == "group":
        group(args[1], args[2], args[3], args[4], int(args[5]))
    else:
        sys.exit("usage: write BOOTSTRAP SCRIPT | read BOOTSTRAP PLAN ISOLATION | group BOOTSTRAP TOPIC GROUP PROTOCOL COUNT")


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def write(bootstrap, script):
    errors = []
    producer = None
    topic = None

    def delivered(error, _message):
        if error is not None:
            errors.append(str(error))

    def confirm():
        left = producer.flush(STALLED_S)
        if left or errors:
            sys.exit(f"{left} records of {topic} are not confirmed, {len(errors)} failed: {errors[:3]}")

    for step in script:
        op = step["op"]
        if op == "open":
            if producer is not None:
                confirm()
            topic = step["topic"]
            producer = open_producer(bootstrap, step)
        elif op == "record":
            producer.produce(
                topic,
                partition=step["partition"],
                timestamp=step["timestamp"],
                key=decode(step["key"]),
                value=decode(step["value"]),
                headers=[(name, decode(value)) for name, value in step["headers"]],
                on_delivery=delivered,
            )
        elif op == "flush":
            confirm()
        elif op == "begin":
            producer.begin_transaction()
        elif op == "commit":
            confirm()
            producer.commit_transaction(STALLED_S)
        elif op == "abort":
            confirm()
            producer.abort_transaction(STALLED_S)
        else:
            sys.exit(f"no such step: {step}")
    if producer is not None:
        confirm()


def open_producer(bootstrap, step):
    settings = {
        "bootstrap.servers": bootstrap,
        "compression.type": step["compression"],
        "linger.ms": 1000,
        "batch.size": 900000,
        "enable.idempotence": True,
    }
    if step.get("level") is not None:
        settings["compression.level"] = step["level"]
    if step.get("transactional_id") is None:
        return Producer(settings)
    producer = Producer(settings | {"transactional.id": step["transactional_id"]})
    producer.init_transactions(STALLED_S)
    return producer


def read(bootstrap, plan, isolation):
    ends = {(step["topic"], step["partition"]): step["end"] for step in plan}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in ends])
    progress = time.monotonic()
    while ends:
        for message in consumer.consume(1000, 0.2):
            progress = time.monotonic()
            error = message.error()
            if error is None:
                show(message)
            elif error.code() != KafkaError._PARTITION_EOF:
                sys.exit(str(error))
            elif message.offset() >= ends[message.topic(), message.partition()]:
                del ends[message.topic(), message.partition()]
        if time.monotonic() - progress > STALLED_S:
            sys.exit(f"nothing comes any more of {ends}")
    consumer.close()


def group(bootstrap, topic, group_id, protocol, count):
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group_id,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    records = 0
    progress = time.monotonic()
    while records < count:
        for message in consumer.consume(1000, 0.2):
            if message.error() is not None:
                sys.exit(str(message.error()))
            records += 1
            progress = time.monotonic()
        if time.monotonic() - progress > STALLED_S:
            sys.exit(f"nothing comes any more after {records} records")
    consumer.commit(asynchronous=False)
    consumer.close()
    print(json.dumps({"records": records}))


def show(message):
    kind, timestamp = message.timestamp()
    line = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp,
        "timestamp_type": TIMESTAMP_TYPES[kind],
        "key": encode(message.key()),
        "value": encode(message.value()),
        "headers": [[name, encode(value)] for name, value in message.headers() or []],
    }
    print(json.dumps(line))


def decode(text):
    return None if text is None else base64.b64decode(text)


def encode(data):
    return None if data is None else base64.b64encode(data).decode()


if __name__ == "__main__":
    main(sys.argv[1:])
