package state

import "time"

// On a busy machine with a slow disk many processes wait longer.
func init() { lockWait = 5 * time.Minute }
