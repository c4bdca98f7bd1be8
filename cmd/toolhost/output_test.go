package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/face/show"
)

// A terminal gets the colours of mistakes in agent.hcl as sequences, not escaped.
func TestColoursOfMistakes(t *testing.T) {
	_, found := config.Parse("agent.hcl", []byte("tool \"x\" {\n  comand = [\"true\"]\n}\n"), config.LoadOptions{})
	require.NotEmpty(t, found)
	var plain, shown bytes.Buffer
	require.NoError(t, found.Write(&plain, true))
	w := show.Writer{To: &shown, Pass: colours}
	_, err := w.Write(plain.Bytes())
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	assert.Contains(t, plain.String(), "\x1b[1;4m")
	assert.Equal(t, plain.String(), shown.String())
}
