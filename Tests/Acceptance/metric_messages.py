"""The page of metrics in protobuf, read by Google's library from definitions that stand here: they have the
fields of Prometheus' client_model (metrics.proto) that a page may have, and no package brings them.
"""

import math

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

ACCEPT = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
# By the numbers of client_model.
COUNTER, GAUGE, HISTOGRAM = 0, 1, 4
# Message, field, number, type; `*` may be there several times.
FIELDS = """
LabelPair       name 1 string      value 2 string
Gauge           value 1 double
Counter         value 1 double     exemplar 2 Exemplar
BucketSpan      offset 1 sint32    length 2 uint32
Exemplar        label* 1 LabelPair value 2 double            timestamp 3 Timestamp
Bucket          cumulative_count 1 uint64                    upper_bound 2 double    exemplar 3 Exemplar
Histogram       sample_count 1 uint64      sample_sum 2 double       bucket* 3 Bucket
Histogram       schema 5 sint32            zero_threshold 6 double   zero_count 7 uint64
Histogram       positive_span* 12 BucketSpan                         positive_delta* 13 sint64
Metric          label* 1 LabelPair gauge 2 Gauge             counter 3 Counter       histogram 7 Histogram
MetricFamily    name 1 string      help 2 string             type 3 int32            metric* 4 Metric
"""


def _family_class():
    """The class of `MetricFamily`."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="metrics.proto", package="io.prometheus.client", syntax="proto2",
        dependency=["google/protobuf/timestamp.proto"])
    messages = {}
    for line in FIELDS.strip().splitlines():
        name, *words = line.split()
        if name not in messages:
            messages[name] = file.message_type.add(name=name)
        for field, number, kind in zip(words[::3], words[1::3], words[2::3]):
            is_many = field.endswith("*")
            added = messages[name].field.add(
                name=field.rstrip("*"), number=int(number),
                label=kinds.LABEL_REPEATED if is_many else kinds.LABEL_OPTIONAL)
            if kind[0].isupper():
                package = "google.protobuf" if kind == "Timestamp" else "io.prometheus.client"
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName("io.prometheus.client.MetricFamily"))


Family = _family_class()


def read(page):
    """The families of a page by their names; an error if a byte is not of the definitions."""
    families = {}
    at = 0
    while at < len(page):
        length = shift = 0
        while True:
            byte = page[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        family = Family()
        assert at + length <= len(page)
        assert family.ParseFromString(page[at:at + length]) == length
        at += length
        copy = Family()
        copy.CopyFrom(family)
        copy.DiscardUnknownFields()
        assert copy.ByteSize() == family.ByteSize() == length, family.name
        assert family.name not in families and family.metric, family.name
        families[family.name] = family
    return families


def labels(metric):
    """The labels of a series, or of an exemplar."""
    found = {pair.name: pair.value for pair in metric.label}
    assert len(found) == len(metric.label)
    return found


def samples(families):
    """All values under the names that a page in text has for them, `le` as a number."""
    found = {}

    def add(name, pairs, value):
        key = (name, frozenset((n, float(v) if n == "le" else v) for n, v in pairs.items()))
        assert key not in found, key
        found[key] = value

    for family in families.values():
        for metric in family.metric:
            pairs = labels(metric)
            if family.type == HISTOGRAM:
                histogram = metric.histogram
                bounds = [bucket.upper_bound for bucket in histogram.bucket]
                counts = [bucket.cumulative_count for bucket in histogram.bucket]
                assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf
                assert counts == sorted(counts) and counts[-1] == histogram.sample_count
                for bound, count in zip(bounds, counts):
                    add(f"{family.name}_bucket", pairs | {"le": str(bound)}, count)
                add(f"{family.name}_count", pairs, histogram.sample_count)
                add(f"{family.name}_sum", pairs, histogram.sample_sum)
            else:
                kind = {COUNTER: "counter", GAUGE: "gauge"}[family.type]
                part = getattr(metric, kind)
                assert metric.HasField(kind) and part.HasField("value"), family.name
                add(family.name, pairs, part.value)
    return found


def native(histogram):
    """The observations of a native histogram by the number of their bucket, and those of 0."""
    assert histogram.schema == 3 and histogram.zero_threshold == 2.0 ** -128
    deltas = list(histogram.positive_delta)
    found = {}
    bucket = count = 0
    for span in histogram.positive_span:
        bucket += span.offset
        for _ in range(span.length):
            count += deltas.pop(0)
            assert count >= 0
            if count:
                found[bucket] = count
            bucket += 1
    assert not deltas
    assert sum(found.values()) + histogram.zero_count == histogram.sample_count
    return found, histogram.zero_count
