package host_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

func TestPortableName(t *testing.T) {
	portable := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	names := []string{"read_file", "A-z_0", strings.Repeat("x", 64), strings.Repeat("x", 65),
		strings.Repeat("x", 64) + "y", "a.b", "a_b", "a/b", "größe", "", strings.Repeat("é", 100)}
	seen := make(map[string]string)
	for _, name := range names {
		got := host.PortableName(name)
		assert.Regexp(t, portable, got, name)
		assert.Equal(t, got, host.PortableName(name))
		other, taken := seen[got]
		assert.False(t, taken, "%q and %q are both %q", name, other, got)
		seen[got] = name
		if portable.MatchString(name) {
			assert.Equal(t, name, got)
		}
	}
}

func TestToolsWithLongNamesAreOfferedAndCalled(t *testing.T) {
	long := "list_" + strings.Repeat("very_", 20) + "long"
	sources := []host.Source{host.Prefixed(list{name: "up", tools: []tool.Tool{echo(long), echo("files.read")}},
		"srv_")}
	short, dotted := host.PortableName("srv_"+long), host.PortableName("srv_files.read")
	for name, set := range map[string]host.Toolset{
		"all":                {},
		"by their own names": {Tools: []string{"srv_" + long, "srv_files.read"}},
		"as they are listed": {Tools: []string{short, dotted}},
		"renamed": {Tools: []string{short, "srv_files.read"},
			Rename: map[string]string{short: short, "srv_files.read": dotted}},
	} {
		h, err := host.New(t.Context(), host.Options{Root: t.TempDir(), Sources: sources, Toolset: set})
		require.NoError(t, err, name)
		require.Len(t, h.Catalog().Entries(), 2, name)
		assert.Equal(t, short, h.Catalog().Entries()[0].Name, name)
		assert.Equal(t, dotted, h.Catalog().Entries()[1].Definition().Name, name)
		out := h.Session("s").Call(t.Context(), host.Request{Tool: short, Params: []byte(`{"text":"x"}`)})
		assert.Nil(t, out.Err, name)
	}
}

// Foreign names stay short enough for clients' prefixes; those of agent.hcl stay as written.
func TestNamesBehindAClientsPrefix(t *testing.T) {
	long := strings.Repeat("x", 60)
	up := list{name: "up", tools: []tool.Tool{echo(long)}}
	for _, source := range []host.Source{&up, host.Foreign(&up, nil)} {
		whole := source == host.Source(&up)
		for name, set := range map[string]host.Toolset{"all": {}, "by its own name": {Tools: []string{long}}} {
			h, err := host.New(t.Context(),
				host.Options{Root: t.TempDir(), Sources: []host.Source{source}, Toolset: set})
			require.NoError(t, err, "%v %s", whole, name)
			require.Len(t, h.Catalog().Entries(), 1, "%v %s", whole, name)
			got := h.Catalog().Entries()[0].Name
			if whole {
				assert.Equal(t, long, got)
				continue
			}
			assert.Len(t, got, host.MaxForeignName)
			assert.Regexp(t, `^x{39}_[0-9a-f]{8}$`, got)
			assert.True(t, host.Offered(long, []string{got}))
		}
	}
}
