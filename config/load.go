package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/internal/file/homedir"
)

// FileName is the name of the file.
const FileName = "agent.hcl"

// LoadOptions are the inputs of a load besides the file.
type LoadOptions struct {
	// Vars sets variables, as --var does.
	Vars map[string]string
	// Env looks up an environment variable; nil means os.LookupEnv.
	Env func(string) (string, bool)
}

type reader struct {
	cfg      *Config
	opts     LoadOptions
	filename string
	file     *hcl.File
	diags    hcl.Diagnostics
	seen     map[string]hcl.Range
	vars     map[string]*binding
	locals   map[string]*binding
	// resolving are the locals being evaluated, each for the one before it.
	resolving []string
	table     map[string]function.Function
	at        hcl.Range // what is being evaluated
	produced  int
	scope     scope
}

// scope is the block of the file being read: its name in cfg.attrs.
type scope struct {
	key string
	at  hcl.Range
}

// Find looks for an agent.hcl in dir and upwards, to the root of its repository, the home directory or the root
// of the file system. One that cannot be read is found too, for Load to say so: else its rules would not hold.
func Find(dir string) (path string, ok bool) {
	for _, dir := range Dirs(dir) {
		path := filepath.Join(dir, FileName)
		if _, err := os.Lstat(path); err == nil {
			return path, true
		}
	}
	return "", false
}

// Dirs returns the directories where Find looks, nearest first.
func Dirs(dir string) (dirs []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	homes := homedir.All()
	for {
		dirs = append(dirs, dir)
		parent := filepath.Dir(dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || slices.Contains(homes, dir) || parent == dir {
			return dirs
		}
		dir = parent
	}
}

// Load reads the file at path. With errors, the Config has what could be read and is for messages only.
func Load(path string, opts LoadOptions) (*Config, Diagnostics) {
	src, err := readFile(path)
	if err != nil {
		return &Config{Path: path, Dir: dirOf(path)}, Diagnostics{unreadable(path, err)}
	}
	return LoadText(path, src, opts)
}

// LoadText is Load with src as the text of the file at path.
func LoadText(path string, src []byte, opts LoadOptions) (*Config, Diagnostics) {
	cfg, diags := Parse(display(path), src, opts)
	cfg.Path = path
	return cfg, diags.QuotedFrom(path)
}

// display returns the name of a file for messages: relative if below the working directory.
func display(path string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

func unreadable(path string, err error) Diagnostic {
	hint := "Make it a readable file, or name another with --config."
	if _, missing := os.Lstat(path); missing == nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is a symbolic link to a missing file", path)
	} else if errors.Is(err, fs.ErrNotExist) {
		hint = "Run toolhost init to write one, or name another with --config."
	}
	return about(path, hcl.DiagError, "Cannot read the configuration", err.Error()+".", hint)
}

// about returns a diagnostic about the whole file.
func about(path string, severity hcl.DiagnosticSeverity, summary, detail, hint string) Diagnostic {
	d := diagnostic(&hcl.Diagnostic{
		Severity: severity, Summary: summary, Detail: detail + " " + hint, Extra: &note{suggestion: hint},
	}, nil)
	d.File = path
	return d
}

// readFile reads at most a byte beyond the size cap, from regular files only: a pipe would hang.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// Parse reads src as the file of that name. It does not access the file.
func Parse(filename string, src []byte, opts LoadOptions) (*Config, Diagnostics) {
	if opts.Env == nil {
		opts.Env = os.LookupEnv
	}
	sum := sha256.Sum256(src)
	r := &reader{
		cfg:      &Config{Path: filename, Dir: dirOf(filename), SHA256: hex.EncodeToString(sum[:])},
		opts:     opts,
		filename: filename,
		seen:     make(map[string]hcl.Range),
		vars:     make(map[string]*binding),
		locals:   make(map[string]*binding),
	}
	r.cfg.places, r.cfg.attrs = make(map[string]hcl.Range), make(map[string]hcl.Expression)
	r.cfg.Workspace.Root = r.cfg.Dir
	if r.parse(src) {
		r.read()
	}
	slices.SortStableFunc(r.cfg.Secrets, func(a, b string) int { return len(b) - len(a) })
	return r.cfg, finish(r.diags, r.file, r.cfg.Secrets)
}

func dirOf(filename string) string {
	dir, err := filepath.Abs(filepath.Dir(filename))
	if err != nil {
		return filepath.Dir(filename)
	}
	return dir
}

// parse makes the syntax tree. It returns false for mistakes of syntax: the content is not checked then.
func (r *reader) parse(src []byte) bool {
	r.file = &hcl.File{Bytes: src, Body: hcl.EmptyBody()}
	if diag := checkSize(r.filename, src); diag != nil {
		r.file.Bytes = nil
		r.diags = append(r.diags, diag)
		return false
	}
	tokens, _ := hclsyntax.LexConfig(src, r.filename, hcl.InitialPos)
	if diag := new(guard).checkTokens(tokens); diag != nil {
		r.diags = append(r.diags, diag)
		return false
	}
	file, diags := hclsyntax.ParseConfig(src, r.filename, hcl.InitialPos)
	r.diags = append(r.diags, diags...)
	if file != nil && file.Body != nil {
		r.file, r.cfg.file = file, file
	}
	return !diags.HasErrors()
}

// read reads the blocks, first those that others refer to.
func (r *reader) read() {
	r.labelAgents()
	content := r.content(r.file.Body, fileForm, "agent.hcl")
	byType := make(map[string]hcl.Blocks)
	for _, b := range content.Blocks {
		byType[b.Type] = append(byType[b.Type], b)
	}
	r.variables(byType["variable"])
	r.localBlocks(byType["locals"])
	r.workspace(byType["workspace"])
	r.resolveLocals()
	r.instructions(block{reader: r, attrs: content.Attributes, at: content.MissingItemRange})
	r.sandbox(byType["sandbox"])
	r.each(byType["tool"], r.tool)
	r.each(byType["resource"], r.resource)
	r.each(byType["prompt"], r.prompt)
	r.cfg.Plugins = slices.Grow(r.cfg.Plugins, len(byType["plugin"]))
	r.each(byType["plugin"], r.plugin)
	r.each(byType["mcp"], r.server)
	r.each(byType["agent"], r.agent)
	r.each(byType["builtin"], r.builtin)
	r.onlyOne(byType["taskfile"], r.taskfile)
	r.onlyOne(byType["limits"], r.limits)
	r.onlyOne(byType["web"], r.web)
	r.onlyOne(byType["record"], r.record)
	r.onlyOne(byType["model"], r.model)
	r.each(byType["credential"], r.credential)
	r.onlyOne(byType["permissions"], r.grants)
	r.onlyOne(byType["policy"], r.policy)
	r.each(byType["toolset"], r.toolset)
}

func (r *reader) each(blocks hcl.Blocks, read func(*hcl.Block)) {
	for _, b := range blocks {
		if r.once(b.Type, b.Labels[0], b.LabelRanges[0]) {
			r.scope = scope{b.Type + "." + b.Labels[0], b.DefRange}
			read(b)
		}
	}
}

func (r *reader) onlyOne(blocks hcl.Blocks, read func(*hcl.Block)) {
	for _, b := range blocks {
		if r.single(b) {
			r.scope = scope{b.Type, b.DefRange}
			read(b)
		}
	}
}
