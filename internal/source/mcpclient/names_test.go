package mcpclient

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A tool's name does not depend on the server's other tools or their order.
func TestNamesDoNotDependOnOtherTools(t *testing.T) {
	s := &server{client: &Client{logger: slog.New(slog.DiscardHandler)}, spec: Spec{Name: "db", Prefix: "db_"}}
	named := func(names ...string) map[string]string {
		l := &listing{}
		for _, name := range names {
			l.Tools = append(l.Tools, upstreamTool{Name: name})
		}
		offered := make(map[string]string)
		for _, one := range s.remoteTools(l) {
			offered[one.(*remoteTool).name] = one.Definition().Name
		}
		return offered
	}
	all := []string{"查询", "删除", "row.get", "row_get", "row/get", "plain", "row.get"}
	want := named(all...)
	assert.Len(t, want, 6)
	assert.Equal(t, "db_plain", want["plain"])
	assert.Equal(t, "db_row_get", want["row_get"])
	seen := make(map[string]bool)
	for _, name := range want {
		assert.False(t, seen[name], name)
		seen[name] = true
	}
	slices.Reverse(all)
	assert.Equal(t, want, named(all...))
	for _, name := range all {
		assert.Equal(t, map[string]string{name: want[name]}, named(name), "alone")
	}
	// A name made to look like another.
	fake := want["row.get"][len("db_"):]
	assert.Equal(t, map[string]string{"row.get": want["row.get"]}, named("row.get", fake))
	assert.Equal(t, map[string]string{"row.get": want["row.get"]}, named(fake, "row.get"))
}
