package console

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// opener puts a program in place of the user's browser first in PATH.
func opener(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		testfile.Program(t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// leadOf returns the only file that leads to a console, or "".
func leadOf(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolhost", "console", "*"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(files), 1)
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

// The file that leads a browser here has mode 0600, and is removed as soon as its code is invalid, for
// any reason.
func TestLeads(t *testing.T) {
	for name, end := range map[string]func(s *Server, code string){
		"used": func(s *Server, code string) {
			r, body := answer(s, own(s, http.MethodPost, "/api/session", `{"code":"`+code+`"}`, nil, ""))
			assert.Equal(t, http.StatusOK, r.StatusCode, body)
		},
		"another address was printed": func(s *Server, _ string) { s.Address() },
		"the console ends":            func(s *Server, _ string) { s.guard.close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := at(t)
			opened := make(chan string, 1)
			s.browse = func(path string) error { opened <- path; return nil }
			address := s.Address()
			_, code, _ := strings.Cut(address, "#code=")
			s.OpenBrowser(address, func(err error) { t.Errorf("nothing was opened: %v", err) })
			path := leadOf(t)
			require.NotEmpty(t, path)
			assert.Equal(t, path, testproc.Receive(t, opened, "the browser"))
			for at, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
				info, err := os.Lstat(at)
				require.NoError(t, err)
				assert.Equal(t, mode, info.Mode()&^os.ModeSetgid, at)
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Contains(t, string(data), `content="0;url=http://`+s.guard.host+`/open#code=`+code+`"`)
			end(s, code)
			assert.Empty(t, leadOf(t))
		})
	}
}

// A code used before the file was written leaves no file.
func TestLeadToAUsedCode(t *testing.T) {
	s := at(t)
	s.browse = func(string) error { return nil }
	address := s.Address()
	_, code, _ := strings.Cut(address, "#code=")
	_, _, ok := s.guard.redeem(code)
	require.True(t, ok)
	s.OpenBrowser(address, func(error) {})
	assert.Empty(t, leadOf(t))
	assert.False(t, s.guard.leads())
}

// A killed console's files are removed by the next, but not those in use.
func TestLeadsThatWereLeft(t *testing.T) {
	s := at(t)
	s.browse = func(string) error { return nil }
	dir := filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolhost", "console")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	old, fresh := filepath.Join(dir, "open-1.html"), filepath.Join(dir, "open-2.html")
	for _, path := range []string{old, fresh} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	past := time.Now().Add(-2 * codeTime)
	require.NoError(t, os.Chtimes(old, past, past))
	s.OpenBrowser(s.Address(), func(error) {})
	assert.NoFileExists(t, old)
	assert.FileExists(t, fresh)
}

// A failure to open a browser is reported; the address still works.
func TestBrowserThatFails(t *testing.T) {
	for name, start := range map[string]func(t *testing.T){
		"fails":      func(t *testing.T) { opener(t, "exit 3\n") },
		"is missing": func(t *testing.T) { t.Setenv("PATH", t.TempDir()) },
		"has no place for its file": func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolhost"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := at(t)
			start(t)
			address, failed := s.Address(), make(chan error, 1)
			s.OpenBrowser(address, func(err error) { failed <- err })
			assert.NotContains(t, testproc.Receive(t, failed, "word that nothing was opened").Error(), "code=")
			_, code, _ := strings.Cut(address, "#code=")
			_, _, ok := s.guard.redeem(code)
			assert.True(t, ok)
		})
	}
}

// The entrance answers only a browser's own window, and only while the file exists.
func TestEntrance(t *testing.T) {
	s := at(t)
	s.browse = func(string) error { return nil }
	led := func(headers ...string) int {
		r := document1(s)
		r.URL.Path = entrancePath
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		got, _ := answer(s, r)
		return got.StatusCode
	}
	assert.Equal(t, http.StatusUnauthorized, led(), "before there is a file")
	s.OpenBrowser(s.Address(), func(error) {})
	assert.Equal(t, http.StatusOK, led())
	for _, headers := range [][]string{{"Sec-Fetch-Dest", "iframe"}, {"Sec-Fetch-Mode", "cors"},
		{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, {"Origin", "http://evil.example"}} {
		assert.Equal(t, http.StatusForbidden, led(headers...), "%q", headers)
	}
	s.Address()
	assert.Equal(t, http.StatusUnauthorized, led(), "another address was printed")
}

func TestBrowserExpected(t *testing.T) {
	for name, want := range map[string]bool{"DISPLAY": true, "WAYLAND_DISPLAY": true,
		"OTHER": runtime.GOOS == "darwin"} {
		assert.Equal(t, want, BrowserExpected(func(asked string) string {
			if asked == name {
				return ":0"
			}
			return ""
		}), name)
	}
}
