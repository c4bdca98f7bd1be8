package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/plugins/conformance"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// TestMain makes the test binary the checked plugins.
func TestMain(m *testing.M) {
	if kind := os.Getenv("KIT_PLUGIN"); kind != "" {
		serve(kind)
		return
	}
	os.Exit(m.Run())
}

type settings struct {
	Greeting string `json:"greeting" default:"Hello"`
}

type input struct {
	Name string `json:"name"`
}

type output struct {
	Text string `json:"text"`
}

func example(params string) []sdk.Example { return []sdk.Example{{Params: json.RawMessage(params)}} }

func greet(ctx context.Context, call *sdk.Call, in input) (output, error) {
	call.Progress(ctx, sdk.Progress{Message: "greeting"})
	return output{"Hello, " + in.Name}, nil
}

func count(ctx context.Context, call *sdk.Call, _ struct{}) (output, error) {
	n := 0
	err := call.State(sdk.SessionScope).Update(ctx, "n", func(old []byte) ([]byte, error) {
		n, _ = strconv.Atoi(string(old))
		n++
		return []byte(strconv.Itoa(n)), nil
	})
	return output{strconv.Itoa(n)}, err
}

func good() sdk.Plugin {
	return sdk.Plugin{
		Name: "good", Version: "1.0.0", ConfigSchema: sdk.Schema[settings](), Services: []sdk.Service{sdk.ServiceState},
		Configure: func(_ context.Context, env sdk.Env) ([]sdk.Tool, error) {
			var s settings
			return nil, env.Decode(&s)
		},
		Tools: []sdk.Tool{
			sdk.Func(sdk.Definition{Name: "greet", Description: "Greet. Returns: text.", Risk: sdk.ReadOnly,
				Examples: example(`{"name":"Ada"}`)}, greet),
			sdk.Func(sdk.Definition{Name: "count", Description: "Count. Returns: text.", Risk: sdk.ReadOnly,
				Examples: example(`{}`)}, count),
		},
	}
}

// wrong is a tool that does not do what it says.
type wrong struct {
	definition sdk.Definition
	call       func(context.Context, *sdk.Call) (*sdk.Result, error)
}

func (w wrong) Definition() *sdk.Definition { return &w.definition }
func (w wrong) Call(ctx context.Context, call *sdk.Call) (*sdk.Result, error) {
	return w.call(ctx, call)
}

func with(change func(*wrong)) sdk.Plugin {
	w := wrong{definition: sdk.Definition{Name: "tool", Description: "Do. Returns: it.", Risk: sdk.ReadOnly,
		Parameters: json.RawMessage(`{"type":"object"}`), Examples: example(`{}`)},
		call: func(context.Context, *sdk.Call) (*sdk.Result, error) { return sdk.Text("done"), nil }}
	change(&w)
	return sdk.Plugin{Name: "wrong", Version: "1", Tools: []sdk.Tool{w}}
}

func serve(kind string) {
	switch kind {
	case "good":
		sdk.Serve(good())
	case "ends at once":
		fmt.Fprintln(os.Stderr, "no database")
		os.Exit(1)
	case "elsewhere":
		l, _ := net.Listen("unix", filepath.Join(os.TempDir(), "kit-elsewhere-"+strconv.Itoa(os.Getpid())))
		defer l.Close()
		fmt.Printf("1|2|unix|%s|grpc|\n", l.Addr())
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "no cookie":
		os.Setenv("TOOLHOST_PLUGIN", "toolhost.plugin")
		sdk.Serve(good())
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		os.Stdin, _ = os.Open(os.DevNull)
		sdk.Serve(good())
	case "noisy":
		fmt.Println("welcome")
		sdk.Serve(good())
	case "undeclared":
		p := good()
		p.Services = nil
		sdk.Serve(p)
	case "no such service":
		p := good()
		p.Services = append(p.Services, "telepathy")
		sdk.Serve(p)
	case "careless definition":
		sdk.Serve(with(func(w *wrong) {
			w.definition.Description = "Do."
			w.definition.Parameters = json.RawMessage(`{"type":"array"}`)
			w.definition.Examples = example(`[]`)
		}))
	case "no example":
		sdk.Serve(with(func(w *wrong) { w.definition.Examples = nil }))
	case "other result":
		sdk.Serve(with(func(w *wrong) {
			w.definition.Returns = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
			w.call = func(context.Context, *sdk.Call) (*sdk.Result, error) {
				return sdk.JSON(map[string]string{"n": "one"}), nil
			}
		}))
	case "dies of bad parameters":
		sdk.Serve(with(func(w *wrong) {
			w.call = func(_ context.Context, call *sdk.Call) (*sdk.Result, error) {
				if !json.Valid(call.Params) {
					os.Exit(1)
				}
				return sdk.Text("done"), nil
			}
		}))
	case "deaf to cancel":
		sdk.Serve(with(func(w *wrong) {
			w.call = func(ctx context.Context, _ *sdk.Call) (*sdk.Result, error) {
				select {
				case <-ctx.Done():
					time.Sleep(time.Minute)
				case <-time.After(200 * time.Millisecond): // by then the kit has cancelled its call
				}
				return sdk.Text("done"), nil
			}
		}))
	}
}

