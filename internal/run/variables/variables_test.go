package variables

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithheld(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		said  []string
	}{
		"A":           {"b", nil},
		"DOCKER_HOST": {"unix:///x", []string{"DOCKER_HOST is dropped: the sandbox hides what it leads to"}},
		AgentSocket:   {"/run/other", []string{AgentSocket + " is dropped: the sandbox hides what it leads to"}},
		"GOCACHE":     {"/home/u/.cache", []string{"GOCACHE is replaced: the sandbox lets nothing be written there"}},
		"TMPDIR":      {"/tmp", nil},
		"GOMODCACHE":  {"/ws/x", nil},
	} {
		assert.Equal(t, c.said, Withheld(map[string]string{name: c.value}, []string{"/run/agent"}, "/ws"), name)
	}
	assert.Empty(t, Withheld(map[string]string{AgentSocket: "/run/agent"}, []string{"/run/agent"}))
}
