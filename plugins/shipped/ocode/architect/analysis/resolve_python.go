package analysis

import (
	"path"
	"slices"
	"strings"
)

// pythonResolver resolves by the files of the tree, from each directory in
// which packages begin.
type pythonResolver struct {
	files map[string]*File
	// roots are the directories that hold top-level packages or modules.
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

// find gives the modules below base that an import means: for each member the
// module of its name, and otherwise the module that it is taken out of.
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

// pythonStandard are the top-level modules of Python's standard library.
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
