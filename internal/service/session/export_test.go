package session

// ProcessStarted is processStarted, OpenExit openExit.
var (
	ProcessStarted = processStarted
	OpenExit       = openExit
)

// Exit is exit, Hosts hosts.
type (
	Exit  = processExit
	Hosts = hostWatcher
)

// NewHosts returns hosts whose processes are opened by open.
func NewHosts(open func(pid int) (Exit, error), ended func()) *Hosts {
	return &hostWatcher{open: open, ended: ended}
}

// Watch, Keep and Close are watch, keep and close.
func (h *hostWatcher) Watch(pid int) bool       { return h.watch(pid) }
func (h *hostWatcher) Keep(wanted map[int]bool) { h.retain(wanted) }
func (h *hostWatcher) Close()                   { h.close() }
