import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Record batches by Kafka's own classes. Run with Kafka's jars: {@code java -cp 'LIBS/*' Batches.java ...}
 *
 * <p>{@code write} prints a compressed batch a codec, {@code codec<TAB>hex}: testdata/batches/java.tsv is its output.
 *
 * <p>{@code read FILE} takes lines of {@code name<TAB>hex} and prints what Kafka's client makes of each, in the form of the
 * last column of testdata/batches/batches.tsv.
 */
public class Batches {
    /** Enough for several blocks of every codec. */
    private static final int RECORDS = 900;

    public static void main(String[] args) throws Exception {
        if (args.length == 1 && args[0].equals("write")) {
            write();
        } else if (args.length == 2 && args[0].equals("read")) {
            read(Path.of(args[1]));
        } else {
            System.err.println("usage: write | read FILE");
            System.exit(2);
        }
    }

    /** The values of record i are those that protocol/src/records/tests/java.rs expects. */
    private static void write() {
        System.out.println("# One batch a codec, written by Kafka's own classes (testdata/gen/Batches.java): codec, tab, hex");
        for (CompressionType type : CompressionType.values()) {
            if (type == CompressionType.NONE) {
                continue;
            }
            MemoryRecordsBuilder builder = MemoryRecords.builder(
                ByteBuffer.allocate(1 << 20), Compression.of(type).build(), TimestampType.CREATE_TIME, 0L);
            for (int i = 0; i < RECORDS; i++) {
                byte[] key = i % 3 == 0 ? null : ("key-" + i).getBytes(StandardCharsets.UTF_8);
                byte[] value = i % 7 == 0 ? null : ("value-" + i + "-" + "x".repeat(i % 300)).getBytes(StandardCharsets.UTF_8);
                Header[] headers = i % 5 == 0
                    ? new Header[] {new RecordHeader("h", ("" + i).getBytes(StandardCharsets.UTF_8)), new RecordHeader("n", (byte[]) null)}
                    : new Header[0];
                builder.append(1_700_000_000_000L - 1_000_000_000L * i, key, value, headers);
            }
            ByteBuffer bytes = builder.build().buffer();
            byte[] out = new byte[bytes.remaining()];
            bytes.get(out);
            System.out.println(type.name + "\t" + HexFormat.of().formatHex(out));
        }
    }

    private static void read(Path file) throws Exception {
        for (String line : Files.readAllLines(file)) {
            if (line.startsWith("#")) {
                continue;
            }
            String[] columns = line.split("\t");
            System.out.println(columns[0] + "\t" + verdict(HexFormat.of().parseHex(columns[1])));
        }
    }

    private static String verdict(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        try {
            for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)).batches()) {
                text.append('[').append(batch.baseOffset()).append("..").append(batch.lastOffset())
                    .append(" cnt=").append(batch.countOrNull())
                    .append(" ctl=").append(batch.isControlBatch())
                    .append(" ts=").append(batch.timestampType());
                try {
                    batch.ensureValid();
                    for (Record record : batch) {
                        record.ensureValid();
                        text.append(" {off=").append(record.offset()).append(" ts=").append(record.timestamp())
                            .append(" k=").append(length(record.keySize())).append(" v=").append(length(record.valueSize()))
                            .append(" h=").append(headers(record)).append('}');
                    }
                } catch (RuntimeException e) {
                    text.append(" !! ").append(e.getClass().getSimpleName()).append(": ").append(e.getMessage());
                }
                text.append(']');
            }
        } catch (RuntimeException e) {
            text.append(" OUTER!! ").append(e.getClass().getSimpleName()).append(": ").append(e.getMessage());
        }
        return text.toString();
    }

    private static List<String> headers(Record record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(header.key() + "=" + (header.value() == null ? "null" : "" + header.value().length));
        }
        return headers;
    }

    private static String length(int size) {
        return size < 0 ? "null" : "" + size;
    }
}
