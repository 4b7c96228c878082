package jsonstore

// The scan of a file that was published.
var ScanPublished = scanPublished
