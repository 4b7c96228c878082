package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// embeddings is the server that tells the daemon what texts mean, none when URL is empty.
type embeddings struct{ URL, model, queryPrefix, textPrefix string }

// configure writes the daemon's configuration below the directory that it takes for the user's.
func (e embeddings) configure(home string, meant bool) error {
	if e.URL == "" && meant {
		return nil
	}
	if meant && e.model == "" {
		return errors.New("--embeddings needs --embeddings-model")
	}
	dir := filepath.Join(home, "memsidecar")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := "embeddings_inside: false\n"
	if meant {
		text = fmt.Sprintf("embeddings_base_url: %q\nembeddings_model: %q\nembeddings_query_prefix: "+
			"%q\nembeddings_text_prefix: %q\nembeddings_allow_http: true\n",
			e.URL, e.model, e.queryPrefix, e.textPrefix)
	}
	if os.Getenv("RETRIEVAL_KEY") != "" {
		text += "embeddings_api_key_env: RETRIEVAL_KEY\n"
	}
	return os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600)
}

// waitForVectors returns when every memory has its vector, or the server refuses it.
func (c *client) waitForVectors(ctx context.Context, log io.Writer) error {
	began := time.Now()
	for last := int64(-1); ; {
		res, err := c.memories.Stats(ctx, &memsidecarv1.MemoryServiceStatsRequest{})
		if err != nil {
			return err
		}
		var made, waiting, refused int64
		for _, s := range res.GetSpaces() {
			made, waiting, refused = made+s.GetEmbedded(), waiting+s.GetEmbeddingPending(),
				refused+s.GetEmbeddingRefused()
		}
		if waiting == 0 {
			fmt.Fprintf(log, "%d vectors in %v, %d refused\n", made, time.Since(began).Round(time.Second), refused)
			return nil
		}
		if made != last {
			last = made
			fmt.Fprintf(log, "%d vectors, %d to come\n", made, waiting)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second / 10):
		}
	}
}
