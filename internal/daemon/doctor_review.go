package daemon

import (
	"fmt"

	"github.com/memsidecar/memsidecar/internal/rpc"
)

// findReviews counts pending review items.
func (d *daemon) findReviews() rpc.Finding {
	const name = "review"
	n, err := d.reviews.Pending()
	switch {
	case err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: err.Error()}
	case n == 0:
		return ok(name, "no proposed change waits for a decision")
	}
	detail := fmt.Sprintf("%d proposed changes wait for a decision", n)
	if n == 1 {
		detail = "a proposed change waits for a decision"
	}
	return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: detail + "; until then nothing is changed",
		Remedy: "run `memsidecar review`"}
}
