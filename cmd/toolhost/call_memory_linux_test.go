package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A command whose processes together exceed agent.hcl's memory limit is ended, at both levels and in a toolset's own
// process, and the agent learns why.
func TestMemoryOfCommandsIsBounded(t *testing.T) {
	testneed.NotShort(t, "fills the memory")
	report := sandbox.Detect(t.Context())
	for level, works := range map[string]bool{"full": report.Full.Works, "landlock": report.Landlock.Works} {
		t.Run(level, func(t *testing.T) {
			if !works {
				testneed.Missing(t, "sandbox level "+level+" does not work here")
			}
			const hog = "x=$(head -c 120000000 /dev/zero | tr '\\\\0' a); sleep 60; echo $x | wc -c"
			dir := testneed.VisibleDir(t)
			plant(t, dir, texts{"agent.hcl": "policy {\n  dangerous = \"allow\"\n}\n" +
				"sandbox {\n  level = \"" + level + "\"\n  memory = \"60MB\"\n}\n" +
				"tool \"hog\" {\n  command {\n    argv = [\"/bin/sh\", \"-c\", \"" + hog + "\"]\n  }\n}\n"})
			r := serve(t, dir).call("hog", "{}")
			assert.True(t, r.IsError)
			assert.Contains(t, r.text(), "ended, as its processes took more than 57.2 MiB of memory together")
			r = serve(t, dir, "--toolset", "cliagent").call("run_in_terminal", `{"command":"`+hog+`"}`)
			assert.True(t, r.IsError)
			assert.Contains(t, r.text(), "took more than 57.2 MiB of memory together")
		})
	}
}
