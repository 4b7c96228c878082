// Command minimal makes one gRPC call over a Unix socket and ends: the least that telling the daemon anything costs a
// process that speaks gRPC. It has no generated code and no messages of its own.
//
//	minimal SOCKET METHOD < REQUEST
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

// run makes the call with the message that standard input holds.
func run(socket, method string) error {
	request, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	var response []byte
	return conn.Invoke(context.Background(), method, &request, &response, grpc.ForceCodec(raw{}))
}

// raw is a codec for messages that are encoded already.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (raw) Name() string { return "proto" }
