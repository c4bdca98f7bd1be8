package danger

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
)

// interpreter is how a program takes code on its command line, and what in
// such code deletes files, ends processes or runs commands.
type interpreter struct {
	code    []string // options that take code
	destroy string
}

const (
	pythonDestroys = `\bos\.(remove|unlink|rmdir|removedirs|rename|replace|truncate|system|popen|exec\w*|spawn\w*|posix_spawn|kill|killpg|fork|chmod|chown)\b|\bshutil\.(rmtree|move|chown)\b|\.(unlink|rmdir|rmtree|write_text|write_bytes|chmod)\s*\(|\bsubprocess\b|\bpty\.spawn\b|\b(exec|eval|compile|__import__)\s*\(|\bctypes\b|\bfrom\s+(os|shutil|subprocess)\s+import\b|open\s*\([^)]*['"][wax+]+b?\+?['"]`
	perlDestroys   = `\b(unlink|rmtree|remove_tree|rmdir|system|exec|qx|kill|fork|truncate|chmod|chown|rename|eval)\b\s*[\s("'{$@]|` + "`" + `|open\s*\(?[^;]*['"]\s*[>|+]|\|\s*['"]`
	rubyDestroys   = `\bFileUtils\b|\bFile\.(delete|unlink|rename|truncate|chmod|chown|write)\b|\bDir\.(rmdir|delete|unlink)\b|\b(system|exec|spawn|fork|eval)\b\s*[\s("']|Process\.(kill|spawn)|%x|\.(rmtree|unlink|delete)\b|Open3|IO\.popen|` + "`"
	nodeDestroys   = `\b(rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|truncate\w*|rename\w*|chmod\w*|chown\w*|writeFile\w*|createWriteStream|copyFile\w*)\s*\(|child_process|\bexecSync\b|\bspawn\w*\s*\(|process\.kill|\beval\s*\(|Function\s*\(|Deno\.(remove|run|Command)|Bun\.(spawn|write|\$)`
	phpDestroys    = `\b(unlink|rmdir|rename|system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|chmod|chown|file_put_contents|eval)\s*\(|` + "`"
	luaDestroys    = `\bos\.(remove|rename|execute|exit)\b|\bio\.(popen|open)\b|\bload(string|file)?\s*\(`
	otherDestroys  = `\b(unlink|file\.remove|file\.rename|system2?|shell|exec|delete|quit)\s*\(|do shell script|rm `
)

func interpreterOf(name string) (interpreter, bool) {
	switch {
	case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy"):
		return interpreter{[]string{"-c"}, pythonDestroys}, true
	case strings.HasPrefix(name, "perl"):
		return interpreter{[]string{"-e", "-E"}, perlDestroys}, true
	case strings.HasPrefix(name, "ruby"):
		return interpreter{[]string{"-e"}, rubyDestroys}, true
	case name == "node", name == "nodejs", name == "bun", name == "tsx":
		return interpreter{[]string{"-e", "--eval", "-p", "--print", "-pe"}, nodeDestroys}, true
	case name == "deno":
		return interpreter{[]string{"eval"}, nodeDestroys}, true
	case strings.HasPrefix(name, "php"):
		return interpreter{[]string{"-r", "-R", "-B", "-E"}, phpDestroys}, true
	case strings.HasPrefix(name, "lua"):
		return interpreter{[]string{"-e"}, luaDestroys}, true
	case name == "Rscript", name == "r", name == "osascript", name == "rscript", name == "julia":
		return interpreter{[]string{"-e", "-E", "--eval"}, otherDestroys}, true
	}
	return interpreter{}, false
}

// code judges what a command gives an interpreter to run, on its command line
// or on its input.
func (j *judge) code(c *policy.Command, about string) {
	in, ok := interpreterOf(c.Program())
	if !ok {
		return
	}
	given := false
	for i, w := range c.Words[1:] {
		at, code := in.takes(w.Text)
		if !at {
			continue
		}
		given = true
		if code == "" && i+2 < len(c.Words) {
			w = c.Words[i+2]
			code = w.Text
		}
		j.judgeCode(in, code, w.Dynamic, about)
	}
	script := slices.ContainsFunc(c.Words[1:], func(w policy.Word) bool {
		return w.Text == "-m" || !strings.HasPrefix(w.Text, "-")
	})
	switch {
	case given || script:
	case c.Input != nil:
		j.judgeCode(in, c.Input.Text, c.Input.Dynamic, about)
	case c.Piped:
		j.found(Caution, about, "the command cannot be read for certain: %s reads its commands from its input", c.Program())
	}
}

