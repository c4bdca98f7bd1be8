package argv_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/argv"
)

// A parameter is one part of a URI, and does not begin another.
func TestURIOfParameters(t *testing.T) {
	within := argv.Expr{Concat: []argv.Expr{{Literal: "note://"}, {Param: "id"}, {Literal: "?v="}, {Param: "v"}}}
	whole := argv.Expr{Param: "id"}
	for _, c := range []struct {
		expr argv.Expr
		id   string
		want string
	}{
		{within, "today", "note://today?v=2"},
		{within, "a/b c", "note://a/b%20c?v=2"},
		{within, "a?x=1#y", "note://a%3Fx=1%23y?v=2"},
		{within, "50%41", "note://50%2541?v=2"},
		{whole, "https://example.com/a?b=c%20d", "https://example.com/a?b=c%20d"},
		{argv.Expr{When: &argv.When{Param: "on", Then: within, Else: whole}}, "a b", "note://a%20b?v=2"},
	} {
		assert.Equal(t, c.want, c.expr.URI(map[string]any{"id": c.id, "v": json.Number("2"), "on": true}))
	}
}
