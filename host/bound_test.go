package host

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

func TestBoundedErrors(t *testing.T) {
	long := strings.Repeat("ä", 2<<20)
	many := make([]map[string]string, 100_000)
	for i := range many {
		many[i] = map[string]string{"path": "x", "message": "is unknown"}
	}
	huge := make(map[string]any)
	for i := range 20_000 {
		huge[strings.Repeat("k", i%50)+string(rune('a'+i%26))] = long[:100]
	}
	cause := errors.New("why")
	for name, e := range map[string]*tool.Error{
		"message":    tool.Errorf(tool.Internal, "%s", long),
		"suggestion": tool.Errorf(tool.Internal, "x").Suggest("%s", long),
		"text":       tool.Errorf(tool.Internal, "x").With("command", long).With("n", 1),
		"list":       tool.Errorf(tool.Internal, "x").With("violations", many),
		"object":     tool.Errorf(tool.Internal, "x").With("o", map[string]any{"a": long}),
		"all":        {Code: tool.Internal, Message: long, Details: huge},
		"bytes":      tool.Errorf(tool.Internal, "x").With("b", strings.Repeat("\xff", 1<<20)),
	} {
		short := bounded(e)
		data, err := json.Marshal(short)
		require.NoError(t, err)
		assert.Less(t, len(data), 256<<10, name)
		assert.Equal(t, e.Code, short.Code)
		assert.Regexp(t, `left out|more`, string(data), name)
	}
	plain := tool.Errorf(tool.Internal, "short: %w", cause).With("n", 1)
	assert.Same(t, plain, bounded(plain))
	output := tool.Errorf(tool.CommandFailed, "x").With("stdout", long).With("command", long)
	assert.Equal(t, long, bounded(output).Details["stdout"], "the operator's own limit counts for output")
	assert.Less(t, len(bounded(output).Details["command"].(string)), 64<<10)
	output = tool.Errorf(tool.CommandFailed, "failed\n%s", long).With("stdout", long).With("stderr", "")
	assert.Equal(t, output.Message, bounded(output).Message, "for output in the message too")
	output.Message = long + long
	assert.Less(t, len(bounded(output).Message), len(long)+65<<10, "what else the message has is bounded")
	assert.ErrorIs(t, bounded(tool.Errorf(tool.Internal, "%s: %w", long, cause)), cause)
	assert.Equal(t, 1, bounded(tool.Errorf(tool.Internal, "x").With("command", long).With("n", 1)).Details["n"])
}
