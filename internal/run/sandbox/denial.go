package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/matching"
)

// What programs print when the network or a place is out of reach, in lower
// case.
var (
	networkWords = [...]string{
		"could not resolve", "couldn't resolve", "unable to resolve", "temporary failure in name resolution",
		"name or service not known",
		"no address associated with hostname", "eai_again", "enotfound", "getaddrinfo", "network is unreachable",
		"enetunreach",
		"no such host", "network unreachable", "failed to lookup address", "nodename nor servname",
		"address family not supported",
		"server misbehaving", "socket: operation not permitted", "socket: permission denied",
	}
	refusedWords = [...]string{"connection refused", "econnrefused", "failed to connect to"}
	writeWords   = [...]string{"read-only file system", "erofs", "device or resource busy"}
	accessWords  = [...]string{"permission denied", "eacces", "operation not permitted", "eperm"}
	absentWords  = [...]string{"no such file or directory", "enoent"}
)

// mostPrinted bounds how much of what a command printed is looked at, and
// mostPaths how many paths in it.
const (
	mostPrinted = 64 << 10
	mostPaths   = 32
)

// absolutePath matches a path that begins where a word does: not the end of a
// relative one, nor of fork/exec.
var absolutePath = matching.Lazy(`(?:^|[\s'"` + "`" + `:,;=()\[\]<>])(/[^\s'"` + "`" + `:,;()\[\]<>]+)`)

// Denied says what of a failure the sandbox is behind, by what the command
// printed and what the policy grants, and what would grant it; "" where nothing
// shows that it is. The block is where the grant would stand, for people:
// `tool "fetch" (agent.hcl:12)`.
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
	if socket := p.deniedSocket(block, printed); socket != "" && (level == Full || level == Landlock) {
		return socket
	}
	lower := strings.ToLower(printed)
	if !p.Network {
		switch {
		case hasWord(lower, networkWords[:]):
			add(fmt.Sprintf("There is no network in the sandbox: network = \"allow\" in %s grants it.", block))
		case hasWord(lower, refusedWords[:]):
			add(fmt.Sprintf("The sandbox has no network but its own: servers outside of it cannot be reached, "+
				"unless network = \"allow\" in %s grants it, or for a unix socket write = [\"ITS DIRECTORY\"].", block))
		}
	}
	if said := p.deniedRepository(level, printed); said != "" {
		add(said)
	} else {
		add(p.deniedPlace(block, printed))
	}
	return strings.Join(said, " ")
}

func hasWord(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// deniedSocket says the same of a unix socket that the text names. A program
// outside listens there; what a grant for the network is about is something
// else, and reading the directory does not show it either.
func (p Policy) deniedSocket(block, printed string) string {
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
			return fmt.Sprintf("The sandbox hides the unix socket %s: write = [%q] in %s shows it, at level full.",
				path, filepath.Dir(path), block)
		}
	}
	return ""
}

// gitDirectory matches the name of a repository's directory in what git, mkdir
// and others print.
var gitDirectory = matching.Lazy("(?:^|[\\s'\"‘`:])((?:[^\\s'\"‘’`:]*/)?\\.git)/?(?:['\"’`:\\s]|$)")

// deniedRepository says the same of a repository that a command at level landlock
// could not make in another one.
func (p Policy) deniedRepository(level Level, printed string) string {
	if level != Landlock {
		return ""
	}
	for line := range strings.Lines(printed) {
		found := gitDirectory().FindStringSubmatch(line)
		if found == nil || !hasWord(strings.ToLower(line), writeWords[:]) {
			continue
		}
		path := found[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Workspace, path)
		}
		if _, err := os.Lstat(path); err != nil && inRepository(filepath.Dir(path)) {
			return fmt.Sprintf("The sandbox refused to make %s: at level landlock, a command makes no repository in "+
				"another one (git init, git clone, git submodule), whose hooks and configuration your git would heed. "+
				"Make it below $TMPDIR, ask the user to make it, or use sandbox level full.", found[1])
		}
	}
	return ""
}

// deniedPlace says the same of files, by the first line that names one.
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
			general = p.deniedWrite(block, lower)
		}
	}
	return general
}

// deniedPath says whether the sandbox keeps the command from a path.
func (p Policy) deniedPath(g grants, block, path string, write, access bool) string {
	real := path
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		real = filepath.Join(parent, filepath.Base(path))
	}
	_, err := os.Lstat(real)
	granted := withinAny(real, g.writable)
	switch {
	case withinAny(real, g.secrets) && !granted && !withinAny(real, g.readOnly):
		if err != nil && !write && !access {
			return "" // it is missing outside of the sandbox as well
		}
		return fmt.Sprintf("The sandbox hides %s, where secrets may lie: read = [%q] in %s shows it.", path, path,
			block)
	case !write && !access || withinAny(real, []string{"/proc", "/sys", "/dev"}):
		return ""
	case granted && !withinAny(real, g.readOnly):
		return ""
	case p.Workspace != "" && withinAny(real, existing([]string{p.Workspace})):
		return p.deniedInWorkspace(block, path)
	case write || mayWrite(real):
		return fmt.Sprintf("%s is read-only in the sandbox: write = [%q] in %s lets it be changed.", path,
			filepath.Dir(path), block)
	}
	return ""
}

// deniedInWorkspace says why something in the workspace cannot be changed.
func (p Policy) deniedInWorkspace(block, path string) string {
	if p.Untouched {
		return fmt.Sprintf("The workspace is read-only for it: a tool of risk \"read_only\" changes nothing. risk "+
			"= \"safe_write\" in %s lets it.", block)
	}
	return path + " decides what agents may do, or is run with more rights than the command has: the sandbox " +
		"protects it, and a person has to change it."
}

// deniedWrite is for a line that names no absolute path.
func (p Policy) deniedWrite(block, line string) string {
	switch {
	case p.Untouched:
		return p.deniedInWorkspace(block, "")
	case strings.Contains(line, "device or resource busy"):
		return ""
	}
	return fmt.Sprintf("In the sandbox all is read-only but the workspace, except what decides there what agents may do: "+
		"write = [\"DIRECTORY\"] in %s lets it change more.", block)
}

// mayWrite reports whether the user could write a path, or make it, without the
// sandbox.
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
