package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// homeSection is the home directory's section of docs/SANDBOX.md.
func homeSection() string {
	var b strings.Builder
	b.WriteString(`
## The home directory

A confined process sees of the home directory the workspace, the directories of PATH, and the places below, read-only and
without the files of keys and tokens in them. What settings hold can be read: a header in .gitconfig, a token in .cargo/config.toml.
It is the one that HOME names; a home that the user database names besides is hidden whole, and if neither is known
no command runs. ` + "`$GOPATH`" + ` is the place that the variable names. ` + "`read = [\"~/data\"]`" + ` in a block, or in
the ` + "`sandbox`" + ` block for all, shows more.

| for | what | places |
|---|---|---|
`)
	for _, place := range homePlaces {
		names := make([]string, len(place.paths))
		for i, path := range place.paths {
			if path[0] != '$' {
				path = "~/" + path
			}
			names[i] = "`" + path + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", place.program, place.reason, strings.Join(names, ", "))
	}
	b.WriteString(`
A Go that was unpacked into the home directory needs the variable GOROOT or a ` + "`read`" + ` grant. A script in ~/bin that
uses files beside it needs ` + "`read`" + ` for these. If the workspace is the home directory itself, or holds it, known places
of secrets are hidden in it, such as ~/.ssh, and the rest is not.
`)
	return b.String()
}

func TestHomePlacesHoldNoSecrets(t *testing.T) {
	for _, place := range homePlaces {
		for _, path := range place.paths {
			assert.NotContains(t, secretsInHome, path)
		}
	}
}
