package daemon

import (
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
)

// maxNamedSecrets is how many memories the finding names.
const maxNamedSecrets = 5

// findSecrets reports memories that look as if they hold a secret: a person wrote it into a published file, somebody
// insisted, or it was stored before a rule was known. It names memories and kinds, never what stands there.
func (d *daemon) findSecrets() rpc.Finding {
	var found []string
	n := 0
	for _, space := range d.store.Spaces() {
		for _, m := range d.store.Space(space).Memories() {
			kinds := memorysvc.SecretsIn(m)
			if kinds == "" {
				continue
			}
			if n++; n <= maxNamedSecrets {
				found = append(found, fmt.Sprintf("%s of %s (%s)", m.ID, space, kinds))
			}
		}
	}
	if n == 0 {
		return ok("secrets", "no memory looks as if it held one")
	}
	if n > maxNamedSecrets {
		found = append(found, "…")
	}
	return rpc.Finding{Name: "secrets", Level: rpc.LevelWarn,
		Detail: fmt.Sprintf("%d memories look as if they held a secret: %s", n, strings.Join(found, ", ")),
		Remedy: "look with `memsidecar get ID`; `memsidecar update ID --content …` writes the text anew, and " +
			"`memsidecar purge` erases a text from every file. No agent is shown it meanwhile"}
}
