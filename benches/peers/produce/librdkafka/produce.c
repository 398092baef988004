/* Produces records and waits for all of them to be confirmed: BOOTSTRAP TOPIC RECORDS SIZE BATCH LINGER.
 *
 * The wheel brings the library without its header, so what is used of it is declared here. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
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

enum { RD_KAFKA_PRODUCER = 0, MSG_F_COPY = 2, ERR_QUEUE_FULL = -184, ANY_PARTITION = -1, VALUES = 1024, POLL_EVERY = 1000 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *, void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, void *);
int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
int rd_kafka_last_error(void);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_flush(rd_kafka_t *, int);
const char *rd_kafka_err2str(int);
void rd_kafka_topic_destroy(rd_kafka_topic_t *);
void rd_kafka_destroy(rd_kafka_t *);

static uint64_t confirmed;

static void fail(const char *what) {
    fprintf(stderr, "produce: %s\n", what);
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

static void delivered(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    (void)producer;
    (void)opaque;
    if (message->err)
        fail(rd_kafka_err2str(message->err));
    confirmed++;
}

/* Sends `count` records and waits for the last one. */
static void produce(rd_kafka_t *producer, rd_kafka_topic_t *topic, char *values, size_t size, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        void *value = values + (i % VALUES) * size;
        while (rd_kafka_produce(topic, ANY_PARTITION, MSG_F_COPY, value, size, NULL, 0, NULL) != 0) {
            if (rd_kafka_last_error() != ERR_QUEUE_FULL)
                fail(rd_kafka_err2str(rd_kafka_last_error()));
            rd_kafka_poll(producer, 100);
        }
        if (i % POLL_EVERY == 0)
            rd_kafka_poll(producer, 0);
    }
    if (rd_kafka_flush(producer, 60000) != 0)
        fail("not everything was confirmed within a minute");
}

int main(int argc, char **argv) {
    char error[512];
    if (argc != 7)
        fail("BOOTSTRAP TOPIC RECORDS SIZE BATCH LINGER");
    uint64_t records = strtoull(argv[3], NULL, 10);
    size_t size = strtoull(argv[4], NULL, 10);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[1]);
    set(conf, "enable.idempotence", "true");
    set(conf, "acks", "all");
    set(conf, "batch.size", argv[5]);
    set(conf, "linger.ms", argv[6]);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    if (!producer)
        fail(error);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, argv[2], NULL);
    char *values = malloc(VALUES * size);
    if (!topic || !values)
        fail("no topic or no memory");
    for (size_t i = 0; i < VALUES * size; i++)
        values[i] = (char)(rand() >> 8);

    produce(producer, topic, values, size, records / 10);
    uint64_t warm = confirmed;
    double first = now();
    produce(producer, topic, values, size, records);
    double seconds = now() - first;
    uint64_t timed = confirmed - warm;
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
    printf("{\"records\": %" PRIu64 ", \"warm\": %" PRIu64 ", \"seconds\": %.6f}\n", timed, warm, seconds);
    return 0;
}
