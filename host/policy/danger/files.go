package danger

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
)

// rule judges the commands of one program. The reason says what they do.
type rule func(j *judge, c *policy.Command) (Class, string)

// always is for programs that are dangerous whatever they are told.
func always(reason string) rule {
	return func(*judge, *policy.Command) (Class, string) { return Caution, reason }
}

// ruleFor gives the rule for a program, nil for those that are fine.
func ruleFor(name string) rule {
	switch name {
	case "sudo", "su", "doas", "pkexec", "runuser":
		return always("runs with the rights of another user")
	case "rm", "unlink", "shred", "srm", "wipe", "rimraf", "del-cli", "trash", "trash-put", "gio-trash":
		return removes
	case "rmdir":
		return removesDirectory
	case "mv":
		return moves
	case "cp", "install", "ln", "tee", "touch", "mkdir", "sponge":
		return writesSystem
	case "truncate":
		return truncates
	case "chmod", "chown", "chgrp", "chattr", "setfacl":
		return changesRights
	case "dd":
		return copiesBlocks
	case "find", "gfind", "fd", "fdfind":
		return finds
	case "rsync":
		return syncs
	case "tar", "bsdtar":
		return archives
	case "sed", "gsed":
		return editsStreams
	case "awk", "gawk", "mawk", "nawk":
		return runsAwk
	case "vi", "vim", "nvim", "ex":
		return runsEditor
	}
	if strings.HasPrefix(name, "mkfs") {
		return formats
	}
	return ruleForSystem(name)
}

// removes judges rm and its like.
func removes(j *judge, c *policy.Command) (Class, string) {
	recursive := c.Program() == "rm" && c.Has("-r", "-R", "--recursive", "--dir")
	if c.Has("--no-preserve-root") {
		return Blocked, "recursive delete on root"
	}
	for _, w := range operands(c) {
		switch p := j.place(w); {
		case p.path == "/" && (recursive || p.all):
			return Blocked, "recursive delete on root"
		case p.device():
			return Blocked, "destroys the device " + w.Text
		case p.whole() && (recursive || p.all || p.system()):
			return Blocked, "delete of " + w.Text
		}
	}
	return Caution, "deletes files"
}

func removesDirectory(j *judge, c *policy.Command) (Class, string) {
	for _, w := range operands(c) {
		if p := j.place(w); p.whole() {
			return Blocked, "delete of " + w.Text
		}
	}
	return Fine, ""
}

func moves(j *judge, c *policy.Command) (Class, string) {
	for _, w := range operands(c) {
		if p := j.place(w); p.whole() && !p.harmlessDevice() {
			return Blocked, "moves " + w.Text
		}
	}
	return Caution, "moves files, and replaces what has their new name"
}

// writesSystem is for programs whose last operand, or any, is written.
func writesSystem(j *judge, c *policy.Command) (Class, string) {
	words := operands(c, "-t", "--target-directory", "-m", "--mode", "-o", "-g", "-S")
	if slices.Contains([]string{"cp", "install", "ln"}, c.Program()) && len(words) > 1 {
		words = words[len(words)-1:]
	}
	for i, w := range c.Words[1:] {
		if target, ok := strings.CutPrefix(w.Text, "--target-directory="); ok {
			words = append(words, policy.Word{Text: target})
		} else if w.Text == "-t" && i+2 < len(c.Words) {
			words = append(words, c.Words[i+2])
		}
	}
	for _, w := range words {
		p := j.place(w)
		if !p.harmlessDevice() && (p.system() || p.shellSettings()) {
			return Blocked, "destructive write to " + w.Text
		}
	}
	if first := operands(c); c.Program() == "cp" && len(first) == 2 && first[0].Text == "/dev/null" {
		return Caution, "empties " + first[1].Text
	}
	return Fine, ""
}

func truncates(j *judge, c *policy.Command) (Class, string) {
	for _, w := range operands(c, "-s", "--size", "-r", "--reference") {
		if p := j.place(w); p.system() || p.shellSettings() {
			return Blocked, "destructive write to " + w.Text
		}
	}
	return Caution, "cuts files short"
}

