package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// buildRelease builds programs as releases of a version, into a directory. No version means a
// development build of another commit.
func buildRelease(t *testing.T, version string, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range programs {
		from := filepath.Join(binaries, "releases", version+"-"+name)
		if _, err := os.Stat(from); err != nil {
			set := "version=" + version
			if version == "" {
				set = "commit=0123456789abcdef0123456789abcdef01234567"
			}
			out, err := exec.Command("go", "build", "-o", from,
				"-ldflags=-s -X "+module+"/internal/buildinfo."+set, module+"/cmd/"+name).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		require.NoError(t, os.Link(from, filepath.Join(dir, name)))
	}
	return dir
}

// versionOf returns the output of toolhost version --json, with an empty PATH.
func versionOf(t *testing.T, toolhost string) (report versionReport) {
	t.Helper()
	cmd := withPath(program(t, t.TempDir(), "version", "--json"), t.TempDir())
	cmd.Path = toolhost
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &report), string(out))
	return report
}

func TestAHelperOfAnotherVersionIsRefused(t *testing.T) {
	testneed.NotShort(t, "starts other versions of the programs")
	dir := buildRelease(t, "v0.1.0", "toolhost", "toolhost-architect")
	toolhost, helper := filepath.Join(dir, "toolhost"), filepath.Join(dir, "toolhost-architect")
	report := versionOf(t, toolhost)
	assert.Equal(t, "v0.1.0", report.Version)
	require.Len(t, report.Helpers, 1)
	assert.Equal(t, helperReport{Name: "toolhost-architect", Path: helper, Version: "v0.1.0",
		Commit: report.Commit}, report.Helpers[0])
	require.Len(t, report.Missing, 3)
	assert.Equal(t, "toolhost-task", report.Missing[0].Name)
	assert.NotEmpty(t, report.Missing[0].Next)

	architect := func() (string, error) {
		project := t.TempDir()
		plant(t, project, texts{"main.go": "package main\n"})
		cmd := withPath(program(t, project, "call", "--toolset", "ocode", "architect", "analysis_type=overview"),
			t.TempDir())
		cmd.Path = toolhost
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := architect()
	require.NoError(t, err, out)
	assert.Contains(t, out, "Go")

	for name, dir := range map[string]string{
		"version v0.2.0": buildRelease(t, "v0.2.0", "toolhost-architect"),
		"version ":       buildRelease(t, "", "toolhost-architect"),
	} {
		require.NoError(t, os.Rename(filepath.Join(dir, "toolhost-architect"), helper))
		out, err := architect()
		assert.Error(t, err, name)
		assert.Contains(t, out, helper+" is "+name)
		assert.Contains(t, out, "this toolhost is version v0.1.0")
		assert.Contains(t, out, "go install")
		assert.Contains(t, versionOf(t, toolhost).Helpers[0].Problem, name)
	}
}

func TestDoctorTellsHowToolhostWasInstalled(t *testing.T) {
	testneed.NotShort(t, "starts many programs")
	dir := t.TempDir()
	self := filepath.Join(dir, "bin", "toolhost")
	data, err := os.ReadFile(filepath.Join(binaries, "toolhost"))
	require.NoError(t, err)
	testfile.Program(t, self, string(data))
	installed := func() finding {
		cmd := withPath(program(t, t.TempDir(), "doctor", "--json"), t.TempDir())
		cmd.Path = self
		out, _ := cmd.Output() // it may find a problem here
		var findings []finding
		require.NoError(t, json.Unmarshal(out, &findings), string(out))
		for _, f := range findings {
			if f.Check == "installed" {
				return f
			}
		}
		require.Fail(t, "doctor does not say how")
		return finding{}
	}
	assert.True(t, installed().OK)
	marker := filepath.Join(dir, "libexec", "toolhost", "channel")
	require.NoError(t, os.MkdirAll(filepath.Dir(marker), 0o755))
	require.NoError(t, os.WriteFile(marker, []byte("deb\n"), 0o644))
	assert.Contains(t, installed().Detail, "as the deb package toolhost")
	require.NoError(t, os.WriteFile(marker, []byte("\x00\xff"), 0o644))
	f := installed()
	assert.False(t, f.OK)
	assert.True(t, f.Warning)
	assert.Contains(t, f.Detail, marker)
}
