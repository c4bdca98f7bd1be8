package rights

import "golang.org/x/sys/unix"

// errNone is the error for a missing attribute.
const errNone = unix.ENODATA
