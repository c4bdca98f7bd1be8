package mcpserve

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/assert"
)

func TestBoundedError(t *testing.T) {
	long := strings.Repeat("x", mostError)
	assert.NoError(t, boundedError(nil))
	for name, tt := range map[string]struct {
		err  error
		code int64
		kept bool
	}{
		"a message of the greatest length": {errors.New(long), jsonrpc.CodeInternalError, true},
		"a message that is longer":         {errors.New(long + "x"), jsonrpc.CodeInternalError, false},
		"the code stays": {&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: long + "x"},
			jsonrpc.CodeInvalidParams, false},
		"data of the greatest length": {&jsonrpc.Error{Code: 7, Message: "m",
			Data: json.RawMessage(`"` + long[2:] + `"`)}, 7, true},
		"data that are longer": {&jsonrpc.Error{Code: 7, Message: "m",
			Data: json.RawMessage(`"` + long[1:] + `"`)}, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := boundedError(tt.err)
			if tt.kept {
				assert.Same(t, tt.err, got)
				return
			}
			wire, ok := errors.AsType[*jsonrpc.Error](got)
			if assert.True(t, ok) {
				assert.Equal(t, tt.code, int64(wire.Code))
				assert.LessOrEqual(t, len(wire.Message), mostError+len("…"))
				assert.Empty(t, wire.Data)
			}
		})
	}
}
