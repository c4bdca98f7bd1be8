// Package standard declares the wrappers that every project has: head, tail,
// wc, cloc, cp, mv, rm, touch and mkdir. Their options are those of GNU
// coreutils 9 and cloc 1.9x which can neither reach outside the workspace nor
// run for ever; all others are refused.
package standard

import (
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// Specs gives the standard wrappers, in order of listing.
func Specs() []argv.Spec {
	return []argv.Spec{head(), tail(), cloc(), wc(), cp(), mv(), rm(), touch(), mkdir()}
}

var (
	reads  = []tool.Permission{tool.FileRead}
	writes = []tool.Permission{tool.FileRead, tool.FileWrite}
)

func flag(names ...string) argv.Option { return argv.Option{Names: names} }

func valued(kind argv.Kind, names ...string) argv.Option {
	return argv.Option{Names: names, Value: kind}
}

func refuse(reason string, names ...string) argv.Option {
	return argv.Option{Names: names, Refuse: reason}
}

func examples(args ...string) []argv.Example {
	list := make([]argv.Example, len(args))
	for i, a := range args {
		list[i] = argv.Example{Args: a}
	}
	return list
}

const endless = "it never ends"

func head() argv.Spec {
	return argv.Spec{
		Name:        "head",
		Description: "Show the first lines of files, 10 by default. Returns: the lines; several files each under a heading.",
		Risk:        tool.ReadOnly, Permissions: reads,
		Passthrough: &argv.Wrapper{
			Command: "head", Number: true,
			Options: []argv.Option{
				valued(argv.Number, "-n", "--lines"), valued(argv.Number, "-c", "--bytes"),
				flag("-q", "--quiet", "--silent"), flag("-v", "--verbose"), flag("-z", "--zero-terminated"),
			},
			Operands: argv.Operands{Type: argv.Read},
		},
		Examples: examples("-n 20 file.txt", "-5 file.txt", "--lines=3 a.txt b.txt"),
		Rejects:  examples("/etc/passwd", "../outside.txt", "-c 1 /proc/self/environ"),
	}
}

func tail() argv.Spec {
	return argv.Spec{
		Name:        "tail",
		Description: "Show the last lines of files, 10 by default; -n +5 starts at line 5. Returns: the lines; several files each under a heading.",
		Risk:        tool.ReadOnly, Permissions: reads,
		Passthrough: &argv.Wrapper{
			Command: "tail", Number: true,
			Options: []argv.Option{
				valued(argv.Number, "-n", "--lines"), valued(argv.Number, "-c", "--bytes"),
				flag("-q", "--quiet", "--silent"), flag("-v", "--verbose"), flag("-z", "--zero-terminated"),
				{Names: []string{"-f", "--follow"}, Value: argv.String, Optional: true, Refuse: endless},
				refuse(endless, "-F"), refuse(endless, "--retry"), refuse(endless, "--pid"), refuse(endless, "-s", "--sleep-interval"),
				refuse(endless, "--max-unchanged-stats"),
			},
			Operands: argv.Operands{Type: argv.Read},
		},
		Examples: examples("-n 20 file.txt", "-n +3 file.txt"),
		Rejects:  examples("-f file.txt", "--foll file.txt", "-F file.txt", "--retry file.txt", "/var/log/syslog"),
	}
}

func cloc() argv.Spec {
	return argv.Spec{
		Name:        "cloc",
		Description: "Count lines of code by language: files, blank, comment and code lines. Returns: cloc's table, or JSON, CSV, YAML with --json, --csv, --yaml.",
		Risk:        tool.ReadOnly, Permissions: reads,
		Passthrough: &argv.Wrapper{
			Command: "cloc", Prepend: []string{"--quiet", "--exclude-dir=.agent"}, // no counting aloud; the records of toolhost are no code of the project
			Options: []argv.Option{
				flag("--json"), flag("--csv"), flag("--yaml"), flag("--md"), flag("--quiet"), flag("--by-file"), flag("--by-file-by-lang"),
				flag("--hide-rate"), flag("--sum-one"), flag("--skip-uniqueness"), flag("--no-recurse"), flag("--3"), valued(argv.String, "--by-percent"),
				valued(argv.String, "--include-lang"), valued(argv.String, "--exclude-lang"), valued(argv.String, "--include-ext"),
				valued(argv.String, "--exclude-ext"), valued(argv.String, "--exclude-dir"), valued(argv.String, "--match-f"),
				valued(argv.String, "--not-match-f"), valued(argv.String, "--match-d"), valued(argv.String, "--not-match-d"),
				flag("--fullpath"), valued(argv.Number, "--max-file-size"), valued(argv.Number, "--timeout"),
			},
			Operands: argv.Operands{
				Type: argv.Read, Min: 1,
				// Archives are unpacked by a shell command that holds their
				// name; a name like a commit's makes cloc run git.
				Refuse: `(?i)['\n]|(^|/)-$|^([a-f\d]{5,40}|master|head)(~\d+)?$|\.(tar|tgz|tar\.[^/.]+|zip|whl|deb|rpm)$`,
				Reason: "archives are not unpacked, quotes in names are not safe with cloc, and a name like a commit's has to be written as ./NAME",
			},
		},
		Examples: examples(".", "--json src", "--include-lang=Go --exclude-dir=vendor ."),
		Rejects: examples("/", "--out=report.txt .", "--report-file=x .", "--config=x .", "--list-file=files.txt", "--extract-with='sh -c id' .",
			"--read-lang-def=x .", "--vcs=git", "--follow-links .", "code.tar.gz", "HEAD"),
	}
}

func wc() argv.Spec {
	return argv.Spec{
		Name:        "wc",
		Description: "Count lines (-l), words (-w), characters (-m) and bytes (-c) of files. Returns: one line per file, and a total for several.",
		Risk:        tool.ReadOnly, Permissions: reads,
		Passthrough: &argv.Wrapper{
			Command: "wc",
			Options: []argv.Option{
				flag("-l", "--lines"), flag("-w", "--words"), flag("-m", "--chars"), flag("-c", "--bytes"), flag("-L", "--max-line-length"),
				{Names: []string{"--files0-from"}, Value: argv.Read, Refuse: "it takes the names of files from a file"},
			},
			Operands: argv.Operands{Type: argv.Read},
		},
		Examples: examples("-l file.txt", "*.md"),
		Rejects:  examples("--files0-from=names", "--files0=names", "-l /etc/passwd", "../x"),
	}
}

func cp() argv.Spec {
	return argv.Spec{
		Name:        "cp",
		Description: "Copy files, and with -r directories. An existing target is overwritten unless -n is given. Returns: nothing, or the copies with -v.",
		Risk:        tool.Dangerous, Permissions: writes,
		Passthrough: &argv.Wrapper{
			Command: "cp",
			Options: []argv.Option{
				flag("-r", "-R", "--recursive"), flag("-n", "--no-clobber"), flag("-f", "--force"), flag("-u"), flag("-v", "--verbose"),
				flag("-p"), flag("-P", "--no-dereference"), flag("-d"), flag("-a", "--archive"), flag("-x", "--one-file-system"),
				flag("--strip-trailing-slashes"),
				refuse("a link would lead around the checks", "-s", "--symbolic-link"), refuse("a link would lead around the checks", "-l", "--link"),
				refuse("it follows links out of the workspace", "-L", "--dereference"), refuse("it follows links out of the workspace", "-H"),
				refuse("name the target last", "-t", "--target-directory"), refuse("name the target last", "-T", "--no-target-directory"),
				refuse("it writes further files", "-b", "--backup"), refuse("it writes further files", "-S", "--suffix"),
				refuse("it makes paths that are not checked", "--parents"),
			},
			Operands: argv.Operands{Type: argv.Read, Last: argv.Write, Into: true, Min: 2},
		},
		Examples: examples("source.txt destination.txt", "-r src backup", "-n a.txt b.txt dir"),
		Rejects: examples("source.txt", "/etc/passwd stolen.txt", "a.txt /tmp/a.txt", "-t /tmp a.txt", "--target-dir=/tmp a.txt b.txt", "-s /etc/passwd link",
			"-l a.txt b.txt", "-rL dir copy", "a.txt .git/config", "--backup=numbered a b", "--parents a/b c"),
	}
}

func mv() argv.Spec {
	return argv.Spec{
		Name:        "mv",
		Description: "Move or rename files and directories. An existing target is overwritten unless -n is given. Returns: nothing, or the moves with -v.",
		Risk:        tool.Dangerous, Permissions: writes,
		Passthrough: &argv.Wrapper{
			Command: "mv",
			Options: []argv.Option{
				flag("-n", "--no-clobber"), flag("-f", "--force"), flag("-u"), flag("-v", "--verbose"), flag("--strip-trailing-slashes"),
				refuse("name the target last", "-t", "--target-directory"), refuse("name the target last", "-T", "--no-target-directory"),
				refuse("it writes further files", "-b", "--backup"), refuse("it writes further files", "-S", "--suffix"),
			},
			Operands: argv.Operands{Type: argv.Remove, Last: argv.Write, Into: true, Min: 2},
		},
		Examples: examples("old.txt new.txt", "-n a.txt b.txt dir"),
		Rejects:  examples("old.txt", "/etc/hosts here", "a.txt /tmp/", "-t /tmp a.txt", "--target=/tmp a.txt b.txt", ".git old", "a.txt agent.hcl"),
	}
}

func rm() argv.Spec {
	return argv.Spec{
		Name:        "rm",
		Description: "Remove files, with -r directories and with -d empty directories. Returns: nothing, or what was removed with -v.",
		Risk:        tool.Dangerous, Permissions: writes,
		Passthrough: &argv.Wrapper{
			Command: "rm",
			Options: []argv.Option{
				flag("-r", "-R", "--recursive"), flag("-f", "--force"), flag("-d", "--dir"), flag("-v", "--verbose"), flag("--one-file-system"),
				flag("--preserve-root"), refuse("the root stays", "--no-preserve-root"),
				refuse("nobody can answer", "-i"), refuse("nobody can answer", "-I"), refuse("nobody can answer", "--interactive"),
			},
			Operands: argv.Operands{Type: argv.Remove, Min: 1},
		},
		Examples: examples("file_to_delete.txt", "-rf build", "-d empty"),
		Rejects:  examples("-rf /", "-rf ..", "-rf .", "-r .git", "agent.hcl", "--no-preserve-root -rf /", "-i a.txt"),
	}
}

func touch() argv.Spec {
	return argv.Spec{
		Name:        "touch",
		Description: "Create empty files, or set the times of existing ones to now or to -d DATE. Returns: nothing.",
		Risk:        tool.SafeWrite, Permissions: writes,
		Passthrough: &argv.Wrapper{
			Command: "touch",
			Options: []argv.Option{
				flag("-a"), flag("-m"), flag("-c", "--no-create"), flag("-h", "--no-dereference"),
				valued(argv.String, "-d", "--date"), valued(argv.String, "-t"), valued(argv.String, "--time"),
				valued(argv.Read, "-r", "--reference"),
			},
			Operands: argv.Operands{Type: argv.Write, Min: 1},
		},
		Examples: examples("new_empty_file.txt", "-d 2026-01-02 a.txt", "-r a.txt b.txt"),
		Rejects:  examples("/tmp/x", "-r /etc/passwd a.txt", "--ref=/etc/passwd a.txt", ".git/x", "../x"),
	}
}

func mkdir() argv.Spec {
	return argv.Spec{
		Name:        "mkdir",
		Description: "Create directories, with -p parents as well. Returns: nothing, or the directories with -v.",
		Risk:        tool.SafeWrite, Permissions: writes,
		Passthrough: &argv.Wrapper{
			Command: "mkdir",
			Options: []argv.Option{
				flag("-p", "--parents"), flag("-v", "--verbose"), {Names: []string{"-m", "--mode"}, Value: argv.String},
				refuse("security contexts stay as they are", "-Z", "--context"),
			},
			Operands: argv.Operands{Type: argv.Write, Min: 1},
		},
		Examples: examples("new_dir", "-p a/b/c"),
		Rejects:  examples("/tmp/x", "../x", ".git/hooks2", "-p ../../x"),
	}
}
