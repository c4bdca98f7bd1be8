package jsonlines_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/text/jsonlines"
)

type seen struct{ messages, invalid, tooLong []string }

func readAll(t *testing.T, limit int, input string) seen {
	t.Helper()
	var s seen
	received, ended := 0, 0
	r := jsonlines.Reader[string]{
		In: strings.NewReader(input), Limit: limit,
		Decode: func(data []byte) (string, error) {
			if !json.Valid(data) {
				return "", errors.New("invalid")
			}
			return string(data), nil
		},
		Invalid: func(data []byte, _ error) { s.invalid = append(s.invalid, string(data)) },
		TooLong: func(id json.RawMessage) (string, bool) {
			s.tooLong = append(s.tooLong, string(id))
			return "instead", string(id) == "7"
		},
		Received: func(string) { received++ },
		Ended:    func() { ended++ },
	}
	r.Start()
	for {
		message, err := r.Read(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		s.messages = append(s.messages, message)
	}
	assert.Len(t, s.messages, received)
	assert.Equal(t, 1, ended)
	return s
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		input string
		want  seen
	}{
		"lines":      {"1\n\n 2 \r\n3", seen{messages: []string{"1", "2", "3"}}},
		"a batch":    {"[1,{\"a\":2}]\n[]\n", seen{messages: []string{"1", `{"a":2}`, "[]"}}}, // Decode refuses an empty one
		"no message": {"starting\n1\n", seen{messages: []string{"1"}, invalid: []string{"starting"}}},
		"too long, id first": {`{"jsonrpc":"2.0","id":7,"result":"` + long + "\"}\n1\n",
			seen{messages: []string{"instead", "1"}, tooLong: []string{"7"}}},
		"too long, id last": {`{"result":"` + long + "\",\"id\":7}\n1\n",
			seen{messages: []string{"instead", "1"}, tooLong: []string{"7"}}},
		"too long, text id": {`{"id": "a", "x":"` + long + "\"}\n1\n",
			seen{messages: []string{"1"}, tooLong: []string{`"a"`}}},
		"too long, inner id": {`{"x":"` + long + "\",\"params\":{\"a\":1,\"id\":7}}\n1\n",
			seen{messages: []string{"1"}, tooLong: []string{""}}},
		"too long, unknown":   {long + "\n1\n", seen{messages: []string{"1"}, tooLong: []string{""}}},
		"too long at the end": {"1\n" + long + "\n", seen{messages: []string{"1"}, tooLong: []string{""}}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, readAll(t, 100<<10, c.input))
		})
	}
}

func TestReadEndsWithItsContextAndWithClose(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	r := jsonlines.Reader[string]{In: in, Limit: 10}
	r.Start()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Read(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.True(t, r.Close())
	assert.False(t, r.Close())
	_, err = r.Read(t.Context())
	assert.ErrorIs(t, err, io.EOF)
}
