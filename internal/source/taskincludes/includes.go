// Package taskincludes finds the files of a Taskfile, without running anything.
package taskincludes

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// DefaultPath is the Taskfile if agent.hcl names none.
const DefaultPath = ".agent/Taskfile.yml"

// mostIncludes bounds the files read to find includes.
const mostIncludes = 256

// Largest bounds a Taskfile, in bytes.
const Largest = 1 << 20

// defaultNames are Task's default file names in a directory, in order.
var defaultNames = [...]string{
	"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
	"Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
}

// Sources returns the slash paths, relative to root, of the Taskfile at name and all its includes, existing or
// not: changing one changes the commands. Nothing is run. A path with a variable becomes a glob; paths outside
// root are left out.
func Sources(root, name string) []string {
	handle, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer handle.Close()
	s := sources{root: handle, dir: root}
	s.add(filepath.ToSlash(name))
	return s.names
}

type sources struct {
	root  *os.Root
	dir   string
	names []string
}

// add adds a Taskfile, or a directory's default ones.
func (s *sources) add(name string) {
	name = path.Clean(name)
	if !filepath.IsLocal(filepath.FromSlash(name)) || slices.Contains(s.names, name) || len(s.names) >= mostIncludes {
		return
	}
	if info, err := s.root.Stat(name); err == nil && info.IsDir() {
		for _, file := range defaultNames {
			s.add(path.Join(name, file))
		}
		return
	}
	s.names = append(s.names, name)
	for _, include := range s.includes(name) {
		s.add(s.resolve(path.Dir(name), include))
	}
}

// leading matches variables for a directory at the start of a path, placed those elsewhere.
var (
	leading = regexlimit.Lazy(`^\s*\{\{[^{}]*\}\}/+`)
	placed  = regexlimit.Lazy(`\{\{[^{}]*\}\}`)
)

// resolve makes an include's path relative to the root.
func (s *sources) resolve(dir, include string) string {
	if at := leading().FindString(include); at != "" {
		include = include[len(at):]
		if strings.Contains(at, "ROOT") {
			dir = "."
		}
	}
	include = placed().ReplaceAllString(include, "*")
	if filepath.IsAbs(include) {
		rel, err := filepath.Rel(s.dir, include)
		if err != nil {
			return ".."
		}
		return filepath.ToSlash(rel)
	}
	return path.Join(dir, filepath.ToSlash(include))
}

func (s *sources) includes(name string) (paths []string) {
	var parsed struct {
		Includes map[string]yaml.Node `yaml:"includes"`
	}
	data, err := s.read(name)
	if err != nil || yaml.Unmarshal(data, &parsed) != nil {
		return nil // Task refuses it too
	}
	for _, node := range parsed.Includes {
		var long struct {
			Taskfile string `yaml:"taskfile"`
		}
		if node.Kind == yaml.ScalarNode {
			paths = append(paths, node.Value)
		} else if node.Decode(&long) == nil && long.Taskfile != "" {
			paths = append(paths, long.Taskfile)
		}
	}
	slices.Sort(paths)
	return paths
}

var errNoTaskfile = errors.New("not a Taskfile")

func (s *sources) read(name string) ([]byte, error) {
	if info, err := s.root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > Largest {
		return nil, errNoTaskfile
	}
	file, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Mode()&fs.ModeType != 0 {
		return nil, errNoTaskfile
	}
	return io.ReadAll(io.LimitReader(file, Largest))
}
