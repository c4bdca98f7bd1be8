package install_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/versions"
)

// program is a plugin that inspect can read.
func program(name, version string) string { return "#!/bin/sh\n" + name + " " + version + "\n" }

// inspect returns what the program would say.
func inspect(_ context.Context, path string) (*plugins.Description, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := new(plugins.Description)
	_, err = fmt.Sscanf(string(data), "#!/bin/sh\n%s %s\n", &d.Name, &d.Version)
	return d, err
}

type entry struct {
	name, content string
	mode          int64
	kind          byte
	link          string
}

func file(name, content string) entry {
	return entry{name: name, content: content, mode: 0o755, kind: tar.TypeReg}
}

func targz(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Typeflag: e.kind, Linkname: e.link,
			Size: int64(len(e.content))}))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func zipped(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(os.FileMode(e.mode))
		if e.kind == tar.TypeSymlink {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = f.Write([]byte(e.content + e.link))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// site serves files over TLS, to a client that trusts it.
type site struct {
	*httptest.Server
	files map[string][]byte
}

func newSite(t *testing.T) (*site, *netguard.Client) {
	t.Helper()
	s := &site{files: make(map[string][]byte)}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/plain/") {
			http.Redirect(w, r, "http://"+r.Host+"/x.tar.gz", http.StatusFound)
			return
		}
		data, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	client, err := netguard.New(netguard.Options{Allow: []string{"127.0.0.1"}, TLS: &tls.Config{RootCAs: pool}})
	require.NoError(t, err)
	return s, client
}

func newInstaller(t *testing.T, client *netguard.Client) *install.Installer {
	t.Helper()
	return &install.Installer{Store: install.OpenStore(filepath.Join(t.TempDir(), "store")), Client: client,
		Inspect: inspect}
}

func leftovers(t *testing.T, in *install.Installer, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	return found
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func TestSources(t *testing.T) {
	s, client := newSite(t)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testfile.Program(t, path, string(data))
		return path
	}
	p := program("weather", "1.2.0")
	s.files["/weather.tar.gz"] = targz(t, entry{name: "weather-1.2.0/", mode: 0o755, kind: tar.TypeDir},
		file("weather-1.2.0/toolhost-plugin-weather", p), file("weather-1.2.0/README", "hi"))
	s.files["/weather_1.2.0_"+install.Platform()+".zip"] = zipped(t, file("toolhost-plugin-weather", p))
	write("several/main.js", []byte(p))
	write("several/lib/a.js", []byte("a"))
	write("several/toolhost-plugin.json", []byte(`{"name":"weather","version":"1.2.0","program":"main.js"}`))
	write("layout/1.2.0/"+install.Platform()+"/toolhost-plugin-weather", []byte(p))
	write("layout/1.1.0/any.tar.gz", targz(t, file("toolhost-plugin-weather", program("weather", "1.1.0"))))
	write("layout/2.0.0-rc.1/any/toolhost-plugin-weather", []byte("not taken"))
	for name, request := range map[string]install.Request{
		"a program":             {Source: write("toolhost-plugin-weather", []byte(p))},
		"an archive":            {Source: write("weather.tgz", s.files["/weather.tar.gz"])},
		"an https archive":      {Source: s.URL + "/weather.tar.gz"},
		"an https archive each": {Source: s.URL + "/weather_{version}_{os}_{arch}.zip", Version: "1.2.0"},
		"a directory":           {Source: filepath.Join(dir, "several")},
		"a layout":              {Source: filepath.Join(dir, "layout")},
		"with a checksum": {Source: s.URL + "/weather.tar.gz",
			SHA256: strings.ToUpper(sum(s.files["/weather.tar.gz"]))},
		"with the program's own":    {Source: s.URL + "/weather.tar.gz", Program: sum([]byte(p))},
		"a layout under constraint": {Source: filepath.Join(dir, "layout"), Constraint: constraint(t, ">= 1.2")},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInstaller(t, client)
			got, err := in.Install(t.Context(), request)
			require.NoError(t, err)
			assert.Equal(t, "weather", got.Name)
			assert.Equal(t, "1.2.0", got.Version)
			assert.Equal(t, sum([]byte(p)), got.SHA256)
			assert.Equal(t, request.Source, got.From)
			data, err := os.ReadFile(got.Path())
			require.NoError(t, err)
			assert.Equal(t, p, string(data))
			require.NoError(t, got.Verify())
			found, err := in.Store.Find("weather", "1.2.0")
			require.NoError(t, err)
			assert.Equal(t, got, found)
			assert.Len(t, in.Store.List(), 1)
		})
	}

	in := newInstaller(t, client)
	older, err := in.Install(t.Context(),
		install.Request{Source: filepath.Join(dir, "layout"), Constraint: constraint(t, "< 1.2")})
	require.NoError(t, err)
	assert.Equal(t, "1.1.0", older.Version)
	_, err = in.Install(t.Context(), install.Request{Source: filepath.Join(dir, "layout")})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"1.1.0", "1.2.0"}, in.Store.Versions("weather"))
	removed, err := in.Store.Remove("weather", "1.1.0")
	require.NoError(t, err)
	assert.Equal(t, []string{"1.1.0"}, removed)
	_, err = in.Store.Find("weather", "1.1.0")
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	_, err = in.Store.Remove("weather", "")
	require.NoError(t, err)
	_, err = in.Store.Remove("weather", "")
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	assert.Empty(t, in.Store.List())
}

