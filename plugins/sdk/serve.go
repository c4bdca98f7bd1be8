package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// Serve runs the plugin until the host ends it. Call it from main, and print nothing to standard output before.
//
// With the only argument "describe", the program prints the plugin's description as JSON instead. With "attach" it
// can run in a debugger: it prints an environment variable by which toolhost finds it, and waits. Started otherwise
// than by toolhost, it says so and exits with status 1.
//
// During Serve os.Stdout is standard error, since the real one is for the handshake; the plugin's output goes to
// the host's log. When the host dies the process ends at once, with its process group. A panic of a tool is an
// error of that call only.
func Serve(p Plugin) {
	if code := serve(p, os.Args[1:]); code != 0 {
		os.Exit(code)
	}
}

func serve(p Plugin, args []string) (code int) {
	std := takeStdout()
	defer std.reportPanic(&code)
	server, err := p.server()
	if err != nil {
		std.reportStartupError(err.Error())
		return 1
	}
	cookie := wire.HandshakeConfig()
	switch {
	case len(args) == 1 && args[0] == "describe":
		fmt.Fprintln(std.out, string(server.Describe()))
		return 0
	case len(args) == 1 && args[0] == "attach":
		return attach(p.Name, server, std)
	case os.Getenv(cookie.MagicCookieKey) != cookie.MagicCookieValue:
		fmt.Fprintf(os.Stderr, "%s is a plugin of toolhost: name it in a plugin block of agent.hcl.\n"+
			"Run it with the argument \"describe\" to see what it offers, or \"attach\" to debug it.\n", p.Name)
		return 1
	}
	go watchHost()
	if err := serveHost(server, std); err != nil {
		std.reportStartupError(err.Error())
		return 1
	}
	return 0
}

// stdio keeps the standard output for the handshake. The plugin's output goes to standard error, whose last lines
// survive a crash.
type stdio struct{ out, err *os.File }

func takeStdout() *stdio {
	s := &stdio{out: os.Stdout, err: os.Stderr}
	os.Stdout = s.err
	return s
}

// reportStartupError reports, instead of the handshake line, why the plugin cannot start.
func (s *stdio) reportStartupError(reason string) {
	line, _ := json.Marshal(reason)
	fmt.Fprintf(s.out, "%s%s\n", wire.StartupErrorPrefix, line)
	fmt.Fprintln(s.err, reason)
}

func (s *stdio) reportPanic(code *int) {
	if v := recover(); v != nil {
		s.reportStartupError(fmt.Sprintf("panic: %v", v))
		*code = 1
	}
}

// watchHost ends the process at the end of standard input, a pipe whose other end the host holds and never
// writes to.
func watchHost() {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	endGroup()
}
