package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// grammar makes random command lines: as bash's grammar allows them, with
// marked commands wherever a command may hide, and with faults.
type grammar struct {
	*rand.Rand
	depth int
	// mild lines have little that the reader refuses: they test what it accepts.
	mild bool
}

// line returns one to three statements, a third of them with a few characters changed.
func (g *grammar) line() string {
	g.depth, g.mild = 0, g.IntN(3) > 0
	var parts []string
	if g.IntN(3) == 0 && !g.mild {
		parts = append(parts, "x="+g.hostile())
	}
	for range 1 + g.IntN(3) {
		parts = append(parts, g.stmt())
	}
	line := strings.Join(parts, g.pick("; ", "\n", " && ", " || ", " | ", " & "))
	if g.IntN(3) == 0 {
		line = g.mutate(line)
	}
	return line
}

// special are the characters for faults. There is no slash: no line may name a
// file outside of its directory.
const special = "$`'\"\\(){}[]<>|&;#!*?=:@+-%^, \n\t01xm"

func (g *grammar) mutate(line string) string {
	for range 1 + g.IntN(3) {
		at := g.IntN(len(line) + 1)
		c := string(special[g.IntN(len(special))])
		switch {
		case g.IntN(3) == 0 && at < len(line):
			line = line[:at] + line[at+1:]
		case g.IntN(2) == 0 && at < len(line):
			line = line[:at] + c + line[at+1:]
		default:
			line = line[:at] + c + line[at:]
		}
	}
	return line
}

func (g *grammar) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *grammar) one(makers ...func() string) string { return makers[g.IntN(len(makers))]() }

// marked returns a command whose run is seen.
func (g *grammar) marked() string {
	return fmt.Sprintf("m%d %s", 1+g.IntN(4), g.pick("", "a", "-f b", "c d"))
}

// code returns a text that is a command, or becomes one when evaluated.
func (g *grammar) code() string {
	return g.pick("$(", "`", "a[$(", "x[`", "$((a[$(", "${z:=$(", "-v a[$(", "<(") + g.marked() +
		g.pick(")", "`", ")]", "`]", ")]))", ")}")
}

// hostile returns a word that holds code, usually without running it.
func (g *grammar) hostile() string {
	code := g.code()
	switch g.IntN(6) {
	case 0:
		return `"` + strings.NewReplacer("$", `\$`, "`", "\\`").Replace(code) + `"`
	case 1:
		return strings.NewReplacer("$", `\$`, "`", "\\`", "(", `\(`, ")", `\)`, " ", `\ `).Replace(code)
	case 2:
		return "$'" + code + "'"
	case 3:
		return "'" + strings.ReplaceAll(code, " ", "${IFS}") + "'"
	}
	return "'" + code + "'"
}

func (g *grammar) name() string {
	if g.mild {
		return g.pick("x", "y", "z")
	}
	return g.pick("x", "y", "z", "a", "m1", "PS4", "RANDOM", "x", "y")
}

func (g *grammar) stmt() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return g.marked()
	}
	if g.mild {
		return g.mildStmt()
	}
	s := g.one(g.simple, g.simple, g.simple, g.simple, g.builtin, g.builtin, g.builtin, g.compound, g.compound,
		g.compound, g.hidden, g.wrapped)
	if g.IntN(5) == 0 {
		s += g.redirect()
	}
	if g.IntN(12) == 0 {
		s = g.pick("! ", "time ", "coproc ", "command ", "builtin ", "exec ", "time -p ") + s
	}
	if g.IntN(12) == 0 {
		s += g.pick(" # "+g.code(), " \\\n "+g.marked(), " &", "; # \\\n"+g.marked())
	}
	return s
}

