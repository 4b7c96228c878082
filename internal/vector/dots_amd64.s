#include "textflag.h"

// func dotsAVX2(out *int32, q, rows *int8, n, stride int)
//
// 32 codes of a row at a time: widened to 16 bits, multiplied and added in pairs to 32 bits, which cannot overflow.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ q+8(FP), SI
	MOVQ rows+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ stride+32(FP), R8

row:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  R9, R9

codes:
	VPMOVSXBW (SI)(R9*1), Y2
	VPMOVSXBW (DX)(R9*1), Y3
	VPMADDWD  Y2, Y3, Y2
	VPADDD    Y2, Y0, Y0
	VPMOVSXBW 16(SI)(R9*1), Y4
	VPMOVSXBW 16(DX)(R9*1), Y5
	VPMADDWD  Y4, Y5, Y4
	VPADDD    Y4, Y1, Y1
	ADDQ      $32, R9
	CMPQ      R9, R8
	JLT       codes

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (DI)
	ADDQ         $4, DI
	ADDQ         R8, DX
	DECQ         CX
	JNZ          row

	VZEROUPPER
	RET
