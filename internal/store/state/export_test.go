package state

import "time"

// On a busy machine with a slow disk many wait longer for their turn.
func init() { lockWait = 5 * time.Minute }