// mildStmt returns a statement as people write them.
func (g *grammar) mildStmt() string {
	body := func() string { return g.stmt() + g.pick("; ", "\n") }
	return g.one(g.simple, g.simple, g.simple, g.simple,
		func() string { return g.pick("(", "( ") + g.stmt() + ")" },
		func() string { return "{ " + body() + "}" },
		func() string {
			return "if " + body() + "then " + body() + g.pick("", "else "+body(), "elif "+body()+"then "+body()) + "fi"
		},
		func() string {
			return "for " + g.name() + g.pick(" in ", "\nin ") + g.word() + " b; do " + body() + "done"
		},
		func() string { return g.pick("while ", "until ! ") + body() + "do " + body() + " break; done" },
		func() string {
			return "case " + g.word() + " in " + g.pick("(", "") + g.word() + "|*) " + g.stmt() +
				g.pick(";;", ";&", ";;&", "") + "\nesac"
		},
		func() string { return g.pick("f() ", "function f ", "f ()\n") + "{ " + body() + "}; f " + g.word() },
		func() string { return g.stmt() + g.redirect() },
		func() string {
			return g.stmt() + g.pick(" | ", " |& ", " && ", " || ", "; ", " & ", "\n", " && \\\n", " | # a\n") +
				g.stmt()
		},
		func() string {
			return g.pick("! ", "time ", "command ", "eval ", "eval -- ", "exec ", "builtin ") + g.marked()
		},
		func() string {
			return g.pick("eval ", "trap -- ", "bash -c ") + "'" + strings.ReplaceAll(g.marked(), "'", "") + "'" +
				g.pick("", " EXIT")
		},
		func() string {
			return g.pick("[ -n ", "test ", "[[ -z ", "export x=", "printf %s ", "local y=", "set -- ", "echo ",
				"unset x ") + g.word() + g.pick("", " ]", " ]]")
		},
		func() string { return g.stmt() + " # " + g.pick("", "'", "\\") + "\n" + g.marked() },
	)
}

func (g *grammar) simple() string {
	parts := []string{g.pick(g.marked(), g.marked(), "echo", ":", "m1", `m\2`, `"m3"`, `'m4'`, "m''1", "m\\\n2",
		g.word())}
	if g.IntN(5) == 0 {
		parts = append([]string{g.name() + g.assignment() + g.word()}, parts...)
	}
	for range g.IntN(3) {
		parts = append(parts, g.word())
	}
	return strings.Join(parts, " ")
}

func (g *grammar) assignment() string {
	if g.mild {
		return g.pick("=", "+=")
	}
	return g.pick("=", "=", "+=", "[0]=", "[y]=")
}