func constraint(t *testing.T, text string) versions.Constraint {
	t.Helper()
	c, err := versions.Parse(text)
	require.NoError(t, err)
	return c
}

func TestRefusals(t *testing.T) {
	s, client := newSite(t)
	p := program("weather", "1.2.0")
	s.files["/ok.tar.gz"] = targz(t, file("toolhost-plugin-weather", p))
	s.files["/cut.tar.gz"] = s.files["/ok.tar.gz"][:40]
	s.files["/two.tar.gz"] = targz(t, file("toolhost-plugin-a", p), file("toolhost-plugin-b", p))
	s.files["/odd.tar.gz"] = targz(t, file("toolhost-plugin-weather", program("../up", "1.2.0")))
	s.files["/version.tar.gz"] = targz(t, file("toolhost-plugin-weather", program("weather", "latest")))
	s.files["/says.tar.gz"] = targz(t, file("toolhost-plugin-weather", p),
		file("toolhost-plugin.json", `{"name":"other","program":"toolhost-plugin-weather"}`))
	s.files["/up.tar.gz"] = targz(t, file("toolhost-plugin-weather", p),
		file("toolhost-plugin.json", `{"program":"../../../bin/sh"}`))
	for name, c := range map[string]struct {
		request install.Request
		code    tool.Code
		says    string
	}{
		"plain http": {install.Request{Source: strings.Replace(s.URL, "https", "http", 1) + "/ok.tar.gz"},
			tool.InvalidArgument, "https only"},
		"led to plain http": {install.Request{Source: s.URL + "/plain/ok.tar.gz"}, "", ""},
		"a file":            {install.Request{Source: "file:///etc/passwd.tar.gz"}, tool.InvalidArgument, "https"},
		"no archive":        {install.Request{Source: s.URL + "/ok.exe"}, tool.InvalidArgument, "is not an archive"},
		"nothing there":     {install.Request{Source: s.URL + "/none.tar.gz"}, tool.NotFound, "404"},
		"no path":           {install.Request{Source: "/nowhere/at/all"}, tool.NotFound, "no plugin at"},
		"cut short": {install.Request{Source: s.URL + "/cut.tar.gz"}, tool.InvalidArgument,
			"cannot be installed"},
		"two programs":    {install.Request{Source: s.URL + "/two.tar.gz"}, tool.InvalidArgument, "not clear which"},
		"odd name":        {install.Request{Source: s.URL + "/odd.tar.gz"}, tool.InvalidArgument, "calls itself"},
		"odd version":     {install.Request{Source: s.URL + "/version.tar.gz"}, tool.InvalidArgument, "1.2.3"},
		"other name":      {install.Request{Source: s.URL + "/says.tar.gz"}, tool.Conflict, "should be other"},
		"program outside": {install.Request{Source: s.URL + "/up.tar.gz"}, tool.NotFound, "names no program"},
		"wrong checksum": {install.Request{Source: s.URL + "/ok.tar.gz", SHA256: strings.Repeat("0", 64)},
			tool.Blocked, "not 0000"},
		"wrong program": {install.Request{Source: s.URL + "/ok.tar.gz", Program: strings.Repeat("0", 64)},
			tool.Blocked, "not the one that was locked"},
		"wrong version": {install.Request{Source: s.URL + "/ok.tar.gz", Version: "1.3.0"}, tool.Conflict, "1.3.0"},
		"constraint": {install.Request{Source: s.URL + "/ok.tar.gz", Constraint: constraint(t, "~> 2.0")},
			tool.Conflict, "~> 2.0"},
		"wanted name": {install.Request{Source: s.URL + "/ok.tar.gz", Name: "climate"}, tool.Conflict, "climate"},
		"not signed": {install.Request{Source: s.URL + "/ok.tar.gz", Key: newKey(t).public}, tool.Blocked,
			"is not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			in := &install.Installer{Store: install.OpenStore(root), Client: client, Inspect: inspect}
			_, err := in.Install(t.Context(), c.request)
			require.Error(t, err)
			if c.code != "" {
				assert.Equal(t, c.code, tool.CodeOf(err), err)
			}
			e := tool.AsError(err)
			assert.Contains(t, e.Message+e.Suggestion, c.says)
			assert.NotEmpty(t, e.Suggestion)
			assert.Empty(t, in.Store.List())
			assert.Empty(t, leftovers(t, in, root))
		})
	}
}

