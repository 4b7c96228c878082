package session

// ProcessStarted is processStarted.
var ProcessStarted = processStarted
