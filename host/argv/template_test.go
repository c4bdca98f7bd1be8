package argv_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/schema"
)

func grep() *argv.Spec {
	return &argv.Spec{
		Name: "grep",
		Params: []argv.Param{
			{Name: "pattern", Type: argv.TypeString, Min: "1"},
			{Name: "dir", Type: argv.TypeString, Path: argv.Read, Default: json.RawMessage(`"."`)},
			{Name: "files", Type: argv.TypeList, Item: argv.TypeString, Path: argv.Read,
				Default: json.RawMessage(`[]`)},
			{Name: "max", Type: argv.TypeInteger, Min: "1", Max: "9", Default: json.RawMessage(`3`)},
			{Name: "all", Type: argv.TypeBool, Default: json.RawMessage(`false`)},
			{Name: "mode", Type: argv.TypeString, Enum: []string{"a", "b"}, Default: json.RawMessage(`null`)},
			{Name: "raw", Type: argv.TypeString, Dash: true, Default: json.RawMessage(`null`)},
		},
		Command: &argv.Template{
			Argv: []argv.Expr{
				{Literal: "grep"},
				{When: &argv.When{Param: "all", Then: argv.Expr{Literal: "-a"}, Else: argv.Expr{Null: true}}},
				{Concat: []argv.Expr{{Literal: "--mode="}, {Param: "mode"}}},
				{Literal: "-m"}, {Param: "max"}, {Param: "raw"}, {Param: "pattern"}, {Literal: "--"}, {Param: "dir"},
				{Param: "files"},
			},
			Env:   map[string]argv.Expr{"P": {Concat: []argv.Expr{{Literal: "<"}, {Param: "pattern"}, {Literal: ">"}}}},
			Stdin: &argv.Expr{Param: "pattern"},
		},
	}
}

func TestTemplate(t *testing.T) {
	tests := map[string]struct {
		params string
		want   []string
		bad    string
	}{
		"defaults": {`{"pattern":"x"}`, []string{"grep", "-m", "3", "x", "--", "."}, ""},
		"a list is spliced": {`{"pattern":"x","files":["a","b c"]}`,
			[]string{"grep", "-m", "3", "x", "--", ".", "a", "b c"}, ""},
		"a switch": {`{"pattern":"x","all":true}`, []string{"grep", "-a", "-m", "3", "x", "--", "."}, ""},
		"null in a text": {`{"pattern":"x","mode":"b"}`, []string{"grep", "--mode=b", "-m", "3", "x", "--", "."},
			""},
		"shell characters": {`{"pattern":"$(id); rm *"}`, []string{"grep", "-m", "3", "$(id); rm *", "--", "."}, ""},
		"decomposed text":  {`{"pattern":"e\u0301"}`, []string{"grep", "-m", "3", "e\u0301", "--", "."}, ""},
		"a dash behind --": {`{"pattern":"x","files":["-rf"]}`, []string{"grep", "-m", "3", "x", "--", ".", "-rf"},
			""},
		"a dash declared": {`{"pattern":"x","raw":"-v"}`, []string{"grep", "-m", "3", "-v", "x", "--", "."}, ""},

		"an option as a value": {`{"pattern":"-f/etc/passwd"}`, nil, "would take for an option"},
		"outside":              {`{"pattern":"x","dir":"../y"}`, nil, "outside"},
		"outside in a list":    {`{"pattern":"x","files":["a","/etc"]}`, nil, "outside"},
		"empty path":           {`{"pattern":"x","dir":""}`, nil, "empty path"},
		"NUL":                  {`{"pattern":"a\u0000b"}`, nil, "NUL"},
	}
	spec := grep()
	compiled, err := schema.Compile(spec.Schema())
	require.NoError(t, err)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, values, violations := compiled.Decode(json.RawMessage(tt.params))
			require.Empty(t, violations)
			run, err := spec.Resolve(values, world)
			if tt.bad != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), tt.bad)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, run.Argv)
			pattern, _ := values["pattern"].(string)
			assert.Equal(t, "<"+pattern+">", run.Env["P"])
			assert.Equal(t, pattern, string(run.Stdin))
		})
	}
}

