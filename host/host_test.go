package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// fake is a tool whose behaviour a test sets.
type fake struct {
	def  tool.Definition
	call func(ctx context.Context, c *tool.Call) (*tool.Result, error)
	plan func(ctx context.Context, c *tool.Call) (*tool.Plan, error)
}

func (f *fake) Definition() *tool.Definition { return &f.def }

func (f *fake) Call(ctx context.Context, c *tool.Call) (*tool.Result, error) { return f.call(ctx, c) }

func (f *fake) Plan(ctx context.Context, c *tool.Call) (*tool.Plan, error) {
	if f.plan == nil {
		return nil, tool.Errorf(tool.Unsupported, "no plan")
	}
	return f.plan(ctx, c)
}

func newFake(name string, call func(context.Context, *tool.Call) (*tool.Result, error)) *fake {
	return &fake{def: tool.Definition{Name: name, Description: "A tool of the tests. Returns: text.",
		Risk: tool.ReadOnly}, call: call}
}

func echo(name string) *fake {
	f := newFake(name,
		func(_ context.Context, c *tool.Call) (*tool.Result, error) { return tool.Text(string(c.Params)), nil })
	f.def.Parameters = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},` +
		`"times":{"type":"integer","default":1}},"required":["text"],"additionalProperties":false}`)
	return f
}

type list struct {
	name  string
	tools []tool.Tool
	err   error
}

func (l list) Name() string { return l.name }

func (l list) Tools(context.Context) ([]tool.Tool, error) { return l.tools, l.err }

func newHost(t *testing.T, o host.Options, tools ...tool.Tool) *host.Host {
	t.Helper()
	o.Root = t.TempDir()
	if o.Sources == nil {
		o.Sources = []host.Source{list{name: "test", tools: tools}}
	}
	h, err := host.New(t.Context(), o)
	require.NoError(t, err)
	return h
}

func TestCallGivesTheToolsResult(t *testing.T) {
	h := newHost(t, host.Options{}, echo("echo"))
	out := h.Session("s").Call(t.Context(), host.Request{Tool: "echo", Params: json.RawMessage(`{"text":"e\u0301"}`)})
	require.Nil(t, out.Err)
	assert.JSONEq(t, `{"text":"e\u0301","times":1}`, out.Result.Text())
	assert.Equal(t, "test", out.Source)
	assert.Equal(t, 1, out.Step)
	assert.Equal(t, "tool_step_0001", out.RequestID)
}

func TestCallErrors(t *testing.T) {
	crash := newFake("crash", func(context.Context, *tool.Call) (*tool.Result, error) { panic("boom") })
	silent := newFake("silent", func(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil })
	plain := newFake("plain", func(context.Context, *tool.Call) (*tool.Result, error) { return nil, errors.New("odd") })
	broken := echo("broken")
	broken.def.Parameters = json.RawMessage(`{"properties":{"a":{"pattern":"("}}}`)
	slow := newFake("slow", func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	slow.def.Timeout = 10 * time.Millisecond

	tests := map[string]struct {
		tool, params string
		code         tool.Code
		message      string
		suggestion   string
	}{
		"unknown tool": {"ecko", `{}`, tool.NotFound, `no tool named "ecko"`, `Did you mean "echo"?`},
		"all wrong at once": {"echo", `{"times":"x","txt":1}`, tool.InvalidArgument, "text: is required",
			"toolhost describe echo"},
		"broken JSON":        {"echo", `{"text":`, tool.InvalidArgument, "not valid JSON", ""},
		"not UTF-8":          {"echo", "{\"text\":\"\xff\",\"times\":\"2\"}", tool.InvalidArgument, "text: is not Unicode text", ""},
		"panic":              {"crash", ``, tool.Internal, "crash panicked: boom", "Other tools work on"},
		"neither nor":        {"silent", ``, tool.Internal, "neither a result nor an error", ""},
		"foreign error":      {"plain", ``, tool.Internal, "odd", ""},
		"broken schema":      {"broken", `{}`, tool.Unavailable, "broken parameter schema", ""},
		"over its timeout":   {"slow", ``, tool.Timeout, "did not finish within 10ms", ""},
		"empty name of tool": {"", ``, tool.NotFound, `no tool named ""`, ""},
	}
	h := newHost(t, host.Options{}, echo("echo"), crash, silent, plain, broken, slow)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out := h.Session("s").Call(t.Context(), host.Request{Tool: tt.tool, Params: json.RawMessage(tt.params)})
			require.NotNil(t, out.Err)
			assert.Equal(t, tt.code, out.Err.Code)
			assert.Contains(t, out.Err.Message, tt.message)
			assert.Contains(t, out.Err.Suggestion, tt.suggestion)
			assert.NotEmpty(t, out.Err.Suggestion)
			assert.Contains(t, out.Result.Text(), tt.message)
			assert.NotContains(t, out.Err.Details, "stack")
			recorded, err := json.Marshal(out.Given)
			require.NoError(t, err)
			assert.True(t, utf8.Valid(recorded))
		})
	}
	out := h.Session("s").Call(t.Context(),
		host.Request{Tool: "echo", Params: json.RawMessage(`{"times":"x","txt":1}`)})
	for _, name := range []string{"text: is required", "times: must be an integer",
		`txt: is not a known parameter; did you mean "text"?`} {
		assert.Contains(t, out.Err.Message, name)
	}
}

func TestCancelledCall(t *testing.T) {
	started := make(chan struct{})
	slow := newFake("slow", func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	h := newHost(t, host.Options{}, slow)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	out := h.Session("s").Call(ctx, host.Request{Tool: "slow"})
	require.NotNil(t, out.Err)
	assert.Equal(t, tool.Cancelled, out.Err.Code)
}

func TestJudge(t *testing.T) {
	var ran atomic.Int64
	write := newFake("write", func(context.Context, *tool.Call) (*tool.Result, error) {
		ran.Add(1)
		return tool.Text("done"), nil
	})
	write.plan = func(context.Context, *tool.Call) (*tool.Plan, error) {
		return &tool.Plan{FilesAffected: []string{"a.txt"}, Preview: "+new"}, nil
	}
	action := host.Ask
	var remembered []host.Proposal
	h := newHost(t, host.Options{
		Judge: func(context.Context, host.Proposal) host.Decision {
			return host.Decision{Action: action, Rule: "r1", Reason: "it writes"}
		},
		Remember: func(_ context.Context, p host.Proposal) error { remembered = append(remembered, p); return nil },
	}, write)
	s := h.Session("s")

	out := s.Call(t.Context(), host.Request{Tool: "write", CanAsk: true})
	require.NotNil(t, out.Input, "the user is asked")
	assert.True(t, host.IsApproval(out.Input))
	assert.Equal(t, "+new", out.Plan.Preview, "with the plan")
	assert.Zero(t, ran.Load(), "nothing runs before the answer")

	again := host.Request{Tool: "write", CanAsk: true, ID: out.RequestID, Step: out.Step}
	again.Answers = map[string]tool.Answer{out.Input.Key: host.Approval(host.Refuse, "no need")}
	refused := s.Call(t.Context(), again)
	assert.Equal(t, tool.Denied, refused.Err.Code)
	assert.Contains(t, refused.Err.Message, "no need")
	assert.Zero(t, ran.Load())

	again.Answers = map[string]tool.Answer{out.Input.Key: host.Approval(host.ApproveAlways, "")}
	approved := s.Call(t.Context(), again)
	require.Nil(t, approved.Err)
	assert.EqualValues(t, 1, ran.Load())
	assert.Equal(t, out.Step, approved.Step, "the answered call is the same step")
	require.Len(t, remembered, 1)
	assert.Equal(t, "write", remembered[0].Tool)

	alone := s.Call(t.Context(), host.Request{Tool: "write", HowToApprove: "Say please."})
	assert.Equal(t, tool.Denied, alone.Err.Code)
	assert.Contains(t, alone.Err.Message, "no one is there to ask")
	assert.Equal(t, "Say please.", alone.Err.Suggestion)

	action = host.Deny
	denied := s.Call(t.Context(), host.Request{Tool: "write", CanAsk: true})
	assert.Equal(t, tool.Denied, denied.Err.Code)
	assert.Equal(t, "r1", denied.Err.Details["rule"])

	action = ""
	assert.Equal(t, tool.Denied, s.Call(t.Context(), host.Request{Tool: "write"}).Err.Code, "no decision is a refusal")
	assert.EqualValues(t, 1, ran.Load())
}

func TestDryRunPlansAndDoesNotRun(t *testing.T) {
	write := newFake("write", func(context.Context, *tool.Call) (*tool.Result, error) {
		t.Error("ran")
		return tool.Text(""), nil
	})
	write.plan = func(context.Context, *tool.Call) (*tool.Plan, error) {
		return &tool.Plan{FilesAffected: []string{"a.txt"}}, nil
	}
	h := newHost(t, host.Options{}, write)
	out := h.Session("s").Call(t.Context(), host.Request{Tool: "write", DryRun: true})
	assert.Nil(t, out.Err)
	assert.Nil(t, out.Result)
	assert.Equal(t, []string{"a.txt"}, out.Plan.FilesAffected)
}

func TestAskIsReentrant(t *testing.T) {
	asking := newFake("asking", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		a, err := c.Ask(ctx, "colour", tool.Form{Message: "Which colour?"})
		if err != nil {
			return nil, err
		}
		return tool.Text(string(a.Content)), nil
	})
	h := newHost(t, host.Options{}, asking)
	s := h.Session("s")
	out := s.Call(t.Context(), host.Request{Tool: "asking", CanAsk: true})
	require.NotNil(t, out.Input)
	assert.Equal(t, "Which colour?", out.Input.Form.Message)
	out = s.Call(t.Context(), host.Request{Tool: "asking", CanAsk: true, Answers: map[string]tool.Answer{
		"colour": {Action: "accept", Content: json.RawMessage(`"red"`)},
	}})
	assert.Equal(t, `"red"`, out.Result.Text())
	assert.Equal(t, tool.Unavailable, s.Call(t.Context(), host.Request{Tool: "asking"}).Err.Code)
}

func TestToolsCallToolsUpToADepth(t *testing.T) {
	var depth atomic.Int64
	loop := newFake("loop", nil)
	loop.call = func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		depth.Add(1)
		return c.CallTool(ctx, "loop", nil)
	}
	h := newHost(t, host.Options{Limits: host.Limits{InFlight: 1}}, loop)
	out := h.Session("s").Call(t.Context(), host.Request{Tool: "loop"})
	require.NotNil(t, out.Err)
	assert.Equal(t, tool.Blocked, out.Err.Code)
	assert.EqualValues(t, 9, depth.Load())
}

func TestStateIsApartBySourceScopeAndSession(t *testing.T) {
	set := newFake("set", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		err := c.State(tool.SessionScope).Update(ctx, "n",
			func(old []byte) ([]byte, error) { return append(old, 'x'), nil })
		return tool.Text("ok"), err
	})
	get := newFake("get", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		v, ok, err := c.State(tool.SessionScope).Get(ctx, "n")
		return tool.Textf("%s %v", v, ok), err
	})
	h := newHost(t, host.Options{Sources: []host.Source{list{name: "a", tools: []tool.Tool{set, get}}}})
	one, two := h.Session("one"), h.Session("two")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { one.Call(t.Context(), host.Request{Tool: "set"}) })
	}
	wg.Wait()
	v := one.Call(t.Context(), host.Request{Tool: "get"}).Result.Text()
	assert.Len(t, v, 50+len(" true"))
	assert.Equal(t, " false", two.Call(t.Context(), host.Request{Tool: "get"}).Result.Text())
}

func TestCallsInFlightAreBounded(t *testing.T) {
	var now, most atomic.Int64
	gate := make(chan struct{})
	busy := newFake("busy", func(context.Context, *tool.Call) (*tool.Result, error) {
		n := now.Add(1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		<-gate
		now.Add(-1)
		return tool.Text(""), nil
	})
	h := newHost(t, host.Options{Limits: host.Limits{InFlight: 3}}, busy)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { h.Session("s").Call(t.Context(), host.Request{Tool: "busy"}) })
	}
	require.Eventually(t, func() bool { return now.Load() == 3 }, time.Minute, time.Millisecond)
	close(gate)
	wg.Wait()
	assert.EqualValues(t, 3, most.Load())
}

func TestCatalog(t *testing.T) {
	two := []host.Source{
		list{name: "one", tools: []tool.Tool{echo("a"), echo("b")}},
		list{name: "two", tools: []tool.Tool{echo("c")}},
	}
	clash := append(two, list{name: "three", tools: []tool.Tool{echo("a")}})
	dead := append(two,
		list{name: "plugin dead", err: tool.Errorf(tool.Unavailable, "it does not start").Suggest("Fix it.")})
	tests := map[string]struct {
		sources []host.Source
		toolset host.Toolset
		names   []string
		wrong   string
	}{
		"all":                  {two, host.Toolset{}, []string{"a", "b", "c"}, ""},
		"a selection in order": {two, host.Toolset{Tools: []string{"c", "a"}}, []string{"c", "a"}, ""},
		"a rename": {two, host.Toolset{Tools: []string{"c"}, Rename: map[string]string{"c": "see"}},
			[]string{"see"}, ""},
		"an empty selection": {two, host.Toolset{Tools: []string{}}, []string{}, ""},
		"an unknown tool": {two, host.Toolset{Name: "t", Tools: []string{"z"}}, nil,
			`toolset "t" names a tool that does not exist: "z"`},
		"two of one name": {clash, host.Toolset{}, nil, `two tools are named "a": one of one and one of three`},
		"clash by rename": {two, host.Toolset{Rename: map[string]string{"a": "b"}}, nil,
			`two tools are named "b"`},
		"rename solves a clash": {clash, host.Toolset{Tools: []string{"b"}}, []string{"b"}, ""},
		"a prefix": {[]host.Source{host.Prefixed(two[0], "p_")}, host.Toolset{Tools: []string{"p_b"}},
			[]string{"p_b"}, ""},
		"a dead source is noted": {dead, host.Toolset{}, []string{"a", "b", "c"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, err := host.New(t.Context(), host.Options{Root: t.TempDir(), Sources: tt.sources, Toolset: tt.toolset})
			if tt.wrong != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), tt.wrong)
				assert.NotEmpty(t, tool.AsError(err).Suggestion)
				return
			}
			require.NoError(t, err)
			names := []string{}
			for _, e := range h.Catalog().Entries() {
				names = append(names, e.Definition().Name)
			}
			assert.Equal(t, tt.names, names)
		})
	}
	h := newHost(t, host.Options{Sources: dead})
	out := h.Session("s").Call(t.Context(), host.Request{Tool: "from_dead"})
	assert.Contains(t, out.Err.Suggestion, "plugin dead gives no tools now: it does not start. Fix it.")
}

// knowing is a source that may know its tools without waiting.
type knowing struct {
	list
	knows bool
}

func (k knowing) KnownTools() ([]tool.Tool, bool) { return k.tools, k.knows }

// Sources that know their tools are not asked in another way, prefixed or with offers; the others are asked
// concurrently.
func TestCatalogOfKnownTools(t *testing.T) {
	asked := tool.Errorf(tool.Internal, "it was asked")
	known := knowing{list{name: "known", tools: []tool.Tool{echo("a")}, err: asked}, true}
	unknown := knowing{list{name: "unknown", err: asked}, false}
	met := make(chan struct{})
	meet := func() {
		select {
		case met <- struct{}{}:
		case <-met:
		}
	}
	h := newHost(t, host.Options{Sources: []host.Source{
		meeting{list{name: "one", tools: []tool.Tool{echo("c")}}, meet},
		known, host.Prefixed(known, "p_"), host.Prefixed(host.Offering(known, nil, nil), "o_"), unknown,
		meeting{list{name: "two", tools: []tool.Tool{echo("d")}}, meet},
	}})
	var names []string
	for _, e := range h.Catalog().Entries() {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"c", "a", "p_a", "o_a", "d"}, names)
	require.Len(t, h.Catalog().Problems(), 1)
	assert.Equal(t, "unknown", h.Catalog().Problems()[0].Source)
}

// meeting is a source that waits for another.
type meeting struct {
	list
	meet func()
}

func (m meeting) Tools(ctx context.Context) ([]tool.Tool, error) {
	m.meet()
	return m.list.Tools(ctx)
}

func TestReloadKeepsTheOldCatalogOnError(t *testing.T) {
	h := newHost(t, host.Options{}, echo("a"))
	err := h.Reload(t.Context(), []host.Source{list{name: "x", tools: []tool.Tool{echo("b"), echo("b")}}},
		host.Toolset{})
	require.Error(t, err)
	assert.Nil(t,
		h.Session("s").Call(t.Context(), host.Request{Tool: "a", Params: json.RawMessage(`{"text":"x"}`)}).Err)
}

// enveloped renders errors in a contract's own shape.
type enveloped struct{ *fake }

func (enveloped) RenderError(c *tool.Call, err *tool.Error) *tool.Result {
	r := tool.JSON(map[string]any{"request": c.RequestID, "error": err.Code})
	r.Failed = err
	return r
}

func TestErrorsTakeTheContractsShape(t *testing.T) {
	h := newHost(t, host.Options{Toolset: host.Toolset{Envelope: true}}, enveloped{echo("a")})
	for name, call := range map[string]host.Request{
		"of a tool":       {Tool: "a", Params: json.RawMessage(`{}`), ID: "r1"},
		"of unknown tool": {Tool: "zzz", ID: "r1"},
	} {
		t.Run(name, func(t *testing.T) {
			out := h.Session("s").Call(t.Context(), call)
			require.NotNil(t, out.Err)
			assert.True(t, out.Envelope)
			assert.JSONEq(t, fmt.Sprintf(`{"request":"r1","error":%q}`, out.Err.Code), string(out.Result.Structured))
		})
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	const secret = "tok\"en-4711"
	leak := newFake("leak", func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		return tool.JSON(map[string]string{"token": secret, "other": "stays"}), nil
	})
	fail := newFake("fail", func(context.Context, *tool.Call) (*tool.Result, error) {
		return nil,
			tool.Errorf(tool.CommandFailed, "it said %s", secret).With("stderr", secret).Suggest("Use %s.", secret)
	})
	h := newHost(t, host.Options{Secrets: []string{secret, "abc"}}, leak, fail)
	out := h.Session("s").Call(t.Context(), host.Request{Tool: "leak"})
	assert.JSONEq(t, `{"token":"[redacted]","other":"stays"}`, string(out.Result.Structured))
	assert.NotContains(t, out.Result.Text(), "4711")

	out = h.Session("s").Call(t.Context(), host.Request{Tool: "fail"})
	shown, err := json.Marshal(out)
	require.NoError(t, err)
	assert.NotContains(t, string(shown), "4711")
	assert.Contains(t, out.Err.Message, "it said [redacted]")
	assert.Equal(t, tool.CommandFailed, out.Err.Code)
}

func TestArtifactsAreNamedAsCallersCanUseThem(t *testing.T) {
	kept := func(root string) *tool.Result {
		return &tool.Result{Artifacts: []tool.Artifact{
			{Name: "stdout", Path: filepath.Join(root, ".agent", "runs", "s", "out.txt")},
			{Name: "patch", Path: "diffs/step_0001.patch"},
			{Name: "else", Path: filepath.Join(filepath.Dir(root), "elsewhere")},
		}}
	}
	var result *tool.Result
	leaves := newFake("leaves", func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		result = kept(c.Workspace)
		return result, nil
	})
	h := newHost(t, host.Options{}, leaves)
	outcome := h.Session("s").Call(t.Context(), host.Request{Tool: "leaves"})
	require.Nil(t, outcome.Err)
	assert.Equal(t, []tool.Artifact{
		{Name: "else", Path: filepath.Join(filepath.Dir(h.Root()), "elsewhere")},
		{Name: "patch", Path: "diffs/step_0001.patch"},
		{Name: "stdout", Path: ".agent/runs/s/out.txt"},
	}, outcome.Result.Artifacts)
	assert.Equal(t, "stdout", result.Artifacts[0].Name, "the tool's own result is left alone")
}

func TestSecretsAreTakenOutOfAllThatIsSaid(t *testing.T) {
	const secret = "hunter2-secret"
	tell := newFake("tell", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		c.Progress(ctx, tool.Progress{Message: "at " + secret})
		return &tool.Result{
			Contents: []tool.Content{{Kind: tool.KindLink, URI: "file:///" + secret, Name: secret},
				{Kind: tool.KindImage, Data: []byte(secret)}},
			FilesAffected: []string{secret + ".txt"},
			Metadata:      map[string]any{"said": []string{secret}, "count": 3},
		}, nil
	})
	tell.plan = func(context.Context, *tool.Call) (*tool.Plan, error) {
		return &tool.Plan{FilesAffected: []string{secret}, Preview: "+" + secret}, nil
	}
	asks := newFake("asks", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		_, err := c.Ask(ctx, "k",
			tool.Form{Message: "Is it " + secret + "?", Schema: json.RawMessage(`{"title":"` + secret + `"}`)})
		return nil, err
	})
	h := newHost(t, host.Options{}, tell, asks)
	h.Redact([]string{secret}) // as a changed agent.hcl adds one
	var progress []string
	for _, request := range []host.Request{
		{Tool: "tell", Progress: func(p tool.Progress) { progress = append(progress, p.Message) }},
		{Tool: "tell", DryRun: true},
		{Tool: "asks", CanAsk: true},
	} {
		out := h.Session("s").Call(t.Context(), request)
		shown := fmt.Sprintf("%+v %+v %+v %+v", out, out.Result, out.Plan, out.Input)
		assert.NotContains(t, shown, secret)
		assert.Contains(t, shown, "[redacted]")
		if out.Result != nil {
			assert.NotContains(t, string(out.Result.Contents[1].Data), secret)
			assert.Equal(t, 3.0, out.Result.Metadata["count"])
		}
	}
	assert.Equal(t, []string{"at [redacted]"}, progress)
}

func TestPartsOfACallAreTraced(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(text string) { mu.Lock(); defer mu.Unlock(); seen = append(seen, text) }
	type key struct{}
	tell := newFake("tell", func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		note("tool sees " + fmt.Sprint(ctx.Value(key{})))
		return nil, tool.Errorf(tool.Timeout, "too slow")
	})
	tell.plan = func(context.Context, *tool.Call) (*tool.Plan, error) { return &tool.Plan{}, nil }
	h := newHost(t, host.Options{
		Judge: func(context.Context, host.Proposal) host.Decision { return host.Decision{Action: host.Ask} },
		Trace: func(ctx context.Context, part string, call *tool.Call) (context.Context, func(*host.Outcome)) {
			note("begin " + part + " of " + call.Tool)
			return context.WithValue(ctx, key{}, part), func(o *host.Outcome) {
				code := ""
				if o.Err != nil {
					code = " " + string(o.Err.Code)
				}
				note("end " + part + code)
			}
		},
	}, tell)
	h.Session("s").Call(t.Context(), host.Request{Tool: "tell", Answers: host.ApproveAll()})
	assert.Equal(t, []string{
		"begin call of tell", "begin plan of tell", "end plan", "begin run of tell", "tool sees run", "end run",
		"end call timeout",
	}, seen)
}

func TestProposeRunsNothing(t *testing.T) {
	h := newHost(t, host.Options{}, echo("echo"))
	p, err := h.Session("s").Propose(t.Context(), host.Request{Tool: "echo", Params: json.RawMessage(`{"text":"x"}`)})
	require.NoError(t, err)
	assert.JSONEq(t, `{"text":"x","times":1}`, string(p.Params))
	_, err = h.Session("s").Propose(t.Context(), host.Request{Tool: "ecko"})
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
}

func TestForeignToolsLose(t *testing.T) {
	own := list{name: "own", tools: []tool.Tool{echo("a"), echo("b")}}
	up := list{name: "mcp up", tools: []tool.Tool{echo("a"), echo("c"), echo("c")}}
	other := list{name: "mcp other", tools: []tool.Tool{echo("c"), echo("d")}}
	sources := []host.Source{host.Foreign(up, nil), own, host.Foreign(host.Prefixed(other, ""), nil),
		host.Foreign(host.Prefixed(other, "o_"), nil)}
	h := newHost(t, host.Options{Sources: sources})
	listed := make(map[string]string)
	for _, e := range h.Catalog().Entries() {
		listed[e.Name] = e.Source
	}
	assert.Equal(t, map[string]string{"a": "own", "b": "own", "c": "mcp up", "d": "mcp other", "o_c": "mcp other",
		"o_d": "mcp other"}, listed)
	var left []string
	for _, l := range h.Catalog().LeftOut() {
		left = append(left, l.Source+" "+l.Name)
		assert.Equal(t, tool.Conflict, l.Err.Code)
		assert.Contains(t, l.Err.Suggestion, "prefix in the block of "+l.Source)
	}
	assert.Equal(t, []string{"mcp up a", "mcp up c", "mcp other c"}, left)

	require.NoError(t, h.Reload(t.Context(), sources, host.Toolset{Name: "t", Tools: []string{"b", "gone"}}),
		"a server that stops offering a tool stops no other")
	require.Len(t, h.Catalog().Entries(), 1)
	require.Len(t, h.Catalog().LeftOut(), 1)
	assert.Contains(t, h.Catalog().LeftOut()[0].Err.Message, `names a tool that does not exist: "gone"`)
	err := h.Reload(t.Context(), []host.Source{own}, host.Toolset{Name: "t", Tools: []string{"gone"}})
	assert.ErrorContains(t, err, "does not exist", "where all are the operator's own it is a mistake")
}

// A question shows no value that the schema marks as writeOnly, at any depth.
func TestQuestionsHideSecrets(t *testing.T) {
	o := host.Outcome{Tool: "pay", Params: json.RawMessage(`{"pin":"123","note":"to bob","auth":{"token":"hush-hush"}}`),
		Argv: []string{"pay", "123", "--auth=hush-hush", "1234"}, Plan: &tool.Plan{Preview: "$ pay --auth=hush-hush"},
		Definition: &tool.Definition{Name: "pay", Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"pin":{"type":"string","writeOnly":true},"note":{"type":"string"},` +
			`"auth":{"type":"object","properties":{"token":{"type":"string","writeOnly":true}}}}}`)}}
	q := o.Question()
	assert.Equal(t, []string{"pay", "[redacted]", "--auth=[redacted]", "1234"}, q.Argv)
	assert.Equal(t, "$ pay --auth=[redacted]", q.Effect)
	for _, p := range q.Params {
		assert.NotContains(t, string(p.Value), "hush")
		assert.NotContains(t, string(p.Value), "123")
	}
	assert.Len(t, q.Params, 3)
}
