package attack

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// inward are URLs that lead to this machine or its network, in many spellings.
var inward = []string{
	"http://{CANARY}/", "http://localhost:{PORT}/", "http://LOCALHOST.:{PORT}/", "http://127.1:{PORT}/",
	"http://127.0.1:{PORT}/",
	"http://2130706433:{PORT}/", "http://0x7f000001:{PORT}/", "http://0x7f.0.0.1:{PORT}/", "http://0177.0.0.1:{PORT}/",
	"http://017700000001:{PORT}/",
	"http://0:{PORT}/", "http://0.0.0.0:{PORT}/", "http://[::]:{PORT}/", "http://[::1]:{PORT}/",
	"http://[0:0:0:0:0:0:0:1]:{PORT}/",
	"http://[::ffff:127.0.0.1]:{PORT}/", "http://[::ffff:7f00:1]:{PORT}/", "http://[::127.0.0.1]:{PORT}/",
	"http://[64:ff9b::7f00:1]:{PORT}/",
	"http://[2002:7f00:1::]:{PORT}/", "http://[::1%25lo]:{PORT}/", "http://[fe80::1%25lo]:{PORT}/",
	"http://[fd00::1]:{PORT}/", "http://[ff02::1]:{PORT}/",
	"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", "http://172.16.0.1/",
	"http://192.168.0.1/",
	"http://100.64.0.1/", "http://198.18.0.1/", "http://224.0.0.1/", "http://255.255.255.255/", "http://192.0.2.1/",
	"http://user:pass@{CANARY}/", "http://example.com@{CANARY}/", "http://{CANARY}#@example.com/",
	"http://{CANARY}?@example.com/", "http://{CANARY}\\@example.com/",
	"http://127.0.0.1%00.example.com:{PORT}/", "http://127。0。0。1:{PORT}/", "http://①②⑦.⓪.⓪.①:{PORT}/", "http:{CANARY}/",
	"//{CANARY}/", "http:///{CANARY}/",
	"file:///etc/passwd", "file://{OUT}/secret.txt", "ftp://{CANARY}/", "gopher://{CANARY}/_x", "dict://{CANARY}/x",
	"data:text/plain,{MARK}", "javascript:1",
	"jar:http://{CANARY}!/", "ws://{CANARY}/", "unix:///var/run/docker.sock", "http://{CANARY}/\r\nHost: x",
	"http://127.0.0.1:22/", "http://127.0.0.1:99999/", "http://", "",
}

func TestWebReachesNothingInside(t *testing.T) {
	t.Parallel()
	for toolset, x := range map[string]struct{ tool, param string }{"agent": {"web_fetch", "url"},
		"cliagent": {"fetch_webpage", "url"}} {
		t.Run(toolset, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			a.arm()
			h := a.serve(nil, "--toolset", toolset)
			for _, url := range inward {
				data, err := json.Marshal(map[string]string{x.param: a.fill(url)})
				require.NoError(t, err)
				r := oneOverMCPResult(t, h,
					attack{group: "web", name: toolset + " " + url, tool: x.tool, params: string(data)})
				assert.True(t, r.failed, "%s was fetched: %s", url, r.text)
				assert.Less(t, r.elapsed, slow)
			}
			assert.Empty(t, h.stop())
		})
	}
}

// hostile is a harmful server that the operator allows. It has its own address, so that the canary
// server stays forbidden.
func hostile(t *testing.T, canary string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		testneed.Missing(t, fmt.Sprintf("127.0.0.2 is no address of this machine: %v", err))
	}
	mux := http.NewServeMux()
	text := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain") }
	mux.HandleFunc("/inside", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+canary+"/", http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/round?"+r.URL.RawQuery+"x", http.StatusFound)
	})
	mux.HandleFunc("/hops", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "//"+canary+"/", http.StatusPermanentRedirect)
	})
	mux.HandleFunc("/refresh", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<meta http-equiv="refresh" content="0;url=http://%s/"><img src="http://%s/i"><script `+
			`src="http://%s/s"></script>`, canary, canary, canary)
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		text(w)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 2048 {
			if _, err := z.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		text(w)
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		text(w)
		for range 600 {
			_, _ = w.Write([]byte("."))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 20000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("h", 100))
		}
		text(w)
	})
	mux.HandleFunc("/lies", func(w http.ResponseWriter, _ *http.Request) {
		text(w)
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write([]byte("short"))
	})
	mux.HandleFunc("/program", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte{0x7f, 'E', 'L', 'F'})
	})
	mux.HandleFunc("/charset", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=no-such-charset")
		_, _ = w.Write([]byte("<p>\xff\xfe\x1b[2J"))
	})
	mux.HandleFunc("/../../../../tmp/owned", func(w http.ResponseWriter, _ *http.Request) { text(w) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { text(w); _, _ = w.Write([]byte("page")) })
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

// hostilePages are its pages; those that are true must not succeed.
var hostilePages = map[string]bool{
	"inside": true, "file": true, "metadata": true, "round": true, "hops": true, "refresh": false, "bomb": false,
	"endless": false, "slow": true,
	"silent": true, "headers": true, "lies": true, "program": true, "charset": false, "..%2f..%2f..%2fagent.hcl": false,
	"%2e%2e/%2e%2e/outside/x": false,
}

func TestWebOfHostileServers(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for page, fails := range hostilePages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			hcl := "web {\n  allow = [\"127.0.0.2\"]\n  timeout = \"2s\"\n}\n"
			a.write(a.ws, "agent.hcl", hcl, 0o644)
			a.whole["agent.hcl"] = []string{hcl}
			at := hostile(t, a.canary.Addr().String())
			a.arm()
			h := a.serve(nil)
			r := oneOverMCPResult(t, h,
				attack{group: "web", name: "server: " + page, tool: "web_fetch",
					params: `{"url":"http://` + at + `/` + page + `"}`})
			if fails {
				assert.True(t, r.failed, "it said %.200s", r.text)
			}
			assert.Less(t, r.elapsed, slow)
			assert.Less(t, len(r.text), 1<<20)
			assert.Empty(t, h.stop())
		})
	}
}

func TestWebControls(t *testing.T) {
	t.Parallel()
	for toolset, call := range map[string]string{"agent": "web_fetch", "cliagent": "fetch_webpage"} {
		a := newArena(t, nil)
		a.write(a.ws, "agent.hcl", "web {\n  allow = [\"127.0.0.1\", \"localhost\"]\n}\n", 0o644)
		a.arm()
		r := a.cli(nil, toolset, call, a.fill(`{"url":"http://{CANARY}/"}`))
		control(t, "web", call+" where this machine is allowed", checkServer, a.inspect(r.said...))
	}
}
