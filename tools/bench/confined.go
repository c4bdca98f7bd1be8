package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

const treeFiles = 10_000

// confined compares a confined `true` with a bare one, at both levels that need no container.
func (b *suite) confined() (lines []comparison, err error) {
	path, err := proc.LookPath("true", "")
	if err != nil {
		return nil, err
	}
	bare := func() error { return exec.Command(path).Run() }
	report := sandbox.Detect(context.Background())
	for _, level := range []struct {
		sandbox.Level
		sandbox.Verdict
		aim string
	}{{sandbox.Full, report.Full, "8"}, {sandbox.Landlock, report.Landlock, "4"}} {
		if !level.Works {
			fmt.Printf("sandbox %s does not work here: %s\n", level.Level, level.Reason)
			continue
		}
		policy := sandbox.Settings{Level: level.Level}.Policy(b.work).Prepared()
		lines = append(lines, comparison{
			name: "sandbox " + string(level.Level), baseName: "bare exec of true", aim: level.aim, rounds: 300,
			base: bare,
			ours: func() error {
				r, err := proc.Run(context.Background(),
					proc.Command{Argv: []string{path}, Dir: b.work, Env: proc.Environ(nil), Prepare: policy.Confine})
				if err == nil && r.ExitCode != 0 {
					err = fmt.Errorf("exit code %d: %s", r.ExitCode, r.Stderr.String())
				}
				return err
			},
		})
	}
	return lines, nil
}

const (
	requests = 500
	download = 200 << 20
)

// listed compares a confined command that reaches listed hosts with one without
// network, and its requests with the same without a sandbox.
func (b *suite) listed() ([]comparison, error) {
	if report := sandbox.Detect(context.Background()); !report.Full.Works {
		fmt.Printf("sandbox full does not work here: %s\n", report.Full.Reason)
		return nil, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.atEnd = append(b.atEnd, l.Close)
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			size, _ := strconv.Atoi(r.URL.Path[1:])
			w.Header().Set("Content-Length", strconv.Itoa(size))
			for zeros := make([]byte, 1<<20); size > 0; size -= len(zeros) {
				_, _ = w.Write(zeros[:min(size, len(zeros))])
			}
		}))
	}()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return nil, err
	}
	client := filepath.Join(b.work, "fetch")
	if err := os.WriteFile(client, program, 0o755); err != nil {
		return nil, err
	}
	host := fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port)
	confined := func(hosts []string, argv ...string) measure {
		policy := sandbox.Settings{Level: sandbox.Full, Hosts: hosts}.Policy(b.work).Prepared()
		return func() error {
			r, err := proc.Run(context.Background(),
				proc.Command{Argv: argv, Dir: b.work, Env: proc.Environ(nil), Prepare: policy.Confine})
			if err == nil && r.ExitCode != 0 {
				err = fmt.Errorf("exit code %d: %s", r.ExitCode, r.Stderr.String())
			}
			return err
		}
	}
	fetch := func(size, times int) []string {
		return []string{client, "-times", strconv.Itoa(times), "-fetch", fmt.Sprintf("http://%s/%d", host, size)}
	}
	many, large := fetch(10, requests), fetch(download, 1)
	return []comparison{
		{name: "true with a list of hosts", baseName: "confined true without", aim: "1.1", rounds: 300,
			base: confined(nil, "true"), ours: confined([]string{"a.example", "*.example.org"}, "true")},
		{name: "500 requests by a list of hosts", baseName: "without a sandbox", aim: "2", rounds: 20,
			base: command(b.work, many[0], many[1:]...), ours: confined([]string{host}, many...)},
		{name: "200 MB by a list of hosts", baseName: "without a sandbox", aim: "1.1", rounds: 20,
			base: command(b.work, large[0], large[1:]...), ours: confined([]string{host}, large...)},
	}, nil
}

// fetch requests a page repeatedly, each time on a new connection.
func fetch(url string, times int) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range times {
		r, err := client.Get(url)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// searches compares package search with rg, on a tree of many files, a tenth of them with matches.
func (b *suite) searches() ([]comparison, error) {
	rg, err := proc.LookPath("rg", "")
	if err != nil {
		fmt.Println("rg is not installed; nothing to compare searches with")
		return nil, nil
	}
	root := filepath.Join(b.work, "tree")
	if err := makeTree(root); err != nil {
		return nil, err
	}
	ws, err := workspace.Open(root, workspace.Options{})
	if err != nil {
		return nil, err
	}
	grep := func(pattern string, matches int) measure {
		searcher := search.New(ws)
		return func() error {
			found, err := searcher.Grep(context.Background(), search.Query{Pattern: pattern})
			if err == nil && found.Total != matches {
				err = fmt.Errorf("%d matches", found.Total)
			}
			return err
		}
	}
	base := func(pattern string) measure {
		return func() error {
			cmd := exec.Command(rg, "--no-config", "--line-number", "--no-heading", pattern, "./")
			cmd.Dir = root
			_, err := cmd.Output()
			return err
		}
	}
	const few, many = "needle [0-9]+", "thorn [0-9]+"
	return []comparison{
		{name: "grep, 10,000 files", baseName: "rg", aim: "1.5", base: base(few),
			ours: grep(few, treeFiles/10)},
		{name: "grep, 20,000 matches", baseName: "rg", aim: "1.5", base: base(many),
			ours: grep(many, 2*treeFiles)},
	}, nil
}

func makeTree(root string) error {
	filler := strings.Repeat("some line of an ordinary source file, of ordinary length\n", 40)
	for i := range treeFiles {
		dir := filepath.Join(root, fmt.Sprintf("d%02d", i%100))
		if i < 100 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		text := filler
		if i%10 == 0 {
			text += fmt.Sprintf("a needle %d in it\n", i) + strings.Repeat(fmt.Sprintf("a thorn %d\n", i), 20)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d.txt", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
