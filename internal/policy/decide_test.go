package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/policy"
)

var now = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func request(name, params string) policy.Request {
	return policy.Request{Tool: name, Risk: tool.Dangerous,
		Permissions: []tool.Permission{tool.FileWrite, tool.Network}, Params: json.RawMessage(params), Now: now}
}

func decide(t *testing.T, r policy.Request, rules policy.Rules) policy.Decision {
	t.Helper()
	p, err := policy.New(rules)
	require.NoError(t, err)
	return p.Decide(r)
}

func withRules(rules ...policy.Rule) policy.Rules {
	return policy.Rules{Default: policy.Ask, Rules: rules}
}

// The example of contract 000: the rule matches the call.
func TestContractExample(t *testing.T) {
	rules := withRules(policy.Rule{Name: "text files", Tool: "create_file", Params: `^{"path":".*\.txt"}$`,
		Action: policy.Allow})
	for params, want := range map[string]policy.Action{
		`{"path":"test.txt"}`:               policy.Allow,
		` { "path" : "test.txt" } `:         policy.Allow,
		`{"path":"test.py"}`:                policy.Ask,
		`{"path":"test.txt","content":"x"}`: policy.Ask,
		`{"content":"x","path":"test.txt"}`: policy.Ask,
		`{"path":"\u0074est.txt"}`:          policy.Allow,
		`{"path":"a.py\"}","x":".txt"}`:     policy.Allow, // what the expression says
		`{"path":"test.txt\n"}`:             policy.Ask,
		`{"path":"testXtxt"}`:               policy.Ask,
		`{"path":"TEST.TXT"}`:               policy.Ask,
		`not json`:                          policy.Ask,
	} {
		d := decide(t, request("create_file", params), rules)
		assert.Equal(t, want, d.Action, params)
	}
	d := decide(t, request("create_files", `{"path":"test.txt"}`), rules)
	assert.Equal(t, policy.Ask, d.Action, "the tool's name must be the same")
}

func TestCanonicalJSON(t *testing.T) {
	for in, want := range map[string]string{
		``:                                    `{}`,
		` {} `:                                `{}`,
		`{"b":1,"a":{"d":[2, 1],"c":null}}`:   `{"a":{"c":null,"d":[2,1]},"b":1}`,
		`{"a":"<&>\u00e9\/\n"}`:               `{"a":"<&>é/\n"}`,
		`{"n":1.50,"m":12345678901234567890}`: `{"m":12345678901234567890,"n":1.50}`,
		`x`:                                   `x`,
	} {
		assert.Equal(t, want, policy.CanonicalJSON(json.RawMessage(in)))
	}
}

func TestDenyBeatsAskBeatsAllow(t *testing.T) {
	allow := policy.Rule{Name: "a", Action: policy.Allow}
	ask := policy.Rule{Name: "b", Action: policy.Ask}
	deny := policy.Rule{Name: "c", Action: policy.Deny}
	for _, c := range []struct {
		rules []policy.Rule
		want  string
	}{
		{[]policy.Rule{allow, ask, deny}, "c"},
		{[]policy.Rule{deny, ask, allow}, "c"},
		{[]policy.Rule{allow, ask}, "b"},
		{[]policy.Rule{ask, allow}, "b"},
		{[]policy.Rule{allow}, "a"},
	} {
		d := decide(t, request("x", `{}`), withRules(c.rules...))
		assert.Equal(t, c.want, d.Rule)
		assert.Len(t, d.Matches, len(c.rules))
		assert.Contains(t, d.Explain(), c.want)
	}
}