// No archive entry writes outside the plugin's directory, or anything but plain files.
func TestHostileArchives(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	good := file("toolhost-plugin-weather", program("weather", "1.0.0"))
	for name, bad := range map[string][]entry{
		"parent":        {file("../../../outside", "x")},
		"parent inside": {file("a/../../../outside", "x")},
		"absolute":      {file(outside, "x")},
		"backslash":     {file(`..\..\outside`, "x")},
		"link out": {{name: "link", link: filepath.Dir(outside), kind: tar.TypeSymlink, mode: 0o777},
			file("link/outside", "x")},
		"link in":           {{name: "link", link: "toolhost-plugin-weather", kind: tar.TypeSymlink, mode: 0o777}},
		"hard link":         {{name: "passwd", link: "/etc/passwd", kind: tar.TypeLink, mode: 0o644}},
		"device":            {{name: "null", kind: tar.TypeChar, mode: 0o666}},
		"pipe":              {{name: "fifo", kind: tar.TypeFifo, mode: 0o666}},
		"twice":             {file("a", "1"), file("a", "2")},
		"file as directory": {file("a", "1"), file("a/b", "2")},
	} {
		for _, format := range []string{".tar.gz", ".zip"} {
			hardOrDevice := bad[0].kind != tar.TypeReg && bad[0].kind != tar.TypeSymlink
			if format == ".zip" && hardOrDevice {
				continue // not in zip
			}
			t.Run(name+format, func(t *testing.T) {
				data := targz(t, append([]entry{good}, bad...)...)
				if format == ".zip" {
					data = zipped(t, append([]entry{good}, bad...)...)
				}
				archive := filepath.Join(t.TempDir(), "p"+format)
				require.NoError(t, os.WriteFile(archive, data, 0o644))
				root := t.TempDir()
				in := &install.Installer{Store: install.OpenStore(root), Inspect: inspect}
				_, err := in.Install(t.Context(), install.Request{Source: archive})
				require.Error(t, err)
				assert.NoFileExists(t, outside)
				left, err := os.ReadDir(root)
				require.NoError(t, err)
				assert.Empty(t, left)
			})
		}
	}
}

