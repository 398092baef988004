import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's own client as a peer: README.md beside this file says what it reads and prints. */
public class Peer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration STALLED = Duration.ofSeconds(60);

    public static void main(String[] args) throws Exception {
        if (args.length == 3 && args[0].equals("write")) {
            write(args[1], Files.readAllLines(Path.of(args[2])));
        } else if (args.length == 4 && args[0].equals("read")) {
            read(args[1], Files.readAllLines(Path.of(args[2])), args[3]);
        } else {
            System.err.println("usage: write BOOTSTRAP SCRIPT | read BOOTSTRAP PLAN ISOLATION");
            System.exit(2);
        }
    }

    private static void write(String bootstrap, List<String> script) throws Exception {
        KafkaProducer<byte[], byte[]> producer = null;
        String topic = null;
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String line : script) {
            JsonNode step = JSON.readTree(line);
            switch (step.get("op").asText()) {
                case "open" -> {
                    if (producer != null) {
                        confirm(producer, sent);
                        producer.close();
                    }
                    topic = step.get("topic").asText();
                    producer = open(bootstrap, step);
                }
                case "record" -> sent.add(producer.send(new ProducerRecord<>(topic, step.get("partition").asInt(),
                    step.get("timestamp").asLong(), bytes(step.get("key")), bytes(step.get("value")), headers(step.get("headers")))));
                case "flush" -> confirm(producer, sent);
                case "begin" -> producer.beginTransaction();
                case "commit" -> {
                    confirm(producer, sent);
                    producer.commitTransaction();
                }
                case "abort" -> {
                    confirm(producer, sent);
                    producer.abortTransaction();
                }
                default -> throw new IOException("no such step: " + line);
            }
        }
        if (producer != null) {
            confirm(producer, sent);
            producer.close();
        }
    }

    private static KafkaProducer<byte[], byte[]> open(String bootstrap, JsonNode step) {
        Properties settings = new Properties();
        String compression = step.get("compression").asText();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", compression);
        settings.put("linger.ms", "1000");
        settings.put("batch.size", "900000");
        if (step.hasNonNull("level")) {
            settings.put("compression." + compression + ".level", step.get("level").asText());
        }
        if (step.hasNonNull("transactional_id")) {
            settings.put("transactional.id", step.get("transactional_id").asText());
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        if (step.hasNonNull("transactional_id")) {
            producer.initTransactions();
        }
        return producer;
    }

    private static void confirm(KafkaProducer<byte[], byte[]> producer, List<Future<RecordMetadata>> sent) throws Exception {
        producer.flush();
        for (Future<RecordMetadata> future : sent) {
            future.get();
        }
        sent.clear();
    }

    private static void read(String bootstrap, List<String> plan, String isolation) throws Exception {
        Map<TopicPartition, Long> ends = new HashMap<>();
        for (String line : plan) {
            JsonNode step = JSON.readTree(line);
            ends.put(new TopicPartition(step.get("topic").asText(), step.get("partition").asInt()), step.get("end").asLong());
        }
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", isolation);
        settings.put("enable.auto.commit", "false");
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(ends.keySet());
            consumer.seekToBeginning(ends.keySet());
            long progress = System.nanoTime();
            while (!ends.isEmpty()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    print(out, record);
                    progress = System.nanoTime();
                }
                ends.entrySet().removeIf(end -> consumer.position(end.getKey()) >= end.getValue());
                if (System.nanoTime() - progress > STALLED.toNanos()) {
                    throw new IOException("nothing comes any more of " + ends);
                }
            }
        }
        out.flush();
    }

    private static void print(PrintStream out, ConsumerRecord<byte[], byte[]> record) {
        ObjectNode line = JSON.createObjectNode();
        line.put("topic", record.topic());
        line.put("partition", record.partition());
        line.put("offset", record.offset());
        line.put("timestamp", record.timestamp());
        line.put("timestamp_type", record.timestampType().toString());
        line.put("key", text(record.key()));
        line.put("value", text(record.value()));
        ArrayNode headers = line.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.value()));
        }
        out.println(line);
    }

    private static List<Header> headers(JsonNode pairs) {
        List<Header> headers = new ArrayList<>();
        for (JsonNode pair : pairs) {
            headers.add(new RecordHeader(pair.get(0).asText(), bytes(pair.get(1))));
        }
        return headers;
    }

    private static byte[] bytes(JsonNode base64) {
        return base64.isNull() ? null : Base64.getDecoder().decode(base64.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
