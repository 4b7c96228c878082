package pglog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// appendRows moves the head, which keeps others from appending at the same time, appends the rows if that was the head,
// and announces them. One statement is one way to the server and back, and a transaction.
const appendRows = `WITH moved AS (
  UPDATE memsidecar.space SET head = $1, hash = $2 WHERE id = $3 AND head = $4 AND hash = $5 RETURNING id
), added AS (
  INSERT INTO memsidecar.log (space, seq, origin, epoch, op, at, record, hash)
  SELECT moved.id, $4 + r.n, $6, $7, r.op, r.at, r.record, r.hash FROM moved,
    unnest($10::bigint[], $11::timestamptz[], $12::bytea[], $13::text[]) WITH ORDINALITY AS r (op, at, hash, record, n)
)
SELECT pg_notify($8, $9) FROM moved`

// appendTypes are the types of its parameters. The texts of the records are by far the largest and come last, so that
// the driver's buffer grows once.
var appendTypes = []uint32{
	pgtype.Int8OID, pgtype.ByteaOID, pgtype.Int8OID, pgtype.Int8OID, pgtype.ByteaOID, pgtype.TextOID, pgtype.TextOID,
	pgtype.TextOID, pgtype.TextOID,
	pgtype.Int8ArrayOID, pgtype.TimestamptzArrayOID, pgtype.ByteaArrayOID, pgtype.TextArrayOID,
}

// Append appends rows of one origin and epoch behind a head as one transaction and returns the new head. Durable on
// return, as PostgreSQL is configured. Seq and Hash of the rows are set here. Errors: ErrBehind, ErrTaken; after any
// other, the rows may be there.
func (l *Log) Append(ctx context.Context, space int64, head Head, rows []Row) (Head, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	next := head
	var h hasher
	for i := range rows {
		rows[i].Seq = next.Seq + 1
		rows[i].Hash = h.chain(&rows[i], next.Hash)
		next = Head{rows[i].Seq, rows[i].Hash}
	}
	var p parameters
	p.number(next.Seq)
	p.add(next.Hash)
	p.number(space)
	p.number(head.Seq)
	p.add(head.Hash)
	p.add([]byte(rows[0].Origin))
	p.add([]byte(rows[0].Epoch))
	p.add([]byte(channel))
	p.add(fmt.Append(nil, space, " ", next.Seq))
	p.columns(rows)
	tag, err := l.executeAppend(ctx, p)
	if err == nil && tag.RowsAffected() == 0 {
		err = ErrBehind
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		// Not a lost reply: the head would have moved then.
		return head, fmt.Errorf("append operations %d to %d to the log: %w: %w", rows[0].Op, rows[len(rows)-1].Op, ErrTaken, err)
	}
	if err != nil {
		return head, fmt.Errorf("append to the log: %w", err)
	}
	return next, nil
}

// executeAppend executes appendRows, prepared where the session keeps what is prepared.
func (l *Log) executeAppend(ctx context.Context, p parameters) (pgconn.CommandTag, error) {
	binaries := []int16{pgtype.BinaryFormatCode}
	if !l.ownSession() {
		return l.conn.PgConn().ExecParams(ctx, appendRows, p, appendTypes, binaries, nil).Close()
	}
	const name = "append"
	if !l.prepared {
		if _, err := l.conn.PgConn().Prepare(ctx, name, appendRows, appendTypes); err != nil {
			return pgconn.CommandTag{}, err
		}
		l.prepared = true
	}
	return l.conn.PgConn().ExecPrepared(ctx, name, p, binaries, nil).Close()
}

// parameters are those of a statement, in PostgreSQL's binary format. The driver encodes arrays element by element, at
// several times the cost.
type parameters [][]byte

// add adds a text or bytes.
func (p *parameters) add(value []byte) { *p = append(*p, value) }

// number adds a bigint.
func (p *parameters) number(n int64) { p.add(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// columns adds the columns of rows that differ from row to row as arrays.
func (p *parameters) columns(rows []Row) {
	const number, sum = 4 + 8, 4 + 32 // bytes of an element, behind its length
	ops := beginArray(pgtype.Int8OID, len(rows), number*len(rows))
	times := beginArray(pgtype.TimestamptzOID, len(rows), number*len(rows))
	hashes := beginArray(pgtype.ByteaOID, len(rows), sum*len(rows))
	size := 0
	for i := range rows {
		size += 4 + len(rows[i].Record)
	}
	records := beginArray(pgtype.TextOID, len(rows), size)
	for i := range rows {
		r := &rows[i]
		ops = appendNumber(ops, r.Op)
		times = appendNumber(times, r.At.UnixMicro()-firstTime)
		hashes = append(appendLength(hashes, len(r.Hash)), r.Hash...)
		records = append(appendLength(records, len(r.Record)), r.Record...)
	}
	*p = append(*p, ops, times, hashes, records)
}

// firstTime is the time from which PostgreSQL counts microseconds, the beginning of 2000, in those of Unix.
const firstTime = 946_684_800_000_000

// beginArray begins an array of some elements of a type, which take about so many bytes with the length before each.
func beginArray(element uint32, count, size int) []byte {
	const dimensions, nulls, first = 1, 0, 1
	dst := make([]byte, 0, 20+size)
	for _, n := range []uint32{dimensions, nulls, element, uint32(count), first} {
		dst = binary.BigEndian.AppendUint32(dst, n)
	}
	return dst
}

// appendLength appends the length of an element.
func appendLength(dst []byte, n int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n)) }

// appendNumber appends an element of 8 bytes.
func appendNumber(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(dst, 8), uint64(n))
}
