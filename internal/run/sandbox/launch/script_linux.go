package launch

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// script is a launcher's list of system calls. The host writes it for one command, all decisions made; the
// launcher makes the calls, passes results on, and branches on errors.
type script struct {
	ops      []op
	constant []byte // read-only data of the operations
	state    []byte // writable data of the operations
	code     []byte // the encoded operations
	numbers  map[uint64]address
	strings  map[string]address
	failure  label // where to continue when an operation that must not fail has failed
	quit     label // where the launcher ends without a message
	invalid  bool  // contains a string that no system call accepts
}

// Addresses of a launcher's script. The machine knows the first and the last.
const (
	opsBase      address = 0x10000000
	constantBase address = 0x20000000
	stateBase    address = 0x30000000
)

// An address is a place in the launcher's memory; as an argument it stands for itself. A cell is the address of
// a number; as an argument it stands for that number at the time.
type (
	address uint64
	cell    uint64
)

// label is a place in the script; nil means the next operation.
type label struct{ op int }

// op is an operation. To the machine it is opSize bytes: the number; addresses of six arguments, the result and
// the expected result; where to go after that and after another result; a bit set of tolerated errors, where to
// go after one of those and after another; the step's name and its length.
type op struct {
	in           *script
	step         string
	nr           int
	args         [6]address
	result       cell
	expected     address
	equal, other *label
	passed       uint64
	pass, fail   *label
}

const opSize = 128

// Pseudo system calls. Value returns its argument. Number parses a decimal number. ExitCode returns the shell's
// exit code for a wait status.
const (
	opValue    = -1
	opNumber   = -2
	opExitCode = -3
)

// The state begins with the machine's last error: its number, and the name of the step as an iovec(3).
const (
	stateErrno = cell(stateBase)
	stateStep  = stateBase + 8
	stateSize  = 24
)

// scripts are finished ones, to reuse their memory.
var scripts = sync.Pool{New: func() any {
	return &script{numbers: make(map[uint64]address), strings: make(map[string]address)}
}}

func newScript() *script {
	s := scripts.Get().(*script)
	*s = script{
		ops: s.ops[:0], constant: s.constant[:0], state: append(s.state[:0], make([]byte, stateSize)...), code: s.code,
		numbers: s.numbers, strings: s.strings,
	}
	clear(s.numbers)
	clear(s.strings)
	return s
}

// call adds an operation, which can be changed until the next one is added. Its step is named when it fails. An
// argument is a number, an address, a cell, or a string, passed by address.
func (s *script) call(step string, nr int, args ...any) *op {
	o := op{in: s, step: step, nr: nr, fail: &s.failure, expected: s.operand(0)}
	for i := range o.args {
		o.args[i] = o.expected
		if i < len(args) {
			o.args[i] = s.operand(args[i])
		}
	}
	s.ops = append(s.ops, o)
	return &s.ops[len(s.ops)-1]
}

// try is call for what may fail.
func (s *script) try(nr int, args ...any) *op {
	o := s.call("", nr, args...)
	o.fail = nil
	return o
}

func (o *op) into(c cell) *op {
	o.result = c
	return o
}

// orElse branches after one of errors.
func (o *op) orElse(elsewhere *label, errors ...syscall.Errno) *op {
	for _, errno := range errors {
		o.passed |= 1 << errno
	}
	o.pass = elsewhere
	return o
}

// otherwise branches if the result is not the expected one: 0, or that of unless.
func (o *op) otherwise(elsewhere *label) *op {
	o.other = elsewhere
	return o
}

func (o *op) unless(expected any) *op {
	o.expected = o.in.operand(expected)
	return o
}

// failing branches after any error.
func (o *op) failing(elsewhere *label) *op {
	o.fail = elsewhere
	return o
}

func (s *script) here(l *label) { l.op = len(s.ops) }

func (s *script) goTo(l *label) { s.call("", opValue).equal = l }

// operand returns the address of an argument for the machine.
func (s *script) operand(arg any) address {
	switch v := arg.(type) {
	case cell:
		return address(v)
	case string:
		return s.number(uint64(s.text(v)))
	case address:
		return s.number(uint64(v))
	case int:
		return s.number(uint64(v))
	}
	panic("launch: an argument that is not a number, string, address or cell")
}

func (s *script) number(n uint64) address {
	at, known := s.numbers[n]
	if !known {
		at = s.words(n)
		s.numbers[n] = at
	}
	return at
}

// text returns the address of a constant string that ends in NUL.
func (s *script) text(text string) address {
	at, known := s.strings[text]
	if !known {
		s.invalid = s.invalid || strings.IndexByte(text, 0) >= 0
		at = s.data(append([]byte(text), 0))
		s.strings[text] = at
	}
	return at
}

// data returns the address of constant data, words that of constant numbers.
func (s *script) data(data []byte) address {
	at := constantBase + address(len(s.constant))
	s.constant = append(s.constant, data...)
	s.constant = append(s.constant, make([]byte, -len(data)&7)...)
	return at
}

func (s *script) words(numbers ...uint64) address { return s.data(appendWords(nil, numbers...)) }

// texts returns the address of a list of strings that ends in 0.
func (s *script) texts(list []string) address {
	pointers := make([]uint64, len(list)+1)
	for i, text := range list {
		pointers[i] = uint64(s.text(text))
	}
	return s.words(pointers...)
}

// buffer returns the address of writable memory with that content.
func (s *script) buffer(content []byte) address {
	at := stateBase + address(len(s.state))
	s.state = append(s.state, content...)
	s.state = append(s.state, make([]byte, -len(content)&7)...)
	return at
}

// cell returns a new number, initially 0.
func (s *script) cell() cell { return cell(s.buffer(make([]byte, 8))) }

func appendWords(data []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		data = binary.NativeEndian.AppendUint64(data, n)
	}
	return data
}

func (s *script) encode() []byte {
	ignored := s.cell()
	code := slices.Grow(s.code[:0], opSize*len(s.ops))
	for i := range s.ops {
		o := &s.ops[i]
		if o.result == 0 {
			o.result = ignored
		}
		to := func(l *label) uint64 {
			if l == nil {
				return uint64(opsBase) + uint64(opSize*(i+1))
			}
			return uint64(opsBase) + uint64(opSize*l.op)
		}
		code = appendWords(code, uint64(o.nr))
		for _, arg := range o.args {
			code = appendWords(code, uint64(arg))
		}
		code = appendWords(code, uint64(o.result), uint64(o.expected), to(o.equal), to(o.other),
			o.passed, to(o.pass), to(o.fail), uint64(s.text(o.step)), uint64(len(o.step)))
	}
	s.code = code
	return code
}
