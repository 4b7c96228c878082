package jsonstore

// The scan of a file that was published.
var ScanPublished = scanPublished

// ReadPublished reads what a published file shows.
var ReadPublished = readPublished