func TestNullInAText(t *testing.T) {
	focus := argv.Expr{Param: "focus"}
	within := func(parts ...argv.Expr) argv.Expr { return argv.Expr{Concat: parts} }
	for name, test := range map[string]struct {
		text      argv.Expr
		want, uri string
	}{
		"at the end":     {within(argv.Expr{Literal: "a b. "}, focus), "a b. ", "a b. "},
		"at the start":   {within(focus, argv.Expr{Param: "file"}), "x y", "x%20y"},
		"a choice of it": {within(argv.Expr{When: &argv.When{Param: "all", Then: focus}}, argv.Expr{Literal: "b"}), "b", "b"},
		"alone":          {focus, "", ""},
		"as null":        {within(argv.Expr{Literal: "a"}, argv.Expr{Null: true}), "a", "a"},
	} {
		values := map[string]any{"focus": nil, "file": "x y", "all": true}
		assert.Equal(t, test.want, test.text.Text(values), name)
		assert.Equal(t, test.uri, test.text.URI(values), name)
		template := argv.Template{Argv: []argv.Expr{{Literal: "cat"}, test.text}, Stdin: &test.text,
			Env: map[string]argv.Expr{"T": test.text}}
		run, err := template.Resolve(nil, values, world)
		require.NoError(t, err, name)
		assert.Equal(t, []string{"cat"}, run.Argv, "%s leaves out the argument", name)
		assert.Empty(t, run.Env, "%s leaves out the variable", name)
		assert.Equal(t, test.want, string(run.Stdin), name)
	}
}

// TestNoOptionFromAValue checks that no argument from a template begins with a dash that the template's author
// did not write.
func TestNoOptionFromAValue(t *testing.T) {
	text := argv.Param{Name: "p", Type: argv.TypeString}
	path := argv.Param{Name: "p", Type: argv.TypeString, Path: argv.Read}
	on := argv.Param{Name: "on", Type: argv.TypeBool}
	number := argv.Param{Name: "p", Type: argv.TypeInteger}
	ref, lit := argv.Expr{Param: "p"}, func(s string) argv.Expr { return argv.Expr{Literal: s} }
	tests := map[string]struct {
		param argv.Param
		expr  argv.Expr
		value any
		want  string // "" is refused
	}{
		"first in a text":         {text, argv.Expr{Concat: []argv.Expr{ref, lit("/x")}}, "--output=", ""},
		"behind an empty literal": {text, argv.Expr{Concat: []argv.Expr{lit(""), ref}}, "-x", ""},
		"behind an empty value": {text, argv.Expr{Concat: []argv.Expr{{Concat: []argv.Expr{ref}}, lit("x")}}, "-",
			""},
		"in a choice": {text,
			argv.Expr{When: &argv.When{Param: "on", Then: argv.Expr{Concat: []argv.Expr{ref, lit("x")}}}}, "-", ""},
		"behind a literal": {text, argv.Expr{Concat: []argv.Expr{lit("--name="), ref}}, "-x", "--name=-x"},
		"a path":           {path, argv.Expr{Concat: []argv.Expr{ref, lit("/x")}}, "-d", "./-d/x"},
		"a number":         {number, ref, json.Number("-5"), "-5"},
		"a plain value":    {text, argv.Expr{Concat: []argv.Expr{ref, lit("-x")}}, "a", "a-x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			template := argv.Template{Argv: []argv.Expr{lit("prog"), tt.expr}}
			run, err := template.Resolve([]argv.Param{tt.param, on}, map[string]any{"p": tt.value, "on": true}, world)
			if tt.want == "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), "would take for an option")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []string{"prog", tt.want}, run.Argv)
		})
	}
}

func TestParamSchema(t *testing.T) {
	assert.JSONEq(t, `{
		"type":"object",
		"properties":{
			"pattern":{"type":"string","minLength":1},
			"dir":{"type":"string","default":"."},
			"files":{"type":"array","items":{"type":"string"},"default":[]},
			"max":{"type":"integer","minimum":1,"maximum":9,"default":3},
			"all":{"type":"boolean","default":false},
			"mode":{"type":"string","enum":["a","b"]},
			"raw":{"type":"string"}},
		"required":["pattern"],
		"additionalProperties":false}`, string(grep().Schema()))
}

func TestCheckExamples(t *testing.T) {
	spec := grep()
	spec.Examples = []argv.Example{{Params: json.RawMessage(`{"pattern":"x"}`)},
		{Params: json.RawMessage(`{"pattern":"x","max":99}`), Pos: "f:1"}}
	spec.Rejects = []argv.Example{{Params: json.RawMessage(`{"pattern":"x","dir":"/"}`)},
		{Params: json.RawMessage(`{"pattern":"x"}`), Pos: "f:2"}}
	problems := spec.CheckExamples(world)
	require.Len(t, problems, 2)
	assert.Equal(t, "f:1", problems[0].Pos)
	assert.Contains(t, problems[0].Message, "max: must be at most 9")
	assert.Equal(t, "f:2", problems[1].Pos)
	assert.Contains(t, problems[1].Message, "is accepted")
}
