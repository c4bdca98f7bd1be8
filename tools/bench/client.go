package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// client speaks MCP over a server's stdin and stdout at the least cost: it looks only at the
// starts of lines.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func start(dir, name string, args ...string) (*client, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = environment()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if err := c.request("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return nil, err
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

func (c *client) request(method, params string) error {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method,
		params); err != nil {
		return err
	}
	want := fmt.Appendf(nil, `"id":%d`, c.id)
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		if head := line[:min(len(line), 60)]; bytes.Contains(head, want) || bytes.Contains(line, want) {
			if bytes.Contains(line[:min(len(line), 4000)], []byte(`"isError":true`)) ||
				bytes.Contains(head, []byte(`"error"`)) {
				return fmt.Errorf("%s: %s", method, line)
			}
			return nil
		}
	}
}

func (c *client) call(name, arguments string) measure {
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)
	return func() error { return c.request("tools/call", params) }
}

// stop ends the server as a client does, by closing its input.
func (c *client) stop() error {
	_ = c.in.Close()
	return c.cmd.Wait()
}

// firstList returns a measure of a server's start up to its first list of tools.
func firstList(dir, name string, args ...string) measure {
	session := session(dir, 0, "", "", name, args...)
	return func() error { _, err := session(); return err }
}

// session runs a server, lists its tools and calls one, and returns the processor time of
// it and its children.
func session(dir string, calls int, tool, arguments string, name string, args ...string) cost {
	return func() (time.Duration, error) {
		c, err := start(dir, name, args...)
		if err != nil {
			return 0, err
		}
		err = c.request("tools/list", `{}`)
		for range calls {
			if err == nil {
				err = c.call(tool, arguments)()
			}
		}
		err = errors.Join(err, c.stop())
		return spent(c.cmd), err
	}
}
