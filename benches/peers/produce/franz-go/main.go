// Produces records and waits for all of them to be confirmed: BOOTSTRAP TOPIC RECORDS SIZE BATCH LINGER.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const values = 1024

var confirmed atomic.Int64

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func delivered(_ *kgo.Record, err error) {
	if err != nil {
		log.Fatal(err)
	}
	confirmed.Add(1)
}

// Sends so many records and waits for the last one.
func produce(client *kgo.Client, topic string, block []byte, size, count int64) {
	ctx := context.Background()
	for i := int64(0); i < count; i++ {
		at := i % values * size
		client.Produce(ctx, &kgo.Record{Topic: topic, Value: block[at : at+size]}, delivered)
	}
	if err := client.Flush(ctx); err != nil {
		log.Fatal(err)
	}
}

func main() {
	args := os.Args[1:]
	if len(args) != 6 {
		log.Fatal("BOOTSTRAP TOPIC RECORDS SIZE BATCH LINGER")
	}
	records, size, batch, linger := number(args[2]), number(args[3]), number(args[4]), number(args[5])
	client, err := kgo.NewClient(
		kgo.SeedBrokers(args[0]),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(int32(batch)),
		kgo.ProducerLinger(time.Duration(linger)*time.Millisecond),
	)
	if err != nil {
		log.Fatal(err)
	}
	block := make([]byte, values*size)
	random := rand.New(rand.NewSource(1))
	random.Read(block)

	produce(client, args[1], block, size, records/10)
	warm := confirmed.Load()
	first := time.Now()
	produce(client, args[1], block, size, records)
	seconds := time.Since(first).Seconds()
	timed := confirmed.Load() - warm
	client.Close()
	fmt.Printf("{\"records\": %d, \"warm\": %d, \"seconds\": %.6f}\n", timed, warm, seconds)
}
