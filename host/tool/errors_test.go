package tool_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/tool"
)

// An error says what happened and what to do next. errors.Is finds its cause and its code.
func ExampleErrorf() {
	err := tool.Errorf(tool.NotFound, "%s cannot be read: %w", "a.txt", fs.ErrNotExist).
		Suggest("Look with list_files for the file that was meant.").
		With("path", "a.txt")
	fmt.Println(err)
	fmt.Println(err.Suggestion)
	fmt.Println(errors.Is(err, fs.ErrNotExist), errors.Is(err, &tool.Error{Code: tool.NotFound}))
	// Output:
	// a.txt cannot be read: file does not exist
	// Look with list_files for the file that was meant.
	// true true
}

func TestAsError(t *testing.T) {
	own := tool.Errorf(tool.Conflict, "changed")
	foreign := errors.New("foreign")
	for _, c := range []struct {
		err  error
		code tool.Code
	}{
		{own, tool.Conflict},
		{fmt.Errorf("outer: %w", own), tool.Conflict},
		{context.DeadlineExceeded, tool.Timeout},
		{fmt.Errorf("outer: %w", context.Canceled), tool.Cancelled},
		{tool.Errorf(tool.Unavailable, "gone: %w", context.Canceled), tool.Unavailable},
		{foreign, tool.Internal},
	} {
		e := tool.AsError(c.err)
		assert.Equal(t, c.code, e.Code, "%v", c.err)
		assert.Equal(t, c.code, tool.CodeOf(c.err))
		assert.NotEmpty(t, e.Message)
	}
	for _, err := range []error{context.DeadlineExceeded, context.Canceled, foreign} {
		assert.ErrorIs(t, tool.AsError(err), err, "the cause is kept")
		assert.NotEmpty(t, tool.AsError(err).Suggestion)
	}
	assert.Nil(t, tool.AsError(nil))
	assert.Empty(t, tool.CodeOf(nil))
}
