package typed_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/typed"
)

type inner struct {
	Unit string `json:"unit" enum:"m,km"`
}

type everything struct {
	Text     string            `json:"text" jsonschema:"Some text."`
	Count    int               `json:"count" minimum:"1" maximum:"9" default:"3"`
	Ratio    float64           `json:"ratio,omitempty"`
	On       *bool             `json:"on,omitempty"`
	List     []string          `json:"list" enum:"a,b"`
	Nested   []inner           `json:"nested,omitempty"`
	Map      map[string]int    `json:"map,omitempty"`
	Any      any               `json:"any,omitempty"`
	Anything map[string]any    `json:"anything,omitempty"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Data     []byte            `json:"data,omitempty"`
	When     time.Time         `json:"when,omitzero"`
	Deep     map[string]*inner `json:"deep,omitempty"`
	Hidden   string            `json:"-"`
	private  int               //lint:ignore U1000 unexported fields are no parameters
}

func TestSchemaIsPortable(t *testing.T) {
	got, err := typed.Schema(reflect.TypeFor[everything]())
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["text","list"],"properties":{
		"text":{"type":"string","description":"Some text."},
		"count":{"type":"integer","minimum":1,"maximum":9,"default":3},
		"ratio":{"type":"number"},
		"on":{"type":"boolean"},
		"list":{"type":"array","items":{"type":"string","enum":["a","b"]}},
		"nested":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["unit"],"properties":{"unit":{"type":"string","enum":["m","km"]}}}},
		"map":{"type":"object","additionalProperties":{"type":"integer"}},
		"any":{"description":"Any JSON value."},
		"anything":{"type":"object"},
		"raw":{"description":"Any JSON value."},
		"data":{"type":"string","contentEncoding":"base64"},
		"when":{"type":"string"},
		"deep":{"type":"object","additionalProperties":{"type":"object","additionalProperties":false,"required":["unit"],"properties":{"unit":{"type":"string","enum":["m","km"]}}}}
	}}`, string(got))
	assert.NotContains(t, string(got), "null")
	assert.NotContains(t, string(got), ":true")
	_, err = schema.Compile(got)
	assert.NoError(t, err)

	empty, err := typed.Schema(reflect.TypeFor[struct{}]())
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"object","properties":{},"additionalProperties":false}`, string(empty))
}

type recursive struct {
	Next *recursive `json:"next,omitempty"`
}

func TestTypesWithoutASchema(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[recursive](), reflect.TypeFor[struct{ C chan int }](),
		reflect.TypeFor[struct {
			N int `default:"many"`
		}](),
		reflect.TypeFor[struct {
			N int `minimum:"few"`
		}](),
	} {
		_, err := typed.Schema(typ)
		assert.Error(t, err, typ)
	}
}

func TestFuncInfersLazilyAndOnce(t *testing.T) {
	broken := typed.Func(tool.Definition{Name: "broken"},
		func(context.Context, *tool.Call, recursive) (string, error) { return "", nil })
	assert.PanicsWithValue(t,
		`tool "broken": no JSON Schema for typed_test.recursive: ForType(typed_test.recursive): cycle detected for `+
			`type typed_test.recursive`,
		func() { broken.Definition() })

	given := json.RawMessage(`{"type":"object"}`)
	f := typed.Func(tool.Definition{Name: "f", Parameters: given},
		func(context.Context, *tool.Call, inner) (inner, error) { return inner{}, nil })
	assert.Same(t, f.Definition(), f.Definition())
	assert.Equal(t, given, f.Definition().Parameters)
	assert.Contains(t, string(f.Definition().Returns), `"unit"`)
}

func call[Out any](t *testing.T, out Out, err error) (*tool.Definition, *tool.Result, error) {
	t.Helper()
	f := typed.Func(tool.Definition{Name: "f"}, func(_ context.Context, _ *tool.Call, in struct {
		X int `json:"x"`
	}) (Out, error) {
		assert.Equal(t, 7, in.X)
		return out, err
	})
	r, callErr := f.Call(t.Context(), &tool.Call{Tool: "f", Params: json.RawMessage(`{"x":7}`)})
	return f.Definition(), r, callErr
}

type output struct {
	Names []string       `json:"names"`
	Sizes map[string]int `json:"sizes"`
	Inner []inner        `json:"inner,omitempty"`
	HTML  string         `json:"html"`
}

func TestWhatFuncMakesOfResults(t *testing.T) {
	d, r, err := call(t, "text", nil)
	require.NoError(t, err)
	assert.Equal(t, tool.Text("text"), r)
	assert.Empty(t, d.Returns)

	own := tool.Text("own")
	d, r, err = call(t, own, nil)
	require.NoError(t, err)
	assert.Same(t, own, r)
	assert.Empty(t, d.Returns)

	_, r, err = call[*tool.Result](t, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, &tool.Result{}, r)

	d, r, err = call(t, output{HTML: "<&>"}, nil)
	require.NoError(t, err)
	assert.Equal(t, `{"names":[],"sizes":{},"html":"<&>"}`, r.Text())
	assert.Equal(t, r.Text(), string(r.Structured))
	compiled, err := schema.Compile(d.Returns)
	require.NoError(t, err)
	_, _, violations := compiled.Decode(r.Structured)
	assert.Empty(t, violations, "the result is what the schema says")

	_, _, err = call(t, output{}, errors.New("no"))
	assert.EqualError(t, err, "no")
	_, _, err = call(t, map[string]any{"f": func() {}}, nil)
	assert.Equal(t, tool.Internal, tool.CodeOf(err))
	assert.True(t, strings.HasPrefix(err.Error(), "cannot give the result as JSON"))
}

func TestParametersThatDoNotFit(t *testing.T) {
	f := typed.Func(tool.Definition{Name: "f"},
		func(context.Context, *tool.Call, inner) (string, error) { return "", nil })
	_, err := f.Call(t.Context(), &tool.Call{Tool: "f", Params: json.RawMessage(`{"unit":1}`)})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

func TestSensitiveSettings(t *testing.T) {
	got, err := typed.Schema(reflect.TypeFor[struct {
		Token string `json:"token,omitempty" sensitive:"true"`
	}]())
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"object","additionalProperties":false,"properties":{"token":{"type":"string","writeOnly":true}}}`,
		string(got))
}
