package rpc

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// journalEpochs is what operation ids need to know of the store.
type journalEpochs interface {
	LSN() int64
	EpochOf(lsn int64) string
}

// encoder turns results of the domain into messages. Operation numbers and journal positions become opaque ids, so
// every message that holds one is made by a method of encoder.
type encoder struct {
	epochs journalEpochs
}

// markLength is the number of characters of an epoch's mark. Two of the few epochs of a store share a mark once in a
// million.
const markLength = 4

// markEncoding has no letters that read like digits.
var markEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// markOf is the short mark of an epoch.
func markOf(epoch string) string {
	sum := sha256.Sum256([]byte(epoch))
	return markEncoding.EncodeToString(sum[:])[:markLength]
}

// operationID is the id of an operation: its number, a hyphen and the mark of the epoch in which it was written. The id
// of no operation, number 0, is empty.
func (e encoder) operationID(number int64) string {
	if number < 1 {
		return ""
	}
	return e.position(number)
}

// position is the id of a position of the journal, 0 for that before the first record. The position of an operation is
// its id.
func (e encoder) position(lsn int64) string {
	return strconv.FormatInt(lsn, 10) + "-" + markOf(e.epochs.EpochOf(lsn))
}

// number returns the operation that an id names. A bare number means the present history, for people who type it.
// Errors: *memory.InvalidError, memory.ErrEpoch for an operation that this store does not hold.
func (e encoder) number(field, id string) (int64, error) {
	n, err := e.lsn(field, id)
	if err == nil && n < 1 {
		return 0, invalidID(field)
	}
	return n, err
}

// optionalNumber is number for an id that may be empty, which is 0.
func (e encoder) optionalNumber(field, id string) (int64, error) {
	if id == "" {
		return 0, nil
	}
	return e.number(field, id)
}

// lsn returns the position that an id names. Errors as of number.
func (e encoder) lsn(field, id string) (int64, error) {
	digits, mark, marked := strings.Cut(id, "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' || marked && len(mark) != markLength {
		return 0, invalidID(field)
	}
	switch {
	case !marked:
	case n > e.epochs.LSN():
		return 0, fmt.Errorf("%w: it has not reached %s; read everything again", memory.ErrEpoch, id)
	case mark != markOf(e.epochs.EpochOf(n)):
		return 0, fmt.Errorf("%w: %s belongs to another epoch of this store; read everything again", memory.ErrEpoch,
			id)
	}
	return n, nil
}

// invalidID is the violation of a malformed operation id.
func invalidID(field string) error {
	var check memory.Check
	check.Add(field, "INVALID_OPERATION_ID", "must be an operation id, such as 1234-k3f9, or its number")
	return check.Err()
}
