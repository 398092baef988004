import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.Metric;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.NumberDataPoint;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.ResourceMetrics;

/**
 * Takes the metrics that clients push (KIP-714), as OpenTelemetry's own classes read them, and writes a line of JSON for each push to the file that the
 * broker's setting {@code ackflow.telemetry.log} names.
 */
public class MetricsLog implements MetricsReporter, ClientTelemetry {
    private Path log;

    @Override
    public void configure(Map<String, ?> configs) {
        log = Path.of(String.valueOf(configs.get("ackflow.telemetry.log")));
    }

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return (context, payload) -> {
            try {
                MetricsData data = MetricsData.parseFrom(payload.data());
                String line = String.format(
                    "{\"client_instance_id\":\"%s\",\"client_id\":\"%s\",\"terminating\":%s,\"content_type\":\"%s\",\"metrics\":{%s},\"labels\":{%s}}%n",
                    payload.clientInstanceId(), context.clientId(), payload.isTerminating(), payload.contentType(), metrics(data), labels(data));
                synchronized (this) {
                    Files.writeString(log, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                }
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        };
    }

    private static String metrics(MetricsData data) {
        StringJoiner metrics = new StringJoiner(",");
        for (ResourceMetrics resource : data.getResourceMetricsList()) {
            resource.getScopeMetricsList().forEach(scope -> scope.getMetricsList().forEach(metric -> metrics.add(metric(metric))));
        }
        return metrics.toString();
    }

    private static String metric(Metric metric) {
        String kind = metric.hasSum() ? metric.getSum().getAggregationTemporality().name() : "GAUGE";
        List<NumberDataPoint> points = metric.hasSum() ? metric.getSum().getDataPointsList() : metric.getGauge().getDataPointsList();
        return String.format("\"%s\":{\"kind\":\"%s\",\"value\":%s}", metric.getName(), kind, points.get(0).getAsDouble());
    }

    private static String labels(MetricsData data) {
        StringJoiner labels = new StringJoiner(",");
        for (ResourceMetrics resource : data.getResourceMetricsList()) {
            resource.getResource().getAttributesList().forEach(
                label -> labels.add(String.format("\"%s\":\"%s\"", label.getKey(), label.getValue().getStringValue())));
        }
        return labels.toString();
    }

    @Override
    public void init(List<KafkaMetric> metrics) { }

    @Override
    public void metricChange(KafkaMetric metric) { }

    @Override
    public void metricRemoval(KafkaMetric metric) { }

    @Override
    public void close() { }
}
