package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Bounds of running toolhost.
const (
	askTime   = 2 * time.Minute
	mostAsked = 64 << 20
)

// asking bounds the programs running at the same time.
var asking = proc.NewLimit(4)

// ask runs toolhost in a workspace and returns its output, or its error.
func (s *Server) ask(ctx context.Context, found *space, flags []string, stdin []byte, args ...string) ([]byte, int,
	error) {
	return s.askWithin(ctx, asking, found, flags, stdin, args...)
}

func (s *Server) askWithin(ctx context.Context, limit *proc.Limit, found *space, flags []string, stdin []byte,
	args ...string) ([]byte, int, error) {
	argv := slices.Concat([]string{s.options.Toolhost}, flags, []string{"--color", "never"}, args)
	result, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: found.root, Env: os.Environ(), Stdin: stdin,
		Timeout: askTime, Cap: mostAsked, Limit: limit})
	if err != nil {
		return nil, 0, tool.Errorf(tool.Unavailable, "toolhost cannot be asked: %w", err).
			Suggest("Check that %s can be run in %s.", show.Page.Word(s.options.Toolhost), show.Page.Word(found.root))
	}
	if result.TimedOut || result.Stdout.Truncated() {
		return nil, 0, tool.Errorf(tool.Unavailable, "toolhost %s took too long, or printed too much", args[0]).
			Suggest("Run it in a terminal.")
	}
	out := []byte(result.Stdout.String())
	if result.ExitCode == 0 {
		return out, 0, nil
	}
	return out, result.ExitCode, toldError(out, result.Stderr.String(), args[0])
}

func toldError(out []byte, printed, command string) error {
	var told struct {
		Error *struct {
			Code       tool.Code `json:"code"`
			Message    string    `json:"message"`
			Suggestion string    `json:"suggestion"`
		} `json:"error"`
	}
	if json.Unmarshal(out, &told) == nil && told.Error != nil {
		return tool.Errorf(told.Error.Code, "%s", told.Error.Message).Suggest("%s", told.Error.Suggestion)
	}
	return tool.Errorf(tool.Unavailable, "toolhost %s failed: %s", command, show.Text(printed)).
		Suggest("Run it in a terminal in this workspace.")
}

// askJSON is ask for JSON output.
func (s *Server) askJSON(ctx context.Context, found *space, flags []string, v any, args ...string) error {
	out, _, err := s.ask(ctx, found, flags, nil, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, v); err != nil {
		return tool.Errorf(tool.Unavailable, "toolhost %s does not print JSON: %w", args[0], err).
			Suggest("Install toolhost and toolhost-console of one version.")
	}
	return nil
}

func digestOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		one := sha256.Sum256(part)
		sum.Write(one[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// shownJSON makes every text in JSON harmless, names too.
func shownJSON(data json.RawMessage) json.RawMessage {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if len(data) == 0 || decoder.Decode(&v) != nil {
		return nil
	}
	return tool.MustMarshal(shownValue(v))
}

func shownValue(v any) any {
	switch v := v.(type) {
	case string:
		return show.Text(v)
	case []any:
		for i := range v {
			v[i] = shownValue(v[i])
		}
		return v
	case map[string]any:
		shown := make(map[string]any, len(v))
		for name, value := range v {
			shown[show.Page.Line(name)] = shownValue(value)
		}
		return shown
	}
	return v
}

func paramsOf(params json.RawMessage) (all []show.Param) {
	var values map[string]json.RawMessage
	if json.Unmarshal(params, &values) != nil {
		return []show.Param{{Name: "params", Value: params}}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, show.Param{Name: name, Value: values[name]})
	}
	return all
}
