package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/policy"
)

func remembered(t *testing.T) (*policy.Remembered, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := policy.OpenRemembered(dir, filepath.Join(t.TempDir(), "ws"))
	require.NoError(t, err)
	return r, dir
}

func TestRememberListRemove(t *testing.T) {
	r, dir := remembered(t)
	rules, err := r.List()
	require.NoError(t, err)
	assert.Empty(t, rules)

	first := policy.Exactly("", "create_file", json.RawMessage(`{"path":"a"}`))
	second := policy.Rule{Name: "no network", Permission: tool.Network, Action: policy.Deny}
	require.NoError(t, r.Add(first))
	require.NoError(t, r.Add(second))
	require.NoError(t, r.Add(first), "adding again changes nothing")
	rules, err = r.List()
	require.NoError(t, err)
	require.Len(t, rules, 2)
	for _, rule := range rules {
		assert.True(t, rule.Remembered)
	}

	other, err := policy.OpenRemembered(dir, filepath.Join(t.TempDir(), "other"))
	require.NoError(t, err)
	rules, err = other.List()
	require.NoError(t, err)
	assert.Empty(t, rules, "workspaces are apart")

	require.NoError(t, r.Remove(first.Name))
	assert.Equal(t, tool.NotFound, tool.CodeOf(r.Remove(first.Name)))
	rules, err = r.List()
	require.NoError(t, err)
	require.Len(t, rules, 1)
	assert.Equal(t, "no network", rules[0].Name)
	assert.Equal(t, policy.Deny, rules[0].Action)
}

func TestRememberRefuses(t *testing.T) {
	r, _ := remembered(t)
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(r.Add(policy.Rule{Action: policy.Allow})))
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(r.Add(policy.Rule{Name: "x", Action: policy.Allow, Params: "("})))
	workspace := t.TempDir()
	_, err := policy.OpenRemembered(filepath.Join(workspace, ".config"), workspace)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err), "where a tool could write the rules")
	_, err = policy.OpenRemembered("rules", workspace)
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

// One damaged file does not hide the other rules, and is reported.
func TestDamagedRememberedRule(t *testing.T) {
	r, dir := remembered(t)
	require.NoError(t, r.Add(policy.Exactly("", "x", nil)))
	dirs, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, dirs[0].Name(), "bad.json"), []byte("{"), 0o600))
	rules, err := r.List()
	assert.Len(t, rules, 1)
	assert.ErrorContains(t, err, "bad.json")
}

func TestRememberedFilesAreTheUsersOwn(t *testing.T) {
	r, dir := remembered(t)
	require.NoError(t, r.Add(policy.Exactly("", "x", nil)))
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		if path != dir {
			info, err := entry.Info()
			require.NoError(t, err)
			assert.Zero(t, info.Mode().Perm()&0o077, path)
		}
		return nil
	}))
}

func TestRememberAtTheSameTime(t *testing.T) {
	r, _ := remembered(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			assert.NoError(t, r.Add(policy.Exactly("", "x", json.RawMessage(`{"n":`+string(rune('0'+i%10))+`}`))))
		})
	}
	wg.Wait()
	rules, err := r.List()
	require.NoError(t, err)
	assert.Len(t, rules, 10)
}
