package launch

import (
	"bytes"
	"sync"
	"unsafe"
)

// machine is the program of a launcher, in assembly. It is never called.
//
//lint:ignore U1000 its instructions are copied
func machine()

// machineStart is the address of machine's instructions.
func machineStart() *byte

// machineEnd is the mark behind the instructions.
const machineEnd = "mark-end"

// machineLimit bounds the search for machineEnd.
const machineLimit = 4 << 10

var machineCode = sync.OnceValue(func() []byte {
	code := unsafe.Slice(machineStart(), machineLimit)
	return bytes.Clone(code[:bytes.Index(code, []byte(machineEnd))])
})
