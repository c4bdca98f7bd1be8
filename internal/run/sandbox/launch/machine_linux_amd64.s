#include "textflag.h"

// machine makes the system calls of a script, one after the other: see
// script_linux.go for the form of an operation, image_linux.go for where it
// finds them. It is never called. Its instructions are copied into the image
// of a launcher, so that they must not refer to anything outside. They end at
// the mark behind them.
//
// R12 is the operation, R13 the state.
TEXT ·machine(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ $0x10000000, R12
	MOVQ $0x30000000, R13

next:
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	MOVQ (DI), DI
	MOVQ (SI), SI
	MOVQ (DX), DX
	MOVQ (R10), R10
	MOVQ (R8), R8
	MOVQ (R9), R9
	MOVQ (R12), AX
	CMPQ AX, $-1
	JEQ  value
	CMPQ AX, $-2
	JEQ  number
	CMPQ AX, $-3
	JEQ  code
	SYSCALL

result:
	MOVQ 56(R12), BX
	MOVQ AX, (BX)
	CMPQ AX, $-4095
	JCC  error
	MOVQ 64(R12), BX
	CMPQ AX, (BX)
	MOVQ 72(R12), BX
	JEQ  go
	MOVQ 80(R12), BX

go:
	MOVQ BX, R12
	JMP  next

error:
	NEGQ AX
	MOVQ AX, (R13)
	MOVQ 112(R12), BX
	MOVQ BX, 8(R13)
	MOVQ 120(R12), BX
	MOVQ BX, 16(R13)
	MOVQ 104(R12), BX
	CMPQ AX, $63
	JHI  go
	MOVQ 88(R12), CX
	BTQ  AX, CX
	JCC  go
	MOVQ 96(R12), BX
	JMP  go

value:
	MOVQ DI, AX
	JMP  result

number:
	XORL AX, AX

digit:
	MOVBQZX (DI), CX
	SUBQ    $48, CX
	CMPQ    CX, $9
	JHI     result
	IMULQ   $10, AX
	ADDQ    CX, AX
	INCQ    DI
	JMP     digit

code:
	MOVQ DI, AX
	ANDQ $0x7f, AX
	JEQ  exited
	ADDQ $128, AX
	JMP  result

exited:
	SHRQ $8, DI
	MOVQ DI, AX
	ANDQ $0xff, AX
	JMP  result

	LONG $0x6b72616d // mark
	LONG $0x646e652d // -end

// func machineStart() *byte
TEXT ·machineStart(SB), NOSPLIT, $0-8
	LEAQ ·machine(SB), AX
	MOVQ AX, ret+0(FP)
	RET
