package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Messages of programs when the network or a path is out of reach, in lower case.
var (
	networkWords = [...]string{
		"could not resolve", "couldn't resolve", "unable to resolve", "temporary failure in name resolution",
		"name or service not known",
		"no address associated with hostname", "eai_again", "enotfound", "getaddrinfo", "no such host",
		"failed to lookup address", "nodename nor servname", "address family not supported",
		"server misbehaving", "module lookup disabled by goproxy=off", "socket: operation not permitted", "socket: permission denied",
	}
	unreachableWords = [...]string{"network is unreachable", "enetunreach", "network unreachable"}
	refusedWords     = [...]string{"connection refused", "econnrefused", "failed to connect to", "couldn't connect to"}
	writeWords       = [...]string{"read-only file system", "erofs", "device or resource busy"}
	accessWords      = [...]string{"permission denied", "eacces", "operation not permitted", "eperm"}
	absentWords      = [...]string{"no such file or directory", "enoent"}
)

const (
	mostPrinted = 64 << 10
	mostPaths   = 32
)

// absolutePath matches a path at the start of a word: not the end of a relative one, nor of fork/exec.
var absolutePath = regexlimit.Lazy(`(?:^|[\s'"` + "`" + `:,;=()\[\]<>])(/[^\s'"` + "`" + `:,;()\[\]<>]+)`)

// Denied explains how the sandbox caused a failure, by the command's output and the policy's grants, and what
// would grant it; "" if nothing shows that it did. block is where the grant belongs, for people: `tool "fetch"
// (agent.hcl:12)`. The command chooses its output: write access to what it names is never proposed, nor are
// secrets.
func (p Policy) Denied(block, printed string) string {
	level, err := p.choose()
	if err != nil || level == Off {
		return ""
	}
	if len(printed) > mostPrinted {
		printed = printed[:mostPrinted/2] + "\n" + printed[len(printed)-mostPrinted/2:]
	}
	var said []string
	add := func(sentence string) {
		if sentence != "" {
			said = append(said, sentence)
		}
	}
	if socket := p.deniedSocket(printed); socket != "" && (level == Full || level == Landlock) {
		return socket + " " + onlyUser
	}
	lower := strings.ToLower(printed)
	switch {
	case p.Network:
	case len(p.Hosts) > 0:
		if hasWord(lower, refusedWords[:]) || hasWord(lower, unreachableWords[:]) {
			add("The sandbox lets it reach only the hosts and ports of its list. If another port or an address is meant: " +
				network.Suggest(p.Hosts, "HOST:PORT") + " in " + block + " grants it.")
		}
	default:
		switch {
		case hasWord(lower, networkWords[:]), hasWord(lower, unreachableWords[:]):
			add("There is no network in the sandbox: " + networkGrant(level, "HOST", block))
		case hasWord(lower, refusedWords[:]):
			add("The sandbox has no network but its own: servers outside of it cannot be reached. " +
				networkGrant(level, "HOST:PORT", block))
		}
	}
	if strings.Contains(lower, "host key verification failed") || strings.Contains(lower, "permission denied (publickey") {
		add(p.deniedSSH(level, block))
	} else {
		add(p.deniedPlace(block, printed))
	}
	if len(said) == 0 {
		return ""
	}
	return strings.Join(append(said, onlyUser), " ")
}

// onlyUser follows each refusal: a model that reads what would grant it tries to do so.
const onlyUser = "Only the user can change what the sandbox grants: tell them, or do without."

