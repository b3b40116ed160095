import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.connector.kafka.dynamic.metadata.ClusterMetadata;
import org.apache.flink.connector.kafka.dynamic.metadata.KafkaMetadataService;
import org.apache.flink.connector.kafka.dynamic.metadata.KafkaStream;
import org.apache.flink.connector.kafka.dynamic.source.DynamicKafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A job with Flink's Dynamic Kafka Source, which commits offsets to a group with each checkpoint. It prints each value, and runs until
 * it is killed.
 *
 * <p>Arguments: stream and topic, group, and {@code <cluster>=<address>} for each cluster.
 */
public final class CommittingJob {

    private static final long CHECKPOINT_MS = 300;

    private CommittingJob() {}

    public static void main(String[] arguments) throws Exception {
        String stream = arguments[0];
        Map<String, ClusterMetadata> clusters = new HashMap<>();
        for (int i = 2; i < arguments.length; i++) {
            String[] cluster = arguments[i].split("=", 2);
            Properties properties = new Properties();
            properties.setProperty("bootstrap.servers", cluster[1]);
            clusters.put(cluster[0], new ClusterMetadata(Set.of(stream), properties));
        }
        DynamicKafkaSource<String> source =
                DynamicKafkaSource.<String>builder()
                        .setStreamIds(Set.of(stream))
                        .setKafkaMetadataService(new Fixed(new KafkaStream(stream, clusters)))
                        .setStartingOffsets(OffsetsInitializer.earliest())
                        .setDeserializer(KafkaRecordDeserializationSchema.valueOnly(StringDeserializer.class))
                        .setGroupId(arguments[1])
                        .setProperty("commit.offsets.on.checkpoint", "true")
                        .build();
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        environment.setParallelism(2);
        environment.enableCheckpointing(CHECKPOINT_MS);
        environment
                .fromSource(source, WatermarkStrategy.noWatermarks(), "source")
                .map(new Printed())
                .sinkTo(new DiscardingSink<>());
        try (MiniCluster cluster = cluster()) {
            cluster.executeJobBlocking(environment.getStreamGraph().getJobGraph());
        }
    }

    /** A running cluster with two slots, also for the benchmark's job. */
    static MiniCluster cluster() throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(RestOptions.BIND_PORT, "0");
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(configuration)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(2)
                                .build());
        cluster.start();
        return cluster;
    }

    /** Effects of this job, before the offsets of its records are committed. */
    private static final class Printed implements MapFunction<String, String> {
        private static final long serialVersionUID = 1;

        @Override
        public String map(String value) {
            System.out.println(value);
            return value;
        }
    }

    /** One stream, which does not change. */
    private static final class Fixed implements KafkaMetadataService {
        private static final long serialVersionUID = 1;
        private final KafkaStream stream;

        Fixed(KafkaStream stream) {
            this.stream = stream;
        }

        @Override
        public Set<KafkaStream> getAllStreams() {
            return Set.of(stream);
        }

        @Override
        public Map<String, KafkaStream> describeStreams(Collection<String> streams) {
            return streams.stream().collect(Collectors.toMap(id -> id, id -> stream));
        }

        @Override
        public boolean isClusterActive(String cluster) {
            return true;
        }

        @Override
        public void close() {}
    }
}
