package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// keyedCalls makes calls repeatable that are several operations, or whose operation cannot carry an idempotency key.
// The receipt is an operation without changes, written after the call. When the daemon ends between the two, a repeat
// runs the call again: all these calls do nothing to what they did before.
type keyedCalls struct {
	store *store.Store

	mu      sync.Mutex
	running map[string]chan struct{} // closed when the call with the key ends; guarded by mu
}

// newKeyedCalls returns a keyedCalls whose receipts are kept by st.
func newKeyedCalls(st *store.Store) *keyedCalls {
	return &keyedCalls{store: st, running: map[string]chan struct{}{}}
}

// concealKey replaces an idempotency key that looks like a secret by its hash: keys are journaled with the receipts. A
// repeat of the request has the same hash.
func concealKey(req any) {
	m, ok := req.(proto.Message)
	if !ok {
		return
	}
	keyed, ok := req.(keyedRequest)
	if !ok || len(redact.Secrets(keyed.GetIdempotencyKey())) == 0 {
		return
	}
	field := m.ProtoReflect().Descriptor().Fields().ByName("idempotency_key")
	sum := sha256.Sum256([]byte(keyed.GetIdempotencyKey()))
	m.ProtoReflect().Set(field, protoreflect.ValueOfString("sha256-"+hex.EncodeToString(sum[:16])))
}

// errNotRecorded leaves the transaction that looks for a receipt.
var errNotRecorded = errors.New("no receipt")

// operationReceipt is the reason of a receipt's first outcome, which names the last operation of the call.
const operationReceipt = "OPERATION"

// run calls f, unless the key of meta was used before with the same request: then it returns the first result. f
// returns the last operation and the outcomes. Errors: those of f, memory.ErrKeyReused, those of the store.
func (k *keyedCalls) run(ctx context.Context, meta store.Meta, f func() (store.Result, error)) (store.Result, error) {
	if meta.Key == "" {
		return f()
	}
	// A repeat that arrives while the first call runs must wait for its result, not run beside it.
	release, err := k.acquire(ctx, meta.Space+"\x00"+meta.Key)
	if err != nil {
		return store.Result{}, err
	}
	defer release()
	// The store answers a known key before it calls the function, so an update that always fails is a look-up.
	known, err := k.store.Update(ctx, meta, func(*store.Tx) error { return errNotRecorded })
	switch {
	case err == nil:
		result := resultOfReceipt(known)
		store.NoteWrite(ctx, store.Write{UpTo: result.Op})
		return result, nil
	case !errors.Is(err, errNotRecorded):
		return store.Result{}, err
	}
	result, err := f()
	if err != nil {
		return store.Result{}, err
	}
	// The work is done; a client that has gone must still find its receipt when it repeats the call.
	_, err = k.store.Update(context.WithoutCancel(ctx), meta, func(tx *store.Tx) error {
		tx.Report(journal.Outcome{ID: strconv.FormatInt(result.Op, 10), Status: journal.Applied,
			Reason: operationReceipt})
		for _, o := range result.Outcomes {
			tx.Report(o)
		}
		return nil
	})
	return result, err
}

// acquire waits until no other call with the key runs.
func (k *keyedCalls) acquire(ctx context.Context, key string) (release func(), err error) {
	for {
		k.mu.Lock()
		other := k.running[key]
		if other == nil {
			mine := make(chan struct{})
			k.running[key] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.running, key)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// resultOfReceipt is the first result of a call that was recorded.
func resultOfReceipt(known store.Result) store.Result {
	out := store.Result{Replayed: true, Outcomes: known.Outcomes}
	if len(out.Outcomes) > 0 && out.Outcomes[0].Reason == operationReceipt {
		out.Op, _ = strconv.ParseInt(out.Outcomes[0].ID, 10, 64)
		out.Outcomes = out.Outcomes[1:]
	}
	return out
}

// keyedMeta identifies a request for keyedCalls.
func keyedMeta(req keyedRequest, space, reason string) store.Meta {
	if space == "" {
		space = memory.DefaultSpace
	}
	return store.Meta{
		Space: space, Actor: journal.ActorClient, Reason: reason,
		Key: req.GetIdempotencyKey(), Request: identify(req, req.GetIdempotencyKey()),
	}
}