func TestConditions(t *testing.T) {
	past, future := now.Add(-time.Second), now.Add(time.Second)
	for name, c := range map[string]struct {
		rule policy.Rule
		want bool
	}{
		"every call":            {policy.Rule{}, true},
		"tool":                  {policy.Rule{Tool: "write_file"}, true},
		"other tool":            {policy.Rule{Tool: "write"}, false},
		"tools":                 {policy.Rule{Tool: "write_*"}, true},
		"other tools":           {policy.Rule{Tool: "*_dir"}, false},
		"risk":                  {policy.Rule{Risk: tool.Dangerous}, true},
		"other risk":            {policy.Rule{Risk: tool.ReadOnly}, false},
		"permission":            {policy.Rule{Permission: tool.Network}, true},
		"other permission":      {policy.Rule{Permission: tool.ShellExec}, false},
		"expired":               {policy.Rule{Expires: past}, false},
		"expires now":           {policy.Rule{Expires: now}, false},
		"not yet expired":       {policy.Rule{Expires: future}, true},
		"disabled":              {policy.Rule{Disabled: true}, false},
		"params anywhere":       {policy.Rule{Params: "etc"}, true},
		"params not there":      {policy.Rule{Params: "^etc"}, false},
		"all conditions":        {policy.Rule{Tool: "write_file", Params: "etc", Risk: tool.Dangerous}, true},
		"all but one condition": {policy.Rule{Tool: "write_file", Params: "usr", Risk: tool.Dangerous}, false},
	} {
		c.rule.Name, c.rule.Action = name, policy.Deny
		d := decide(t, request("write_file", `{"path":"/etc/x"}`), withRules(c.rule))
		assert.Equal(t, c.want, d.Action == policy.Deny, name)
		if c.want {
			assert.Equal(t, name, d.Rule)
		}
	}
}

func TestReasonIsTold(t *testing.T) {
	d := decide(t, request("x", `{}`), withRules(policy.Rule{Name: "r", Action: policy.Deny, Reason: "ask Ann first"}))
	assert.Contains(t, d.Reason, "ask Ann first")
	assert.Contains(t, d.Reason, `"r"`)
}

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules policy.Rules
		want  policy.Action
		rule  string
	}{
		{"nothing said", policy.Rules{}, policy.Allow, "default"},
		{"default", policy.Rules{Default: policy.Deny}, policy.Deny, "default"},
		{"risk", policy.Rules{Default: policy.Deny, Risk: map[tool.Risk]policy.Action{tool.Dangerous: policy.Allow}},
			policy.Allow, "risk dangerous"},
		{"permission", policy.Rules{Permission: map[tool.Permission]policy.Action{tool.Network: policy.Deny,
			tool.FileWrite: policy.Ask}}, policy.Deny, "permission network"},
		{"the strictest", policy.Rules{Risk: map[tool.Risk]policy.Action{tool.Dangerous: policy.Ask},
			Permission: map[tool.Permission]policy.Action{tool.FileWrite: policy.Allow}}, policy.Ask, "risk dangerous"},
	} {
		d := decide(t, request("x", `{}`), c.rules)
		assert.Equal(t, c.want, d.Action, c.name)
		assert.Equal(t, c.rule, d.Rule, c.name)
		assert.NotEmpty(t, d.Reason)
	}
}

func TestRulesBeatDefaults(t *testing.T) {
	rules := policy.Rules{Default: policy.Deny, Rules: []policy.Rule{{Name: "r", Tool: "x", Action: policy.Allow}}}
	assert.Equal(t, policy.Allow, decide(t, request("x", `{}`), rules).Action)
	assert.Equal(t, policy.Deny, decide(t, request("y", `{}`), rules).Action)
}

func TestMistakesAreNamedAllAtOnce(t *testing.T) {
	_, err := policy.New(policy.Rules{
		Risk:       map[tool.Risk]policy.Action{"wild": policy.Ask},
		Permission: map[tool.Permission]policy.Action{tool.Network: "maybe"},
		Rules: []policy.Rule{
			{Name: "no action"},
			{Name: "bad regexp", Action: policy.Ask, Params: "("},
			{Action: policy.Ask, Command: `git "`},
			{Name: "bad risk", Action: policy.Ask, Risk: "high"},
			{Name: "no words", Action: policy.Ask, Command: "  "},
			{Name: "a variable", Action: policy.Ask, Command: "rm $X"},
		},
	})
	require.Error(t, err)
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
	for _, text := range []string{"wild", "maybe", "no action", "bad regexp", "rule 3", "bad risk", "no words",
		"a variable"} {
		assert.ErrorContains(t, err, text)
	}
}

