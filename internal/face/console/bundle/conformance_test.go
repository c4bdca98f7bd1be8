package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Every tool of the conformance project, including its plugin's, has a form that takes its examples and
// shows each violation at its field.
func TestFormsOfTheConformanceProject(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	project := filepath.Join("..", "..", "..", "..", "examples", "conformance")
	for _, name := range []string{"agent.hcl", "watched.txt"} {
		data, err := os.ReadFile(filepath.Join(project, name))
		if err != nil {
			t.Fatal(err)
		}
		u.write(name, string(data))
	}
	plugin := filepath.Join(u.dir, "toolhost-plugin-conformance")
	if err := goBuild("", plugin, "./examples/conformance/plugin"); err != nil {
		t.Fatal(err)
	}
	space := u.openTools(ctx)
	var all struct {
		Tools []struct{ Name, Source string }
	}
	u.told(&all, "list", "--json")
	own, ofPlugin := 0, 0
	for _, tool := range all.Tools {
		switch tool.Source {
		case "command":
			own++
		case "plugin conformance":
			ofPlugin++
		default:
			continue
		}
		tryForm(t, ctx, u, space, "", tool.Name)
	}
	if own < 5 || ofPlugin < 1 {
		t.Errorf("%d tools of agent.hcl, %d of its plugin", own, ofPlugin)
	}
	t.Logf("%d tools of agent.hcl, %d of its plugin", own, ofPlugin)
}
