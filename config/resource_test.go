package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

func offers(t *testing.T) *Config {
	t.Helper()
	src, err := os.ReadFile("testdata/good/offers.hcl")
	require.NoError(t, err)
	return parse(t, "agent.hcl", string(src), LoadOptions{})
}

func TestResources(t *testing.T) {
	all := offers(t).Resources
	require.Len(t, all, 4)
	readme := all[0]
	assert.Equal(t, "doc://readme", readme.URI)
	assert.Equal(t, "Read me", readme.Title)
	assert.Equal(t, argv.Content{Kind: tool.KindResource, MIME: "text/markdown", File: exprp(lit("README.md")),
		Pos: base + "/agent.hcl:1"}, readme.Content)
	assert.True(t, readme.Watch)
	assert.Equal(t, tool.ReadOnly, readme.Risk)

	note := all[1]
	for i := range note.Params {
		note.Params[i].Pos = ""
	}
	assert.Equal(t, []argv.Param{
		{Name: "dir", Type: argv.TypeString, Enum: []string{"a", "b"}},
		{Name: "name", Description: "Which.", Type: argv.TypeString, Path: argv.Read, Pattern: "^[a-z/]+$", Min: "1",
			Max: "20"},
	}, note.Params)
	assert.Equal(t, map[string]argv.Suggestions{"dir": {Values: []string{"a"}}}, note.Complete)
	assert.Equal(t, exprp(cat(lit("notes/"), ref("dir"), lit("/"), ref("name"))), note.Content.File)

	log := all[2]
	assert.Equal(t, []argv.Expr{lit("tail"), lit("-n"), ref("n"), lit("app.log")}, log.Command.Argv)
	assert.Equal(t, 5*time.Second, log.Command.Timeout)
	assert.True(t, log.Content.Base64)
	assert.True(t, log.Access.Network)
	assert.Equal(t, tool.Dangerous, log.Risk)
	assert.Equal(t, []byte("GIF89a"), all[3].Content.Data)
}

func TestPrompts(t *testing.T) {
	p := offers(t).Prompts[0]
	assert.Equal(t, "Review a file.", p.Description)
	require.Len(t, p.Arguments, 4)
	assert.Equal(t, "File", p.Arguments[0].Title)
	assert.True(t, p.Arguments[0].Required())
	assert.Equal(t, json.RawMessage(`"kind"`), p.Arguments[1].Default)
	assert.Equal(t, json.RawMessage(`null`), p.Arguments[2].Default)
	assert.Equal(t, map[string]argv.Suggestions{
		"tone": {Values: []string{"kind", "strict"}},
		"area": {By: map[string]map[string][]string{"tone": {"kind": {"names", "tests"}, "very strict": {"locks"}}}},
	}, p.Complete)
	assert.Equal(t, "focus", p.Asks[0].Key)
	require.Len(t, p.Messages, 3)
	assert.Equal(t, "user", p.Messages[0].Role)
	assert.Equal(t, exprp(cat(lit("Review "), ref("file"), lit(", be "), ref("tone"), lit(". "),
		ref("ask.focus.what"))), p.Messages[0].Text)
	assert.Equal(t, tool.KindResource, p.Messages[1].Kind)
	assert.Equal(t, exprp(ref("file")), p.Messages[1].File)
	assert.Equal(t, "assistant", p.Messages[2].Role)
}

func TestOffersAreGranted(t *testing.T) {
	cfg := offers(t)
	assert.Contains(t, strings.Join(cfg.Grants(), "\n"), `resource "log" runs tail -n {n} app.log, with network`)
	assert.Equal(t, []string{"readme"}, cfg.Toolsets[0].Resources)
	assert.Equal(t, []string{"review"}, cfg.Toolsets[0].Prompts)
}
