package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// process is a plugin after its handshake.
type process struct {
	cmd       *exec.Cmd
	stdin     *os.File // the host's end
	socketDir string
	line      string // handshake
	version   int
	address   string
	conn      *grpc.ClientConn
	rpc       toolpb.PluginClient
	client    *pluginclient.Client

	exited chan struct{}
	mu     sync.Mutex
	extra  []string // other lines on standard output
	stderr []string // the last lines
}

// start starts the plugin as toolhost does, offering versions such as "1,2".
func (k *kit) start(ctx context.Context, versions string) (*process, error) {
	p, err := k.launch(versions, true)
	if err != nil {
		return nil, err
	}
	if err := p.shakeHands(ctx, k.options.Timeout); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (k *kit) launch(versions string, cookie bool) (*process, error) {
	dir, err := os.MkdirTemp("", "thk-") // short, as socket paths must be
	if err != nil {
		return nil, err
	}
	p := &process{socketDir: dir, exited: make(chan struct{})}
	p.cmd = exec.Command(k.options.Path, k.options.Args...)
	p.cmd.Dir = k.workspace
	p.cmd.Env = proc.Environ(k.options.Env)
	if cookie {
		c := wire.HandshakeConfig()
		p.cmd.Env = append(p.cmd.Env, c.MagicCookieKey+"="+c.MagicCookieValue,
			"PLUGIN_PROTOCOL_VERSIONS="+versions, "PLUGIN_UNIX_SOCKET_DIR="+dir)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.stdin = read, write
	stdout, outErr := p.cmd.StdoutPipe()
	stderr, errErr := p.cmd.StderrPipe()
	if err := errors.Join(outErr, errErr); err != nil {
		return nil, err
	}
	err = p.cmd.Start()
	read.Close()
	if err != nil {
		write.Close()
		os.RemoveAll(dir)
		return nil, fmt.Errorf("cannot be run: %w", err)
	}
	go p.collect(stdout, stderr)
	return p, nil
}

func (p *process) collect(stdout, stderr io.Reader) {
	var reading sync.WaitGroup
	reading.Go(func() { eachLine(stdout, p.printed) })
	reading.Go(func() { eachLine(stderr, p.complained) })
	ended := make(chan struct{})
	go func() { reading.Wait(); close(ended) }()
	state, _ := p.cmd.Process.Wait()
	p.mu.Lock()
	p.cmd.ProcessState = state
	p.mu.Unlock()
	select { // a child holding the pipes must not block the kit
	case <-ended:
	case <-time.After(time.Second):
	}
	close(p.exited)
}

func eachLine(r io.Reader, onLine func(string)) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			onLine(strings.TrimRight(string(line), "\r\n"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (p *process) printed(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line == "" && strings.Count(line, "|") >= 3 {
		p.line = line
		return
	}
	if len(p.extra) < 20 {
		p.extra = append(p.extra, line)
	}
}

func (p *process) complained(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr = append(p.stderr, line)
	if len(p.stderr) > 10 {
		p.stderr = p.stderr[1:]
	}
}

func (p *process) noise() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.extra...)
}

func (p *process) handshakeLine() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

// lastWords returns the last standard error, for details.
func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.stderr) == 0 {
		return ""
	}
	return "; it printed: " + strings.Join(p.stderr, " / ")
}

// shakeHands waits for the handshake line and connects.
func (p *process) shakeHands(ctx context.Context, limit time.Duration) error {
	deadline := time.After(limit)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for p.handshakeLine() == "" {
		select {
		case <-tick.C:
		case <-p.exited:
			if p.handshakeLine() == "" {
				return fmt.Errorf("ended before the handshake%s", p.lastWords())
			}
		case <-deadline:
			return fmt.Errorf("no handshake line within %s%s", limit, p.lastWords())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fields := strings.Split(p.handshakeLine(), "|")
	p.version, _ = strconv.Atoi(fields[1])
	p.address = fields[3]
	if fields[2] != "unix" {
		return fmt.Errorf("listens on %s instead of a unix socket", fields[2])
	}
	conn, err := grpc.NewClient("unix:"+p.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage),
			grpc.MaxCallSendMsgSize(wire.MaxMessage)))
	if err != nil {
		return err
	}
	p.conn, p.rpc = conn, toolpb.NewPluginClient(conn)
	p.client = pluginclient.New(conn, p.version, limit)
	return nil
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) ends(limit time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(limit):
		return false
	}
}

// kill ends the process with its group and frees its resources.
func (p *process) kill() {
	if p.conn != nil {
		p.conn.Close()
	}
	p.stdin.Close()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
	os.RemoveAll(p.socketDir)
}
