// Consumes a topic through a share group: BOOTSTRAP TOPIC GROUP RECORDS FETCH.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	args := os.Args[1:]
	if len(args) != 5 {
		log.Fatal("BOOTSTRAP TOPIC GROUP RECORDS FETCH")
	}
	wanted, fetch := number(args[3]), number(args[4])
	options := []kgo.Opt{kgo.SeedBrokers(args[0]), kgo.ConsumeTopics(args[1]), kgo.ShareGroup(args[2])}
	if fetch > 0 {
		options = append(options, kgo.ShareMaxRecords(int32(fetch)))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	var records, bytes int64
	var first time.Time
	for records < wanted {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatal(err)
		}
		if records == 0 && !fetches.Empty() {
			first = time.Now()
		}
		fetches.EachRecord(func(record *kgo.Record) {
			records++
			bytes += int64(len(record.Value))
		})
	}
	seconds := time.Since(first).Seconds()
	client.MarkAcks(kgo.AckAccept)
	if err := client.FlushAcks(ctx); err != nil {
		log.Fatal(err)
	}
	client.Close()
	fmt.Printf("{\"records\": %d, \"bytes\": %d, \"seconds\": %.6f}\n", records, bytes, seconds)
}