func changesRights(j *judge, c *policy.Command) (Class, string) {
	for _, w := range operands(c) {
		if p := j.place(w); (strings.HasPrefix(w.Text, "/") || strings.HasPrefix(p.path, homeMark)) && p.whole() {
			return Blocked, "changes the rights on " + w.Text
		}
	}
	return Caution, "changes the rights on files"
}

func copiesBlocks(j *judge, c *policy.Command) (Class, string) {
	writes := false
	for _, w := range c.Words[1:] {
		target, ok := strings.CutPrefix(w.Text, "of=")
		if !ok {
			continue
		}
		p := j.place(policy.Word{Text: target, Dynamic: w.Dynamic})
		if !p.harmlessDevice() && (p.system() || p.shellSettings()) {
			return Blocked, "destructive write to " + target
		}
		writes = writes || !p.harmlessDevice()
	}
	if !writes {
		return Fine, ""
	}
	return Caution, "overwrites a file block by block"
}

func formats(j *judge, c *policy.Command) (Class, string) {
	for _, w := range operands(c) {
		if j.place(w).device() {
			return Blocked, "formats the device " + w.Text
		}
	}
	return Caution, "makes a file system, which destroys what was there"
}

// finds judges what find does by itself; what it runs is judged apart.
func finds(j *judge, c *policy.Command) (Class, string) {
	if c.Program() == "fd" || c.Program() == "fdfind" {
		return j.findsFast(c)
	}
	deletes := slices.Contains(c.Texts(), "-delete")
	runs := false
	for i, w := range c.Words[1:] {
		switch w.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			runs = runs || i+2 < len(c.Words) && slices.Contains([]string{"rm", "shred", "unlink"}, path.Base(c.Words[i+2].Text))
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if i+2 < len(c.Words) && j.place(c.Words[i+2]).system() {
				return Blocked, "destructive write to " + c.Words[i+2].Text
			}
		}
	}
	if !deletes && !runs {
		return Fine, ""
	}
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" {
			break
		}
		if j.place(w).whole() {
			return Blocked, "recursive delete on " + w.Text
		}
	}
	return Caution, "deletes the files that are found"
}

// findsFast judges fd, whose -x and -X run a program.
func (j *judge) findsFast(c *policy.Command) (Class, string) {
	for i, w := range c.Words[1:] {
		if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, w.Text) && i+2 < len(c.Words) {
			inner := policy.Command{Words: c.Words[i+2:]}
			j.command(&inner, maxScripts)
		}
	}
	return Fine, ""
}

func syncs(j *judge, c *policy.Command) (Class, string) {
	deletes := false
	for _, t := range c.Texts() {
		deletes = deletes || strings.HasPrefix(t, "--delete") || t == "--del" || t == "--remove-source-files"
	}
	words := operands(c, "-e", "--rsh")
	if n := len(words); n > 0 {
		if p := j.place(words[n-1]); p.system() || deletes && p.whole() {
			return Blocked, "destructive write to " + words[n-1].Text
		}
	}
	if deletes {
		return Caution, "deletes files that the other side has not"
	}
	return Fine, ""
}

func archives(j *judge, c *policy.Command) (Class, string) {
	words := c.Texts()
	for i, t := range words {
		if strings.HasPrefix(t, "--remove-files") {
			return Caution, "deletes the files that it packs"
		}
		if strings.HasPrefix(t, "--checkpoint-action") || strings.HasPrefix(t, "--to-command") || strings.HasPrefix(t, "--use-compress-program") || t == "-I" {
			return Caution, "runs a command of its own"
		}
		if (t == "-C" || t == "--directory") && i+1 < len(words) && c.Has("-x", "--extract") {
			if p := j.place(policy.Word{Text: words[i+1]}); p.whole() {
				return Blocked, "destructive write to " + words[i+1]
			}
		}
	}
	return Fine, ""
}
