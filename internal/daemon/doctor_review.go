package daemon

import (
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// findReviews counts pending review items.
func (d *daemon) findReviews() rpc.Finding {
	const name = "review"
	n, err := d.reviews.Pending()
	switch {
	case err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	case n == 0:
		return ok(name, "no proposed change waits for a decision")
	}
	detail := rpc.Say("%d proposed changes wait for a decision; until then nothing is changed", n)
	if n == 1 {
		detail = rpc.Say("a proposed change waits for a decision; until then nothing is changed")
	}
	return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: detail,
		Remedy: rpc.Say("run `memsidecar review`")}
}
