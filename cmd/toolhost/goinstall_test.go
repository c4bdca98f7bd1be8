package main

import (
	archivezip "archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	modules "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// moduleZip returns this commit as Go fetches a module version.
func moduleZip(t *testing.T, version string) []byte {
	t.Helper()
	testneed.Program(t, "git")
	exported := filepath.Join(t.TempDir(), "source.zip")
	git := exec.Command("git", "-c", "safe.directory=*", "archive", "--format=zip", "-o", exported, "HEAD")
	git.Dir = filepath.Join("..", "..")
	if out, err := git.CombinedOutput(); err != nil {
		testneed.Missing(t, "this is no clone that git reads: "+string(out))
	}
	files, err := archivezip.OpenReader(exported)
	require.NoError(t, err)
	defer files.Close()
	source := filepath.Join(t.TempDir(), "source")
	require.NoError(t, os.CopyFS(source, files))
	var archive bytes.Buffer
	require.NoError(t, zip.CreateFromDir(&archive, modules.Version{Path: module, Version: version}, source))
	return archive.Bytes()
}

// Go installs no program of a module whose go.mod replaces others, or with files that are invalid on
// other systems.
func TestGoCanInstallThisModule(t *testing.T) {
	testneed.NotShort(t, "builds and tests a project")
	assert.NotEmpty(t, moduleZip(t, "v0.1.0"))
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		assert.NotRegexp(t, `^\s*(replace|exclude)\b`, line)
	}
}

// toolhost installed alone by go install knows its version, works without helpers, and prints the line
// that adds one.
func TestGoInstallAlone(t *testing.T) {
	testneed.NotShort(t, "builds and tests a project")
	testneed.LongOnly(t, "it compiles all of toolhost")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	versions := filepath.Join(dir, "proxy", filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	gomod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	plant(t, versions, texts{"list": "v0.1.0\n", "v0.1.0.info": `{"Version":"v0.1.0","Time":"2026-11-22T00:00:00Z"}`,
		"v0.1.0.mod": string(gomod), "v0.1.0.zip": string(moduleZip(t, "v0.1.0"))})
	cached, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	downloads := filepath.Join(strings.TrimSpace(string(cached)), "cache", "download")
	goInstall := func(program string) {
		cmd := exec.Command("go", "install", module+"/cmd/"+program+"@v0.1.0")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=file://"+filepath.Join(dir, "proxy")+",file://"+downloads,
			"GOSUMDB=off",
			"GOBIN="+filepath.Join(dir, "bin"), "GOMODCACHE="+filepath.Join(dir, "modules"), "GOFLAGS=-modcacherw")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	goInstall("toolhost")
	toolhost := filepath.Join(dir, "bin", "toolhost")
	report := versionOf(t, toolhost)
	assert.Equal(t, "v0.1.0", report.Version)
	assert.Equal(t, "go install", string(report.Channel))
	assert.Len(t, report.Missing, 3)

	project := t.TempDir()
	plant(t, project, texts{"main.go": "package main\n"})
	call := func(args ...string) ([]byte, error) {
		cmd := withPath(program(t, project, append([]string{"call"}, args...)...), t.TempDir())
		cmd.Path = toolhost
		return cmd.CombinedOutput()
	}
	out, err := call("read_file", "path=main.go")
	require.NoError(t, err, string(out))
	out, err = call("--toolset", "ocode", "architect", "analysis_type=overview")
	assert.Error(t, err)
	const line = "go install " + module + "/cmd/toolhost-architect@v0.1.0"
	assert.Contains(t, string(out), line)

	goInstall("toolhost-architect") // as the line says
	out, err = call("--toolset", "ocode", "architect", "analysis_type=overview")
	assert.NoError(t, err, string(out))
	text, err := json.Marshal(versionOf(t, toolhost).Helpers)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"version":"v0.1.0"`)
	assert.NotContains(t, string(text), "problem")
}
