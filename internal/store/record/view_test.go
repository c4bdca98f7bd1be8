package record

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A record that can be listed but not read, as for a process in the sandbox, is an error.
func TestARecordThatCannotBeRead(t *testing.T) {
	l := &eventLog{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(l.segmentPath(1), 0o700))
	v, err := l.view()
	require.Error(t, err)
	require.Nil(t, v)
}
