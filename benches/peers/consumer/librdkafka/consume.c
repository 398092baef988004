/* Reads a topic as the only member of a group of KIP-848: BOOTSTRAP TOPIC GROUP RECORDS.
 *
 * The wheel brings the library without its header, so what is used of it is declared here. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/types.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_topic_partition_list_s rd_kafka_topic_partition_list_t;
typedef struct {
    int err;
    void *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *_private;
} rd_kafka_message_t;

enum { RD_KAFKA_CONSUMER = 1, BATCH = 10000 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
int rd_kafka_poll_set_consumer(rd_kafka_t *);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int);
void *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *, const char *, int32_t);
void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *);
int rd_kafka_subscribe(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
void rd_kafka_message_destroy(rd_kafka_message_t *);
void rd_kafka_queue_destroy(rd_kafka_queue_t *);
int rd_kafka_consumer_close(rd_kafka_t *);
void rd_kafka_destroy(rd_kafka_t *);

static void fail(const char *what) {
    fprintf(stderr, "consume: %s\n", what);
    exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *key, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(conf, key, value, error, sizeof error) != 0)
        fail(error);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    static rd_kafka_message_t *messages[BATCH];
    char error[512];
    if (argc != 5)
        fail("BOOTSTRAP TOPIC GROUP RECORDS");
    uint64_t wanted = strtoull(argv[4], NULL, 10), records = 0, bytes = 0;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[1]);
    set(conf, "group.id", argv[3]);
    set(conf, "group.protocol", "consumer");
    set(conf, "auto.offset.reset", "earliest");
    rd_kafka_t *consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    if (!consumer)
        fail(error);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, argv[2], -1);
    if (rd_kafka_subscribe(consumer, topics) != 0)
        fail("cannot subscribe");
    rd_kafka_topic_partition_list_destroy(topics);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);

    double first = 0;
    while (records < wanted) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, 1000, messages, BATCH);
        if (count < 0)
            fail("cannot consume");
        if (count > 0 && records == 0)
            first = now();
        for (ssize_t i = 0; i < count; i++) {
            if (messages[i]->err == 0) {
                records++;
                bytes += messages[i]->len;
            }
            rd_kafka_message_destroy(messages[i]);
        }
    }
    double last = now();
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    printf("{\"records\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.6f}\n", records, bytes, last - first);
    return 0;
}
