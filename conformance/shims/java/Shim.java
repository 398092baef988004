import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * The shim of Kafka's own share consumer: steps on stdin, events on stdout, as docs/conformance-shim.md has it.
 * Run it from source with the jars of Kafka: java -cp 'LIBS/*' Shim.java
 */
public class Shim {
    /** What logs is not for the suite. */
    static final PrintStream EVENTS = System.out;

    static KafkaShareConsumer<String, String> consumer;
    static List<ConsumerRecord<String, String>> polled = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        try {
            consumer = start();
        } catch (RuntimeException e) {
            say("{\"event\":\"unsupported\",\"message\":" + quoted(e.toString()) + "}");
            return;
        }
        consumer.setAcknowledgementCommitCallback(Shim::settled);
        say("{\"event\":\"ready\"}");
        var steps = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String step; (step = steps.readLine()) != null; ) {
            String answer;
            try {
                answer = take(step.trim().split("\\s+"));
            } catch (IllegalStateException | IllegalArgumentException e) {
                answer = error("misuse", null, e);
            } catch (KafkaException e) {
                answer = error("failed", code(e), e);
            }
            say(answer);
        }
        // Its threads may live on.
        System.exit(0);
    }

    static KafkaShareConsumer<String, String> start() {
        var properties = new Properties();
        properties.put("bootstrap.servers", System.getenv("ACKFLOW_SHIM_BOOTSTRAP"));
        properties.put("group.id", System.getenv("ACKFLOW_SHIM_GROUP"));
        properties.put("share.acknowledgement.mode", System.getenv("ACKFLOW_SHIM_MODE"));
        for (String line : System.getenv().getOrDefault("ACKFLOW_SHIM_CONFIG", "").split("\n")) {
            int equals = line.indexOf('=');
            if (equals > 0) properties.put(line.substring(0, equals), line.substring(equals + 1));
        }
        return new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    static String take(String[] step) {
        switch (step[0]) {
            case "subscribe":
                consumer.subscribe(step.length > 1
                    ? List.of(step).subList(1, step.length)
                    : List.of(System.getenv("ACKFLOW_SHIM_TOPIC")));
                return "{\"event\":\"subscribed\"}";
            case "poll":
                return records(consumer.poll(millis(step[1])));
            case "acknowledge":
                return acknowledge(step);
            case "commit":
                return committed(consumer.commitSync(millis(step[1])));
            case "close":
                consumer.close(millis(step[1]));
                return "{\"event\":\"closed\"}";
            default:
                return "{\"event\":\"unsupported\",\"message\":" + quoted(step[0]) + "}";
        }
    }

    static String records(ConsumerRecords<String, String> records) {
        polled = new ArrayList<>();
        var told = new ArrayList<String>();
        for (var record : records) {
            polled.add(record);
            told.add("{\"topic\":" + quoted(record.topic()) + ",\"partition\":" + record.partition() + ",\"offset\":" + record.offset()
                + ",\"deliveryCount\":" + record.deliveryCount().orElse((short) 0) + ",\"value\":" + quoted(record.value()) + "}");
        }
        return "{\"event\":\"records\",\"records\":[" + String.join(",", told) + "]}";
    }

    static String acknowledge(String[] step) {
        AcknowledgeType type = AcknowledgeType.valueOf(step[1].toUpperCase());
        if (step.length == 2) {
            for (var record : polled) consumer.acknowledge(record, type);
        } else {
            long first = Long.parseLong(step[4]), last = Long.parseLong(step[5]);
            var named = polled.stream().filter(record -> record.topic().equals(step[2]) && record.partition() == Integer.parseInt(step[3])
                && record.offset() >= first && record.offset() <= last).toList();
            if (named.isEmpty()) throw new IllegalStateException("no such record was polled last");
            for (var record : named) consumer.acknowledge(record, type);
        }
        return "{\"event\":\"acknowledged\"}";
    }

    static String committed(Map<TopicIdPartition, Optional<KafkaException>> results) {
        var told = new ArrayList<String>();
        results.forEach((partition, error) -> told.add("{" + partition(partition) + ",\"code\":" + quoted(error.map(Shim::code).orElse(null)) + "}"));
        return "{\"event\":\"committed\",\"results\":[" + String.join(",", told) + "]}";
    }

    static void settled(Map<TopicIdPartition, Set<Long>> offsets, Exception error) {
        for (var partition : offsets.keySet()) {
            say("{\"event\":\"settled\"," + partition(partition) + ",\"code\":" + quoted(error == null ? null : code(error)) + "}");
        }
    }

    static String partition(TopicIdPartition partition) {
        return "\"topic\":" + quoted(partition.topic()) + ",\"partition\":" + partition.partition();
    }

    static String error(String kind, String code, Exception e) {
        return "{\"event\":\"error\",\"kind\":\"" + kind + "\",\"code\":" + quoted(code) + ",\"message\":" + quoted(e.toString()) + "}";
    }

    /** Kafka's name of an error; none for one that is no answer of a broker. */
    static String code(Exception e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof ApiException) return Errors.forException(cause).name();
        }
        return e instanceof KafkaException ? null : e.getClass().getSimpleName();
    }

    static Duration millis(String text) {
        return Duration.ofMillis(Long.parseLong(text));
    }

    static void say(String event) {
        EVENTS.println(event);
        EVENTS.flush();
    }

    static String quoted(String text) {
        if (text == null) return "null";
        var quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') quoted.append('\\').append(c);
            else if (c < ' ') quoted.append(String.format("\\u%04x", (int) c));
            else quoted.append(c);
        }
        return quoted.append('"').toString();
    }
}