// A bomb is stopped at the limit, in time and space.
func TestBombs(t *testing.T) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	const size = 40 << 20
	require.NoError(t,
		w.WriteHeader(&tar.Header{Name: "toolhost-plugin-bomb", Mode: 0o755, Typeflag: tar.TypeReg, Size: size}))
	block := make([]byte, 1<<20)
	for range size >> 20 {
		_, err := w.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, zipped.Close())
	archive := filepath.Join(t.TempDir(), "bomb.tgz")
	require.NoError(t, os.WriteFile(archive, out.Bytes(), 0o644))
	root := t.TempDir()
	in := &install.Installer{Store: install.OpenStore(root), Inspect: inspect, MaxBytes: 16 << 20}
	_, err := in.Install(t.Context(), install.Request{Source: archive})
	assert.ErrorContains(t, err, "larger than 16 MiB")
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Empty(t, left)
}

type key struct {
	private minisign.PrivateKey
	public  string
}

func newKey(t *testing.T) key {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	text, err := public.MarshalText()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return key{private, lines[len(lines)-1]}
}

func TestSignatures(t *testing.T) {
	s, client := newSite(t)
	author, other := newKey(t), newKey(t)
	data := targz(t, file("toolhost-plugin-weather", program("weather", "1.2.0")))
	s.files["/w.tar.gz"] = data
	s.files["/w.tar.gz.minisig"] = minisign.SignWithComments(author.private, data, "weather 1.2.0", "signature")
	request := install.Request{Source: s.URL + "/w.tar.gz"}

	in := newInstaller(t, client)
	got, err := in.Install(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, install.Signature{State: install.NotVerified}, got.Signature)

	request.Key = author.public
	got, err = in.Install(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, install.Signature{State: install.Verified, Key: author.public, Comment: "weather 1.2.0"},
		got.Signature)

	request.Key = other.public
	_, err = in.Install(t.Context(), request)
	assert.Equal(t, tool.Blocked, tool.CodeOf(err))

	request.Key = author.public
	s.files["/w.tar.gz"] = targz(t, file("toolhost-plugin-weather", program("weather", "6.6.6")))
	_, err = in.Install(t.Context(), request)
	assert.Equal(t, tool.Blocked, tool.CodeOf(err))
	delete(s.files, "/w.tar.gz.minisig")
	_, err = in.Install(t.Context(), request)
	assert.Equal(t, tool.Blocked, tool.CodeOf(err), "%v", err)
	assert.ErrorContains(t, err, "is not signed")
	assert.Equal(t, []string{"1.2.0"}, in.Store.Versions("weather"))

	parsed, err := install.ParseKey(author.public)
	require.NoError(t, err)
	assert.Equal(t, author.public, parsed)
	_, err = install.ParseKey("RWnope")
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

func TestVerifySeesChanges(t *testing.T) {
	dir := t.TempDir()
	testfile.Program(t, filepath.Join(dir, "toolhost-plugin-weather"), program("weather", "1.2.0"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), []byte("x"), 0o644))
	in := newInstaller(t, nil)
	got, err := in.Install(t.Context(), install.Request{Source: dir})
	require.NoError(t, err)
	for name, change := range map[string]func() error{
		"program": func() error { return os.WriteFile(got.Path(), []byte("evil"), 0o755) },
		"data":    func() error { return os.WriteFile(filepath.Join(got.Dir, "data"), []byte("y"), 0o644) },
		"new":     func() error { return os.WriteFile(filepath.Join(got.Dir, "new"), nil, 0o644) },
		"mode":    func() error { return os.Chmod(filepath.Join(got.Dir, "data"), 0o755) },
		"gone":    func() error { return os.Remove(got.Path()) },
	} {
		got, err = in.Install(t.Context(), install.Request{Source: dir})
		require.NoError(t, err)
		require.NoError(t, got.Verify())
		require.NoError(t, change())
		assert.Equal(t, tool.Blocked, tool.CodeOf(got.Verify()), name)
	}
}

