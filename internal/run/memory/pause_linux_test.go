package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPauseOnABusyMachine(t *testing.T) {
	for look, want := range map[time.Duration]time.Duration{
		time.Millisecond:      200 * time.Millisecond,
		10 * time.Millisecond: 500 * time.Millisecond,
		time.Minute:           time.Second,
	} {
		assert.Equal(t, want, pauseAfter(look), look)
	}
}
