import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.util.Properties;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.formats.avro.RegistryAvroDeserializationSchema;
import org.apache.flink.formats.avro.SchemaCoder;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic with Flink, from its beginning to its end: {@code ReadingJob <rounds> <property=value,...> <address> <topic> [schema]}.
 * Without a schema it discards the bytes of each value. With one, the values are Avro after the id of a schema; it counts the records of
 * each {@code branch} and sums their {@code amount}. It prints the same JSON for each round as {@code BareConsumer}.
 */
public final class ReadingJob {

    private static final LongAccumulator FIRST = new LongAccumulator(Math::min, Long.MAX_VALUE);
    private static final LongAccumulator LAST = new LongAccumulator(Math::max, Long.MIN_VALUE);
    private static final LongAccumulator RECORDS = new LongAccumulator(Long::sum, 0);

    private ReadingJob() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (String property : arguments[1].split(",")) {
            String[] parts = property.split("=", 2);
            properties.setProperty(parts[0], parts[1]);
        }
        String schema = arguments.length > 4 ? arguments[4] : null;
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        try (MiniCluster cluster = CommittingJob.cluster()) {
            for (int round = 0; round < Integer.parseInt(arguments[0]); round++) {
                FIRST.reset();
                LAST.reset();
                RECORDS.reset();
                long begin = System.nanoTime();
                long cpu = system.getProcessCpuTime();
                StreamExecutionEnvironment environment = environment();
                DataStream<?> read =
                        schema == null
                                ? bytes(environment, arguments[2], arguments[3], properties)
                                : grouped(environment, arguments[2], arguments[3], properties, schema);
                last(read).sinkTo(new DiscardingSink<>());
                cluster.executeJobBlocking(environment.getStreamGraph().getJobGraph());
                System.out.printf(
                        "{\"reading_nanos\": %d, \"total_nanos\": %d, \"cpu_nanos\": %d, \"records\": %d}%n",
                        LAST.get() - FIRST.get(),
                        System.nanoTime() - begin,
                        system.getProcessCpuTime() - cpu,
                        RECORDS.get());
            }
        }
    }

    private static StreamExecutionEnvironment environment() {
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        environment.setParallelism(2);
        environment.getConfig().enableObjectReuse();
        return environment;
    }

    private static DataStream<byte[]> bytes(
            StreamExecutionEnvironment environment, String address, String topic, Properties properties) {
        return source(
                environment,
                address,
                topic,
                properties,
                KafkaRecordDeserializationSchema.valueOnly(ByteArrayDeserializer.class));
    }

    private static DataStream<Tuple3<Long, Long, Double>> grouped(
            StreamExecutionEnvironment environment,
            String address,
            String topic,
            Properties properties,
            String text) {
        DeserializationSchema<GenericRecord> avro =
                new RegistryAvroDeserializationSchema<>(
                        GenericRecord.class, needed(new Schema.Parser().parse(text)), () -> new Known(text));
        return source(environment, address, topic, properties, KafkaRecordDeserializationSchema.valueOnly(avro))
                .map(r -> Tuple3.of((Long) r.get("branch"), 1L, (Double) r.get("amount")))
                .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.DOUBLE))
                .keyBy(row -> row.f0)
                .reduce((a, b) -> Tuple3.of(a.f0, a.f1 + b.f1, a.f2 + b.f2));
    }

    /** The schema with the two fields that the groups need: Avro skips the others. */
    private static Schema needed(Schema written) {
        return Schema.createRecord(
                written.getName(),
                null,
                written.getNamespace(),
                false,
                Stream.of("branch", "amount")
                        .map(name -> new Schema.Field(name, written.getField(name).schema()))
                        .collect(Collectors.toList()));
    }

    private static <T> DataStream<T> source(
            StreamExecutionEnvironment environment,
            String address,
            String topic,
            Properties properties,
            KafkaRecordDeserializationSchema<T> deserializer) {
        KafkaSource<T> source =
                KafkaSource.<T>builder()
                        .setBootstrapServers(address)
                        .setTopics(topic)
                        .setStartingOffsets(OffsetsInitializer.earliest())
                        .setBounded(OffsetsInitializer.latest())
                        .setDeserializer(deserializer)
                        .setProperties(properties)
                        .build();
        DataStream<T> records = environment.fromSource(source, WatermarkStrategy.noWatermarks(), "source");
        return records.map(new First<T>()).returns(records.getType());
    }

    private static <T> DataStream<T> last(DataStream<T> read) {
        return read.map(new Last<T>()).returns(read.getType());
    }

    private static final class First<T> extends RichMapFunction<T, T> {
        private static final long serialVersionUID = 1;
        private transient long records;

        @Override
        public T map(T record) {
            if (records++ == 0) {
                FIRST.accumulate(System.nanoTime());
            }
            return record;
        }

        @Override
        public void close() {
            RECORDS.accumulate(records);
        }
    }

    private static final class Last<T> extends RichMapFunction<T, T> {
        private static final long serialVersionUID = 1;

        @Override
        public T map(T record) {
            return record;
        }

        @Override
        public void close() {
            LAST.accumulate(System.nanoTime());
        }
    }

    /** A registry whose only schema has been fetched before. */
    private static final class Known implements SchemaCoder {
        private final Schema schema;

        Known(String text) {
            schema = new Schema.Parser().parse(text);
        }

        @Override
        public Schema readSchema(InputStream in) throws IOException {
            in.skipNBytes(5);
            return schema;
        }

        @Override
        public void writeSchema(Schema schema, OutputStream out) {
            throw new UnsupportedOperationException();
        }
    }
}