// takes reports whether an argument is an option that code follows, and gives
// the code that stands with it.
func (in interpreter) takes(arg string) (found bool, code string) {
	for _, option := range in.code {
		switch {
		case arg == option:
			return true, ""
		case strings.HasPrefix(option, "--"):
			if rest, ok := strings.CutPrefix(arg, option+"="); ok {
				return true, rest
			}
		case len(option) == 2 && option[0] == '-' && len(arg) > 2 && arg[0] == '-' && arg[1] != '-':
			// A cluster: -ne CODE, -lane CODE, -cCODE.
			if letters, rest, ok := strings.Cut(arg[1:], option[1:]); ok && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyzSEIB0123456789.") == "" {
				return true, rest
			}
		}
	}
	return false, ""
}

func (j *judge) judgeCode(in interpreter, code string, dynamic bool, about string) {
	switch {
	case regexp.MustCompile(in.destroy).MatchString(code):
		j.found(Caution, about, "runs code that can delete files or run commands")
	case dynamic && (strings.HasPrefix(code, "$") || strings.HasPrefix(code, "`")):
		j.found(Caution, about, "the command cannot be read for certain: the code is known to the shell only")
	case forks(code):
		j.found(Blocked, about, "fork bomb")
	}
	if strings.Contains(code, "fork") && forks(code) {
		j.found(Blocked, about, "fork bomb")
	}
}

// forks finds code that forks in a loop without an end.
func forks(code string) bool {
	return regexp.MustCompile(`fork(\(\))?\s+while\s+(fork|1|true)|while\s*\(?\s*(1|True|true)\s*\)?\s*[:{]?\s*(os\.)?fork|while\s+(os\.)?fork|\b(loop|forever)\s*\{?\s*fork`).MatchString(code)
}

// editsStreams judges sed: files of the system that it edits in place, and
// scripts that run commands.
func editsStreams(j *judge, c *policy.Command) (Class, string) {
	args := operands(c, "-e", "--expression", "-f", "--file", "-l", "-E")
	inPlace := slices.ContainsFunc(c.Texts(), func(t string) bool {
		return strings.HasPrefix(t, "-i") || strings.HasPrefix(t, "--in-place")
	})
	if inPlace {
		for _, w := range args {
			if p := j.place(w); isNamed(w) && (p.system() || p.shellSettings()) {
				return Blocked, "destructive write to " + w.Text
			}
		}
	}
	runs := regexp.MustCompile(`(^|[;{}\n])\s*(\d+|\$|/[^/]*/)?\s*e(\s|$)|([/|,#])[gpiI0-9]*e[gpiI0-9]*\s*($|;|\})`)
	for i, w := range c.Words[1:] {
		text := w.Text
		isScript := i == 0 || c.Words[i].Text == "-e" || len(args) > 0 && w == args[0]
		if isScript && !strings.HasPrefix(text, "-") && (strings.HasPrefix(text, "s") || strings.ContainsAny(text, "0123456789$/") || strings.HasPrefix(text, "e ")) && runs.MatchString(text) {
			return Caution, "runs commands from its script"
		}
	}
	return Fine, ""
}

// isNamed reports a word that is written as an absolute path or one of a home.
func isNamed(w policy.Word) bool {
	return strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "~") || strings.HasPrefix(w.Text, "$HOME")
}

// runsAwk judges awk, whose scripts can run commands and write files.
func runsAwk(_ *judge, c *policy.Command) (Class, string) {
	runs := regexp.MustCompile(`\bsystem\s*\(|\|\s*getline|\|\s*"|\|\s*&|"\s*\|\s*getline|>\s*"/`)
	if slices.ContainsFunc(c.Texts(), runs.MatchString) {
		return Caution, "runs commands from its script"
	}
	return Fine, ""
}

// runsEditor judges an editor that is given commands.
func runsEditor(j *judge, c *policy.Command) (Class, string) {
	for _, t := range c.Texts() {
		t = strings.TrimLeft(strings.TrimPrefix(t, "-c"), "+: ")
		if line, ok := strings.CutPrefix(t, "!"); ok {
			j.line(line, maxScripts)
		}
		if strings.Contains(t, "system(") || strings.HasPrefix(t, "%!") || strings.HasPrefix(t, "call delete(") {
			return Caution, "runs commands from its script"
		}
	}
	return Fine, ""
}
