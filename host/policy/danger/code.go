package danger

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
)

const (
	pythonDestroys = `\bos\.(remove|unlink|rmdir|removedirs|rename|replace|truncate|system|popen|exec\w*|spawn\w*|posix_spawn|kill|killpg|fork|chmod|chown)\b|\bshutil\.(rmtree|move|chown)\b|\.(unlink|rmdir|rmtree|write_text|write_bytes|chmod)\s*\(|\bsubprocess\b|\bpty\.spawn\b|\b(exec|eval|compile|__import__)\s*\(|\bctypes\b|\bfrom\s+(os|shutil|subprocess)\s+import\b|open\s*\([^)]*['"][wax+]+b?\+?['"]`
	perlDestroys   = `\b(unlink|rmtree|remove_tree|rmdir|system|exec|qx|kill|fork|truncate|chmod|chown|rename|eval)\b\s*[\s("'{$@]|` + "`" + `|open\s*\(?[^;]*['"]\s*[>|+]|\|\s*['"]`
	rubyDestroys   = `\bFileUtils\b|\bFile\.(delete|unlink|rename|truncate|chmod|chown|write)\b|\bDir\.(rmdir|delete|unlink)\b|\b(system|exec|spawn|fork|eval)\b\s*[\s("']|Process\.(kill|spawn)|%x|\.(rmtree|unlink|delete)\b|Open3|IO\.popen|` + "`"
	nodeDestroys   = `\b(rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|truncate\w*|rename\w*|chmod\w*|chown\w*|writeFile\w*|createWriteStream|copyFile\w*)\s*\(|child_process|\bexecSync\b|\bspawn\w*\s*\(|process\.kill|\beval\s*\(|Function\s*\(|Deno\.(remove|run|Command)|Bun\.(spawn|write|\$)`
	phpDestroys    = `\b(unlink|rmdir|rename|system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|chmod|chown|file_put_contents|eval)\s*\(|` + "`"
	luaDestroys    = `\bos\.(remove|rename|execute|exit)\b|\bio\.(popen|open)\b|\bload(string|file)?\s*\(`
	otherDestroys  = `\b(unlink|file\.remove|file\.rename|system2?|shell|exec|delete|quit)\s*\(|do shell script|rm `
)

// destroysIn gives what in the code of an interpreter deletes files, ends
// processes or runs commands.
func destroysIn(name string) (destroy string, ok bool) {
	switch {
	case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy"):
		return pythonDestroys, true
	case strings.HasPrefix(name, "perl"):
		return perlDestroys, true
	case strings.HasPrefix(name, "ruby"):
		return rubyDestroys, true
	case name == "node", name == "nodejs", name == "bun", name == "tsx", name == "deno":
		return nodeDestroys, true
	case strings.HasPrefix(name, "php"):
		return phpDestroys, true
	case strings.HasPrefix(name, "lua"):
		return luaDestroys, true
	case name == "r", name == "osascript", name == "rscript", name == "julia":
		return otherDestroys, true
	}
	return "", false
}

// code judges what a command gives an interpreter to run, on its command line
// or on its input.
func (j *judge) code(c *policy.Command, about string) {
	destroy, ok := destroysIn(c.Program())
	if !ok {
		return
	}
	texts, piped := c.Code()
	for _, text := range texts {
		j.judgeCode(destroy, text.Text, text.Dynamic, about)
	}
	if piped {
		j.found(Caution, about, "the command cannot be read for certain: %s reads its commands from its input", c.Program())
	}
}

func (j *judge) judgeCode(destroy, code string, dynamic bool, about string) {
	switch {
	case regexp.MustCompile(destroy).MatchString(code):
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
