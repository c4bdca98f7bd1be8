package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// pluginUser is a user with a home, running toolhost in a directory.
type pluginUser struct {
	t    *testing.T
	home string
	dir  string
	env  []string
}

func newPluginUser(t *testing.T) *pluginUser {
	t.Helper()
	home := t.TempDir()
	env := testproc.Environment(home, "XDG_DATA_HOME="+home+"/data", "XDG_CONFIG_HOME="+home+"/config",
		"XDG_CACHE_HOME="+home+"/cache")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN", "CGO_ENABLED"} {
		env = append(env, name+"="+goEnv(t, name))
	}
	return &pluginUser{t: t, home: home, dir: t.TempDir(), env: env}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func (u *pluginUser) in(dir string) *pluginUser {
	other := *u
	other.dir = dir
	return &other
}

// run runs toolhost and returns its output and exit code.
func (u *pluginUser) run(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), filepath.Join(binaries, "toolhost"), args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (u *pluginUser) must(args ...string) string {
	u.t.Helper()
	out, errs, code := u.run(args...)
	require.Zero(u.t, code, "%v: %s%s", args, out, errs)
	return out
}

// fails runs toolhost, which must fail with that exit code and message.
func (u *pluginUser) fails(code int, says string, args ...string) {
	u.t.Helper()
	out, errs, got := u.run(args...)
	assert.Equal(u.t, code, got, "%v: %s%s", args, out, errs)
	assert.Contains(u.t, out+errs, says, "%v", args)
}

func (u *pluginUser) read(name string) string {
	u.t.Helper()
	data, err := os.ReadFile(filepath.Join(u.dir, name))
	require.NoError(u.t, err)
	return string(data)
}

func (u *pluginUser) write(name, text string) {
	u.t.Helper()
	require.NoError(u.t, os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o644))
}

// A new author gets from an empty folder to a tested, installed and called plugin by three commands and
// less than forty lines of Go.
func TestNewAuthor(t *testing.T) {
	testneed.NotShort(t, "builds and tests a project")
	u := newPluginUser(t)
	checkout, err := filepath.Abs("../..")
	require.NoError(t, err)
	u.must("plugin", "new", "hello", "--sdk", checkout)
	u.must("plugin", "install", "./hello")
	assert.Equal(t, "{\"greeting\":\"Hello, World!\"}\n", u.must("call", "hello_greet", "name=World"))

	assert.Less(t, strings.Count(u.read("hello/main.go"), "\n"), 40)
	u.fails(1, "name is empty", "call", "hello_greet", "name=")
	u.must("plugin", "verify")
	u.fails(2, "is not a release", "plugin", "new", "other")

	// A failing test prevents installation.
	u.write("hello/main.go", strings.Replace(u.read("hello/main.go"), "Hello, ", "Bye, ", 1))
	u.fails(1, "got {\"greeting\":\"Bye, World!\"}", "plugin", "install", "./hello")
	assert.Equal(t, "{\"greeting\":\"Hello, World!\"}\n", u.must("call", "hello_greet", "name=World"))
}

// release builds a version of the test plugin, once for all tests, as a program and an archive.
func release(t *testing.T, version string) (program, archive []byte) {
	t.Helper()
	path := filepath.Join(binaries, "plugins", version)
	if _, err := os.Stat(path); err != nil {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "-ldflags",
			"-s -w -X main.version="+version, "./testdata/plugin").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	w := tar.NewWriter(zipped)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "toolhost-plugin-tell", Mode: 0o755, Size: int64(len(program)),
		Typeflag: tar.TypeReg}))
	_, err = w.Write(program)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return program, b.Bytes()
}

// overwrite overwrites a program that has just run: that fails until it has ended.
func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	eventually(t, path+" can be written", func() bool { return testfile.WriteWhole(path, data, 0o755) == nil })
}

// publisher is an author's site, over TLS.
type publisher struct {
	*httptest.Server
	files map[string][]byte
	key   minisign.PrivateKey
	pub   string
}

func newPublisher(t *testing.T, u *pluginUser) *publisher {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	p := &publisher{files: make(map[string][]byte), key: private}
	text, err := public.MarshalText()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	p.pub = lines[len(lines)-1]
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := p.files[r.URL.Path]; ok {
			_, _ = w.Write(data)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(p.Close)
	ca := filepath.Join(u.home, "ca.pem")
	require.NoError(t,
		os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o644))
	u.env = append(u.env, "SSL_CERT_FILE="+ca)
	return p
}

