package analysis

import "slices"

type source struct {
	// family groups languages whose files import each other.
	family family
	// unit is the name by which others import the file: a Java package. Empty if the path says it.
	unit string
	// main is set if a program starts in the file.
	main    bool
	imports []imported
}

type imported struct {
	// name is as written: "fmt", "./util", "crate::model::User".
	name string
	// level is how many packages up a relative Python import starts; 0 if absolute.
	level int
	// members are names imported from a Python module; each may be a module.
	members []string
}

// family is a group of languages with one way to import.
type family int

const (
	noFamily family = iota
	goFamily
	pythonFamily
	scriptFamily // JavaScript and TypeScript
	javaFamily
	rustFamily
)

// String returns the name for reports.
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

func (s *source) add(name string) {
	if name != "" && !slices.ContainsFunc(s.imports,
		func(i imported) bool { return i.name == name && i.level == 0 && len(i.members) == 0 }) {
		s.imports = append(s.imports, imported{name: name})
	}
}
