package session

// ProcessStarted is processStarted, OpenExit openExit.
var (
	ProcessStarted = processStarted
	OpenExit       = openExit
)
