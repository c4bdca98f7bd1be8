package policy_test

import (
	"encoding/json"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/policy"
)

// inWorkspace is a workspace /w in which the link "link" leads to secrets.
func inWorkspace(name string) []string {
	if !path.IsAbs(name) {
		name = path.Join("/w", name)
	}
	name = path.Clean(name)
	switch name {
	case "/w":
		return []string{"./"}
	case "/w/secrets", "/w/docs":
		return []string{name[3:] + "/"}
	}
	if len(name) < 3 || name[:3] != "/w/" {
		return nil
	}
	name = name[3:]
	if name == "link" || len(name) > 5 && name[:5] == "link/" {
		return []string{name, "secrets" + name[4:]}
	}
	return []string{name}
}

func TestRulesOnPaths(t *testing.T) {
	rules := policy.Rules{Default: policy.Review, Rules: []policy.Rule{
		{Name: "secrets", Paths: []string{"secrets/**", "**/*.pem"}, Action: policy.Deny},
		{Name: "docs", Tool: "*_file", Paths: []string{"docs"}, Action: policy.Allow},
	}}
	for params, want := range map[string]policy.Action{
		`{"path":"docs/a"}`:                              policy.Allow,
		`{"path":"docs"}`:                                policy.Ask, // a name that ends in .pem may be in it
		`{"path":"./docs/../docs/a"}`:                    policy.Allow,
		`{"path":"docs/a","content":"secrets/k"}`:        policy.Allow,
		`{"path":"docs/a","to":"docs/b"}`:                policy.Allow,
		`{"path":"docs/../Makefile"}`:                    policy.Review,
		`{"path":"docs/a","to":"Makefile"}`:              policy.Review,
		`{"path":"docsx"}`:                               policy.Review,
		`{"path":"/etc/passwd"}`:                         policy.Review,
		`{}`:                                             policy.Review,
		`{"path":"secrets/k"}`:                           policy.Deny,
		`{"path":"./secrets/k"}`:                         policy.Deny,
		`{"path":"/w/secrets/k"}`:                        policy.Deny,
		`{"path":"docs/../secrets/k"}`:                   policy.Deny,
		`{"path":"link/k"}`:                              policy.Deny,
		`{"path":"secrets"}`:                             policy.Deny,
		`{"paths":["docs/a",{"name":"docs/x.pem"}]}`:     policy.Deny,
		`{"patch":"*** Update File: secrets/k\n-a\n"}`:   policy.Ask,
		`{"path":"."}`:                                   policy.Ask,
		`not json`:                                       policy.Ask,
		`{"path":"docs/a","content":"several\nlines\n"}`: policy.Allow,
	} {
		r := policy.Request{Tool: "write_file", Params: json.RawMessage(params), Places: inWorkspace,
			Risk: tool.Dangerous}
		d := decide(t, r, rules)
		assert.Equal(t, want, d.Action, "%s\n%s", params, d.Explain())
	}
	for _, c := range []struct {
		r    policy.Request
		want policy.Action
	}{
		{policy.Request{Argv: []string{"cp", "docs/a", "docs/b"}, Tool: "x_file"}, policy.Review},
		{policy.Request{Argv: []string{"cp", "--target-directory=link", "a"}}, policy.Deny},
		{policy.Request{Argv: []string{"cp", "-tsecrets", "a"}}, policy.Deny},
		{policy.Request{Argv: []string{"head", "README"}, Risk: tool.ReadOnly}, policy.Review},
		{policy.Request{Shell: "cat docs/a", Tool: "x_file"}, policy.Ask},
		{policy.Request{Argv: []string{"bash", "-c", "echo x > secrets/k"}}, policy.Ask},
		{policy.Request{Argv: []string{"/usr/local/bin/bash", "-c", "cat README"}}, policy.Ask},
		{policy.Request{Argv: []string{"timeout", "5", "sh", "-c", "cat README"}}, policy.Ask},
		{policy.Request{Argv: []string{"python3", "-c", "print(1)"}}, policy.Ask},
		{policy.Request{Argv: []string{"bash", "x.sh"}}, policy.Review},
		{policy.Request{Params: json.RawMessage(`{"path":"."}`), Risk: tool.ReadOnly}, policy.Review},
	} {
		c.r.Places = inWorkspace
		assert.Equal(t, c.want, decide(t, c.r, rules).Action, "%+v", c.r)
	}
	assert.Equal(t, policy.Ask, decide(t, policy.Request{Params: json.RawMessage(`{"path":"docs/a"}`)}, rules).Action,
		"nothing is known of places")
}
