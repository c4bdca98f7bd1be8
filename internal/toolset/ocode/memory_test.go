package ocode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
)

func TestMemoryWrite(t *testing.T) {
	t.Run("key and value", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("memory_write", args{"key": "style", "value": "tabs\n世界"})
		assert.Equal(t, "Stored persistent memory 'style' in category 'general'", g.Output)
		assert.Equal(t, args{"key": "style", "category": "general", "memory_type": "persistent", "operation": "set",
			"bytes": 11.0, "created": true}, g.Metadata)
		assert.Equal(t, "tabs\n世界", b.ok("memory_read", args{"key": "style"}).Output)
		b.fails("Key is required", "memory_write", args{"key": "", "value": "x"})
		b.failsWith("Invalid key", "memory_write", args{"key": strings.Repeat("k", 300), "value": "x"})
		b.failsWith("Memory too large", "memory_write", args{"key": "k", "value": strings.Repeat("x", 9<<20)})
	})
	t.Run("category default general", func(t *testing.T) {
		b := newBench(t)
		b.ok("memory_write", args{"key": "k", "value": "v"})
		assert.Equal(t, "v", b.ok("memory_read", args{"key": "k", "category": "general"}).Output)
	})
	t.Run("category keeps keys apart", func(t *testing.T) {
		b := newBench(t)
		b.ok("memory_write", args{"key": "k", "value": "1", "category": "a"})
		b.ok("memory_write", args{"key": "k", "value": "2", "category": "b/c"})
		b.ok("memory_write", args{"key": "c/k", "value": "3", "category": "b"})
		assert.Equal(t, "1", b.ok("memory_read", args{"key": "k", "category": "a"}).Output)
		assert.Equal(t, "2", b.ok("memory_read", args{"key": "k", "category": "b/c"}).Output)
		assert.Equal(t, "3", b.ok("memory_read", args{"key": "c/k", "category": "b"}).Output)
		assert.Equal(t, "[a] k: 1\n[b/c] k: 2", b.ok("memory_read", args{"key": "k"}).Output)
	})
	t.Run("memory_type default persistent", func(t *testing.T) {
		b := newBench(t)
		b.ok("memory_write", args{"key": "k", "value": "v"})
		b.fails("Memory not found: k (session)", "memory_read", args{"key": "k", "memory_type": "session"})
		keys, err := b.host.State(sdk.PersistentScope).Keys(t.Context(), "")
		assert.NoError(t, err)
		assert.Len(t, keys, 1)
	})
	t.Run("memory_type session", func(t *testing.T) {
		b := newBench(t)
		b.ok("memory_write", args{"key": "k", "value": "v", "memory_type": "session"})
		b.fails("Memory not found: k (persistent)", "memory_read", args{"key": "k"})
		keys, err := b.host.State(sdk.SessionScope).Keys(t.Context(), "")
		assert.NoError(t, err)
		assert.Len(t, keys, 1)
	})
	t.Run("operation default set", func(t *testing.T) {
		b := newBench(t)
		b.ok("memory_write", args{"key": "k", "value": "1"})
		g := b.ok("memory_write", args{"key": "k", "value": "2"})
		assert.Equal(t, false, g.Metadata["created"])
		assert.Equal(t, "2", b.ok("memory_read", args{"key": "k"}).Output)
	})
	t.Run("operation append", func(t *testing.T) {
		b := newBench(t)
		for _, v := range []string{"1", "2\n", "3"} {
			b.ok("memory_write", args{"key": "k", "value": v, "operation": "append"})
		}
		assert.Equal(t, "1\n2\n3", b.ok("memory_read", args{"key": "k"}).Output)
	})
	t.Run("operation delete", func(t *testing.T) {
		b := newBench(t)
		b.ok("memory_write", args{"key": "k", "value": "1"})
		g := b.ok("memory_write", args{"key": "k", "value": "", "operation": "delete"})
		assert.Equal(t, "Deleted persistent memory 'k' in category 'general'", g.Output)
		b.fails("Memory not found: k (persistent)", "memory_read", args{"key": "k"})
		b.fails("Memory not found: k in category general (persistent)", "memory_write",
			args{"key": "k", "value": "", "operation": "delete"})
		b.ok("memory_write", args{"key": "k", "value": "1"})
		assert.Nil(t, b.ok("memory_write", args{"key": "k", "operation": "delete"}).Metadata["deprecated_parameters"],
			"a value has no meaning there")
	})
}

