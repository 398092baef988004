/* Consumes a topic through a share group: BOOTSTRAP TOPIC GROUP RECORDS FETCH.
 *
 * The wheel brings the library without its header, so what is used of it is declared here. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_error_s rd_kafka_error_t;
typedef struct rd_kafka_share_s rd_kafka_share_t;
typedef struct rd_kafka_messages_s rd_kafka_messages_t;
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

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
rd_kafka_share_t *rd_kafka_share_consumer_new(rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int);
void *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *, const char *, int32_t);
void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *);
int rd_kafka_share_subscribe(rd_kafka_share_t *, const rd_kafka_topic_partition_list_t *);
rd_kafka_error_t *rd_kafka_share_poll(rd_kafka_share_t *, int, rd_kafka_messages_t **);
size_t rd_kafka_messages_count(const rd_kafka_messages_t *);
rd_kafka_message_t *rd_kafka_messages_get(const rd_kafka_messages_t *, size_t);
void rd_kafka_messages_destroy(rd_kafka_messages_t *);
const char *rd_kafka_error_string(const rd_kafka_error_t *);
void rd_kafka_error_destroy(rd_kafka_error_t *);
rd_kafka_error_t *rd_kafka_share_consumer_close(rd_kafka_share_t *);
void rd_kafka_share_destroy(rd_kafka_share_t *);

static void fail(const char *what) {
    fprintf(stderr, "share_consume: %s\n", what);
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
    char error[512];
    if (argc != 6)
        fail("BOOTSTRAP TOPIC GROUP RECORDS FETCH");
    uint64_t wanted = strtoull(argv[4], NULL, 10), records = 0, bytes = 0;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[1]);
    set(conf, "group.id", argv[3]);
    if (strcmp(argv[5], "0") != 0)
        set(conf, "max.poll.records", argv[5]);
    rd_kafka_share_t *share = rd_kafka_share_consumer_new(conf, error, sizeof error);
    if (!share)
        fail(error);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, argv[2], -1);
    if (rd_kafka_share_subscribe(share, topics) != 0)
        fail("cannot subscribe");
    rd_kafka_topic_partition_list_destroy(topics);

    double first = 0;
    while (records < wanted) {
        rd_kafka_messages_t *messages = NULL;
        rd_kafka_error_t *failure = rd_kafka_share_poll(share, 1000, &messages);
        if (failure) {
            fprintf(stderr, "share_consume: %s\n", rd_kafka_error_string(failure));
            rd_kafka_error_destroy(failure);
            continue;
        }
        size_t count = rd_kafka_messages_count(messages);
        if (count > 0 && records == 0)
            first = now();
        for (size_t i = 0; i < count; i++) {
            const rd_kafka_message_t *message = rd_kafka_messages_get(messages, i);
            if (message->err)
                fail("a record has an error");
            records++;
            bytes += message->len;
        }
        rd_kafka_messages_destroy(messages);
    }
    double last = now();
    /* The next poll accepts what the last one returned; closing does not. */
    rd_kafka_messages_t *rest = NULL;
    rd_kafka_error_t *late = rd_kafka_share_poll(share, 100, &rest);
    if (late)
        rd_kafka_error_destroy(late);
    else
        rd_kafka_messages_destroy(rest);
    rd_kafka_error_t *failure = rd_kafka_share_consumer_close(share);
    if (failure)
        fail(rd_kafka_error_string(failure));
    rd_kafka_share_destroy(share);
    printf("{\"records\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.6f}\n", records, bytes, last - first);
    return 0;
}
