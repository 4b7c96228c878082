package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/memsidecar/memsidecar/bench/process"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/vectorstore"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// What a random vector file has of each text: as much as the models inside make of one of the corpus.
const (
	randomDim    = 384
	randomTokens = 12
)

// filled starts a daemon on the empty directory data and adds the memories 0 to size-1, each with its vectors. It
// returns their ids.
func (b *bench) filled(ctx context.Context, data string, size int) (*process.Server, []string, error) {
	metrics := "metrics_listen: " + metricsSocket(data)
	first := []string{metrics}
	if b.random {
		first = append(first, withoutModels)
	}
	if err := b.settings(data, first...); err != nil {
		return nil, nil, err
	}
	d, err := b.start(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	ids, err := b.fill(ctx, d, size)
	if err != nil {
		return nil, nil, errors.Join(err, d.Stop())
	}
	if b.random {
		if err := b.stop(d); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(b.randomVectors(data, size), b.settings(data, metrics)); err != nil {
			return nil, nil, err
		}
		if d, err = b.start(ctx, data); err != nil {
			return nil, nil, err
		}
		// Until the index is loaded, nothing waits for vectors.
		if _, err := b.someSearches(ctx, d, size, 1); err != nil {
			return nil, nil, errors.Join(err, d.Stop())
		}
	}
	if !b.words {
		if err := b.embedded(ctx, d, size); err != nil {
			return nil, nil, errors.Join(err, d.Stop())
		}
	}
	return d, ids, nil
}

// randomVectors writes the vector files of a store of the memories 0 to size-1, which no daemon has open: vectors of
// the models' shape and of random directions. So a daemon finds them at its start and has nothing to embed, which
// takes the models hours for a million memories. What it holds and computes is the same; what it finds by meaning is
// not.
func (b *bench) randomVectors(data string, size int) error {
	fmt.Fprintf(b.log, "%7d memories: writing random vectors\n", size)
	minilm, err := bert.NewMiniLM()
	if err != nil {
		return err
	}
	e5, err := bert.NewE5()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(data)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, model := range []embedding.Model{minilm, e5} {
		if err := writeRandom(durable.Dir(root), model, size); err != nil {
			return fmt.Errorf("vectors of %s: %w", model.Name(), err)
		}
	}
	return nil
}

// writeRandom writes the vector file of one model, with the texts that it supports.
func writeRandom(fsys durable.FS, model embedding.Model, size int) (err error) {
	store, err := vectorstore.Open(fsys, "index/default."+model.Name()+".vectors", model.Identity())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	random := rand.New(rand.NewPCG(1, 2))
	components := make([]float32, randomDim)
	for i := range size {
		text := content(i)
		if !model.Supports(text) {
			continue
		}
		for c := range components {
			components[c] = float32(random.NormFloat64())
		}
		v, _ := vector.Quantize(components)
		tokens := make(vector.TokenSet, 0, randomTokens*vector.TokenBytes(randomDim))
		for len(tokens) < cap(tokens) {
			tokens = binary.LittleEndian.AppendUint64(tokens, random.Uint64())
		}
		if err := store.Put(vector.KeyOf(text), v, tokens); err != nil {
			return err
		}
	}
	return store.Sync()
}
