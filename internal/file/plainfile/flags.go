package plainfile

import "golang.org/x/sys/unix"

const noWaiting = unix.O_NONBLOCK | unix.O_NOCTTY