func TestMemoryRead(t *testing.T) {
	plant := func(t *testing.T) *bench {
		b := newBench(t)
		b.ok("memory_write", args{"key": "a", "value": "1"})
		b.ok("memory_write", args{"key": "b", "value": "first\nsecond\nthird", "category": "project"})
		b.ok("memory_write", args{"key": "c", "value": "3", "category": "project", "memory_type": "session"})
		return b
	}
	t.Run("key", func(t *testing.T) {
		g := plant(t).ok("memory_read", args{"key": "b"})
		assert.Equal(t, "first\nsecond\nthird", g.Output)
		assert.EqualValues(t, 1, g.Metadata["count"])
		m := g.Metadata["memories"].([]any)[0].(args)
		assert.Equal(t, "project", m["category"])
		assert.Equal(t, "persistent", m["memory_type"])
		assert.NotEmpty(t, m["created"])
	})
	t.Run("key left out lists all", func(t *testing.T) {
		g := plant(t).ok("memory_read", nil)
		assert.Equal(t, "[general] a: 1\n[project] b: first [... 2 more lines]", g.Output)
	})
	t.Run("category", func(t *testing.T) {
		b := plant(t)
		assert.Equal(t, "[project] b: first [... 2 more lines]",
			b.ok("memory_read", args{"category": "project"}).Output)
		assert.Equal(t, "No memories found", b.ok("memory_read", args{"category": "none"}).Output)
		assert.Equal(t, "No memories found", b.ok("memory_read", args{"category": "proj"}).Output)
	})
	t.Run("memory_type default persistent", func(t *testing.T) {
		plant(t).fails("Memory not found: c (persistent)", "memory_read", args{"key": "c"})
	})
	t.Run("memory_type session", func(t *testing.T) {
		assert.Equal(t, "[project] c: 3", plant(t).ok("memory_read", args{"memory_type": "session"}).Output)
	})
	t.Run("memory_type all", func(t *testing.T) {
		b := plant(t)
		assert.EqualValues(t, 3, b.ok("memory_read", args{"memory_type": "all"}).Metadata["count"])
		assert.Equal(t, "3", b.ok("memory_read", args{"memory_type": "all", "key": "c"}).Output)
	})
	t.Run("too much at once", func(t *testing.T) {
		b := newBench(t)
		for _, key := range []string{"a", "b", "c"} {
			b.ok("memory_write", args{"key": key, "value": strings.Repeat(key, 700<<10)})
		}
		b.ok("memory_write", args{"key": "d", "value": "small"})
		g := b.warns("2 of the values in metadata are cut", "memory_read", nil)
		assert.EqualValues(t, 4, g.Metadata["count"])
		assert.Contains(t, g.Output, "\n[general] d: small", "a large one hides no other")
		for i, bytes := range []any{nil, 700.0 * 1024, 700.0 * 1024, nil} {
			assert.Equal(t, bytes, g.Metadata["memories"].([]any)[i].(args)["bytes"], i)
		}
		assert.Len(t, b.ok("memory_read", args{"key": "c"}).Output, 700<<10)
	})
}

func TestThink(t *testing.T) {
	t.Run("task and context go to the model", func(t *testing.T) {
		b := newBench(t)
		var asked sdk.SampleRequest
		b.host.OnSample = func(r sdk.SampleRequest) (*sdk.SampleResponse, error) {
			asked = r
			return &sdk.SampleResponse{Text: "## Understanding\n...", Model: "m1"}, nil
		}
		g := b.ok("think", args{"task": "Why?", "context": "It is slow."})
		assert.Equal(t, "## Understanding\n...", g.Output)
		assert.Equal(t, "m1", g.Metadata["model"])
		assert.Equal(t, true, g.Metadata["used_model"])
		assert.Equal(t, "Task:\nWhy?\n\nContext:\nIt is slow.", asked.Prompt)
		assert.Contains(t, asked.System, "## Understanding")
	})
	t.Run("approach default step_by_step", func(t *testing.T) {
		assert.Equal(t, "step_by_step", newBench(t).ok("think", args{"task": "x"}).Metadata["approach"])
	})
	for approach, headings := range map[string][]any{
		"step_by_step": {"Understanding", "Known and unknown", "Steps", "Pitfalls", "Conclusion"},
		"pros_cons":    {"Question", "Pros", "Cons", "Risks", "Conclusion"},
		"alternatives": {"Goal", "Alternatives", "Comparison", "Choice", "First step"},
	} {
		t.Run("approach "+approach, func(t *testing.T) {
			g := newBench(t).ok("think", args{"task": "Move?", "context": "Now.", "approach": approach})
			assert.Equal(t, headings, g.Metadata["sections"])
			assert.Equal(t, false, g.Metadata["used_model"])
			assert.True(t, strings.HasPrefix(g.Output, "No language model has reasoned about this: "), "it says so")
			for _, h := range headings {
				assert.Contains(t, g.Output, "\n## "+h.(string)+"\n")
			}
			assert.Contains(t, g.Output, "Context: Now.")
		})
	}
	t.Run("task empty", func(t *testing.T) { newBench(t).fails("Task is required", "think", args{"task": " "}) })
	t.Run("a model that says nothing", func(t *testing.T) {
		b := newBench(t)
		b.host.OnSample = func(sdk.SampleRequest) (*sdk.SampleResponse,
			error) {
			return &sdk.SampleResponse{Text: " \n"}, nil
		}
		g := b.ok("think", args{"task": "x"})
		assert.Equal(t, false, g.Metadata["used_model"])
		assert.Contains(t, g.Output, "the language model gave an empty answer")
	})
	t.Run("a model that fails", func(t *testing.T) {
		b := newBench(t)
		b.host.OnSample = func(sdk.SampleRequest) (*sdk.SampleResponse, error) {
			return nil, tool.Errorf(tool.CommandFailed, "the model said no").Suggest("Try again.")
		}
		b.fails("The model said no", "think", args{"task": "x"})
	})
	t.Run("v1 topic and thinking_type", func(t *testing.T) {
		g := newBench(t).ok("think", args{"topic": "x", "thinking_type": "brainstorm"})
		assert.Equal(t, "alternatives", g.Metadata["approach"])
	})
}
