package testproc

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type ending struct {
	testing.TB
	said string
}

func (e *ending) Helper() {}

func (e *ending) Fatalf(format string, values ...any) {
	e.said = fmt.Sprintf(format, values...)
	runtime.Goexit()
}

// ends returns what a failing test prints.
func ends(t *testing.T, test func(t testing.TB)) string {
	e, over := &ending{TB: t}, make(chan struct{})
	go func() {
		defer close(over)
		test(e)
	}()
	<-over
	return e.said
}

func TestUntil(t *testing.T) {
	asked := 0
	count := func(n int) func() (bool, string) {
		return func() (bool, string) { asked++; return asked == n, fmt.Sprint("asked ", asked) }
	}
	Until(t, "the third", count(3))
	assert.Equal(t, 3, asked)
	late := ends(t, func(t testing.TB) { until(t, 20*time.Millisecond, "never", count(-1)) })
	assert.Equal(t, fmt.Sprint("not within 20ms: never\nasked ", asked), late)
	until(t, -1, "what is so already", func() (bool, string) { return true, "" })
	inside := ends(t, func(t testing.TB) {
		Until(t, "x", func() (bool, string) { t.Fatalf("the condition ends the test"); return false, "" })
	})
	assert.Equal(t, "the condition ends the test", inside)
}

func TestReceive(t *testing.T) {
	c := make(chan int, 1)
	assert.Regexp(t, "(?s)^nothing was received within 1ms: a number\n.*TestReceive",
		ends(t, func(t testing.TB) { receive(t, time.Millisecond, c, "a number") }))
	c <- 7
	assert.Equal(t, 7, Receive(t, c, "a number"))
	close(c)
	assert.Zero(t, Receive(t, c, "the end"))
}

func TestQuickly(t *testing.T) {
	times := 0
	Quickly(time.Minute, func() { times++ })
	assert.Equal(t, 1, times)
	Quickly(0, func() { times++ })
	assert.Equal(t, 21, times)
}

func TestOutput(t *testing.T) {
	r, w := io.Pipe()
	s := Listen(r)
	_, err := io.WriteString(w, "second b\nfirst a\nName")
	require.NoError(t, err)
	s.Shows(t, "Name")
	for pattern, want := range map[string]string{`^first (\w)`: "a", `^second (\w)`: "b", "^first a": "first a"} {
		assert.Equal(t, want, s.Find(t, pattern), "in any order, and again")
	}
	go func() { _, _ = io.WriteString(w, "d: Ada\nlast") }()
	assert.Equal(t, "Ada", s.Find(t, `^Named: (\w+)`), "whole lines alone")
	require.NoError(t, w.Close())
	assert.Equal(t, "last", s.Find(t, "^last$"))
	Receive(t, s.Ended(), "the end")
	for said, wait := range map[string]func(t testing.TB){
		"a line with none": func(t testing.TB) { s.Find(t, "none") }, `"x"`: func(t testing.TB) { s.Shows(t, "x") },
	} {
		assert.Equal(t, "the program ended without "+said+"; it said:\n"+s.Text(), ends(t, wait))
	}
	assert.Equal(t, "second b\nfirst a\nNamed: Ada\nlast", s.Text())
}

func TestReplaceAndFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	Replace(t, path, "one")
	before, err := os.Open(path)
	require.NoError(t, err)
	defer before.Close()
	require.NoError(t, os.Chmod(path, 0o751))
	Replace(t, path, "two")
	old, err := io.ReadAll(before)
	require.NoError(t, err)
	assert.Equal(t, "one", string(old), "not changed, but replaced")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, 0o751, info.Mode().Perm())

	for _, name := range []string{"b/c", "d"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	var found []string
	Files(t, dir, func(path string, content []byte) {
		found = append(found, string(content))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "b")), "it goes while the directory is read")
	})
	assert.Equal(t, []string{"two", "d"}, found)
}

func TestEnvironment(t *testing.T) {
	for _, name := range []string{"TOOLHOST_TRUST", "OTEL_SERVICE_NAME", "XDG_STATE_HOME", "NO_COLOR", "HTTPS_PROXY",
		"LANG"} {
		t.Setenv(name, "of the caller")
	}
	env := Environment("/home", "MORE=1")
	assert.Contains(t, env, "HOME=/home")
	assert.Contains(t, env, "PATH="+os.Getenv("PATH"))
	assert.Equal(t, "MORE=1", env[len(env)-1])
	assert.NotContains(t, strings.Join(env, "\n"), "of the caller")
}