func (g *grammar) word() string {
	if g.mild {
		return g.one(
			func() string {
				return g.pick("a", "b-c", "1", "-n", "{a,b}", "a=b", `\$(m1)`, "*", "a\\\nb", "#a", "a#b", `a\ b`, `\'`,
					"=", "]", "}")
			},
			func() string { return "'" + g.pick("a b", "$(m1)", "`m2`", `x\`, "#", "\n") + "'" },
			func() string { return `"` + g.quoted() + `"` },
			func() string { return "$'" + g.pick(`a\nb`, `\'`, `\x24(m1)`, `\\`, `\\\'$(m1)`) + "'" },
			g.expansion, g.expansion, g.substitution,
			func() string { return g.word() + g.word() },
		)
	}
	return g.one(
		func() string {
			return g.pick("a", "b-c", "1", "-n", "--", "*", "~", "{a,b}", "a=b", "\\$(m1)", "=m1", "]", "!", "[")
		},
		func() string { return "'" + g.pick("a b", "$(m1)", "`m2`", "x\\") + "'" },
		func() string { return `"` + g.quoted() + `"` },
		func() string { return `$"` + g.quoted() + `"` },
		func() string { return "$'" + g.pick(`a\nb`, `\'`, `\x24(m1)`, `\\`) + "'" },
		g.expansion, g.expansion, g.hostile, g.substitution,
		func() string { return g.word() + g.word() },
	)
}

func (g *grammar) quoted() string {
	return g.pick("a ", "", "'", `\"`, "\\$(m1 a)", "\\\\", "\\`") +
		g.one(g.expansion, g.substitution, func() string { return g.pick("x", "\\\n", "!", "#") })
}

func (g *grammar) substitution() string {
	if g.depth > 3 {
		return "$(" + g.marked() + ")"
	}
	if g.mild {
		return g.pick("$(", "$( ", "$(\n", "`") + g.stmt() + g.pick(")", ")", "\n)", "`")
	}
	return g.one(
		func() string { return "$(" + g.stmt() + ")" },
		func() string { return "`" + strings.ReplaceAll(g.stmt(), "`", g.pick("\\`", "")) + "`" },
		func() string { return "$(\n" + g.stmt() + "\n)" },
		func() string { return g.pick("<", ">") + "(" + g.stmt() + ")" },
		func() string { return g.pick("${ ", "${| ") + g.stmt() + "; }" },
		func() string { return "$(( " + g.arithmetic() + " ))" },
		func() string { return "$((" + g.stmt() + "); " + g.marked() + ")" },
		func() string { return "$[" + g.arithmetic() + "]" },
	)
}

func (g *grammar) arithmetic() string {
	return g.pick("1+1", "x", "x++", "y=x", "a[x]", "x?y:z", "1,x", "$x", "${x}", "$(m1)", "(1)*2", "x[$(m2 a)]", "'x'",
		"016#1", "-1", "!x", "1<<2")
}

func (g *grammar) expansion() string {
	n := g.pick("x", "y", "z", "a", "1", "@", "*", "#", "?", "PS4", "-", "!", "_")
	if g.IntN(3) == 0 {
		return "$" + n
	}
	if g.mild {
		n = g.pick("x", "y", "@", "1")
		inner := g.pick("b", "$y", `"c"`, "'d'", "$(m3 x)", "`m4`", `"$(m2 r)"`, "*", "\\}", `\"`, "'}'", "# ",
			"$(m1 \"}\")")
		return "${" + n + g.pick("", ":-", "-", ":+", "+", ":?", "#", "##", "%", "%%", "/", "//", "^^", ":0:1") +
			g.pick("", inner, inner) + g.pick("", "", "/"+inner) + "}"
	}
	inner := g.pick("b", "$y", `"c"`, "'d'", "$(m3 x)", "`m4`", "'$(m1 q)'", `"$(m2 r)"`, `\$(m1)`, "*", "${y}",
		"${x@P}", `'"'`, "\\}", "$((x))", "}", "{")
	return "${" + g.pick("", "", "", "!", "#") + n +
		g.pick("", "", "[0]", "[@]", "[*]", "[y]", "[$x]", "[$(m2)]", "['x']") +
		g.pick("", ":-", "-", ":=", "=", ":+", "+", ":?", "#", "##", "%", "%%", "/", "//", "^", "^^", ",,", "@P", "@Q",
			"@A", "@E", ":", ":0:") + g.pick("", inner, inner) + g.pick("", "", "/"+inner) + "}"
}

func (g *grammar) redirect() string {
	delimiter := g.pick("E", "'E'", `"E"`, `\E`, "E'F'")
	end := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(delimiter)
	return g.one(
		func() string {
			return g.pick(" >", " >>", " <", " <>", " >|", " &>", " &>>", " 2>", " >&", " <&", " 1<", " {x}>",
				" {a[x]}>", " 2>&") + g.pick("f", "2", "1", "-", "$x", "a*")
		},
		func() string { return " <<< " + g.word() },
		func() string {
			return fmt.Sprintf(" <<%s%s\n%s%s\n%s\n", g.pick("", "-", " "), delimiter, g.pick("", "\t", "a\\\n", "\\"),
				g.quoted(), end)
		},
	)
}

func (g *grammar) compound() string {
	body := func() string { return g.stmt() + g.pick("; ", "\n") }
	return g.one(
		func() string { return "(" + g.stmt() + ")" },
		func() string { return "{ " + body() + "}" },
		func() string { return "((" + g.arithmetic() + "))" },
		func() string { return "((" + g.stmt() + ") ; " + g.marked() + ")" },
		func() string {
			return "if " + body() + "then " + body() + g.pick("", "else "+body(), "elif "+body()+"then "+body()) + "fi"
		},
		func() string { return "for " + g.name() + " in " + g.word() + " b; do " + body() + "done" },
		func() string { return "for ((i=0;i<2;i++,x)); do " + body() + "done" },
		func() string { return g.pick("while ", "until ! ") + body() + "do " + body() + " break; done" },
		func() string { return "select x in a; do " + body() + "break; done" },
		func() string {
			return "case " + g.word() + " in " + g.pick("(", "") + g.word() + "|*) " + g.stmt() +
				g.pick(";;", ";&", ";;&", "") + "\nesac"
		},
		func() string {
			return g.pick("f() ", "function f ", "function f() ", "g () ") + "{ " + body() + "}; " +
				g.pick("f a", "g "+g.word(), ":")
		},
		func() string {
			return "[[ " + g.word() + g.pick(" == ", " -eq ", " =~ ", " < ", " || ", " && ", " -ot ") + g.word() + " ]]"
		},
		func() string {
			return "[[ " + g.pick("-v ", "-n ", "-R ", "! ", "-o ") + g.word() + g.pick(" || ", " && ") + g.marked() +
				" ]]"
		},
		func() string {
			return "x=(" + g.word() + " " + g.pick(g.word(), "[y]="+g.word(), "["+g.word()+"]=1") + ")"
		},
		func() string { return g.stmt() + g.pick(" | ", " |& ", " && ", " || ", ";", "&", "\n") + g.stmt() },
	)
}

// builtin returns a shell builtin with arguments that it might evaluate.
func (g *grammar) builtin() string {
	name := g.pick("test -v", "test", "[", "printf -v", "printf", "read", "read -r", "unset", "export", "readonly",
		"declare", "declare -n", "declare -i",
		"typeset", "local", "let", "eval", "eval --", "trap", "trap --", "mapfile", "mapfile -C", "getopts",
		"getopts a", "wait", "wait -p", "shift", "exit", "return",
		"break", "set --", "set", "set -x;", "shopt -s", "alias", "type", "hash", "hash -p", "command", "command -v",
		"builtin", "complete -C", "compgen -C", "compgen -W", "enable",
		"history -p", "fc -s", "jobs -x", "pushd", "dirs", "umask", "ulimit -c", "times", "cd", "echo", "exec -a",
		"source", ".", "kill -l", "caller", "help", "bind -x", "true", ":")
	args := []string{name}
	for range 1 + g.IntN(3) {
		args = append(args, g.pick(g.word(), g.name(), g.name(), g.hostile(), g.name()+"="+g.word(), "'"+g.marked()+"'",
			g.marked(), "-eq 1", "-o", "-a", "EXIT", "DEBUG", "="))
	}
	if name == "[" {
		args = append(args, "]")
	}
	return strings.Join(args, " ")
}

// hidden makes lines as attackers do: a variable takes code, something else evaluates it.
func (g *grammar) hidden() string {
	set := g.pick("x=%s", "export x=%s", "readonly x=%s", "echo ${x:=%s}", "read x <<< %s", "for x in %s; do :; done",
		"printf -v x %%s %s", "set -- %s; x=$1", "x=(%s)", "local x=%s", "x+=%s", "PS4=%s")
	use := g.pick("echo ${x@P}", `echo "${x@P}"`, "echo $((x))", "echo ${y[x]}", "echo ${!x}", "((x))", "let x",
		"[[ x -eq 1 ]]", `[[ -v $x ]]`, `test -v "$x"`, "[ $x ]", `printf -v "$x" a`,
		`printf $x`, `read "$x" <<< a`, `declare -i y=$x`, `declare -n y=$x; echo $y`, `eval "$x"`, `eval $x`, "$x",
		`"$x"`, `trap "$x" EXIT`, "set -x; :", "echo ${z:x}", "echo ${z:0:x}", `unset "$x"`,
		`export "$x=1"`, `typeset y=$x`, `x=(1); typeset x="($x)"`, "for ((x;0;)); do :; done", `y=([x]=1)`, `y[x]=1`,
		`exec {y[x]}>f`, `wait -p "$x" -n`, "shift $x", "bash -c \"$x\"", `mapfile -C "$x" y <<< a`,
		`alias q="$x"`, "cat <<E\n${x@P}\nE\n", "ulimit -c $x", "RANDOM=$x", "OPTIND=$x", `getopts a "$x" -a`,
		`compgen -W "$x"`, `source <(echo "$x")`)
	return fmt.Sprintf(set, g.hostile()) + g.pick("; ", "\n", " && ") + use
}

// wrapped returns commands that run others. They need real programs, so they are few.
func (g *grammar) wrapped() string {
	if g.IntN(6) > 0 {
		return g.hidden()
	}
	return g.pick("env", "env -i PATH=$PATH N=$N", "env -", "env -u A", "env A=b", "nice", "nice -n 1", "nohup",
		"timeout 9", "timeout -s KILL 9", "xargs", "xargs -n 1", "xargs -I{}", "xargs --replace", "echo p2 q | xargs",
		"echo q | xargs -I a", "echo 'p2 q' | xargs -i sh -c {}", "echo q | xargs --replace=b",
		"sh -c", "bash -c", "bash -ec", "bash +c", "sh +e -c", "sh -c --", "bash --norc -c", "setsid", "stdbuf -o0",
		"find . -maxdepth 0 -exec", "env BASH_ENV='$(m1)' bash -c") + " " +
		g.pick("p1 a", "p2 -f b", "'m1 c'", "'p1 d; m2 e'", `"p1 $(m3)"`, g.hostile(),
			"'"+strings.ReplaceAll(g.stmt(), "'", `'\''`)+"'") + g.pick("", " a", " \\;", " {} +")
}