func run(t *testing.T, kind string, timeout time.Duration) *conformance.Report {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	r, err := conformance.Run(t.Context(),
		conformance.Options{Path: program, Env: map[string]string{"KIT_PLUGIN": kind}, Timeout: timeout})
	require.NoError(t, err)
	return r
}

func failed(r *conformance.Report) map[string]string {
	out := make(map[string]string)
	for _, c := range r.Checks {
		if c.Outcome == conformance.Fail {
			out[c.Name] = c.Detail
		}
	}
	return out
}

func TestGoodPlugin(t *testing.T) {
	r := run(t, "good", time.Minute)
	assert.Empty(t, failed(r))
	assert.True(t, r.OK())
	assert.Equal(t, "good", r.Plugin)
	assert.Equal(t, 2, r.Protocol)
	var skipped []string
	for _, c := range r.Checks {
		if c.Outcome == conformance.Skip {
			skipped = append(skipped, c.Name)
		}
		assert.NotEmpty(t, c.Wants)
	}
	assert.Equal(t, []string{"call.plans"}, skipped)
	assert.Equal(t, len(r.Checks), r.Passed+r.Skipped)
}

// Each plugin has one fault, which must be found.
func TestWrongPlugins(t *testing.T) {
	for kind, wants := range map[string]map[string]string{
		"ends at once":           {"start.handshake": "ended before the handshake; it printed: no database"},
		"elsewhere":              {"start.socket": "outside"},
		"no cookie":              {"start.cookie": "it still runs"},
		"stubborn":               {"end.stdin": "it still runs", "end.term": "it still runs"},
		"noisy":                  {"output.quiet": `the first: "welcome"`},
		"undeclared":             {"call.declared": "uses the service state without having declared it"},
		"no such service":        {"tools.services": `there is no service "telepathy"`},
		"careless definition":    {"tools.definitions": "has to be object", "tools.examples": "tool"},
		"no example":             {"tools.examples": "no tool has an example"},
		"other result":           {"call.results": "n"},
		"dies of bad parameters": {"call.bad_params": "EOF"},
		"deaf to cancel":         {"call.cancel": "no answer within"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if slices.Contains([]string{"elsewhere", "no cookie", "stubborn", "deaf to cancel"}, kind) {
				testneed.NotShort(t, "waits for a limit of seconds")
				limit = 3 * time.Second
			}
			r := run(t, kind, limit)
			for limit < time.Minute && !shows(r, wants) { // maybe too little for a busy machine
				limit *= 3
				r = run(t, kind, limit)
			}
			assert.False(t, r.OK())
			found := failed(r)
			for name, detail := range wants {
				if detail == "EOF" { // a broken connection's message depends on when it broke
					assert.Contains(t, found, name)
					continue
				}
				assert.Contains(t, found[name], detail, name)
			}
		})
	}
}

// shows reports whether the wanted checks failed as wanted.
func shows(r *conformance.Report, wants map[string]string) bool {
	found := failed(r)
	for name, detail := range wants {
		if !strings.Contains(found[name], detail) {
			return false
		}
	}
	return true
}

func TestProgramsThatAreNone(t *testing.T) {
	for _, path := range []string{"/nowhere", t.TempDir()} {
		_, err := conformance.Run(t.Context(), conformance.Options{Path: path})
		assert.ErrorContains(t, err, "is not a program")
	}
}

func TestChecksHaveNamesOfTheirOwn(t *testing.T) {
	r := run(t, "ends at once", time.Minute)
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	assert.Equal(t, len(names), len(slices.Compact(names)))
}
