package sandbox

import (
	"strings"

	"github.com/toolhost/toolhost/internal/file/obeyed"
)

// seatbeltProfile returns the policy as a profile for macOS's sandbox-exec(1): deny by default, read the system
// without secrets, change the granted trees. The last matching rule counts.
func seatbeltProfile(p Policy, g grants, temp []string) string {
	var b strings.Builder
	rule := func(text string) { b.WriteString("(" + text + ")\n") }
	// A rule without any filter would apply to everything.
	each := func(text, kind string, values []string) {
		if len(values) > 0 {
			rule(text + names(kind, values))
		}
	}
	writable := append(append([]string{}, g.writable...), temp...)
	rule("version 1")
	rule("deny default")
	rule("allow process-exec process-fork")
	rule("allow signal process-info* (target same-sandbox)")
	rule("allow sysctl-read")
	rule("allow ipc-posix-sem ipc-posix-shm")
	rule("allow pseudo-tty")
	each("allow mach-lookup", "global-name", machServices[:])
	rule("allow file-read* file-test-existence")
	each("allow file-write* file-ioctl", "literal", seatbeltDevices[:])
	rule(`allow file-ioctl (regex #"^/dev/ttys[0-9]+$")`)
	each("deny file-read-data", "subpath", seatbeltHidden[:])
	if g.home != "" { // names and sizes may be seen: programs follow paths through it
		each("deny file-read-data", "subpath", []string{g.home})
	}
	for _, place := range g.shown {
		each("allow file-read*", "subpath", []string{place.real})
	}
	each("deny file-read*", "subpath", g.secrets)
	each("allow file-read*", "subpath", g.readOnly)
	each("allow file-read* file-write*", "subpath", writable)
	each("deny file-read* file-write*", "subpath", outsideOf(g.secrets, writable))
	each("deny file-write*", "subpath", g.readOnly)
	rule(`deny file-write* (regex #"` + obeyed.Pattern() + `")`)
	rule("deny file-write-setugid")
	if p.Network {
		rule("allow network* system-socket")
		rule("deny network-outbound (remote unix-socket)")
	}
	return b.String()
}

// outsideOf drops what contains one of roots: a workspace inside a masked place stays usable.
func outsideOf(paths, roots []string) (rest []string) {
	for _, path := range paths {
		if !anyWithin(roots, path) {
			rest = append(rest, path)
		}
	}
	return rest
}

// names returns filters of a kind, one for each name.
func names(kind string, values []string) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, value := range values {
		b.WriteString("\n  (" + kind + ` "` + escape.Replace(value) + `")`)
	}
	return b.String()
}

// machServices are what ordinary command line programs look up.
var machServices = [...]string{
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center", "com.apple.system.logger",
	"com.apple.logd", "com.apple.bsd.dirhelper", "com.apple.SystemConfiguration.configd", "com.apple.trustd.agent",
}

var seatbeltDevices = [...]string{
	"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper",
}

var seatbeltHidden = [...]string{"/private/tmp", "/private/var/tmp", "/private/var/folders"}
