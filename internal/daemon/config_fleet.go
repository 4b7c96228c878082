package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// Fleet makes the daemon a node of a fleet: spaces are opened from a database when they are asked for, and dropped when
// nobody uses them.
type Fleet struct {
	// URL is the address of the database. Key fleet, default none: the daemon is no node.
	URL string
	// Ack is what replies to writes wait for: shared, which is this node and then the database, or local. Key fleet_ack,
	// default shared.
	Ack string
	// Idle is how long nobody uses a space before it is dropped. Key fleet_idle, default 10m.
	Idle time.Duration
	// Bytes is about how much the open spaces may take together, in RAM and on disk, before those that were not used for
	// longest are dropped. Key fleet_bytes, default 1GiB.
	Bytes int64
}

// Defaults of Fleet. fleetHistoryDays is for how many days a node keeps operations: the shared log has them.
const (
	defaultFleetIdle  = 10 * time.Minute
	defaultFleetBytes = 1 << 30
	fleetHistoryDays  = 1
)

// withDefaults returns f with every field that has the zero value set to its default.
func (f Fleet) withDefaults() Fleet {
	setDefault(&f.Ack, string(share.AckShared))
	setDefault(&f.Idle, defaultFleetIdle)
	setDefault(&f.Bytes, defaultFleetBytes)
	return f
}

// fleet is what the sharing of spaces is to do, nil when the daemon is no node.
func (c Config) fleet() *share.Fleet {
	f := c.Fleet
	if f.URL == "" {
		return nil
	}
	return &share.Fleet{URL: f.URL, Ack: share.Ack(f.Ack), Idle: f.Idle, Bytes: f.Bytes, NoReflection: c.ReflectDisabled}
}

// fleetSettings lists the keys of Fleet.
func fleetSettings() []setting {
	return []setting{
		{"fleet", func(c *Config, v string) error { c.Fleet.URL = v; return nil }, func(c Config) string {
			if c.Fleet.URL == "" {
				return ""
			}
			return pglog.Shown(c.Fleet.URL) // it may hold a password
		}},
		{"fleet_ack", func(c *Config, v string) error {
			if v != string(share.AckLocal) && v != string(share.AckShared) {
				return errors.New("must be local or shared")
			}
			c.Fleet.Ack = v
			return nil
		}, func(c Config) string { return c.Fleet.Ack }},
		{"fleet_idle", func(c *Config, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d <= 0 {
				return errors.New("must be a length of time such as 10m")
			}
			c.Fleet.Idle = d
			return nil
		}, func(c Config) string { return c.Fleet.Idle.String() }},
		{"fleet_bytes", func(c *Config, v string) (err error) {
			c.Fleet.Bytes, err = parseBytes(v)
			return err
		}, func(c Config) string { return fmt.Sprint(c.Fleet.Bytes) }},
	}
}

// parseBytes reads a number of bytes such as 512MiB.
func parseBytes(text string) (int64, error) {
	factor := int64(1)
	for _, unit := range []struct {
		name   string
		factor int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			text, factor = number, unit.factor
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 1 || n > (1<<62)/factor {
		return 0, errors.New("must be a number of bytes such as 512MiB")
	}
	return n * factor, nil
}