func (p *publisher) publish(version string, archive []byte) {
	path := "/tell_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	p.files[path] = archive
	p.files[path+".minisig"] = minisign.Sign(p.key, archive)
}

// A user installs a signed plugin from the web, shares it between projects, updates and removes it, and
// nothing changed is run.
func TestPluginLife(t *testing.T) {
	testneed.NotShort(t, "builds a plugin")
	testneed.OnlyOn(t, "linux", "it has the test's certificate trusted through SSL_CERT_FILE")
	u := newPluginUser(t)
	site := newPublisher(t, u)
	_, first := release(t, "1.0.0")
	second, secondArchive := release(t, "1.1.0")
	site.publish("1.0.0", first)
	site.publish("1.1.0", secondArchive)
	address := site.URL + "/tell_{version}_{os}_{arch}.tar.gz"

	u.fails(1, "127.0.0.1", "plugin", "install", address, "--version", "1.0.0") // not allowed by agent.hcl
	u.write("agent.hcl", "web { allow = [\"127.0.0.1\"] }\n")
	u.must("trust", "--yes")
	u.fails(1, "SHA-256", "plugin", "install", address, "--version", "1.0.0", "--sha256", strings.Repeat("0", 64))
	out := u.must("plugin", "install", address, "--version", "1.0.0", "--key", site.pub)
	assert.Contains(t, out, "Installed tell 1.0.0 (signature verified with key "+site.pub+")")
	assert.Contains(t, out, "asks for: network")
	assert.Contains(t, out, "tell_all (dangerous)")
	assert.Equal(t, "version 1.0.0\n", u.must("call", "tell_version"), "the file stays approved")
	for _, want := range []string{`version    = "1.0.0"`, `constraint = "1.0.0"`, `from       = "` + address + `"`,
		`key        = "` + site.pub + `"`} {
		assert.Contains(t, strings.ReplaceAll(u.read("agent.lock.hcl"), "$${", "${"), want)
	}
	assert.Contains(t, u.must("plugin", "verify"), "as locked; signature verified")

	assert.Contains(t, u.must("plugin", "list", "--installed"), "verified")
	assert.Regexp(t, `tell +1\.0\.0 +3 +locked at 1\.0\.0 `, u.must("plugin", "list"))

	// Another project of the same user shares it.
	other := u.in(t.TempDir())
	other.write("agent.hcl", u.read("agent.hcl"))
	other.write("agent.lock.hcl", u.read("agent.lock.hcl"))
	other.must("trust", "--yes")
	assert.Equal(t, "version 1.0.0\n", other.must("call", "tell_version"))

	// A changed program is not run; all else is.
	installed, err := filepath.Glob(u.home + "/data/toolhost/plugins/tell/1.0.0/*/files/toolhost-plugin-tell")
	require.NoError(t, err)
	require.Len(t, installed, 1)
	overwrite(t, installed[0], second)
	u.fails(1, "not the one that was locked", "call", "tell_version")
	u.fails(1, "not as it was installed", "plugin", "verify")
	u.must("call", "write_file", "path=a", "content=b", "--yes")
	assert.Contains(t, u.must("plugin", "list"), "not the one that was locked")

	// The message names the command that repairs it.
	u.fails(1, "Run toolhost plugin install, which takes the locked program from ", "call", "tell_version")
	u.fails(1, "Run toolhost plugin install, which takes the locked program from ", "plugin", "verify")
	assert.Contains(t, u.must("plugin", "install"), "Installed tell 1.0.0")
	u.must("plugin", "verify")
	assert.Contains(t, u.must("plugin", "install"), "tell is installed.")

	// It is reinstalled from the lock's origin, and must be the same.
	u.must("plugin", "remove", "tell")
	u.fails(2, "is not installed", "call", "tell_version")
	site.publish("1.0.0", secondArchive)
	u.fails(1, "is not the one that was locked", "plugin", "install")
	site.publish("1.0.0", first)
	u.must("plugin", "install")
	assert.Equal(t, "version 1.0.0\n", u.must("call", "tell_version"))

	// The lock stays; an update moves it.
	u.write("agent.hcl", strings.Replace(u.read("agent.hcl"), `"1.0.0"`, `"~> 1.1"`, 1))
	u.must("trust", "--yes")
	u.fails(2, "locked at 1.0.0, and agent.hcl wants ~> 1.1", "call", "tell_version")
	delete(site.files, "/tell_1.1.0_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz.minisig")
	u.fails(1, "is not signed", "plugin", "update", "--version", "1.1.0")
	site.publish("1.1.0", secondArchive)
	assert.Contains(t, u.must("plugin", "update", "--version", "1.1.0"), "tell: 1.0.0 -> 1.1.0")
	assert.Equal(t, "version 1.1.0\n", u.must("call", "tell_version"))
	assert.Equal(t, "version 1.0.0\n", other.must("call", "tell_version"), "the other project keeps its version")

	// Grants are shown before it runs, and apply.
	u.write("agent.hcl", strings.Replace(u.read("agent.hcl"), "source", "permissions = []\n  source", 1))
	u.must("trust", "--yes")
	out = u.must("plugin", "describe", "tell")
	assert.Contains(t, out, "asks for: network")
	assert.Contains(t, out, "granted:  nothing")
	assert.Contains(t, out, "refused")
	u.fails(1, "was not granted", "call", "tell_all", "--yes")
}

