package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRead(t *testing.T) {
	settings := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789ab"}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}
	tests := []struct {
		name                  string
		version, commit, date string // set at build time
		build                 debug.BuildInfo
		want                  Info
	}{
		{"from git", "", "", "",
			debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}, Settings: settings},
			Info{Version: "v1.2.3", Commit: "0123456789ab", Date: "2026-11-22T10:00:00Z", Modified: true}},
		{"without git", "", "", "", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}},
			Info{Version: "(devel)"}},
		{"set", "v2.0.0", "cafe", "2026-01-01",
			debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}, Settings: settings},
			Info{Version: "v2.0.0", Commit: "cafe", Date: "2026-01-01"}},
		{"in another program", "", "", "", debug.BuildInfo{
			Main: debug.Module{Path: "example.org/other", Version: "v9.9.9"}, Settings: settings,
			Deps: []*debug.Module{{Path: "example.org/x", Version: "v1.0.0"}, {Path: modulePath, Version: "v0.4.0"}}},
			Info{Version: "v0.4.0"}},
		{"nothing is known", "", "", "", debug.BuildInfo{}, Info{Version: "(devel)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			version, commit, date = tt.version, tt.commit, tt.date
			t.Cleanup(func() { version, commit, date = "", "", "" })
			tt.want.Go, tt.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			assert.Equal(t, tt.want, read(&tt.build))
		})
	}
}
