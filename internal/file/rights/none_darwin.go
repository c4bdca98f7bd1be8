package rights

import "golang.org/x/sys/unix"

// errNone is what the system says of an attribute that is not there.
const errNone = unix.ENOATTR
