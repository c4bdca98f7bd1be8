package reexec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAProgramThatDoesNotAnswerIsNotStartedAnew: started as a supervisor or a
// plugin, it would run all of itself again.
func TestAProgramThatDoesNotAnswerIsNotStartedAnew(t *testing.T) {
	require.False(t, answers.Load())
	err := Check()
	require.Error(t, err)
	assert.Contains(t, err.Error(), "main function")
	Answers()
	assert.NoError(t, Check())
}
