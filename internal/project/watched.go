package project

import (
	"context"
	"os"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// How long a call waits for a user who is looking: clients time out after a minute, and many not
// before.
const (
	waitsForPerson = 50 * time.Second
	lookPause      = 100 * time.Millisecond
	// watchedFor is how long a look counts.
	watchedFor = 4 * time.Second
)

// Wait implements host.Watched.
func (e pendingApprovals) Wait(ctx context.Context, session string, proposal host.Proposal) (host.Verdict, string,
	error) {
	deadline := time.Now().Add(waitsForPerson)
	for watched() && time.Now().Before(deadline) {
		if v, reason, err := e.Take(ctx, session, proposal); v != "" || err != nil {
			return v, reason, err
		}
		select {
		case <-ctx.Done():
			return "", "", nil
		case <-time.After(lookPause):
		}
	}
	return "", "", nil
}

// watched reports whether the user is looking at the waiting calls.
func watched() bool {
	path, err := userdir.Watched()
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()).Abs() < watchedFor
}
