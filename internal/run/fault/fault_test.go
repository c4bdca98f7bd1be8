package fault

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/tool"
)

func TestContain(t *testing.T) {
	var logged bytes.Buffer
	log = &logged
	t.Cleanup(func() { log = os.Stderr })
	var told error
	func() {
		defer Contain("worked", func(err error) { told = err })
	}()
	assert.NoError(t, told)
	assert.Empty(t, logged.String())
	func() {
		defer Contain("worked", func(err error) { told = err })
		panic("at the disco")
	}()
	assert.Equal(t, tool.Internal, tool.CodeOf(told))
	assert.ErrorContains(t, told, "while it worked: at the disco")
	assert.Contains(t, logged.String(), "fault_test.go", "the stack")
}
