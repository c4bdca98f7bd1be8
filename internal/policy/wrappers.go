package policy

import (
	"slices"
	"strings"
)

// wrapper describes the arguments of a program that runs another one. An unlisted option makes the line
// unreadable: it might take the next word.
type wrapper struct {
	// flags are the single-letter options without a value, valued those with one, attached those whose value must
	// be attached.
	flags, valued, attached string
	// longFlags are the long options without a value, long those with one, which is the next word unless it
	// follows "=".
	longFlags, long string
	// operands is the number of operands before the command.
	operands int
	// assignments is set if assignments may come before the command.
	assignments bool
	transparent bool
	// appends is set if further arguments come from elsewhere.
	appends bool
}

const digits = "0123456789"

var shellOptions = wrapper{
	flags: "abcefhiklmnpqrstuvxBCEHPT", valued: "oO", long: "--rcfile --init-file",
	longFlags: "--login --noprofile --norc --posix --restricted --verbose --noediting --debugger --command",
}

// loader is a dynamic linker run directly with a program.
var loader = wrapper{
	long:      "--library-path --inhibit-rpath --audit --preload --argv0 --glibc-hwcaps-prepend --glibc-hwcaps-mask",
	longFlags: "--inhibit-cache --list --verify",
}

// wrappers are the programs whose arguments are a command.
var wrappers = map[string]wrapper{
	"env": {
		flags: "i0v", valued: "uCSP", assignments: true, transparent: true, long: "--unset --chdir --split-string",
		longFlags: "--ignore-environment --null --debug --block-signal --default-signal --ignore-signal --list-signal-handling",
	},
	"nice": {flags: digits, valued: "n", long: "--adjustment", transparent: true},
	"ionice": {flags: "t", valued: "cnpPu", long: "--class --classdata --pid --pgid --uid", longFlags: "--ignore",
		transparent: true},
	"nohup":  {transparent: true},
	"setsid": {flags: "cfw", longFlags: "--ctty --fork --wait", transparent: true},
	"stdbuf": {valued: "ioe", long: "--input --output --error", transparent: true},
	"time": {
		flags: "pvqal", valued: "of", long: "--output --format", transparent: true,
		longFlags: "--portability --verbose --quiet --append",
	},
	"timeout": {
		flags: "vfp", valued: "sk", operands: 1, long: "--signal --kill-after", transparent: true,
		longFlags: "--preserve-status --foreground --verbose",
	},
	"builtin": {}, "busybox": {}, "toybox": {},
	"fakeroot": {flags: "uh", valued: "lsibf", long: "--lib --faked --save-file --load-file",
		longFlags: "--unknown-is-real"},
	"pkexec": {long: "--user", longFlags: "--disable-internal-agent --keep-cwd"},
	"exec":   {flags: "cl", valued: "a"},
	"sudo": {
		flags: "ABbEeHiKklNnPSsVv", valued: "ughpCrtTDRU", assignments: true,
		long: "--user --group --host --prompt --chdir --chroot --role --type --close-from --command-timeout --other-user",
		longFlags: "--askpass --background --bell --preserve-env --set-home --login --remove-timestamp --reset-timestamp --list " +
			"--non-interactive --preserve-groups --stdin --shell --validate --no-update",
	},
	"doas":    {flags: "Lns", valued: "uC"},
	"chroot":  {operands: 1, long: "--userspec --groups", longFlags: "--skip-chdir"},
	"taskset": {flags: "apc", operands: 1, longFlags: "--all-tasks --pid --cpu-list"},
	"chrt": {
		flags: "abdfimoprv", valued: "TPD", operands: 1, long: "--sched-runtime --sched-period --sched-deadline",
		longFlags: "--batch --deadline --fifo --idle --other --rr --reset-on-fork --all-tasks --max --pid --verbose",
	},
	"unshare": {
		flags: "imnpuUCTfrc", valued: "RwSG",
		long: "--root --wd --setuid --setgid --propagation --setgroups --monotonic --boottime",
		longFlags: "--ipc --mount --net --pid --uts --user --cgroup --time --fork --map-root-user " +
			"--map-current-user --mount-proc --keep-caps --kill-child",
	},
	"nsenter": {
		flags: "aFeZc", attached: "mnpuUCTirw", valued: "tSGW", long: "--target --setuid --setgid --wdns",
		longFlags: "--all --mount --uts --ipc --net --pid --cgroup --user --time --root --wd --no-fork " +
			"--preserve-credentials --follow-context",
	},
	"strace": {
		flags: "cCdfFhikmnqrtTvVwxyYzZD", valued: "abeEIopPsSuUXO",
		long: "--output --trace --attach --env --user --string-limit --columns",
		longFlags: "--follow-forks --summary --summary-only --quiet --timestamps --relative-timestamps " +
			"--successful-only --failed-only --no-abbrev --decode-fds --daemonize --debug",
	},
	"ltrace": {flags: "cCfhiLrStTV", valued: "aAeDFlnopsuwx",
		long: "--align --config --debug --library --indent --output"},
	"xargs": {
		flags: "0rtpox", valued: "InPLsadEJRS", attached: "iel", appends: true,
		long:      "--max-args --max-procs --max-chars --arg-file --delimiter --process-slot-var",
		longFlags: "--null --no-run-if-empty --verbose --interactive --open-tty --exit --show-limits --replace --max-lines --eof",
	},
}

func wrapperOf(name string) (wrapper, bool) {
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld.so") ||
		strings.HasPrefix(name, "ld64.so") {
		return loader, true
	}
	w, ok := wrappers[name]
	return w, ok
}

// skip returns the words after the options; ok is false if one is unknown or dynamic.
func (w *wrapper) skip(args []word) (rest []word, ok bool) {
	ok = true
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg.dynamic && arg.mayBeOption():
			return args, false
		case arg.text == "--":
			return args[1:], ok
		case arg.text == "-" && w.assignments: // env - is env -i
			args = args[1:]
			continue
		case !strings.HasPrefix(arg.text, "-") &&
			!(strings.HasPrefix(arg.text, "+") && w.flags == shellOptions.flags) || arg.text == "-":
			return args, ok
		}
		known, next := w.option(arg.text)
		ok = ok && known
		if args = args[1:]; next && len(args) > 0 {
			args = args[1:]
		}
	}
	return args, ok
}

// option reports whether an option is known, and whether its value is the next word.
func (w *wrapper) option(text string) (known, next bool) {
	if strings.HasPrefix(text, "--") {
		name, _, joined := strings.Cut(text, "=")
		valued := slices.Contains(strings.Fields(w.long), name)
		flag := slices.Contains(strings.Fields(w.longFlags), name) || name == "--help" || name == "--version"
		return valued || flag, valued && !joined
	}
	for i, c := range text[1:] {
		switch {
		case strings.ContainsRune(w.attached, c):
			return true, false
		case strings.ContainsRune(w.valued, c):
			return true, i == len(text)-2
		case !strings.ContainsRune(w.flags, c):
			return false, false
		}
	}
	return true, false
}
