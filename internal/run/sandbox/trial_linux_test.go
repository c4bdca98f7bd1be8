package sandbox

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Whether a level works does not depend on threads that end meanwhile, such as supervisors'.
func TestTrialsBesideThreadsThatEnd(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	if verdict := try(trial{Full, true}, nil); !verdict.Works {
		testneed.Missing(t, verdict.Reason)
	}
	done := make(chan struct{})
	defer close(done)
	for range 4 {
		go func() {
			for ended := make(chan struct{}); ; <-ended {
				select {
				case <-done:
					return
				default:
				}
				go func() {
					runtime.LockOSThread()
					ended <- struct{}{}
				}()
			}
		}()
	}
	for range 10 {
		assert.Equal(t, Verdict{Works: true}, try(trial{Full, true}, nil))
	}
}
