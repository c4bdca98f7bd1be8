package ocode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
	"github.com/toolhost/toolhost/internal/toolset/ocode/dotenv"
)

const (
	envFile = ".env"
	// envFileMode is for a new .env, which may hold secrets.
	envFileMode = 0o600
	// maxVariable is Linux's limit for NAME=VALUE and a NUL, in bytes (execve(2), MAX_ARG_STRLEN).
	maxVariable = 128 << 10
)

type envParams struct {
	Action     string  `json:"action"`
	Name       string  `json:"name"`
	Value      *string `json:"value"`
	Persistent bool    `json:"persistent"`
}

func runEnv(ctx context.Context, deps Deps, call *tool.Call, p envParams) (*outcome, error) {
	if err := p.check(deps); err != nil {
		return nil, err
	}
	switch p.Action {
	case "get":
		return p.get(ctx, deps, call)
	case "list":
		return p.list(ctx, deps, call)
	case "set":
		return p.set(ctx, deps, call)
	}
	return p.delete(ctx, deps, call)
}

func (p envParams) check(deps Deps) error {
	needed := tool.EnvRead
	if p.Action == "set" || p.Action == "delete" {
		needed = tool.EnvWrite
	}
	if err := deps.require(needed); err != nil {
		return err
	}
	switch {
	case p.Action == "list":
		return nil
	case p.Name == "":
		return invalid("Name the variable.", "Name is required for action %s", p.Action)
	case !validName(p.Name):
		return invalid("Use letters, digits and underscores, not beginning with a digit.", "Invalid variable name: %q",
			p.Name)
	case p.Action == "set" && p.Value == nil:
		return invalid("Give the value; an empty one is fine.", "Value is required for action set")
	case p.Value != nil && len(p.Name)+len("=")+len(*p.Value) >= maxVariable:
		return tool.Errorf(tool.TooLarge,
			"Invalid value of %s: it has %d bytes, and no program takes a variable of %d or more", p.Name,
			len(*p.Value), maxVariable).
			Suggest("Put it into a file, and the file's path into the variable.")
	case p.Value != nil && strings.ContainsRune(*p.Value, 0):
		return invalid("Give a value without it.", "Invalid value of %s: it contains a NUL byte", p.Name)
	}
	return nil
}

type variable struct{ value, source string }

func (p envParams) variables(ctx context.Context, deps Deps, call *tool.Call) (map[string]variable, error) {
	all := make(map[string]variable)
	if !p.Persistent {
		for _, pair := range proc.Environ(nil) {
			name, value, _ := strings.Cut(pair, "=")
			all[name] = variable{value, "inherited"}
		}
	}
	saved, err := readEnvFile(deps.Workspace)
	if err != nil {
		return nil, err
	}
	for name, value := range saved {
		all[name] = variable{value, envFile}
	}
	if p.Persistent {
		return all, nil
	}
	session, err := sessionVariables(ctx, call)
	if err != nil {
		return nil, err
	}
	for name, value := range session {
		all[name] = variable{value, "session"}
	}
	return all, nil
}

// readEnvFile reads .env. A missing file is empty.
func readEnvFile(ws *workspace.Workspace) (map[string]string, error) {
	text, _, err := ws.ReadFile(envFile, 0)
	if tool.CodeOf(err) == tool.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, pathError(err, envFile)
	}
	vars, err := dotenv.Read(text)
	if err != nil {
		return nil, envFileError(err)
	}
	return vars, nil
}

func envFileError(err error) error {
	if errors.Is(err, dotenv.ErrValue) {
		return tool.Errorf(tool.InvalidArgument, "Invalid value for %s: %w", envFile, err).
			Suggest("Leave persistent out to set it only for this session, or give it another form: a line break " +
				"together with a backslash at the end cannot be written.")
	}
	return tool.Errorf(tool.InvalidArgument, "Invalid %s: %w", envFile, err).
		Suggest("Write lines of the form NAME=value into it, with quotes around values that hold blanks.")
}

