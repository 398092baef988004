import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Produces records and waits for all of them to be confirmed: BOOTSTRAP TOPIC RECORDS SIZE BATCH LINGER. */
public class Produce {
    private static final int VALUES = 1024;

    /** Touched by the producer's thread alone, and read after a flush. */
    private static long confirmed = 0;
    private static final AtomicReference<Exception> FAILED = new AtomicReference<>();
    private static final Callback DELIVERED = (metadata, error) -> {
        if (error == null) {
            confirmed++;
        } else {
            FAILED.compareAndSet(null, error);
        }
    };

    public static void main(String[] args) throws Exception {
        long records = Long.parseLong(args[2]);
        var properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("enable.idempotence", "true");
        properties.put("acks", "all");
        properties.put("batch.size", args[4]);
        properties.put("linger.ms", args[5]);
        var values = new byte[VALUES][Integer.parseInt(args[3])];
        var random = new Random(1);
        for (var value : values) {
            random.nextBytes(value);
        }
        try (var producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            produce(producer, args[1], values, records / 10);
            long warm = confirmed;
            long first = System.nanoTime();
            produce(producer, args[1], values, records);
            double seconds = (System.nanoTime() - first) / 1e9;
            System.out.printf("{\"records\": %d, \"warm\": %d, \"seconds\": %.6f}%n", confirmed - warm, warm, seconds);
        }
    }

    /** Sends {@code count} records and waits for the last one. */
    private static void produce(KafkaProducer<byte[], byte[]> producer, String topic, byte[][] values, long count) throws Exception {
        for (long i = 0; i < count; i++) {
            producer.send(new ProducerRecord<>(topic, values[(int) (i % VALUES)]), DELIVERED);
        }
        producer.flush();
        if (FAILED.get() != null) {
            throw FAILED.get();
        }
    }
}
