package reexec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Started as a plugin, such a program would run all of itself again.
func TestAProgramThatDoesNotAnswerIsNotStartedAgain(t *testing.T) {
	require.False(t, answers.Load())
	err := Check()
	require.Error(t, err)
	assert.Contains(t, err.Error(), "main function")
	Answers()
	assert.NoError(t, Check())
}