func (p envParams) get(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	all, err := p.variables(ctx, deps, call)
	if err != nil {
		return nil, err
	}
	v, ok := all[p.Name]
	if !ok {
		where := "set"
		if p.Persistent {
			where = "in " + envFile
		}
		return nil, tool.Errorf(tool.NotFound, "Variable not %s: %s", where, p.Name).
			Suggest("Action list shows the variables that there are. Variables of the host that commands do not " +
				"inherit are not among them.")
	}
	return &outcome{output: v.value, metadata: facts{"name": p.Name, "source": v.source}}, nil
}

func (p envParams) list(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	all, err := p.variables(ctx, deps, call)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(all))
	lines, hidden := make([]string, len(names)), 0
	for i, name := range names {
		value := all[name].value
		if secretName(name) && value != "" {
			value = "[hidden]"
			hidden++
		}
		lines[i] = name + "=" + strings.ReplaceAll(value, "\n", `\n`)
	}
	o := &outcome{output: strings.Join(lines, "\n"),
		metadata: facts{"count": len(names), "names": append([]string{}, names...)}}
	if len(names) == 0 {
		o.output = "No variables"
	}
	if hidden > 0 {
		o.set("hidden", hidden)
		o.output += fmt.Sprintf("\n(hidden, as they may be secret: %d; action get shows one)", hidden)
	}
	return o, nil
}

func (p envParams) set(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	o := &outcome{output: fmt.Sprintf("Set %s for this session", p.Name),
		metadata: facts{"name": p.Name, "source": "session"}}
	if p.Persistent {
		if err := p.save(deps.Workspace); err != nil {
			return nil, err
		}
		o.output = fmt.Sprintf("Set %s in %s", p.Name, envFile)
		o.set("source", envFile)
		o.set("file", envFile)
		o.Files = []string{envFile}
	}
	if _, err := changeSession(ctx, call, p.Name, p.Value); err != nil {
		if !p.Persistent {
			return nil, err
		}
		o.warn(fmt.Sprintf("it is not set for this session's commands: %v", err))
	}
	return o, nil
}

func (p envParams) save(ws *workspace.Workspace) error {
	change := func(old []byte) ([]byte, error) {
		text, err := dotenv.Set(old, p.Name, *p.Value)
		if err != nil {
			return nil, envFileError(err)
		}
		return text, nil
	}
	err := ws.Update(envFile, func(old []byte, _ fs.FileInfo) ([]byte, error) { return change(old) })
	if tool.CodeOf(err) == tool.NotFound {
		var text []byte
		if text, err = change(nil); err == nil {
			_, err = ws.WriteFile(envFile, text, workspace.WriteOptions{Mode: envFileMode, Exclusive: true})
		}
	}
	if err != nil {
		return pathError(err, envFile)
	}
	return nil
}

func (p envParams) delete(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	o := &outcome{output: fmt.Sprintf("Deleted %s", p.Name), metadata: facts{"name": p.Name, "source": "session"}}
	found := false
	if p.Persistent {
		err := deps.Workspace.Update(envFile, func(old []byte, _ fs.FileInfo) (text []byte, err error) {
			if text, found, err = dotenv.Delete(old, p.Name); err != nil {
				return nil, envFileError(err)
			}
			return text, nil
		})
		if err != nil && tool.CodeOf(err) != tool.NotFound {
			return nil, pathError(err, envFile)
		}
		if found {
			o.set("source", envFile)
			o.set("file", envFile)
			o.Files = []string{envFile}
		}
	}
	was, err := changeSession(ctx, call, p.Name, nil)
	if err != nil && !found {
		return nil, err
	}
	if !was && !found {
		return nil, p.nothingToDelete()
	}
	return o, nil
}

func (p envParams) nothingToDelete() error {
	where, how := "in this session",
		"Only variables that were set with the env tool can be deleted; with persistent also those of .env."
	if p.Persistent {
		where, how = "in "+envFile+" or this session", "Action list with persistent shows what is in .env."
	}
	return tool.Errorf(tool.NotFound, "Variable not set %s: %s", where, p.Name).Suggest("%s", how)
}

const variablesKey = "environment"

var variableName = regexlimit.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

func validName(name string) bool { return variableName().MatchString(name) }

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

// changeSession sets a variable of the session, removes it if value is nil, and returns whether it existed.
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

// secretName reports whether a variable of that name likely holds a secret.
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
