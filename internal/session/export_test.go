package session

// ProcessStarted is processStarted, OpenExit openExit.
var (
	ProcessStarted = processStarted
	OpenExit       = openExit
)

// Exit is exit, Hosts hosts.
type (
	Exit  = exit
	Hosts = hosts
)

// NewHosts returns hosts whose processes are opened by open.
func NewHosts(open func(pid int) (Exit, error), ended func()) *Hosts {
	return &hosts{open: open, ended: ended}
}

// Watch, Keep and Close are watch, keep and close.
func (h *hosts) Watch(pid int) bool       { return h.watch(pid) }
func (h *hosts) Keep(wanted map[int]bool) { h.keep(wanted) }
func (h *hosts) Close()                   { h.close() }
