package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/matching"
)

// variablesKey is the state key of a session's variables.
const variablesKey = "environment"

var variableName = matching.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

func validName(name string) bool { return variableName().MatchString(name) }

// sessionVariables are the variables that were set in this session.
func sessionVariables(ctx context.Context, call *tool.Call) (map[string]string, error) {
	vars := make(map[string]string)
	raw, ok, err := call.State(tool.SessionScope).Get(ctx, variablesKey)
	if err != nil {
		if tool.CodeOf(err) == tool.Unavailable && call.Host == nil {
			return vars, nil
		}
		return nil, err
	}
	if !ok {
		return vars, nil
	}
	if err := json.Unmarshal(raw, &vars); err != nil {
		return nil, fmt.Errorf("the session's variables: %w", err)
	}
	return vars, nil
}

// changeSession sets a variable of the session, or removes it when value is
// nil, and tells whether it was there.
func changeSession(ctx context.Context, call *tool.Call, name string, value *string) (was bool, err error) {
	err = call.State(tool.SessionScope).Update(ctx, variablesKey, func(old []byte) ([]byte, error) {
		vars := make(map[string]string)
		if old != nil {
			if err := json.Unmarshal(old, &vars); err != nil {
				return nil, fmt.Errorf("the session's variables: %w", err)
			}
		}
		_, was = vars[name]
		if value == nil {
			delete(vars, name)
		} else {
			vars[name] = *value
		}
		return tool.MustMarshal(vars), nil
	})
	return was, err
}

// sortedKeys gives the names of variables in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// secretName tells the name of a variable whose value is likely a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "PRIVATE",
		"CREDENTIAL", "ACCESS_KEY", "AUTH"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "_KEY") || name == "KEY"
}
