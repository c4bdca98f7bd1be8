package pid_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/run/pid"
)

func TestAlive(t *testing.T) {
	for number, want := range map[int]bool{
		os.Getpid():  true,
		os.Getppid(): os.Getppid() > 0, // 0 is one outside of the sandbox
		1 << 30:      false,            // more than systems give
		0:            false,
		-os.Getpid(): false,
	} {
		assert.Equal(t, want, pid.Alive(number), "%d", number)
	}
}
