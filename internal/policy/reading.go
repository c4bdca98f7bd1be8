package policy

import "slices"

// Reading is what a shell line would run and write, as far as can be told without running it. The command in a
// wrapper such as sudo, env, xargs, find -exec and sh -c is a separate command.
type Reading struct {
	// Commands are in the order of the line.
	Commands []Command
	// Writes are the files that redirections write.
	Writes []Write
	// Unreadable says why the line cannot be read for certain, "" if it can.
	Unreadable string
}

// Command is one program with its arguments.
type Command struct {
	// Words are not empty; the first is the program.
	Words []Word
	// Piped is set if another command writes its input.
	Piped bool
	// Input is its input if in the line itself, else nil.
	Input *Word
}

// Word is one unquoted word of a command.
type Word struct {
	Text string
	// Dynamic is set if the shell would expand it to something the text does not show.
	Dynamic bool
}

// Write is a redirection to a file.
type Write struct {
	Target Word
	// Append is set if the file keeps its content.
	Append bool
	// Bare is set if nothing is written, so that the file is only emptied.
	Bare bool
}

// Read parses a shell line. It runs nothing.
func Read(source string) Reading {
	l := new(line)
	l.read(source)
	r := Reading{Writes: l.targets, Unreadable: l.unreadable}
	for _, c := range l.commands {
		r.Commands = append(r.Commands, c.exported())
	}
	return r
}

func (c command) exported() Command {
	command := Command{Words: make([]Word, len(c.words)), Piped: c.input.piped}
	for i, w := range c.words {
		command.Words[i] = exported(w)
	}
	if c.input.text != nil {
		text := exported(*c.input.text)
		command.Input = &text
	}
	return command
}

func exported(w word) Word { return Word{Text: w.text, Dynamic: w.dynamic} }

// Program returns the program's name without its directory.
func (c *Command) Program() string { return program(word{text: c.Words[0].Text}) }

// Texts returns the arguments, without the program.
func (c *Command) Texts() []string {
	texts := make([]string, 0, len(c.Words))
	for _, w := range c.Words[1:] {
		texts = append(texts, w.Text)
	}
	return texts
}

// Has reports whether one of names is among the arguments, single-letter options also in a cluster.
func (c *Command) Has(names ...string) bool {
	args := make([]word, 0, len(c.Words))
	for _, w := range c.Words[1:] {
		args = append(args, word{text: w.Text, dynamic: w.Dynamic})
	}
	return slices.ContainsFunc(names, func(name string) bool { return hasOption(args, name) })
}