func TestAlwaysDenied(t *testing.T) {
	r := request("x", `{}`)
	for name, c := range map[string]struct {
		rules policy.Rules
		want  bool
	}{
		"allowed":    {policy.Rules{}, false},
		"by default": {policy.Rules{Default: policy.Deny}, true},
		"by risk": {policy.Rules{Risk: map[tool.Risk]policy.Action{tool.Dangerous: policy.Deny}},
			true},
		"by a rule":          {withRules(policy.Rule{Tool: "x", Action: policy.Deny}), true},
		"by a rule for some": {withRules(policy.Rule{Tool: "x", Params: "a", Action: policy.Deny}), false},
		"by default with a way": {policy.Rules{Default: policy.Deny,
			Rules: []policy.Rule{{Tool: "x", Params: "a", Action: policy.Ask}}}, false},
		"by default, a way elsewhere": {policy.Rules{Default: policy.Deny,
			Rules: []policy.Rule{{Tool: "y", Action: policy.Allow}}}, true},
	} {
		p, err := policy.New(c.rules)
		require.NoError(t, err)
		why, always := p.AlwaysDenied(r)
		assert.Equal(t, c.want, always, name)
		if always {
			d := p.Decide(r)
			assert.Equal(t, []string{d.Rule, d.Reason}, []string{why.Rule, why.Reason}, name)
		}
	}
}

// The answer "always" settles a question about exactly that call, never a deny.
func TestRememberedRule(t *testing.T) {
	params := json.RawMessage(`{"path":"a.*[b]","content":"x\\n$1"}`)
	rule := policy.Exactly("", "write_file", params)
	rule.Remembered = true
	ask := policy.Rule{Name: "ask", Tool: "write_file", Action: policy.Ask}
	deny := policy.Rule{Name: "deny", Tool: "write_file", Action: policy.Deny}
	base, err := policy.New(withRules(ask))
	require.NoError(t, err)
	p, err := base.With(rule)
	require.NoError(t, err)

	d := p.Decide(policy.Request{Tool: "write_file",
		Params: json.RawMessage(`{ "content":"x\\n$1", "path":"a.*[b]" }`)})
	assert.Equal(t, policy.Allow, d.Action)
	assert.Equal(t, rule.Name, d.Rule)
	for _, other := range []string{`{"path":"a.*[b]"}`, `{"path":"axxb","content":"x\\n$1"}`,
		`{"path":"a.*[b]","content":"x\\n$1","more":1}`} {
		assert.Equal(t, policy.Ask, p.Decide(policy.Request{Tool: "write_file", Params: json.RawMessage(other)}).Action,
			other)
	}
	assert.Equal(t, policy.Ask, base.Decide(policy.Request{Tool: "write_file", Params: params}).Action,
		"With leaves the policy as it was")

	assert.Equal(t, policy.Ask, p.Decide(policy.Request{Tool: "write_file", Toolset: "ocode", Params: params}).Action,
		"in another toolset it is another tool")
	there := policy.Exactly("ocode", "write_file", params)
	assert.NotEqual(t, rule.Name, there.Name, "one does not take the place of the other")
	there.Remembered = true
	p, err = p.With(there)
	require.NoError(t, err)
	assert.Equal(t, policy.Allow, p.Decide(policy.Request{Tool: "write_file", Toolset: "ocode", Params: params}).Action)

	p, err = p.With(deny)
	require.NoError(t, err)
	assert.Equal(t, policy.Deny, p.Decide(policy.Request{Tool: "write_file", Params: params}).Action)
}
