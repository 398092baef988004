import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Consumes a topic through a share group: BOOTSTRAP TOPIC GROUP RECORDS FETCH. */
public class ShareConsume {
    public static void main(String[] args) {
        long wanted = Long.parseLong(args[3]);
        var properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("group.id", args[2]);
        if (!args[4].equals("0")) {
            properties.put("max.poll.records", args[4]);
        }
        long records = 0;
        long bytes = 0;
        long first = 0;
        long last = 0;
        try (var consumer = new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(args[1]));
            while (records < wanted) {
                var polled = consumer.poll(Duration.ofMillis(1000));
                if (polled.isEmpty()) {
                    continue;
                }
                last = System.nanoTime();
                if (records == 0) {
                    first = last;
                }
                for (ConsumerRecord<byte[], byte[]> record : polled) {
                    records++;
                    bytes += record.value().length;
                }
            }
            last = System.nanoTime();
            consumer.commitSync();
        }
        System.out.printf("{\"records\": %d, \"bytes\": %d, \"seconds\": %.6f}%n", records, bytes, (last - first) / 1e9);
    }
}
