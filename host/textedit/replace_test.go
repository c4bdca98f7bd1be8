package textedit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplaceTakesTheEndingsOfTheFile(t *testing.T) {
	r, err := Replace([]byte("a\r\nb\r\nc"), "a\nb", "a\nX\nb", ReplaceOptions{})
	require.NoError(t, err)
	assert.Equal(t, "a\r\nX\r\nb\r\nc", string(r.Data))
}
