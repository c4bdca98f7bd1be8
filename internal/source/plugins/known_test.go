package plugins

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
)

// knownPlugins makes programs whose tools are cached in the same directory.
func knownPlugins(t testing.TB, count int) (Options, []Spec) {
	t.Helper()
	dir := t.TempDir()
	options := Options{CacheDir: filepath.Join(dir, "cache")}
	specs := make([]Spec, count)
	for i := range specs {
		specs[i] = Spec{Name: fmt.Sprint("p", i), Path: filepath.Join(dir, fmt.Sprint("program", i))}
		require.NoError(t, os.WriteFile(specs[i].Path, []byte("program"), 0o755))
	}
	time.Sleep(2 * settleTime) // until a change would show
	m := NewManager(options)
	for i := range specs {
		learnTool(t, m, &specs[i])
	}
	require.NoError(t, m.Close())
	return options, specs
}

func learnTool(t testing.TB, m *Manager, spec *Spec) {
	t.Helper()
	b, err := openProgram(*spec)
	require.NoError(t, err)
	defer b.close()
	require.NoError(t, m.cache.store(spec, b, &pluginclient.Description{
		Name: "words", Version: "1.0.0", Tools: []pluginclient.Tool{{Definition: &tool.Definition{
			Name: "count_words", Description: "Count the words of a text. Returns: the number.", Risk: tool.ReadOnly,
			Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"the ` +
				`text"}},"required":["text"]}`),
		}}},
	}))
}

// known returns which plugins a new manager knows.
func known(t testing.TB, options Options, specs []Spec) []bool {
	t.Helper()
	m := NewManager(options)
	defer m.Close()
	all := make([]bool, len(specs))
	for i := range specs {
		require.NoError(t, m.Add(specs[i]))
		tools, ok := m.Source(specs[i].Name).KnownTools()
		if all[i] = ok; ok {
			require.Len(t, tools, 1)
			assert.Equal(t, "count_words", tools[0].Definition().Name)
		}
	}
	for _, s := range m.Status() {
		assert.Zero(t, s.Starts)
	}
	return all
}

func TestKnownTools(t *testing.T) {
	options, specs := knownPlugins(t, 8)
	assert.Equal(t, []bool{true, true, true, true, true, true, true, true}, known(t, options, specs))

	sum, err := Checksum(specs[1].Path)
	require.NoError(t, err)
	specs[1].SHA256 = sum
	specs[2].SHA256 = "00" + sum[2:]
	specs[3].Args = []string{"--other"}
	require.NoError(t, os.WriteFile(specs[4].Path, []byte("another"), 0o755))
	require.NoError(t, os.Rename(specs[4].Path, specs[5].Path)) // removes program 4
	require.NoError(t, os.Chmod(specs[6].Path, 0o700))
	options.Attach = map[string]Attachment{"p7": {Socket: "/nowhere"}}
	assert.Equal(t, []bool{true, true, false, false, false, false, false, false}, known(t, options, specs),
		"the checksum fits, does not fit; other arguments, no program, another one, other times, attached")

	time.Sleep(2 * settleTime)
	m := NewManager(options)
	defer m.Close()
	require.NoError(t, m.Add(specs[6]))
	_, ok := m.cache.fresh(&specs[6])
	assert.True(t, ok, "the content is the same")
	_, ok = m.Source("p6").KnownTools()
	assert.True(t, ok, "and is not read again")
	_, ok = m.Source("absent").KnownTools()
	assert.False(t, ok)
}

// An entry that others could have written would vouch for a program.
func TestEntryThatCannotBeBelieved(t *testing.T) {
	options, specs := knownPlugins(t, 1)
	assert.Equal(t, []bool{true}, known(t, options, specs))
	require.NoError(t, os.Chmod((&schemaCache{dir: options.CacheDir}).path(keyOf(&specs[0])), 0o620))
	assert.Equal(t, []bool{false}, known(t, options, specs))
}

// BenchmarkKnownTools lists the tools of fifty known plugins.
func BenchmarkKnownTools(b *testing.B) {
	options, specs := knownPlugins(b, 50)
	b.ReportAllocs()
	for b.Loop() {
		known(b, options, specs)
	}
}
