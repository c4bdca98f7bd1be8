package analysis

import "slices"

// source is what a file of a programming language declares and imports.
type source struct {
	// family groups languages whose files import each other.
	family family
	// unit is the name by which others import the file: a Java package. Empty if it follows from the path.
	unit string
	// main is true for a file in which a program starts.
	main    bool
	imports []imported
}

type imported struct {
	// name is as written: "fmt", "./util", "crate::model::User".
	name string
	// level is how many packages up a relative Python import begins; 0 for an absolute one.
	level int
	// members are the names imported from a Python module, each of which may be a module.
	members []string
}

// family is a group of languages that share one way to import.
type family int

const (
	noFamily family = iota
	goFamily
	pythonFamily
	scriptFamily // JavaScript and TypeScript
	javaFamily
	rustFamily
)

// String is how reports name the family.
func (f family) String() string {
	return [...]string{"", "Go", "Python", "JavaScript/TypeScript", "Java", "Rust"}[f]
}

func familyOf(language string) family {
	switch language {
	case "Go":
		return goFamily
	case "Python":
		return pythonFamily
	case "JavaScript", "TypeScript", "JSX", "TSX", "Vue", "Svelte":
		return scriptFamily
	case "Java":
		return javaFamily
	case "Rust":
		return rustFamily
	}
	return noFamily
}

// readSource finds the imports of a file, as far as it can be read.
func readSource(language, name string, data []byte) source {
	s := source{family: familyOf(language)}
	switch s.family {
	case goFamily:
		readGo(&s, data)
	case pythonFamily:
		readPython(&s, name, data)
	case scriptFamily:
		readScript(&s, data)
	case javaFamily:
		readJava(&s, data)
	case rustFamily:
		readRust(&s, name, data)
	}
	return s
}

// add notes an import, once.
func (s *source) add(name string) {
	if name != "" && !slices.ContainsFunc(s.imports,
		func(i imported) bool { return i.name == name && i.level == 0 && len(i.members) == 0 }) {
		s.imports = append(s.imports, imported{name: name})
	}
}
