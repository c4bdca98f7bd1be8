package analysis

import (
	"path"
	"slices"
	"strings"
)

// pythonResolver resolves imports by the files of the tree.
type pythonResolver struct {
	files map[string]*File
	// roots are the directories with top-level packages or modules.
	roots []string
	std   map[string]bool
}

func newPythonResolver(b *graphBuilder) *pythonResolver {
	r := &pythonResolver{files: b.files, roots: []string{".", "src"}, std: make(map[string]bool)}
	for name, f := range b.files {
		if f.source.family != pythonFamily || path.Base(name) != "__init__.py" {
			continue
		}
		above := path.Dir(path.Dir(name))
		if b.files[path.Join(above, "__init__.py")] == nil && !slices.Contains(r.roots, above) {
			r.roots = append(r.roots, above)
		}
	}
	slices.Sort(r.roots[2:])
	for _, name := range pythonStandard() {
		r.std[name] = true
	}
	return r
}

func (r *pythonResolver) resolve(f *File, i imported) ([]string, string) {
	if i.level > 0 {
		base := path.Dir(f.Path)
		for range i.level - 1 {
			base = path.Dir(base)
		}
		return r.find(base, i), ""
	}
	for _, root := range append([]string{path.Dir(f.Path)}, r.roots...) {
		if found := r.find(root, i); len(found) > 0 {
			return found, ""
		}
	}
	first, _, _ := strings.Cut(i.name, ".")
	if r.std[first] {
		return nil, ""
	}
	return nil, first
}

// find returns the modules below base that an import means: for each member the module of its name,
// else the module that defines it.
func (r *pythonResolver) find(base string, i imported) []string {
	name := path.Join(base, strings.ReplaceAll(i.name, ".", "/"))
	var found []string
	rest := len(i.members) == 0
	for _, member := range i.members {
		if m := r.module(path.Join(name, member)); m != "" {
			found = append(found, m)
		} else {
			rest = true
		}
	}
	if !rest {
		return found
	}
	for at := name; at != base && at != "."; at = path.Dir(at) {
		if m := r.module(at); m != "" {
			return append(found, m)
		}
	}
	if m := r.module(name); m != "" && i.level > 0 {
		return append(found, m)
	}
	return found
}

func (r *pythonResolver) module(name string) string {
	for _, candidate := range []string{name + ".py", path.Join(name, "__init__.py")} {
		if f := r.files[candidate]; f != nil && f.source.family == pythonFamily {
			return candidate
		}
	}
	return ""
}

func pythonStandard() []string {
	return strings.Fields(`__future__ _thread abc aifc argparse array ast asynchat asyncio asyncore atexit audioop
		base64 bdb binascii bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections
		colorsys compileall concurrent configparser contextlib contextvars copy copyreg cProfile crypt csv ctypes
		curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
		faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob
		graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress
		itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap
		modulefinder msilib msvcrt multiprocessing netrc nis nntplib ntpath numbers operator optparse os
		ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint
		profile pstats pty pwd py_compile pyclbr pydoc queue quopri random re readline reprlib resource
		rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr
		socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string
		stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile
		termios test textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc
		tty turtle types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg
		winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`)
}

// readPython reads import statements anywhere in the file.
func readPython(s *source, name string, data []byte) {
	for _, statement := range pythonStatements(string(data)) {
		switch {
		case strings.HasPrefix(statement, "import "):
			for _, item := range strings.Split(statement[len("import "):], ",") {
				s.add(firstWord(item))
			}
		case strings.HasPrefix(statement, "from "):
			s.addFrom(statement[len("from "):])
		case strings.HasPrefix(statement, "if __name__"):
			s.main = true
		}
	}
	s.main = s.main || path.Base(name) == "__main__.py"
}

// addFrom adds "MODULE import A, B as C".
func (s *source) addFrom(rest string) {
	module, list, ok := strings.Cut(rest, " import ")
	if !ok {
		if module, list, ok = strings.Cut(rest, " import("); !ok {
			return
		}
	}
	module = strings.TrimSpace(module)
	name := strings.TrimLeft(module, ".")
	from := imported{name: strings.TrimSpace(name), level: len(module) - len(name)}
	for _, item := range strings.Split(strings.Trim(strings.TrimSpace(list), "()"), ",") {
		if member := firstWord(item); member != "" && member != "*" {
			from.members = append(from.members, member)
		}
	}
	s.imports = append(s.imports, from)
}

func firstWord(s string) string {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// pythonStatements returns the simple statements at the start of a line or after a semicolon, each
// on one line with single blanks, without comments and strings.
func pythonStatements(code string) []string {
	var statements []string
	for _, line := range strings.Split(joinPythonLines(code), "\n") {
		for _, statement := range strings.Split(line, ";") {
			if statement = strings.Join(strings.Fields(statement), " "); statement != "" {
				statements = append(statements, statement)
			}
		}
	}
	return statements
}

// joinPythonLines removes comments and string contents, and joins lines in brackets or with a
// trailing backslash.
func joinPythonLines(code string) string {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(code); {
		switch c := code[i]; {
		case c == '#':
			if end := strings.IndexByte(code[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(code)
			}
		case c == '"' || c == '\'':
			i += pythonStringLength(code[i:])
			out.WriteString(`""`)
		case c == '\\' && strings.HasPrefix(code[i+1:], "\r\n"):
			i += 3
		case c == '\\' && strings.HasPrefix(code[i+1:], "\n"):
			i += 2
		case c == '\n' && depth > 0:
			out.WriteByte(' ')
			i++
		default:
			depth = max(0, depth+bracket(c))
			out.WriteByte(c)
			i++
		}
	}
	return out.String()
}

func bracket(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// pythonStringLength returns the length of the string that code starts with.
func pythonStringLength(code string) int {
	if triple := strings.Repeat(code[:1], 3); strings.HasPrefix(code, triple) {
		for i := 3; i < len(code); i++ {
			if code[i] == '\\' {
				i++
			} else if strings.HasPrefix(code[i:], triple) {
				return i + 3
			}
		}
		return len(code)
	}
	for i := 1; i < len(code); i++ {
		switch code[i] {
		case '\\':
			i++
		case code[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(code)
}