func hasWord(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// deniedSocket explains a unix socket in the text. A program outside listens there: a network grant does not
// help, and reading the directory does not show it.
func (p Policy) deniedSocket(printed string) string {
	g, err := p.grants()
	if err != nil {
		return ""
	}
	for _, match := range absolutePath().FindAllStringSubmatch(printed, mostPaths) {
		path := filepath.Clean(strings.TrimRight(match[1], "."))
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSocket != 0 && !withinAny(real, g.writable) {
			return "The sandbox hides the unix socket " + path + ", on which a program outside of it listens."
		}
	}
	return ""
}

func networkGrant(level Level, host, block string) string {
	if level == Full && hostsServed {
		return fmt.Sprintf("network = [%q] in %s grants it.", host, block)
	}
	return fmt.Sprintf("network = \"allow\" in %s grants all of it; a list of hosts needs level full.", block)
}

// deniedSSH explains how to grant ssh without the keys.
func (p Policy) deniedSSH(level Level, block string) string {
	home := homeDirectory()
	if home == "" || withinAny(filepath.Join(home, ".ssh"), p.ReadOnly) {
		return ""
	}
	return "The sandbox hides ~/.ssh and ssh's agent: the blocks that `toolhost add git-push` adds use the agent, without the keys. " +
		"For the host, " + networkGrant(level, "github.com:22", block)
}

// deniedPlace explains files, by the first line that names one.
func (p Policy) deniedPlace(block, printed string) string {
	g, err := p.grants()
	if err != nil {
		return ""
	}
	general := ""
	left := mostPaths
	for line := range strings.Lines(printed) {
		lower := strings.ToLower(line)
		write, access := hasWord(lower, writeWords[:]), hasWord(lower, accessWords[:])
		if !write && !access && !hasWord(lower, absentWords[:]) {
			continue
		}
		for _, match := range absolutePath().FindAllStringSubmatch(line, 4) {
			if left--; left < 0 {
				break
			}
			if said := p.deniedPath(g, block, filepath.Clean(strings.TrimRight(match[1], ".")), write,
				access); said != "" {
				return said
			}
		}
		if general == "" && (write || access && p.Untouched) {
			switch {
			case p.Untouched:
				general = p.deniedInWorkspace(block, "")
			case !strings.Contains(lower, "device or resource busy"):
				general = "In the sandbox all is read-only but $TMPDIR and the workspace, except in it what git, editors " +
					"and agents obey, and what a block with a grant runs."
			}
		}
	}
	return general
}

// deniedPath explains whether the sandbox keeps the command from a path.
func (p Policy) deniedPath(g grants, block, path string, write, access bool) string {
	real := path
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		real = filepath.Join(parent, filepath.Base(path))
	}
	_, err := os.Lstat(real)
	granted := withinAny(real, g.writable)
	switch {
	case g.hidesPath(path, real) && !granted && !withinAny(real, g.readOnly):
		switch {
		case err != nil && !write && !access:
			return "" // also missing outside of the sandbox
		case homeDirectory() != "" && within(homeDirectory(), real):
			return "The sandbox hides the home directory, but for toolchains and git's settings. Grant by its own name " +
				"what the program needs in it."
		case withinAny(real, g.secrets) || HoldsSecrets(real):
			return "The sandbox hides " + path + ": it is a known place of secrets."
		case write:
			return path + readOnlyHere
		}
		return fmt.Sprintf("The sandbox hides %s, which may hold secrets: read = [%q] in %s shows it.", path, path,
			block)
	case !write && !access || withinAny(real, []string{"/proc", "/sys", "/dev"}):
		return ""
	case granted && !withinAny(real, g.readOnly):
		return ""
	case p.Workspace != "" && withinAny(real, existing([]string{p.Workspace})):
		return p.deniedInWorkspace(block, path)
	case write || mayWrite(real):
		return path + readOnlyHere
	}
	return ""
}

const readOnlyHere = " is read-only in the sandbox. Let the program write below the workspace or $TMPDIR instead."

// hidesPath reports whether a path is hidden by its name or target.
func (g *grants) hidesPath(path, real string) bool {
	if withinAny(real, g.secrets) {
		return true
	}
	shown := func(place shownPlace) bool { return within(path, place.path) || within(real, place.real) }
	return g.home != "" && within(real, g.home) && !slices.ContainsFunc(g.shown, shown)
}

// deniedInWorkspace explains why a path in the workspace cannot be changed.
func (p Policy) deniedInWorkspace(block, path string) string {
	if p.Untouched {
		return fmt.Sprintf("The workspace is read-only for it: a tool of risk \"read_only\" changes nothing. risk "+
			"= \"safe_write\" in %s lets it.", block)
	}
	return path + " decides what agents may do, or is run with more rights than the command has: the sandbox " +
		"protects it, and a person has to change it."
}

// mayWrite reports whether the user could write or make a path without the sandbox.
func mayWrite(path string) bool {
	for range 64 {
		info, err := os.Lstat(path)
		if err == nil {
			return writable(path, info)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
	return false
}
