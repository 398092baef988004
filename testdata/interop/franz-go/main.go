// franz-go as a peer: ../README.md says what it reads and prints.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const stalled = 60 * time.Second

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 3 && args[0] == "write":
		err = write(args[1], args[2])
	case len(args) == 4 && args[0] == "read":
		err = read(args[1], args[2], args[3])
	case len(args) == 6 && args[0] == "group":
		err = group(args[1], args[2], args[3], args[4], args[5])
	default:
		err = fmt.Errorf("usage: write BOOTSTRAP SCRIPT | read BOOTSTRAP PLAN ISOLATION | group BOOTSTRAP TOPIC GROUP PROTOCOL COUNT")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// header is a key, which is never null, and a value, which may be. encoding/json writes []byte as base64, and nil as null.
type header [2]any

type step struct {
	Op              string
	Topic           string
	Compression     string
	Level           *int
	TransactionalID *string `json:"transactional_id"`
	Partition       int32
	Timestamp       int64
	Key             *[]byte
	Value           *[]byte
	Headers         [][2]json.RawMessage
	End             int64
}

type line struct {
	Topic         string   `json:"topic"`
	Partition     int32    `json:"partition"`
	Offset        int64    `json:"offset"`
	Timestamp     int64    `json:"timestamp"`
	TimestampType string   `json:"timestamp_type"`
	Key           []byte   `json:"key"`
	Value         []byte   `json:"value"`
	Headers       []header `json:"headers"`
}

// steps calls do for each line of a file.
func steps(path string, do func(step) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for decoder.More() {
		var s step
		if err := decoder.Decode(&s); err != nil {
			return err
		}
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

// writer is one producer and what failed of its records.
type writer struct {
	client *kgo.Client
	topic  string
	failed chan error
}

func write(bootstrap, script string) error {
	var w *writer
	err := steps(script, func(s step) error {
		switch s.Op {
		case "open":
			if w != nil {
				if err := w.close(); err != nil {
					return err
				}
			}
			var err error
			w, err = open(bootstrap, s)
			return err
		case "record":
			return w.send(s)
		case "flush":
			return w.flush()
		case "begin":
			return w.client.BeginTransaction()
		case "commit":
			return w.end(kgo.TryCommit)
		case "abort":
			return w.end(kgo.TryAbort)
		default:
			return fmt.Errorf("no such step: %q", s.Op)
		}
	})
	if err == nil && w != nil {
		err = w.close()
	}
	return err
}

func open(bootstrap string, s step) (*writer, error) {
	codec, ok := map[string]kgo.CompressionCodec{
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}[s.Compression]
	if !ok {
		return nil, fmt.Errorf("no such compression: %q", s.Compression)
	}
	if s.Level != nil {
		codec = codec.WithLevel(*s.Level)
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(900_000),
		kgo.ProducerLinger(time.Second),
	}
	if s.TransactionalID != nil {
		options = append(options, kgo.TransactionalID(*s.TransactionalID))
	}
	client, err := kgo.NewClient(options...)
	return &writer{client: client, topic: s.Topic, failed: make(chan error, 1)}, err
}

func (w *writer) send(s step) error {
	record := &kgo.Record{Topic: w.topic, Partition: s.Partition, Timestamp: time.UnixMilli(s.Timestamp)}
	if s.Key != nil {
		record.Key = *s.Key
	}
	if s.Value != nil {
		record.Value = *s.Value
	}
	for _, pair := range s.Headers {
		var h kgo.RecordHeader
		var value *[]byte
		if err := json.Unmarshal(pair[0], &h.Key); err != nil {
			return err
		}
		if err := json.Unmarshal(pair[1], &value); err != nil {
			return err
		}
		if value != nil {
			h.Value = *value
		}
		record.Headers = append(record.Headers, h)
	}
	w.client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
		if err != nil {
			select {
			case w.failed <- err:
			default:
			}
		}
	})
	return nil
}

// flush waits until everything is confirmed.
func (w *writer) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), stalled)
	defer cancel()
	if err := w.client.Flush(ctx); err != nil {
		return fmt.Errorf("flushing %s: %w", w.topic, err)
	}
	select {
	case err := <-w.failed:
		return fmt.Errorf("producing to %s: %w", w.topic, err)
	default:
		return nil
	}
}

func (w *writer) end(how kgo.TransactionEndTry) error {
	if err := w.flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stalled)
	defer cancel()
	return w.client.EndTransaction(ctx, how)
}

func (w *writer) close() error {
	defer w.client.Close()
	return w.flush()
}

func read(bootstrap, plan, isolation string) error {
	ends := map[string]map[int32]int64{}
	from := map[string]map[int32]kgo.Offset{}
	left := 0
	err := steps(plan, func(s step) error {
		if ends[s.Topic] == nil {
			ends[s.Topic] = map[int32]int64{}
			from[s.Topic] = map[int32]kgo.Offset{}
		}
		ends[s.Topic][s.Partition] = s.End
		from[s.Topic][s.Partition] = kgo.NewOffset().At(0)
		left++
		return nil
	})
	if err != nil {
		return err
	}
	level := kgo.ReadUncommitted()
	if isolation == "read_committed" {
		level = kgo.ReadCommitted()
	}
	// The last offset of a partition may be that of a control record.
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(level), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer client.Close()
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	encoder := json.NewEncoder(out)
	for left > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), stalled)
		fetches := client.PollFetches(ctx)
		cancel()
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("%s-%d, with %d partitions left: %w", errs[0].Topic, errs[0].Partition, left, errs[0].Err)
		}
		for record := range fetches.RecordsAll() {
			if record.Offset+1 == ends[record.Topic][record.Partition] {
				left--
			}
			if record.Attrs.IsControl() {
				continue
			}
			if err := encoder.Encode(shown(record)); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func group(bootstrap, topic, id, protocol, count string) error {
	wanted, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(id),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.Balancers(kgo.RangeBalancer()),
	}
	if protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	records := 0
	for records < wanted {
		ctx, cancel := context.WithTimeout(context.Background(), stalled)
		fetches := client.PollFetches(ctx)
		cancel()
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("%s-%d, after %d records: %w", errs[0].Topic, errs[0].Partition, records, errs[0].Err)
		}
		records += fetches.NumRecords()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stalled)
	defer cancel()
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return err
	}
	if err := client.LeaveGroupContext(ctx); err != nil {
		return err
	}
	fmt.Printf("{\"records\": %d}\n", records)
	return nil
}

func shown(record *kgo.Record) line {
	kinds := map[int8]string{-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
	headers := make([]header, 0, len(record.Headers))
	for _, h := range record.Headers {
		headers = append(headers, header{h.Key, h.Value})
	}
	return line{
		Topic:         record.Topic,
		Partition:     record.Partition,
		Offset:        record.Offset,
		Timestamp:     record.Timestamp.UnixMilli(),
		TimestampType: kinds[record.Attrs.TimestampType()],
		Key:           record.Key,
		Value:         record.Value,
		Headers:       headers,
	}
}
