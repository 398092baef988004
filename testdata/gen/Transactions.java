import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Fills a topic by transactions, of which some are aborted. Run with Kafka's jars:
 * {@code java -cp 'LIBS/*' Transactions.java BOOTSTRAP TOPIC TRANSACTIONS RECORDS_EACH ABORT_EVERY PARTITIONS}
 *
 * <p>Prints how many records were committed.
 */
public class Transactions {
    public static void main(String[] args) {
        if (args.length != 6) {
            System.err.println("usage: BOOTSTRAP TOPIC TRANSACTIONS RECORDS_EACH ABORT_EVERY PARTITIONS");
            System.exit(2);
        }
        String topic = args[1];
        int transactions = Integer.parseInt(args[2]);
        int each = Integer.parseInt(args[3]);
        int abortEvery = Integer.parseInt(args[4]);
        int partitions = Integer.parseInt(args[5]);
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("transactional.id", "transactions-" + topic);
        int committed = 0;
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int i = 0; i < transactions; i++) {
                boolean abort = i % abortEvery == abortEvery - 1;
                producer.beginTransaction();
                for (int j = 0; j < each; j++) {
                    String value = (abort ? "abort-" : "commit-") + i + "-" + j;
                    producer.send(new ProducerRecord<>(topic, j % partitions, null, value));
                }
                producer.flush();
                if (abort) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                    committed += each;
                }
            }
        }
        System.out.println(committed);
    }
}
