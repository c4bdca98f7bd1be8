#include "textflag.h"

// machine is as on amd64. R19 is the operation, R20 the state.
TEXT ·machine(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $0x10000000, R19
	MOVD $0x30000000, R20

next:
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	MOVD (R0), R0
	MOVD (R1), R1
	MOVD (R2), R2
	MOVD (R3), R3
	MOVD (R4), R4
	MOVD (R5), R5
	MOVD (R19), R8
	CMN  $1, R8
	BEQ  result     // value: the first argument is there already
	CMN  $2, R8
	BEQ  number
	CMN  $3, R8
	BEQ  code
	SVC

result:
	MOVD 56(R19), R9
	MOVD R0, (R9)
	CMN  $4095, R0
	BHS  error
	MOVD 64(R19), R9
	MOVD (R9), R10
	MOVD 72(R19), R9
	CMP  R10, R0
	BEQ  go
	MOVD 80(R19), R9

go:
	MOVD R9, R19
	B    next

error:
	NEG  R0, R0
	MOVD R0, (R20)
	MOVD 112(R19), R9
	MOVD R9, 8(R20)
	MOVD 120(R19), R9
	MOVD R9, 16(R20)
	MOVD 104(R19), R9
	CMP  $63, R0
	BHI  go
	MOVD 88(R19), R10
	LSR  R0, R10, R10
	TBZ  $0, R10, go
	MOVD 96(R19), R9
	B    go

number:
	MOVD R0, R9
	MOVD ZR, R0
	MOVD $10, R11

digit:
	MOVBU (R9), R10
	SUB   $48, R10, R10
	CMP   $9, R10
	BHI   result
	MADD  R11, R10, R0, R0
	ADD   $1, R9, R9
	B     digit

code:
	AND $0x7f, R0, R9
	CBZ R9, exited
	ADD $128, R9, R0
	B   result

exited:
	LSR $8, R0, R0
	AND $0xff, R0, R0
	B   result

	WORD $0x6b72616d // mark
	WORD $0x646e652d // -end

// func machineStart() *byte
TEXT ·machineStart(SB), NOSPLIT, $0-8
	MOVD $·machine(SB), R0
	MOVD R0, ret+0(FP)
	RET