// An update that finds another program under the locked version says so, and installs it only after a
// yes; it shows what the tools now say, and what the lock does not cover.
func TestUpdateUnderTheSameVersion(t *testing.T) {
	testneed.NotShort(t, "builds plugins")
	u := newPluginUser(t)
	program, _ := release(t, "1.0.0")
	source := filepath.Join(u.dir, "toolhost-plugin-tell")
	testfile.Program(t, source, string(program))
	u.must("plugin", "install", source)
	assert.Contains(t, u.read("agent.lock.hcl"), `from       = "./toolhost-plugin-tell"`)
	assert.Contains(t, u.must("plugin", "update", "tell"), "tell: still 1.0.0")

	locked := u.read("agent.lock.hcl")
	overwrite(t, source, bytes.ReplaceAll(program, []byte("Tell the version. Ret"), []byte("TELL the version. Ret")))
	u.fails(1, "another program under the same version 1.0.0", "plugin", "update", "tell")
	u.fails(1, "toolhost plugin update tell --yes", "plugin", "update", "tell")
	assert.Equal(t, locked, u.read("agent.lock.hcl"))
	u.must("plugin", "verify")
	out := u.must("plugin", "update", "tell", "--yes")
	assert.Contains(t, out, "another program under the same version 1.0.0")
	assert.Contains(t, out, "-  Tell the version")
	assert.Contains(t, out, "+  TELL the version")
	assert.NotContains(t, out, "-  parameters", "which are the same")
	assert.NotEqual(t, locked, u.read("agent.lock.hcl"))

	script := filepath.Join(u.dir, "script")
	testfile.Program(t, filepath.Join(script, "real"), string(program))
	testfile.Program(t, filepath.Join(script, "toolhost-plugin-tell"),
		"#!/bin/sh\nexec \"$(dirname \"$0\")/real\" \"$@\"\n")
	require.NoError(t, os.WriteFile(filepath.Join(script, "data"), nil, 0o644))
	out = u.must("plugin", "install", script)
	assert.Contains(t, out, "not locked: 2 other files of the plugin, the interpreter /bin/sh")
}

// A failed check is named, and gives exit code 1.
func TestPluginTest(t *testing.T) {
	testneed.NotShort(t, "runs the whole conformance kit")
	u := newPluginUser(t)
	program, _ := release(t, "1.0.0")
	testfile.Program(t, filepath.Join(u.dir, "tell"), string(program))
	var report struct {
		Plugin           string
		Protocol, Failed int
		Checks           []struct{ Name, Outcome string }
	}
	out := u.must("plugin", "test", "./tell", "--json", "--plugin-config", `{"units":"imperial"}`)
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, "tell", report.Plugin)
	assert.Equal(t, 2, report.Protocol)
	assert.Zero(t, report.Failed)
	assert.Greater(t, len(report.Checks), 25)
	assert.Contains(t, u.must("plugin", "test", "./tell"), "0 failed")

	u.fails(1, "configure.accept", "plugin", "test", "./tell", "--plugin-config", `{"units":"nautical"}`)
	u.fails(2, "is not a program", "plugin", "test", "./nothing")
	u.fails(2, "is not valid JSON", "plugin", "test", "./tell", "--plugin-config", "{")
	testfile.Program(t, filepath.Join(u.dir, "other"), "#!/bin/sh\necho hello\nexit 1\n")
	u.fails(1, "ended before the handshake", "plugin", "test", "./other")
}

