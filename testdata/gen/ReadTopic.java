import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.zip.CRC32C;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What a topic holds, by Kafka's own consumer. Run with Kafka's jars: {@code java -cp 'LIBS/*' ReadTopic.java BOOTSTRAP TOPIC}
 *
 * <p>Reads what is committed up to where the topic ends now, and prints a record a line: partition, offset, CRC-32C of the
 * value, separated by spaces.
 */
public class ReadTopic {
    public static void main(String[] args) {
        if (args.length != 2) {
            System.err.println("usage: BOOTSTRAP TOPIC");
            System.exit(2);
        }
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("isolation.level", "read_committed");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(args[1]).forEach(p -> partitions.add(new TopicPartition(args[1], p.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            StringBuilder lines = new StringBuilder();
            Set<TopicPartition> open = new HashSet<>(partitions);
            while (true) {
                // The position passes what has no record: control batches, aborted and compacted records.
                open.removeIf(partition -> consumer.position(partition) >= ends.get(partition));
                if (open.isEmpty()) {
                    break;
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    CRC32C crc = new CRC32C();
                    crc.update(record.value() == null ? new byte[0] : record.value());
                    lines.append(record.partition()).append(' ').append(record.offset()).append(' ');
                    lines.append(crc.getValue()).append('\n');
                }
            }
            System.out.print(lines);
        }
    }
}
