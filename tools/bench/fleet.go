package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// fleet compares a call through a fleet's gateway with the same over HTTP. The
// gateway, its hub and a worker are one process.
func (b *suite) fleet() ([]comparison, error) {
	hub := filepath.Join(filepath.Dir(b.toolhost), "toolhost-hub")
	dir := filepath.Join(filepath.Dir(b.work), "fleet")
	through, err := b.overHTTP(hub, "serve", "--workers", "1", "--workspace", b.work, "--store", dir, "--dir",
		dir+"-worker")
	if err != nil {
		return nil, err
	}
	direct, err := b.overHTTP(b.toolhost, "serve")
	if err != nil {
		return nil, err
	}
	read := `{"name":"read_file","arguments":{"path":"1k.txt"}}`
	write := `{"name":"write_file","arguments":{"path":"claimed.txt","content":"the quick brown fox\n"}}`
	return []comparison{{name: "read 1 KB through a gateway", baseName: "serve --http", aim: "+0.5 ms", rounds: 500,
		ours: through.call(read, "quick brown fox"), base: direct.call(read, "quick brown fox")},
		{name: "write a file through a gateway", baseName: "serve --http", aim: "-", rounds: 200,
			ours: through.call(write, "claimed.txt"), base: direct.call(write, "claimed.txt")}}, nil
}

var servesAt = regexp.MustCompile(`serves MCP at (\S+)`)

// overHTTP starts a server that runs until the end and opens a session.
func (b *suite) overHTTP(name string, args ...string) (*httpClient, error) {
	cmd := exec.Command(name, append(args, "--http", "127.0.0.1:0", "--no-token")...)
	cmd.Dir, cmd.Env = b.work, environment()
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b.atEnd = append(b.atEnd, func() error { return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()) })
	lines, last := bufio.NewScanner(said), ""
	for lines.Scan() {
		last = lines.Text()
		if at := servesAt.FindStringSubmatch(last); at != nil {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			c := &httpClient{url: at[1]}
			return c, c.open()
		}
	}
	return nil, fmt.Errorf("%s does not serve, and ends with: %s", name, last)
}

type httpClient struct{ url, session string }

func (c *httpClient) open() error {
	_, err := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	if err == nil {
		_, err = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return err
}

func (c *httpClient) post(message string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if c.session == "" {
		c.session = answer.Header.Get("Mcp-Session-Id")
	}
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", answer.Status, data)
	}
	return data, err
}

// call returns a measure that calls a tool whose result contains words.
func (c *httpClient) call(params, words string) measure {
	return func() error {
		data, err := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)
		if err == nil && (!bytes.Contains(data, []byte(words)) || bytes.Contains(data, []byte(`"isError":true`))) {
			err = fmt.Errorf("the answer is not what it should be: %s", data)
		}
		return err
	}
}