// A plugin's settings are checked with their lines, and sensitive ones are never shown.
func TestPluginSettings(t *testing.T) {
	testneed.NotShort(t, "builds plugins")
	u := newPluginUser(t)
	program, _ := release(t, "1.0.0")
	testfile.Program(t, filepath.Join(u.dir, "tell"), string(program))
	u.write("agent.hcl", "plugin \"tell\" {\n  source = \"./tell\"\n  config {\n    unit  = \"metric\"\n    units = \"nautical\"\n  }\n}\n")
	u.must("trust", "--yes")
	u.fails(1, "agent.hcl:5", "plugin", "describe", "tell")
	u.fails(1, "agent.hcl:4", "plugin", "describe", "tell")
	for range 3 { // regardless of earlier failures
		out, errs, code := u.run("validate", "--json")
		assert.Equal(t, 2, code, errs)
		var report struct{ Diagnostics []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(out), &report), out)
		require.Len(t, report.Diagnostics, 2, out)
		for i, line := range []float64{4, 5} {
			assert.Equal(t, line, report.Diagnostics[i]["line"])
			assert.Equal(t, "error", report.Diagnostics[i]["severity"])
			assert.Equal(t, "Invalid plugin config", report.Diagnostics[i]["summary"])
			assert.NotContains(t, report.Diagnostics[i]["detail"], "?.")
		}
	}

	u.write("agent.hcl",
		"plugin \"tell\" {\n  source = \"./tell\"\n  config {\n    token = \"correct-horse\"\n  }\n}\n")
	u.must("trust", "--yes")
	for range 2 { // started for its tools, then by the call
		out, errs, code := u.run("call", "tell_token", "--log-level", "debug")
		assert.Zero(t, code, errs)
		assert.NotContains(t, out+errs, "correct-horse")
		assert.Contains(t, out, "the token is ")
	}
	out, err := exec.CommandContext(t.Context(), "grep", "-rl", "correct-horse", u.dir+"/.agent", u.home).Output()
	assert.Error(t, err, "found in %s", out)
}

// A plugin run from a path is locked by its content.
func TestLockedPath(t *testing.T) {
	testneed.NotShort(t, "builds plugins")
	u := newPluginUser(t)
	program, _ := release(t, "1.0.0")
	path := filepath.Join(u.dir, "tell")
	testfile.Program(t, path, string(program))
	u.write("agent.hcl", "plugin \"tell\" {\n  source = \"./tell\"\n}\n")
	u.must("trust", "--yes")
	assert.Equal(t, "version 1.0.0\n", u.must("call", "tell_version"))
	u.fails(1, "is not locked", "plugin", "verify")
	u.must("plugin", "lock")
	before := u.read("agent.lock.hcl")
	u.must("plugin", "verify")
	assert.Contains(t, u.must("plugin", "lock", "--json"), `"name": "tell"`)
	assert.Equal(t, before, u.read("agent.lock.hcl"))

	overwrite(t, path, append(program, '\n'))
	u.fails(1, "not the one that was locked", "call", "tell_version")
	u.fails(1, "was locked", "plugin", "verify")
	u.must("plugin", "lock")
	assert.Equal(t, "version 1.0.0\n", u.must("call", "tell_version"))

	u.write("agent.lock.hcl", strings.ReplaceAll(u.read("agent.lock.hcl"), runtime.GOOS+"_", "plan9_"))
	u.fails(1, "has no checksum of it for "+runtime.GOOS, "call", "tell_version")
	u.write("agent.lock.hcl", "plugin \"tell\" {\n  sha256 = 7\n}\n")
	u.fails(2, "agent.lock.hcl", "list")
}