func TestChecksumsOfOtherPlatforms(t *testing.T) {
	s, client := newSite(t)
	linux, darwin := program("weather", "1.2.0"), "MZ"
	s.files["/1.2.0_linux_arm64.tar.gz"] = targz(t, file("toolhost-plugin-weather", linux))
	s.files["/1.2.0_darwin_amd64.tar.gz"] = targz(t, file("toolhost-plugin-weather", darwin))
	in := newInstaller(t, client)
	sums, err := in.Checksums(t.Context(), s.URL+"/{version}_{os}_{arch}.tar.gz", "1.2.0", "toolhost-plugin-weather",
		[]string{"linux_arm64", "darwin_amd64"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"linux_arm64": sum([]byte(linux)), "darwin_amd64": sum([]byte(darwin))}, sums)
	_, err = in.Checksums(t.Context(), s.URL+"/1.2.0_linux_arm64.tar.gz", "1.2.0", "toolhost-plugin-weather",
		[]string{"linux_arm64"})
	assert.ErrorContains(t, err, "same for all platforms")
}

func FuzzArchive(f *testing.F) {
	f.Add([]byte("\x1f\x8b"), false)
	f.Add([]byte("PK\x03\x04"), true)
	f.Fuzz(func(t *testing.T, data []byte, asZip bool) {
		name := "p.tar.gz"
		if asZip {
			name = "p.zip"
		}
		dir := t.TempDir()
		archive := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(archive, data, 0o644))
		in := &install.Installer{Store: install.OpenStore(filepath.Join(dir, "store")), Inspect: inspect}
		_, _ = in.Install(t.Context(), install.Request{Source: archive})
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(entries), 2)
	})
}

func directories(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, name := range names {
		require.NoError(t,
			w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Format: tar.FormatPAX}))
	}
	require.NoError(t, errors.Join(w.Close(), zipped.Close()))
	return b.Bytes()
}

// TestFilesAreCounted tests the limit.
func TestDirectoriesAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.tar.gz")
	require.NoError(t, os.WriteFile(file, directories(t, strings.Repeat("d/", 200)+"d"), 0o600))
	in := &install.Installer{Store: install.OpenStore(filepath.Join(t.TempDir(), "store")), Inspect: inspect}
	_, err := in.Install(t.Context(), install.Request{Source: file})
	require.ErrorContains(t, err, "directories deep")
	_, err = in.Install(t.Context(), install.Request{Source: file, SHA256: strings.Repeat("0", 64)})
	require.ErrorContains(t, err, "the SHA-256 of", "it is checked before anything is unpacked")
}

func TestNobodyGoesBackUnawares(t *testing.T) {
	source := t.TempDir()
	program := filepath.Join(source, "toolhost-plugin-x")
	testfile.Program(t, program, "#!/bin/sh\n")
	says := func(context.Context, string) (*plugins.Description, error) {
		return &plugins.Description{Name: "x", Version: "1.2.0"}, nil
	}
	in := &install.Installer{Store: install.OpenStore(filepath.Join(t.TempDir(), "store")), Inspect: says}
	for floor, ok := range map[string]bool{"": true, "1.1.9": true, "1.2.0": true, "1.2.1": false, "1.10.0": false} {
		_, err := in.Install(t.Context(), install.Request{Source: program, Floor: func(name string) string {
			assert.Equal(t, "x", name)
			return floor
		}})
		if ok {
			assert.NoError(t, err, floor)
			continue
		}
		require.ErrorContains(t, err, "would go back from version "+floor+" to 1.2.0")
	}
}
