package socketpath

// CheckPrivate is the check of the fallback directory.
var CheckPrivate = checkPrivate
