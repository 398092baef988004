import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.File;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.jar.JarFile;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * Writes random messages as Kafka's own classes write them, one JSON line a message:
 * {@code {"api","kind","version","key","json","hex"}}.
 *
 * <p>Usage: {@code java -cp 'libs/*' Vectors.java --list | SEED COUNT API...|all}. An API is the stem of its schema
 * ("ShareFetch" stands for ShareFetchRequest and ShareFetchResponse); headers and data, structs that travel inside
 * other messages or in records, go by their full name. Messages of one (API, kind, version) depend on the seed alone,
 * not on what else is asked for.
 *
 * <p>The schemas in the kafka-clients jar (common/message/*.json) say which fields a version has; a JSON tree is
 * filled with random values, Kafka's {@code *DataJsonConverter.read} makes a message of it, {@code MessageUtil} the
 * bytes, and {@code *DataJsonConverter.write} the JSON. Each message is decoded again by Kafka and must be equal.
 *
 * <p>Records fields: {@code *DataJsonConverter.write} of 4.4.0 loses them. It writes either the size
 * ("recordsSizeInBytes") or an empty binary, never the bytes, while {@code read} takes base64 under the field's own name.
 * So "json" holds the base64 that {@code read} was given, which is what a lossless converter has to write.
 */
public class Vectors {
    static final ObjectMapper JSON = new ObjectMapper().configure(JsonParser.Feature.ALLOW_COMMENTS, true);
    static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    /** The highest version of "N+". */
    static final int OPEN = Short.MAX_VALUE;

    public static void main(String[] args) throws Exception {
        Map<String, JsonNode> schemas = schemas();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        if (args.length == 1 && args[0].equals("--list")) {
            schemas.forEach((name, schema) -> out.println(describe(name, schema)));
        } else if (args.length >= 3) {
            long seed = Long.parseLong(args[0]);
            int count = Integer.parseInt(args[1]);
            for (int i = 2; i < args.length; i++) {
                for (JsonNode schema : named(schemas, args[i])) {
                    write(schema, seed, count, out);
                }
            }
        } else {
            System.err.println("usage: Vectors.java --list | SEED COUNT API...|all");
            System.exit(2);
        }
        out.flush();
        if (out.checkError()) {
            System.err.println("cannot write to standard output");
            System.exit(1);
        }
    }

    // ---- schemas

    /** Everything with a valid version, by schema name. */
    static Map<String, JsonNode> schemas() throws Exception {
        File jar = new File(Message.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Map<String, JsonNode> schemas = new TreeMap<>();
        try (JarFile file = new JarFile(jar)) {
            for (var entry : (Iterable<java.util.jar.JarEntry>) file.stream()::iterator) {
                if (!entry.getName().startsWith("common/message/") || !entry.getName().endsWith(".json")) {
                    continue;
                }
                try (InputStream in = file.getInputStream(entry)) {
                    JsonNode schema = JSON.readTree(in);
                    if (!schema.get("validVersions").textValue().equals("none")) {
                        schemas.put(schema.get("name").textValue(), schema);
                    }
                }
            }
        }
        return schemas;
    }

    static List<JsonNode> named(Map<String, JsonNode> schemas, String api) {
        if (api.equals("all")) {
            return List.copyOf(schemas.values());
        }
        List<JsonNode> found = List.of(api, api + "Request", api + "Response").stream()
            .filter(schemas::containsKey).map(schemas::get).toList();
        if (found.isEmpty()) {
            System.err.println("no API is called " + api + "; --list names them");
            System.exit(2);
        }
        return found;
    }

    static String describe(String name, JsonNode schema) {
        boolean unstable = schema.path("latestVersionUnstable").asBoolean();
        return api(name, schema) + " " + schema.get("type").textValue() + " key " + key(schema)
            + " versions " + schema.get("validVersions").textValue() + (unstable ? " (latest unstable)" : "");
    }

    static String api(String name, JsonNode schema) {
        return switch (schema.get("type").textValue()) {
            case "request" -> name.substring(0, name.length() - "Request".length());
            case "response" -> name.substring(0, name.length() - "Response".length());
            default -> name;
        };
    }

    /** Headers and data have no API key; -1 is what Kafka's generated classes answer for them. */
    static int key(JsonNode schema) {
        return schema.path("apiKey").asInt(-1);
    }

    record Versions(int low, int high) {
        static Versions parse(JsonNode node) {
            if (node == null || node.textValue().equals("none")) {
                return new Versions(1, 0);
            }
            String text = node.textValue();
            if (text.endsWith("+")) {
                return new Versions(Integer.parseInt(text.substring(0, text.length() - 1)), OPEN);
            }
            String[] ends = text.split("-");
            return new Versions(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]));
        }

        boolean contains(int version) {
            return low <= version && version <= high;
        }
    }

    // ---- messages

    static void write(JsonNode schema, long seed, int count, PrintStream out) throws Exception {
        String name = schema.get("name").textValue();
        boolean standalone = schema.get("type").textValue().equals("data");
        Class<?> data = Class.forName("org.apache.kafka.common.message." + name + (standalone ? "" : "Data"));
        Class<?> converter = Class.forName(data.getName() + "JsonConverter");
        var read = converter.getMethod("read", JsonNode.class, short.class);
        var print = converter.getMethod("write", data, short.class);
        var decode = data.getConstructor(Readable.class, short.class);
        Versions valid = Versions.parse(schema.get("validVersions"));

        for (short version = (short) valid.low; version <= valid.high; version++) {
            Random random = new Random(seed * 31 + (name + version).hashCode());
            Filler filler = new Filler(random, version, schema.path("commonStructs"));
            for (int i = 0; i < count; i++) {
                ObjectNode filled = filler.struct(schema.get("fields"));
                Message message = (Message) read.invoke(null, filled, version);
                byte[] bytes = bytes(message, version);
                ByteBufferAccessor again = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
                if (!message.equals(decode.newInstance(again, version)) || again.remaining() != 0) {
                    throw new IllegalStateException(name + " v" + version + " does not survive Kafka's own decoding: " + filled);
                }
                JsonNode json = (JsonNode) print.invoke(null, message, version);
                filler.restoreRecords(schema.get("fields"), filled, json);

                ObjectNode line = NODES.objectNode();
                line.put("api", api(name, schema));
                line.put("kind", schema.get("type").textValue());
                line.put("version", version);
                line.put("key", key(schema));
                line.set("json", json);
                line.put("hex", HexFormat.of().formatHex(bytes));
                out.println(line);
            }
        }
    }

    static byte[] bytes(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** Fills the fields of one version with random values in the form that the JSON converters read. */
    record Filler(Random random, int version, JsonNode commonStructs) {
        ObjectNode struct(JsonNode fields) {
            ObjectNode node = NODES.objectNode();
            for (JsonNode field : fields) {
                boolean tagged = Versions.parse(field.get("taggedVersions")).contains(version);
                // An absent tagged field has its default: both cases have to be seen.
                if (present(field) && !(tagged && random.nextBoolean())) {
                    node.set(jsonName(field), value(field));
                }
            }
            return node;
        }

        boolean present(JsonNode field) {
            return Versions.parse(field.get("versions")).contains(version);
        }

        JsonNode value(JsonNode field) {
            boolean nullable = Versions.parse(field.get("nullableVersions")).contains(version);
            if (nullable && random.nextInt(6) == 0) {
                return NullNode.instance;
            }
            String type = field.get("type").textValue();
            if (!type.startsWith("[]")) {
                return single(type, field, field.path("default").asText());
            }
            ArrayNode array = NODES.arrayNode();
            for (int left = length(type.substring(2)); left > 0; left--) {
                array.add(single(type.substring(2), field, ""));
            }
            return array;
        }

        /** Three elements at most; a few arrays of numbers are so long that their compact length takes two bytes. */
        int length(String elementType) {
            boolean number = elementType.startsWith("int");
            return number && random.nextInt(32) == 0 ? 127 + random.nextInt(8) : random.nextInt(4);
        }

        /** One value of a type that is not an array; {@code standard} is the schema's default, or empty. */
        JsonNode single(String type, JsonNode field, String standard) {
            return switch (type) {
                case "bool" -> BooleanNode.valueOf(random.nextInt(4) == 0 ? standard.equals("true") : !standard.equals("true"));
                case "int8" -> IntNode.valueOf((int) integer(Byte.MIN_VALUE, Byte.MAX_VALUE, standard));
                case "int16" -> IntNode.valueOf((int) integer(Short.MIN_VALUE, Short.MAX_VALUE, standard));
                case "uint16" -> IntNode.valueOf((int) integer(0, 0xffff, standard));
                case "int32" -> IntNode.valueOf((int) integer(Integer.MIN_VALUE, Integer.MAX_VALUE, standard));
                case "uint32" -> LongNode.valueOf(integer(0, 0xffffffffL, standard));
                case "int64" -> LongNode.valueOf(integer(Long.MIN_VALUE, Long.MAX_VALUE, standard));
                case "float64" -> DoubleNode.valueOf((random.nextDouble() - 0.5) * Math.pow(2, random.nextInt(80)));
                case "uuid" -> TextNode.valueOf(new Uuid(random.nextLong(), random.nextLong()).toString());
                case "string" -> TextNode.valueOf(string());
                case "bytes" -> BinaryNode.valueOf(blob(random.nextInt(24)));
                case "records" -> BinaryNode.valueOf(records());
                default -> struct(fields(type, field));
            };
        }

        /** A struct's fields stand at its first use or among the common structs. */
        JsonNode fields(String type, JsonNode field) {
            if (field.has("fields")) {
                return field.get("fields");
            }
            for (JsonNode common : commonStructs) {
                if (common.get("name").textValue().equals(type)) {
                    return common.get("fields");
                }
            }
            throw new IllegalStateException("no struct is called " + type);
        }

        /** Small numbers, the two ends and anything between, but never the default. */
        long integer(long low, long high, String standard) {
            long avoided = standard.isEmpty() ? 0 : Long.decode(standard);
            while (true) {
                long value = switch (random.nextInt(8)) {
                    case 0 -> low;
                    case 1 -> high;
                    case 2, 3, 4 -> 1 + random.nextInt(100);
                    default -> {
                        long any = random.nextLong();
                        long span = high - low + 1;
                        yield span == 0 ? any : low + Math.floorMod(any, span);
                    }
                };
                if (value != avoided) {
                    return value;
                }
            }
        }

        static final String[] SIGNS = {"a", "B", "7", "-", "_", ".", " ", "\"", "\\", "\n", "é", "ß", "Ж", "漢", "\u2028", "🦀"};

        /** Rarely empty; rarely so long that its compact length takes two bytes. */
        String string() {
            int length = switch (random.nextInt(16)) {
                case 0 -> 0;
                case 1 -> 126 + random.nextInt(20);
                default -> 1 + random.nextInt(10);
            };
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < length; i++) {
                text.append(length > 20 ? "x" : SIGNS[random.nextInt(SIGNS.length)]);
            }
            return text.toString();
        }

        byte[] blob(int length) {
            byte[] bytes = new byte[length];
            random.nextBytes(bytes);
            return bytes;
        }

        /** A valid record batch of up to three records, sometimes of an idempotent producer, sometimes none. */
        byte[] records() {
            SimpleRecord[] records = new SimpleRecord[random.nextInt(4)];
            long start = 1_700_000_000_000L + random.nextInt(1_000_000);
            for (int i = 0; i < records.length; i++) {
                byte[] key = random.nextInt(3) == 0 ? null : blob(random.nextInt(6));
                byte[] value = random.nextInt(6) == 0 ? null : blob(random.nextInt(12));
                Header[] headers = new Header[random.nextInt(3)];
                for (int h = 0; h < headers.length; h++) {
                    headers[h] = new RecordHeader(string(), random.nextInt(4) == 0 ? null : blob(random.nextInt(4)));
                }
                records[i] = new SimpleRecord(start + random.nextInt(2000) - 1000, key, value, headers);
            }
            long baseOffset = random.nextInt(100_000);
            ByteBuffer buffer = (random.nextBoolean()
                ? MemoryRecords.withRecords((byte) 2, baseOffset, Compression.NONE, TimestampType.CREATE_TIME, records)
                : MemoryRecords.withIdempotentRecords(baseOffset, Compression.NONE, random.nextInt(9999), (short) random.nextInt(9),
                    random.nextInt(999), random.nextInt(9), records)).buffer();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return bytes;
        }

        /** Puts the records of {@code filled} into {@code json}, where Kafka's converter left an empty binary. */
        void restoreRecords(JsonNode fields, JsonNode filled, JsonNode json) {
            for (JsonNode field : fields) {
                JsonNode from = filled.get(jsonName(field));
                if (from == null || from.isNull()) {
                    continue;
                }
                String type = field.get("type").textValue();
                JsonNode to = json.get(jsonName(field));
                if (type.equals("records")) {
                    ((ObjectNode) json).set(jsonName(field), from);
                } else if (type.startsWith("[]") && from.path(0).isObject()) {
                    JsonNode inner = fields(type.substring(2), field);
                    for (int i = 0; i < from.size(); i++) {
                        restoreRecords(inner, from.get(i), to.get(i));
                    }
                } else if (from.isObject() && to != null) {
                    restoreRecords(fields(type, field), from, to);
                }
            }
        }
    }

    static String jsonName(JsonNode field) {
        String name = field.get("name").textValue();
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }
}
